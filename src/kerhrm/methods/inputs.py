"""What a method is given, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.algorithm.invariance import point_scores, worst_environment_score
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import predict_linear
from kerhrm.errors import KerhrmError
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.networks.base import Network
from kerhrm.networks.training import BestWeights, Callback, Loss, train
from kerhrm.options import Task


@dataclass(frozen=True)
class Inputs:
    """One data set and an untrained network; nothing of test points.

    Attributes
    ----------
    x, y : Tensor, (n, d), (n,), float32
        Training points; labels are -1 and +1 in classification.
    x_validation, y_validation : Tensor, (m, d), (m,), float32
        Validation points.
    task : "classification" or "regression"
        What is learned.
    seed : int
        Of the method's random starts.
    network : Network
        w_0.
    environments, environments_validation : Tensor, (n,), (m,), int64, optional
        Labels 0, 1, ... of the points' true environments, for methods that need them.
    problem : Problem, optional
        Reduced features of the network and labels, for methods that need features.
    heterogeneity : HeterogeneityResult, optional
        Of a test that has run already.
    auxiliary, auxiliary_validation : Tensor, (n, c), (m, c), optional
        Numbers that are no features, of which environments may be functions.
    weights, weights_validation : Tensor, (n,), (m,), float64, optional
        Of the points; those of the training points have mean 1, and the others are in
        their unit.  ``ridge`` counts them, and the estimators' comparison with it; what
        learns from a ``problem`` counts those of the problem.  All others train and
        validate without weights, and their estimators take none.
    units : Tensor, (n,), float64, optional
        Equal draws that each training point stands for; to leave one out is to leave
        one of these out.  By default one.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import METHODS, NetworkOptions, build
    >>> from kerhrm.methods.inputs import Inputs
    >>> x = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    >>> network, y = build(NetworkOptions(widths=[4]), seed=0, d=2), x[:, 0].sign()
    >>> inputs = Inputs(x, y, x, y, "classification", seed=0, network=network)
    >>> inputs.train_model(
    ...     lambda f, _network, _step: ((f - y) ** 2).mean(),
    ...     METHODS["erm"].options(steps=5),
    ... )(x).shape
    torch.Size([20])
    """

    x: Tensor
    y: Tensor
    x_validation: Tensor
    y_validation: Tensor
    task: Task
    seed: int
    network: Network
    environments: Tensor | None = None
    environments_validation: Tensor | None = None
    problem: Problem | None = None
    heterogeneity: HeterogeneityResult | None = None
    auxiliary: Tensor | None = None
    auxiliary_validation: Tensor | None = None
    weights: Tensor | None = None
    weights_validation: Tensor | None = None
    units: Tensor | None = None

    def require_auxiliary(self) -> tuple[Tensor, Tensor]:
        """Auxiliary variable of both parts; :class:`KerhrmError` if there is none."""
        if self.auxiliary is None or self.auxiliary_validation is None:
            hint = "pass Inputs(auxiliary=..., auxiliary_validation=...)"
            raise KerhrmError("the method needs an auxiliary variable", hint)
        return self.auxiliary, self.auxiliary_validation

    def require_environments(self) -> Tensor:
        """Environments of the training points; :class:`KerhrmError` if
        there are none."""
        if self.environments is None:
            problem = "the method needs the points' true environments"
            raise KerhrmError(problem, "pass Inputs(environments=...)")
        return self.environments

    def require_problem(self) -> Problem:
        """Reduced features and labels; :class:`KerhrmError` if there are none."""
        if self.problem is None:
            problem = "the method needs reduced features"
            raise KerhrmError(problem, "pass Inputs(problem=...)")
        return self.problem

    def train(
        self,
        loss: Loss[Network],
        options: Any,
        *,
        steps: int | None = None,
        callbacks: Sequence[Callback[Network]] = (),
    ) -> Network:
        """Train the network on all points by Adam.

        Parameters
        ----------
        loss : callable
            As in :func:`~kerhrm.networks.training.train`.
        options : Options
            With ``learning_rate`` and ``steps``.
        steps : int, optional
            In place of the options' steps.
        callbacks : sequence of callable
            Of the training.

        Returns
        -------
        Network
            After the last step.
        """
        return train(
            self.network,
            self.x,
            loss,
            steps=options.steps if steps is None else steps,
            learning_rate=options.learning_rate,
            callbacks=callbacks,
        )

    def train_model(
        self,
        loss: Loss[Network],
        options: Any,
        memberships: Tensor | None = None,
        *,
        after: int = 0,
    ) -> Network:
        """Train the network that predicts, and stop it by the rule of all methods.

        Every ``evaluate_every`` steps, and after the last, the validation points are
        looked at: the score is the lowest mean over the environments that the method
        works with, of correct labels or of minus the squared errors.  The weights of
        the best score are kept; a look at outputs that are not finite has none.

        Parameters
        ----------
        loss : callable
            As in :func:`~kerhrm.networks.training.train`.
        options : Options
            With ``learning_rate``, ``steps`` and ``evaluate_every``; None keeps the
            weights of the last step.
        memberships : Tensor, (E, m), optional
            Of the validation points in the environments; by default all are in one.
        after : int
            Steps before the first look: those that minimise something else.

        Returns
        -------
        Network
            With the weights that are kept; where no look has a score, with those of the
            last step.
        """
        if options.evaluate_every is None:
            return self.train(loss, options)

        def score(network: Network) -> Tensor:
            outputs = network(self.x_validation)
            scores = point_scores(outputs, self.y_validation, self.task)
            if memberships is None:
                return scores.mean()
            (worst,) = worst_environment_score(scores[None], memberships.double())
            return worst

        best = BestWeights(
            self.network,
            score,
            every=options.evaluate_every,
            steps=options.steps,
            after=after,
        )
        last = self.train(loss, options, callbacks=[best])
        return best.or_last(last)

    def validation_memberships(self) -> Tensor | None:
        """Memberships (E, m) of the validation points in the environments that the
        inputs name; None if they name none."""
        labels = self.environments_validation
        if labels is None:
            return None
        present = labels.unique()
        members = labels == present[:, None]
        return members.double()


@dataclass(frozen=True)
class Fitted:
    """Trained method: its outputs and what it has inferred.

    Attributes
    ----------
    networks : mapping of str to callable
        Functions from points (m, d) to outputs (m,), by the output's name.
    directions : mapping of str to Tensor, (k_max,)
        Coefficients of the reduced features, of outputs that are linear in them.
    environments : Tensor, (n + m, K), or None
        Memberships of the training points and then the validation points in the
        environments that the method has inferred.
    chosen : mapping of str to float
        What the method's own selection rule has chosen.
    iterations : mapping of int to (Tensor, Tensor or None)
        Of methods that iterate: coefficients (k_max,) that iteration t has left, and
        the training points' memberships (n, K) that it learned them from; iteration 0
        is ERM, without any.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import METHODS, NetworkOptions, build
    >>> from kerhrm.methods.inputs import Fitted, Inputs
    >>> x = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    >>> network, y = build(NetworkOptions(widths=[4]), seed=0, d=2), x[:, 0].sign()
    >>> inputs = Inputs(x, y, x, y, "classification", seed=0, network=network)
    >>> fitted = METHODS["erm"].train(inputs, METHODS["erm"].options(steps=5))
    >>> isinstance(fitted, Fitted), fitted.predict(x)["model"].shape
    (True, torch.Size([20]))
    """

    networks: Mapping[str, Callable[[Tensor], Tensor]] = field(default_factory=dict)
    directions: Mapping[str, Tensor] = field(default_factory=dict)
    environments: Tensor | None = None
    chosen: Mapping[str, float] = field(default_factory=dict)
    iterations: Mapping[int, tuple[Tensor, Tensor | None]] = field(default_factory=dict)

    @torch.no_grad()
    def predict(
        self, x: Tensor, psi: Tensor | None = None, f0: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Predict new points.

        Parameters
        ----------
        x : Tensor, (m, d)
            Points.
        psi, f0 : Tensor, (m, k_max), (m,), optional
            Their reduced features and the untrained network's outputs; without them the
            outputs that are linear in the features are left out.

        Returns
        -------
        dict of str to Tensor, (m,)
            By the output's name.
        """
        outputs = {name: network(x) for name, network in self.networks.items()}
        if psi is not None and f0 is not None:
            for name, theta in self.directions.items():
                outputs[name] = predict_linear(theta, psi, f0)
        return outputs


def one_hot_environments(environments: Tensor, count: int) -> Tensor:
    """Memberships (m, count), float32, from labels (m,) 0, ..., count - 1."""
    indicators = one_hot(environments, count)
    return indicators.to(torch.float32)


@torch.no_grad()
def errors(model: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Points (n, d) that a model classifies wrongly: (n,), int64, 0 or 1.

    An output that is not finite is no label, and wrong.
    """
    scores = point_scores(model(x), y, "classification")
    wrong = scores != 1
    return wrong.to(torch.int64)
