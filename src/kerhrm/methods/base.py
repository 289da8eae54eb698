"""Declaration of a method: a name, options, what trains it, and what it needs.

It imports no PyTorch, which a workflow's plan does without.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kerhrm.errors import KerhrmError
from kerhrm.options import Options, Task

if TYPE_CHECKING:
    from kerhrm.methods.inputs import Fitted, Inputs

POOLED = "pooled validation"
WORST_TRUE = "worst true environment"
WORST_INFERRED = "worst inferred environment"
AS_RELEASED = "as released"
NONE = "none"  #: nothing is chosen


@dataclass(frozen=True)
class Method:
    """Declaration of a method: its options, training function and needs.

    Attributes
    ----------
    name : str
        Its key in the registry.
    options : type
        Class of its options, whose defaults are the method's.
    train : callable
        ``train(inputs, options)`` gives a :class:`~kerhrm.methods.inputs.Fitted`.
    criterion : str
        Its own selection criterion among hyperparameters.
    outputs : tuple of str
        Names of what it predicts.
    needs_environments : bool
        Whether it is given the true environments of the training points.
    needs_features : bool
        Whether it is given the reduced features.
    infers : bool
        Whether hyperparameters may be chosen by the environments that it infers.
    tasks : tuple of str
        What it can learn.
    iterates : bool
        Whether it tells what each iteration has left.
    switches : mapping
        Outputs that it has only with an option, each with that option's name.  The
        option is None where it is off.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import METHODS, NetworkOptions, build
    >>> from kerhrm.methods.inputs import Inputs
    >>> x = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    >>> network, y = build(NetworkOptions(widths=[4]), seed=0, d=2), x[:, 0].sign()
    >>> inputs = Inputs(x, y, x, y, "classification", seed=0, network=network)
    >>> erm = METHODS["erm"]
    >>> isinstance(erm, Method), erm.criteria
    (True, ['pooled validation'])
    >>> erm.train(inputs, erm.options(steps=5)).predict(x)["model"].shape
    torch.Size([20])
    """

    name: str
    options: type[Options]
    train: "Callable[[Inputs, Any], Fitted]"
    criterion: str = POOLED
    outputs: tuple[str, ...] = ("model",)
    needs_environments: bool = False
    needs_features: bool = False
    infers: bool = False
    tasks: tuple[Task, ...] = ("classification", "regression")
    iterates: bool = False
    switches: Mapping[str, str] = field(default_factory=dict, hash=False)

    def outputs_with(self, options: Options) -> list[str]:
        """Names of what it predicts with such options."""
        outputs = []
        for name in self.outputs:
            switch = self.switches.get(name)
            is_on = switch is None or getattr(options, switch) is not None
            if is_on:
                outputs.append(name)
        return outputs

    @property
    def criteria(self) -> list[str]:
        """Selection criteria that it can have, without test data; its own first."""
        criteria = [self.criterion, POOLED]
        if self.needs_environments:
            criteria.append(WORST_TRUE)
        if self.infers:
            criteria.append(WORST_INFERRED)
        return list(dict.fromkeys(criteria))

    def check(self, options: Options, task: Task) -> None:
        """Refuse options that do not fit the task.

        Raises
        ------
        KerhrmError
            If the method cannot learn the task, or a regression is to have the logistic
            loss.
        """
        if task not in self.tasks:
            problem = f"{self.name} cannot learn a {task}, only a {self.tasks[0]}"
            raise KerhrmError(problem, "use another method")
        loss = getattr(options, "loss", None)
        if task == "regression" and loss == "logistic":
            problem = "loss='logistic' needs labels, but the task is a regression"
            raise KerhrmError(problem, "set loss to 'squared'")
