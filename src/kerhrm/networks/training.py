"""Full-batch training of a network, and the callbacks that watch it."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.optim.adam import adam

from kerhrm.memory import require, size_of
from kerhrm.networks.base import Network
from kerhrm.networks.captured import CapturedStep, own_stream
from kerhrm.progress import progress

N = TypeVar("N", bound=Network)
#: what helps where the memory is not enough
NARROWER = "use fewer points or a network with fewer hidden units (network.widths), "
NARROWER += "or a machine with more memory"
#: number of a step; a tensor () on the GPU where the step is captured there
Step = Any

#: scalar loss of the outputs (n,), the trainable network and the step 1, 2, ...
Loss = Callable[[Tensor, N, Step], Tensor]

#: called after every step with its number, the network and the loss before it; True:
#: the last step
Callback = Callable[[int, N, Tensor], bool | None]


@torch.inference_mode(False)  # gradients, also where the caller has none
def train(
    initial: N,
    x: Tensor,
    loss: Loss[N],
    *,
    steps: int,
    learning_rate: float,
    callbacks: Sequence[Callback[N]] = (),
    steps_alike: bool = False,
) -> N:
    """Minimise a loss of the outputs at points x by Adam.

    Parameters
    ----------
    initial : Network
        Not changed.
    x : Tensor, (n, d)
        On the device of the training.
    loss : callable
        ``loss(f, network, step)`` with the outputs f (n,) of the network, which is
        trainable.
    steps : int
        At most as many.
    learning_rate : float
        Adam's, with the default moments (Kingma & Ba 2015).
    callbacks : sequence of callable
        Called as ``callback(step, network, loss)``; the loss is overwritten by the next
        step.
    steps_alike : bool
        The loss does the same operations at every step, may be given the step as a
        tensor, and reads no number back.  A perceptron's step is then launched on a GPU
        as one graph (:mod:`kerhrm.networks.captured`).

    Returns
    -------
    Network
        With the weights after the last step.

    Raises
    ------
    TooLittleMemory
        As :func:`require_training`.
    """
    require_training(initial, x)
    _keep_freed_memory()
    network = initial.trainable(x.device)
    weights = list(network.weights.values())
    optimiser = Adam(weights, learning_rate)
    outputs = network.at(x)

    def descend(step: Step) -> Tensor:
        f = outputs(network)
        objective = loss(f, network, step)
        optimiser.zero_grad()
        objective.backward()
        optimiser.step()
        return objective.detach()

    on_gpu = x.device.type == "cuda"
    captured = steps_alike and on_gpu and network.fixed_operations
    with own_stream(x.device) if captured else nullcontext():
        take = CapturedStep(descend, x.device) if captured else descend
        for step in progress(range(1, steps + 1), "training steps"):
            before = take(step)
            ends = [callback(step, network, before) for callback in callbacks]
            if any(ends):
                break
    return network.detached()


def training_bytes(network: Network, x: Tensor) -> int:
    """Bytes that a training on points (n, d) takes at least, without its arguments.

    The hidden layers of all points, a copy of the weights, and Adam's two moments.
    """
    of_weights = size_of(network.weights.values())
    return x.element_size() * len(x) * network.n_hidden + 3 * of_weights


def require_training(network: Network, x: Tensor, n_networks: int = 1) -> None:
    """Refuse a training that needs more memory than there is.

    PyTorch itself says what a GPU does not hold.

    Parameters
    ----------
    network : Network
        w_0.
    x : Tensor, (n, d)
        Points.
    n_networks : int
        Trained together.

    Raises
    ------
    TooLittleMemory
        In one line, with both numbers.
    """
    if x.is_cuda:
        return
    given = size_of([x, *network.weights.values()])
    n_bytes = given + n_networks * training_bytes(network, x)
    require(n_bytes, f"the training of a network on {len(x)} points", NARROWER)


class BestWeights(Generic[N]):
    """Callback that keeps the weights with the best score; one that is NaN is none.

    Parameters
    ----------
    initial : Network
        Kept where no score is a number.
    score : callable
        Of a network to a scalar, the larger the better; among equals the earliest step
        stays.
    every, steps : int
        Steps between two scores; step ``steps`` is scored, too.  A training that may
        end sooner shows its last step by :meth:`look`.
    after : int
        Steps without a score at the beginning, while another objective is minimised.
    """

    def __init__(
        self,
        initial: N,
        score: Callable[[N], Tensor],
        *,
        every: int,
        steps: int,
        after: int = 0,
    ) -> None:
        self.network = initial
        self.best_score = float("-inf")
        self.best_step = 0
        self.score = score
        self.every = every
        self.steps = steps
        self.after = after
        self.last_look = 0

    def __call__(self, step: int, network: N, loss: Tensor) -> None:
        on_time = step % self.every == 0
        due = on_time and step > self.after
        is_last = step == self.steps
        if due or is_last:
            self.look(step, network)

    @torch.no_grad()
    def look(self, step: int, network: N) -> None:
        """Score the weights of a step, unless they are scored already."""
        if step == self.last_look:
            return
        self.last_look = step
        score = float(self.score(network))
        if score > self.best_score:
            self.network = network.each(lambda w: w.detach().clone())
            self.best_score = score
            self.best_step = step

    def or_last(self, last: N) -> N:
        """Weights with the best score; the last ones where no score is a number.

        Their outputs then show that the training diverged, as those of the initial
        weights would not.
        """
        return self.network if self.best_step else last


class EarlyStopping:
    """Callback that ends a training whose loss has stopped falling, and counts steps.

    Steps are cut into windows.  At the end of each the least loss so far is compared
    with that of the windows before; training ends where it has fallen by no more than
    the share ``tol``.

    Parameters
    ----------
    tol : float
        0: never, unless the loss has not fallen at all.
    window : int
        Steps.
    """

    def __init__(self, tol: float, window: int) -> None:
        self.tol = tol
        self.window = window
        self.n_steps = 0
        #: stays where the training is, and comes to the host once a window
        self.least = torch.tensor(torch.inf)
        self.before = float("inf")

    def __call__(self, step: int, network: Network, loss: Tensor) -> bool:
        self.n_steps = step
        self.least = torch.fmin(self.least, loss.detach())
        inside_window = step % self.window != 0
        if inside_window:
            return False
        least = float(self.least)
        fall = self.before - least
        negligible = self.tol * abs(least)
        ended = fall <= negligible
        self.before = least
        return ended


class Adam:
    """Adam without an optimiser's object, which would import PyTorch's compiler (two
    seconds).

    The same numbers as ``torch.optim.Adam(..., fused=True)``.

    Parameters
    ----------
    parameters : list of Tensor
        Changed in place by their ``grad``.
    learning_rate : float
        The moments have the default decays .9 and .999.
    """

    def __init__(self, parameters: list[Tensor], learning_rate: float) -> None:
        self.parameters = parameters
        self.learning_rate = learning_rate
        self.first = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        self.second = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        self.steps = [torch.zeros((), device=p.device).float() for p in parameters]

    def zero_grad(self) -> None:
        """Drop the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Descend once; a parameter without a gradient stays."""
        used = [i for i, p in enumerate(self.parameters) if p.grad is not None]
        parameters = [self.parameters[i] for i in used]
        gradients = [p.grad for p in parameters]
        adam(
            parameters,
            gradients,  # type: ignore[arg-type]  # none is None
            exp_avgs=[self.first[i] for i in used],
            exp_avg_sqs=[self.second[i] for i in used],
            max_exp_avg_sqs=[],
            state_steps=[self.steps[i] for i in used],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.learning_rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )


def _keep_freed_memory() -> None:
    """Let the C library keep what is freed, up to 32 MB (mallopt(3), M_MMAP_THRESHOLD).

    Hidden layers that go back to the system after every step cost page faults in the
    next, up to half of its time.  A freed block raises the threshold to its size.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)
