r"""Automatic feature reweighting, AFR (Qiu, Potapczynski, Izmailov & Wilson, ICML
2023).

1. ERM trains a network from w_0 on a part of the training points.
2. On the other points, drawn at random, its last layer is learned again.  With p_i the
   probability that ERM gives the label of point i, and n_y the number of points of a
   label, points count

   .. math:: \mu_i \propto \frac{1}{n_{y_i}} e^{-\gamma p_i}, \qquad \sum_i \mu_i = 1,

   and with z the last hidden layer and a constant 1, v ERM's coefficients,

   .. math::
        \min_\delta \; \sum_i \mu_i \, \ell\big(z_i^\top (v + \delta), y_i\big)
        + \frac{\lambda}{2} |\delta|^2 .

Their softmax has two rows of coefficients.  Rows that differ by delta have a squared
length of at least :math:`|\delta|^2 / 2`, so that lambda is theirs (the code,
github.com/AndPotap/afr, penalises the bias as well).  With :math:`\gamma = 0` labels
weigh equally, and nothing else is changed.

Both problems are convex, and here they are solved: the logistic one by Newton's method,
the squared one in closed form, where :math:`p_i = (1 + y_i f_i) / 2`, cut at 0 and 1.
The authors take 100 or 500 full-batch steps from v.  They choose gamma, lambda and the
step by validation points with group labels, which no method here has.
The environments are ERM's errors, as in :mod:`~kerhrm.methods.jtt`.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from kerhrm.errors import DataWarning, warn
from kerhrm.methods.inputs import Fitted, Inputs, errors, one_hot_environments
from kerhrm.methods.irm import point_loss
from kerhrm.methods.options import PointLoss
from kerhrm.methods.peer_options import AFROptions
from kerhrm.networks.base import Network
from kerhrm.networks.last_layer import LastLayer
from kerhrm.randomness import stream

NEWTON_STEPS = 100  #: at most; a dozen are usual
TOLERANCE = 1e-10  #: of the decrease that a step of Newton's method promises


def train_afr(inputs: Inputs, options: AFROptions) -> Fitted:
    """Train by ERM, and retrain the last layer on other points."""
    LastLayer.from_network(inputs.network)  # refuses other networks before any training
    held_out = hold_out(inputs, options.share, "afr")
    kept = ~held_out
    base = train_erm_on(inputs, kept, options, options.loss)
    last = LastLayer.from_network(base)
    x = inputs.x[held_out]
    y = inputs.y[held_out].double()
    z = last.features(x)
    start = last.coefficients
    outputs = z @ start
    weights = afr_weights(outputs, y, options.gamma, options.loss)
    change = solve(
        z, y, weights, start, penalty=options.penalty_weight, loss=options.loss
    )
    coefficients = start + change
    model = last.replaced(coefficients)
    wrong = errors(base, inputs.x, inputs.y)
    wrong_validation = errors(base, inputs.x_validation, inputs.y_validation)
    both = torch.cat([wrong, wrong_validation])
    environments = one_hot_environments(both, 2)
    return Fitted({"model": model}, environments=environments)


def hold_out(inputs: Inputs, share: float, name: str) -> Tensor:
    """Training points (n,), bool, that a method holds out; neither none nor all.

    Drawn by the stream ``name`` of the inputs' seed, whatever the labels, as the
    authors draw them.  Warns where a part is left with one label alone.
    """
    n = len(inputs.y)
    rounded = round(share * n)
    at_least_one = max(1, rounded)
    count = min(at_least_one, n - 1)
    random = stream(inputs.seed, name)
    permutation = random.permutation(n)
    drawn = permutation[:count]
    held_out = torch.zeros(n, dtype=torch.bool)
    held_out[torch.from_numpy(drawn)] = True
    held_out = held_out.to(inputs.y.device)
    parts = {"holds out": held_out, "trains on first": ~held_out}
    n_labels = len(inputs.y.unique())
    for use, part in parts.items():
        labels = inputs.y[part]
        if len(labels.unique()) < n_labels:
            text = f"the method {use} rows of one label alone ({len(labels)} in all)"
            warn(f"{text}; give more rows of the other label", DataWarning)
    return held_out


def train_erm_on(
    inputs: Inputs, points: Tensor, options: Any, loss: PointLoss
) -> Network:
    """Train from w_0 by ERM on some of the training points (n,), bool.

    ``options`` have ``steps``, ``learning_rate`` and ``evaluate_every``.
    """
    x = inputs.x[points]
    y = inputs.y[points]
    part = replace(inputs, x=x, y=y)

    def risk(f: Tensor, network: Network, step: int) -> Tensor:
        losses = point_loss(f, part.y, loss)
        return losses.mean()

    return part.train_model(risk, options)


def afr_weights(f: Tensor, y: Tensor, gamma: float, loss: PointLoss) -> Tensor:
    """Weights mu of points with outputs f (n,) and labels y (n,): (n,), of sum 1."""
    margin = f * y
    if loss == "logistic":
        probability = torch.sigmoid(margin)
    else:
        share = (1 + margin) / 2
        probability = share.clamp(0, 1)
    weights = torch.exp(-gamma * probability)
    for label in y.unique():
        of_label = y == label
        weights[of_label] /= of_label.sum()
    return weights / weights.sum()


def solve(
    z: Tensor,
    y: Tensor,
    weights: Tensor,
    start: Tensor,
    *,
    penalty: float,
    loss: PointLoss,
) -> Tensor:
    """Change delta (q,) of the coefficients ``start`` (q,) of least penalised loss.

    Parameters
    ----------
    z : Tensor, (n, q), float64
        Features.
    y : Tensor, (n,), float64
        Labels -1 and +1.
    weights : Tensor, (n,), float64
        Of the points, of sum 1.
    start : Tensor, (q,), float64
        v.
    penalty : float
        Lambda.
    loss : "squared" or "logistic"
        Of a point.

    Returns
    -------
    Tensor, (q,), float64
        The minimiser.
    """
    _, q = z.shape
    f = z @ start
    identity = torch.eye(q, dtype=z.dtype, device=z.device)
    ridge = penalty * identity
    if loss == "squared":
        residuals = y - f
        weighted = 2 * weights * residuals
        doubled = 2 * weights
        curvature = doubled[:, None] * z
        hessian = z.mT @ curvature + ridge
        slope = z.mT @ weighted
        return torch.linalg.solve(hessian, slope)

    def value(change: Tensor) -> Tensor:
        margins = -y * (f + z @ change)
        losses = softplus(margins)
        return weights @ losses + penalty / 2 * change @ change

    change = torch.zeros_like(start)
    for _ in range(NEWTON_STEPS):
        outputs = f + z @ change
        margins = -y * outputs
        wrong = torch.sigmoid(margins)
        pulls = z.mT @ (weights * y * wrong)
        gradient = penalty * change - pulls
        curvatures = weights * wrong * (1 - wrong)
        weighted_rows = curvatures[:, None] * z
        hessian = z.mT @ weighted_rows + ridge
        step = torch.linalg.solve(hessian, gradient)
        promised = gradient @ step
        if promised <= TOLERANCE:
            break
        before = value(change)
        length = 1.0
        while value(change - length * step) > before - length * promised / 4:
            length /= 2
        change = change - length * step
    return change
