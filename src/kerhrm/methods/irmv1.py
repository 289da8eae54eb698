r"""IRMv1 on given environments (Arjovsky et al. 2019), and the losses that others share with it.

.. math::
    \min_w \; \frac{1}{|E|} \sum_e \Big[ L^e(f_w)
    + \lambda \Big( \frac{\partial}{\partial s} L^e(s f_w) \Big|_{s = 1} \Big)^2 \Big],

their equation (IRMv1) for an output in R, with L^e the mean loss of environment e.  As in
the authors' code, lambda is 1 before the anneal step (here also no more than its later
value), a lambda above 1 divides the whole objective, which keeps gradients in one range, and
weight decay is a part of it: c |w|^2, biases included, beside the mean of the risks.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import softplus

from kerhrm.data.dataset import Task
from kerhrm.data.samples import Samples
from kerhrm.errors import KerhrmError
from kerhrm.methods.irm.options import IRM, PointLoss
from kerhrm.networks.protocol import Network
from kerhrm.networks.stopping import Snapshots
from kerhrm.networks.training import minimise
from kerhrm.rows import of_rows


def train_irmv1(
    samples: Samples, network: Network, options: IRM, stops: Sequence[int]
) -> list[Network]:
    """Train B networks on the environments that the samples name.

    Raises
    ------
    KerhrmError
        If a regression is to have the logistic loss.
    """
    check_loss(options.loss, samples.task)
    assert samples.environment is not None
    means = environment_means(samples.environment).to(samples.x)

    def objective(step: int, f: Tensor, networks: Network, rows: slice) -> Tensor:
        y = samples.y[rows]
        now = torch.as_tensor(of_rows(options.weight, rows, f))
        if step <= options.anneal:
            now = now.clamp(max=1)
        total = mean_risk(f, y, means[rows], options.loss) + decay(networks, options.weight_decay)
        total = total + now * irm_penalty(f, y, means[rows], options.loss)
        return total / now.clamp(min=1)

    path = Snapshots(network, stops, device=samples.x.device)
    minimise(
        network,
        samples.x,
        objective,
        steps=options.steps,
        learning_rate=options.learning_rate,
        after_step=path,
        keep=path.state,
    )
    return path.networks


def mean_risk(f: Tensor, y: Tensor, means: Tensor, loss: PointLoss) -> Tensor:
    """Mean over environments of L^e: outputs and labels (B, n), ``means`` (B, E, n), to (B,)."""
    return over_environments(within_environments(point_loss(f, y, loss), means), means)


def irm_penalty(f: Tensor, y: Tensor, means: Tensor, loss: PointLoss) -> Tensor:
    """Mean over environments of the squared scale-gradient: shapes as in :func:`mean_risk`."""
    gradient = within_environments(scale_gradient(f, y, loss), means)
    return over_environments(gradient**2, means)


def decay(networks: Network, weight: float) -> Tensor | float:
    """Weight times the sum of squares of each network's parameters: (B,)."""
    if weight == 0:
        return 0.0
    return weight * sum((p**2).reshape(len(p), -1).sum(-1) for p in networks.parameters())


def point_loss(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Loss of every point: (f - y)^2, or log(1 + exp(-y f)) for labels -1 and +1."""
    return (f - y) ** 2 if loss == "squared" else softplus(-y * f)


def scale_gradient(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Derivative of every point's loss of s f at s = 1: 2 f (f - y), or -y f / (1 + exp(y f))."""
    return 2 * f * (f - y) if loss == "squared" else -y * f * torch.sigmoid(-y * f)


def environment_means(environment: Tensor) -> Tensor:
    """Rows that average over an environment: labels (B, n) to (B, E, n), float64.

    The row of an environment without points is zero.
    """
    labels = torch.arange(int(environment.max()) + 1, device=environment.device)
    member = (environment.unsqueeze(-2) == labels[:, None]).double()
    return member / member.sum(-1, keepdim=True).clamp_min(1)


def within_environments(values: Tensor, means: Tensor) -> Tensor:
    """Means over the points of each environment: (B, n), (B, E, n) to (B, E)."""
    return (means @ values.unsqueeze(-1)).squeeze(-1)


def over_environments(values: Tensor, means: Tensor) -> Tensor:
    """Mean over the environments that have points: (B, E), (B, E, n) to (B,)."""
    return values.sum(-1) / means.any(-1).sum(-1)


def check_loss(loss: PointLoss, task: Task) -> None:
    """Refuse the logistic loss for targets that are no labels."""
    if task == "regression" and loss == "logistic":
        raise KerhrmError("the logistic loss needs labels -1 and +1", 'use loss: "squared"')
