r"""Heterogeneous risk minimisation, HRM (Liu, Hu, Cui, Li & Shen, ICML 2021).

KerHRM's predecessor: linear models on raw features, whose invariant part gates select.
A clustering of the variant part and a selection of the invariant one take turns:

1. M_c: K linear models on (1 - p) x, p being the probabilities of the gates, each point
   in the cluster of its smallest squared residual.  There is no intercept, with which
   clusters would split the labels as soon as all features are selected.
2. M_p: stochastic gates :math:`g = \mathrm{clamp}(c + \sigma \epsilon, 0, 1)`, one
   standard normal epsilon per feature and step, and

   .. math::
        \min_{w, c} \; \frac{1}{|E|} \sum_e L^e(g \cdot w) + \alpha \sum_d g_d \,
        \mathrm{Var}_e \Big( \frac{\partial L^e}{\partial w_d} \Big)
        + \lambda \sum_d p_d, \qquad p_d = P(g_d > 0) = \Phi(c_d / \sigma).

alpha and lambda grow from turn to turn.  In the end, least squares on the features of
p_d above a threshold.  The loss is squared (labels -1 and +1), hence all gradients are
functions of the environments' second moments, and a step takes no pass over the points.

The authors' code, unlike their text, has :math:`\lambda (\sum_d p_d - d)^2`, which
pulls gates open, in place of the expected number of open gates: ``gate_goal`` chooses.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.methods.descent import adam
from kerhrm.methods.inputs import Fitted, Inputs, one_hot_environments
from kerhrm.methods.options import HRMOptions
from kerhrm.methods.references import least_norm
from kerhrm.randomness import stream


def train_hrm(inputs: Inputs, options: HRMOptions) -> Fitted:
    """Cluster and select in turn, then least squares on the selected features.

    x is neither centred nor scaled, and the predictor has no intercept.  Its
    environments are the clusters of the last turn, and a point goes to that of its
    smallest squared residual.
    """
    x, y = inputs.x, inputs.y
    everything = torch.ones(x.shape[1], dtype=torch.bool)
    start = 2 * least_squares(x, y, everything).cpu().numpy()  # gates of 1/2
    p = np.zeros_like(start)
    for turn in range(options.n_iterations):
        clustered_by = torch.from_numpy(p).to(x)
        environments, models = cluster(
            x, y, clustered_by, inputs.seed, options, str(turn)
        )
        slopes = gradient_rows(x, y, environments)
        growth = options.growth**turn
        centre, _ = learn_gates(
            slopes, start, inputs.seed, options, str(turn), growth=growth
        )
        p = gate_probability(centre, options.gate_noise)
    w = least_squares(x, y, torch.from_numpy(selected_features(centre, options)))
    points = torch.cat([x, inputs.x_validation]), torch.cat([y, inputs.y_validation])
    split = nearest((1 - clustered_by) * points[0], points[1], models)
    memberships = one_hot_environments(split, options.n_environments)
    return Fitted({"model": lambda points: points @ w}, environments=memberships)


def gate_probability(centre: np.ndarray, sigma: float) -> np.ndarray:
    """P(clamp(c + sigma epsilon, 0, 1) > 0) for a standard normal epsilon."""
    return torch.special.ndtr(torch.from_numpy(centre) / sigma).numpy()


def selected_features(centre: np.ndarray, options: HRMOptions) -> np.ndarray:
    """Gates above the threshold, (d,) bool, or the most open one where there is none.

    Without any feature all outputs are zero, which is no class.
    """
    selected = gate_probability(centre, options.gate_noise) > options.threshold
    return selected if selected.any() else np.arange(len(centre)) == centre.argmax()


def least_squares(x: Tensor, y: Tensor, selected: Tensor) -> Tensor:
    """Coefficients of least norm (d,), zero off ``selected`` (d,), of points (n, d),
    (n,)."""
    return least_norm((x * selected.to(x.device)).double(), y.double()).to(x)


def cluster(
    x: Tensor, y: Tensor, p: Tensor, seed: int, options: HRMOptions, name: str
) -> tuple[Tensor, Tensor]:
    r"""M_c: split the points by linear models of the variant part (1 - p) x.

    From a random assignment and from zero: an equal share of the steps of Adam on every
    cluster's mean squared residual :math:`+ (l_1 / d) \sum_d p_d |w_d|`, then
    reassignment, ``cluster_rounds`` times.  A cluster that has lost all its points
    keeps its model and may win some back.

    x (n, d), y (n,), p (d,) to clusters (n,), int64, and their linear models (K, d);
    ``name`` is the random start's.
    """
    (n, d), k = x.shape, options.n_environments
    draw = stream(seed, "hrm", "clusters", name).integers(k, size=n)
    environments = torch.from_numpy(draw).to(x.device)
    variant, l1 = (1 - p) * x, (options.cluster_l1 / d * p).cpu().numpy()
    models = x.new_zeros(k, d)
    ends = (
        np.arange(options.cluster_rounds + 1)
        * options.cluster_steps
        // options.cluster_rounds
    )
    for steps in np.diff(ends).tolist():
        moments = cluster_moments(variant, y, environments, k)
        models = torch.from_numpy(
            fit_models(models.cpu().numpy(), *moments, l1, steps, options.cluster_rate)
        ).to(x)
        environments = nearest(variant, y, models)
    return environments, models


def nearest(x: Tensor, y: Tensor, models: Tensor) -> Tensor:
    """Cluster of the smallest squared residual: (n, d), (n,), (K, d) to (n,), int64."""
    return (models @ x.mT - y).square().argmin(0)


def cluster_moments(
    x: Tensor, y: Tensor, environments: Tensor, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """X_e^T X_e / N_e (k, d, d) and X_e^T y_e / N_e (k, d); zero where N_e is."""
    risks = environment_risks(x.double(), y.double(), one_hot(environments, k).double())
    return risks.second.to(x.dtype).cpu().numpy(), risks.cross.to(x.dtype).cpu().numpy()


def fit_models(
    start: np.ndarray,
    second: np.ndarray,
    cross: np.ndarray,
    l1: np.ndarray,
    steps: int,
    learning_rate: float,
) -> np.ndarray:
    """Adam on w^T G w - 2 c^T w + sum_d l1_d |w_d| from (K, d), for every cluster."""
    gram, target = 2 * second, 2 * cross

    def gradient(step: int, w: np.ndarray) -> np.ndarray:
        return (gram @ w[..., None])[..., 0] - target + l1 * np.sign(w)

    return adam(start, gradient, steps=steps, learning_rate=learning_rate)


class GradientRows(NamedTuple):
    """Mean and contrasts of the environments' gradients at v, as ``slope @ v +
    offset``."""

    slope: np.ndarray  #: (K d, d), symmetric blocks, the mean's and K - 1 contrasts'
    offset: np.ndarray  #: (K d,)


def gradient_rows(x: Tensor, y: Tensor, environments: Tensor) -> GradientRows:
    r"""Gradients of the environments with points with respect to v = g w.

    The gradient of L^e is 2 (G_e v - c_e).  A contrast is an environment less the mean
    of those before it, with Welford's factors: the squares of all sum to the variance.
    """
    occupied = environments.unique()
    labels, k, d = torch.searchsorted(occupied, environments), len(occupied), x.shape[1]
    second, cross = cluster_moments(x, y, labels, k)
    before = np.arange(k)
    rows = np.eye(k) - np.tri(k, k, -1) / np.maximum(before, 1)[:, None]
    rows *= np.sqrt(before / ((before + 1) * k))[:, None]
    rows[0] = 1 / k  # no environment is before the first
    rows = rows.astype(second.dtype)
    slope = 2 * (rows @ second.reshape(k, -1)).reshape(k * d, d)
    return GradientRows(slope, -2 * (rows @ cross).reshape(k * d))


def learn_gates(
    gradients: GradientRows,
    start: np.ndarray,
    seed: int,
    options: HRMOptions,
    name: str,
    growth: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """M_p: centres, from 1/2, and w, from ``start``, for given environments, by Adam.

    All are (d,).  ``name`` is the gates' noise's; ``growth`` multiplies alpha and
    lambda.
    """
    size, sigma = (options.gate_steps, len(start)), options.gate_noise
    noise = stream(seed, "hrm", "gates", name).standard_normal(size, "float32") * sigma
    noise = noise.astype(start.dtype, copy=False)
    alpha, cost = growth * options.penalty_weight, growth * options.gate_cost

    def gradient(step: int, both: np.ndarray) -> np.ndarray:
        w, centre = both
        by_w, by_centre = gate_gradients(w, centre, noise[step - 1], gradients, alpha)
        return np.stack([by_w, by_centre + cost * cost_gradient(centre, options)])

    both = np.stack([start, np.full_like(start, 0.5)])
    both = adam(
        both, gradient, steps=options.gate_steps, learning_rate=options.gate_rate
    )
    return both[1], both[0]


def gate_gradients(
    w: np.ndarray,
    centre: np.ndarray,
    noise: np.ndarray,
    gradients: GradientRows,
    alpha: float,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Derivatives (d,) of risk and penalty with respect to w and c.

    With the contrasts delta_j of :func:`gradient_rows` the penalty is
    :math:`\alpha \sum_d g_d^3 \sum_j \delta_{jd}^2`: the derivative with respect to w_d
    is g_d times that with respect to v_d.  ``noise`` (d,) is sigma epsilon.
    """
    d = len(w)
    opened = centre + noise
    gate = np.minimum(np.maximum(opened, 0), 1)
    rows = gradients.slope @ (gate * w) + gradients.offset
    mean, contrasts = rows[:d], rows[d:].reshape(-1, d)
    square = gate * gate
    cubed = (contrasts * (gate * square)).ravel()
    by_v = mean + 2 * alpha * (cubed @ gradients.slope[d:])
    by_gate = w * by_v + 3 * alpha * square * np.square(contrasts).sum(0)
    return gate * by_v, by_gate * (gate == opened)


def cost_gradient(centre: np.ndarray, options: HRMOptions) -> np.ndarray:
    """Derivative of sum_d p_d, or of (sum_d p_d - d)^2, with respect to c: (d,)."""
    sigma = options.gate_noise
    density = np.exp(centre * centre * (-0.5 / sigma**2)) / (
        sigma * math.sqrt(2 * math.pi)
    )
    if options.gate_goal == "all":
        density = density * (2 * (gate_probability(centre, sigma) - 1).sum())
    return density
