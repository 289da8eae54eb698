r"""Just Train Twice, JTT (Liu, Haghgoo, Chen, Raghunathan, Koh, Sagawa, Liang & Finn,
ICML 2021).

1. An identification network is trained by ERM for a few steps from w_0.  The training
   points that it classifies wrongly are the error set E.
2. From w_0 again, a network is trained with the points of E counted :math:`\lambda`
   times (their algorithm 1),

   .. math::
        \min_w \; \frac{1}{n + (\lambda - 1) |E|}
        \Big( \lambda \sum_{i \in E} \ell_i + \sum_{i \notin E} \ell_i \Big) .

Where E is empty or :math:`\lambda = 1` this is ERM.  Their experiments stop both
trainings, and pick :math:`\lambda`, by validation points with group labels, which no
method here has.

The closed form does the same by linear least squares, with half of the weight on either
group.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs, errors, one_hot_environments
from kerhrm.methods.irm import environment_means, point_loss
from kerhrm.methods.options import ClosedFormOptions, JTTOptions, PointLoss
from kerhrm.methods.references import least_norm, linear_model
from kerhrm.networks.base import Network
from kerhrm.networks.training import Loss


def train_jtt(inputs: Inputs, options: JTTOptions) -> Fitted:
    """Train twice from w_0; the second environment is the error set.

    The validation points' environments are the identification network's errors on them.
    """
    wrong, held_out = identify(inputs, options)
    weights = torch.where(wrong > 0, options.upweight, 1.0)
    weights_of_points = weights.to(inputs.y)
    objective = weighted_loss(inputs, weights_of_points, options.loss)
    columns = one_hot_environments(held_out, 2)
    groups = columns.mT
    model = inputs.train_model(objective, options, groups)
    both = torch.cat([wrong, held_out])
    environments = one_hot_environments(both, 2)
    return Fitted({"model": model}, environments=environments)


def identify(inputs: Inputs, options: Any) -> tuple[Tensor, Tensor]:
    """Errors of the identification network on training and validation points.

    Parameters
    ----------
    inputs : Inputs
        Of a classification.
    options : Options
        With ``identification_steps``, ``loss`` and ``learning_rate``.

    Returns
    -------
    Tensor, (n,), int64
        1 of a training point that it classifies wrongly, else 0.
    Tensor, (m,), int64
        Likewise of the validation points.
    """
    ones = torch.ones_like(inputs.y)
    equal = weighted_loss(inputs, ones, options.loss)
    steps = options.identification_steps
    identification = inputs.train(equal, options, steps=steps)
    wrong = errors(identification, inputs.x, inputs.y)
    held_out = errors(identification, inputs.x_validation, inputs.y_validation)
    return wrong, held_out


def weighted_loss(inputs: Inputs, weights: Tensor, loss: PointLoss) -> Loss[Network]:
    """Weighted mean of the points' losses, as a function of the outputs.

    Weights (n,) count relative to their mean.
    """
    weights = weights / weights.mean()

    def objective(f: Tensor, network: Network, step: int) -> Tensor:
        losses = point_loss(f, inputs.y, loss)
        weighted = weights * losses
        return weighted.mean()

    return objective


def train_closed_form(inputs: Inputs, options: ClosedFormOptions) -> Fitted:
    """Least squares of the labels, and again with half of the weight on the errors."""
    x = inputs.x.double()
    y = inputs.y.double()
    share = 1 / len(y)
    equal = torch.full_like(y, share)
    identification = weighted_least_squares(x, y, equal)
    wrong = errors(identification, x, y)
    groups = environment_means(wrong)  # a single row where nothing is wrong
    group_weights = groups.mean(0)
    model = weighted_least_squares(x, y, group_weights)
    return Fitted({"model": model})


def weighted_least_squares(
    x: Tensor, y: Tensor, weights: Tensor
) -> Callable[[Tensor], Tensor]:
    """The a + b^T x of least weighted squares, of points (n, d), (n,), float64.

    Weights sum to 1.

    b is the shortest one, see :func:`~kerhrm.methods.references.least_norm`.
    """
    centre = weights @ x
    level = weights @ y
    root = weights.sqrt()
    weighted_x = root[:, None] * (x - centre)
    weighted_y = root * (y - level)
    slope = least_norm(weighted_x, weighted_y)
    return linear_model(level, centre, slope)
