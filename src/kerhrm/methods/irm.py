r"""IRMv1 on given environments (Arjovsky et al. 2019), and the losses that IGA and EIIL
share.

.. math::
    \min_w \; \frac{1}{|E|} \sum_e \Big[ L^e(f_w)
    + \lambda \Big( \frac{\partial}{\partial s} L^e(s f_w) \Big|_{s = 1} \Big)^2 \Big],

their equation (IRMv1) for an output in R, with L^e the mean loss of environment e.  As
in the authors' code, lambda is 1 before the anneal step (here also no more than its
later value), a lambda above 1 divides the whole objective, which keeps gradients in one
range, and weight decay is a part of it: c |w|^2, biases included, next to the mean of
the risks.
"""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.options import IRMOptions, PointLoss, loss_of
from kerhrm.networks.base import Network


def train_irm(inputs: Inputs, options: IRMOptions) -> Fitted:
    """Train on the environments that the inputs name."""
    means = given_means(inputs)
    memberships = inputs.validation_memberships()
    return train_on(means, inputs, options, memberships)


def train_on(
    means: Tensor,
    inputs: Inputs,
    options: IRMOptions,
    memberships: Tensor | None = None,
) -> Fitted:
    """Train on environments whose means over the points are the rows of ``means`` (E,
    n), and stop by the validation points' memberships (E, m).

    Looks begin with the penalty: before the anneal step the network is ERM's.
    """
    loss = loss_of(options.loss, inputs.task)

    def objective(f: Tensor, network: Network, step: int) -> Tensor:
        weight = options.penalty_weight
        if step <= options.anneal:
            weight = min(weight, 1.0)
        losses = point_loss(f, inputs.y, loss)
        risks = means @ losses
        gradients = scale_gradient(f, inputs.y, loss)
        slopes = means @ gradients
        mean_risk = risks.mean()
        risk = mean_risk + decay(network, options.weight_decay)
        mean_square = (slopes**2).mean()
        penalty = weight * mean_square
        divisor = max(weight, 1.0)
        return (risk + penalty) / divisor

    model = inputs.train_model(objective, options, memberships, after=options.anneal)
    return Fitted({"model": model})


def train_pooled(inputs: Inputs, options: IRMOptions, steps: int) -> Network:
    """ERM with the loss and weight decay of IRMv1.

    The reference that environments violate.
    """
    loss = loss_of(options.loss, inputs.task)

    def pooled_risk(f: Tensor, network: Network, step: int) -> Tensor:
        losses = point_loss(f, inputs.y, loss)
        risk = losses.mean()
        return risk + decay(network, options.weight_decay)

    return inputs.train(pooled_risk, options, steps=steps)


def decay(network: Network, weight: float) -> Tensor | float:
    """Weight times the sum of squares of a network's weights."""
    if weight == 0:
        return 0.0
    weights = network.weights.values()
    squares = sum((w**2).sum() for w in weights)
    return weight * squares


def point_loss(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Loss of every point: (f - y)^2, or log(1 + exp(-y f)) for labels -1 and +1."""
    if loss == "squared":
        residuals = f - y
        return residuals**2
    return softplus(-y * f)


def scale_gradient(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Derivative of every point's loss of s f at s = 1.

    2 f (f - y), or -y f / (1 + exp(y f)).
    """
    if loss == "squared":
        residuals = f - y
        return 2 * f * residuals
    return -y * f * torch.sigmoid(-y * f)


def given_means(inputs: Inputs) -> Tensor:
    """:func:`environment_means` of the environments that the inputs name, (E, n), with
    the points' precision and device."""
    environments = inputs.require_environments()
    means = environment_means(environments)
    return means.to(inputs.x)


def environment_means(environments: Tensor) -> Tensor:
    """Rows that average over each environment with points.

    Labels (n,) to (E, n), float64.
    """
    labels = environments.unique()
    is_member = environments == labels[:, None]
    members = is_member.double()
    sizes = members.sum(-1, keepdim=True)
    return members / sizes
