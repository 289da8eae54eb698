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
from kerhrm.progress import progress
from kerhrm.randomness import stream


def train_hrm(inputs: Inputs, options: HRMOptions) -> Fitted:
    """Cluster and select in turn, then least squares on the selected features.

    x is neither centred nor scaled, and the predictor has no intercept.  Its
    environments are the clusters of the last turn, and a point goes to that of its
    smallest squared residual.
    """
    x = inputs.x
    y = inputs.y
    _, d = x.shape
    everything = torch.ones(d, dtype=torch.bool)
    coefficients = least_squares(x, y, everything)
    start = 2 * coefficients.cpu().numpy()  # gates of 1/2
    p = np.zeros_like(start)
    turns = range(options.n_iterations)
    for turn in progress(turns, "iterations"):
        clustered_by = torch.from_numpy(p).to(x)
        environments, models = cluster(
            x, y, clustered_by, inputs.seed, options, str(turn)
        )
        gradients = gradient_rows(x, y, environments)
        centre, _ = learn_gates(
            gradients,
            start,
            inputs.seed,
            options,
            name=str(turn),
            growth=options.growth**turn,
        )
        p = gate_probability(centre, options.gate_noise)
    chosen = selected_features(centre, options)
    selected = torch.from_numpy(chosen)
    w = least_squares(x, y, selected)
    if not np.isfinite(centre).all():
        w = torch.full_like(w, torch.nan)  # diverged gates select nothing
    points = torch.cat([x, inputs.x_validation])
    labels = torch.cat([y, inputs.y_validation])
    variant = (1 - clustered_by) * points
    split = nearest(variant, labels, models)
    return Fitted(
        networks={"model": lambda points: points @ w},
        environments=one_hot_environments(split, options.n_environments),
    )


def gate_probability(centre: np.ndarray, sigma: float) -> np.ndarray:
    """P(clamp(c + sigma epsilon, 0, 1) > 0) for a standard normal epsilon."""
    centres = torch.from_numpy(centre)
    standardised = centres / sigma
    probabilities = torch.special.ndtr(standardised)
    return probabilities.numpy()


def selected_features(centre: np.ndarray, options: HRMOptions) -> np.ndarray:
    """Gates above the threshold, (d,) bool, or the most open one where there is none.

    Without any feature all outputs are zero, which is no class.
    """
    p = gate_probability(centre, options.gate_noise)
    selected = p > options.threshold
    if selected.any():
        return selected
    numbers = np.arange(len(centre))
    return numbers == centre.argmax()


def least_squares(x: Tensor, y: Tensor, selected: Tensor) -> Tensor:
    """Coefficients of least norm (d,), zero off ``selected`` (d,), of points (n, d),
    (n,)."""
    mask = selected.to(x.device)
    columns = x * mask
    coefficients = least_norm(columns.double(), y.double())
    return coefficients.to(x)


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
    n, d = x.shape
    k = options.n_environments
    random = stream(seed, "hrm", "clusters", name)
    assigned = random.integers(k, size=n)
    numbers = torch.from_numpy(assigned)
    environments = numbers.to(x.device)
    variant = (1 - p) * x
    strength = options.cluster_l1 / d
    penalty = strength * p
    l1 = penalty.cpu().numpy()
    models = x.new_zeros(k, d)
    rounds = np.arange(options.cluster_rounds + 1)
    ends = rounds * options.cluster_steps // options.cluster_rounds
    n_steps = np.diff(ends)
    for steps in n_steps.tolist():
        second, cross = cluster_moments(variant, y, environments, k)
        fitted = fit_models(
            start=models.cpu().numpy(),
            second=second,
            cross=cross,
            l1=l1,
            steps=steps,
            learning_rate=options.cluster_rate,
        )
        models = torch.from_numpy(fitted).to(x)
        environments = nearest(variant, y, models)
    return environments, models


def nearest(x: Tensor, y: Tensor, models: Tensor) -> Tensor:
    """Cluster of the smallest squared residual: (n, d), (n,), (K, d) to (n,), int64."""
    residuals = models @ x.mT - y
    squares = residuals.square()
    return squares.argmin(0)


def cluster_moments(
    x: Tensor, y: Tensor, environments: Tensor, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """X_e^T X_e / N_e (k, d, d) and X_e^T y_e / N_e (k, d); zero where N_e is."""
    indicators = one_hot(environments, k)
    memberships = indicators.double()
    risks = environment_risks(x.double(), y.double(), memberships)
    second = risks.second.to(x.dtype)
    cross = risks.cross.to(x.dtype)
    return second.cpu().numpy(), cross.cpu().numpy()


def fit_models(
    start: np.ndarray,
    second: np.ndarray,
    cross: np.ndarray,
    l1: np.ndarray,
    steps: int,
    learning_rate: float,
) -> np.ndarray:
    """Adam on w^T G w - 2 c^T w + sum_d l1_d |w_d| from (K, d), for every cluster."""
    gram = 2 * second
    target = 2 * cross

    def gradient(step: int, w: np.ndarray) -> np.ndarray:
        columns = gram @ w[..., None]
        products = columns[..., 0]
        signs = np.sign(w)
        return products - target + l1 * signs

    return adam(start, gradient, steps=steps, learning_rate=learning_rate)


class GradientRows(NamedTuple):
    """Mean and contrasts of the environments' gradients at v, ``slope @ v + offset``.

    Attributes
    ----------
    slope : ndarray, (K d, d)
        Symmetric blocks: that of the mean, and those of K - 1 contrasts.
    offset : ndarray, (K d,)
        Likewise.
    """

    slope: np.ndarray
    offset: np.ndarray


def gradient_rows(x: Tensor, y: Tensor, environments: Tensor) -> GradientRows:
    r"""Gradients of the environments with points with respect to v = g w.

    The gradient of L^e is 2 (G_e v - c_e).  A contrast is an environment less the mean
    of those before it, with Welford's factors: the squares of all sum to the variance.
    """
    occupied = environments.unique()
    labels = torch.searchsorted(occupied, environments)
    k = len(occupied)
    _, d = x.shape
    second, cross = cluster_moments(x, y, labels, k)
    before = np.arange(k)
    n_before = np.maximum(before, 1)
    lower = np.tri(k, k, -1)
    mean_before = lower / n_before[:, None]
    identity = np.eye(k)
    rows = identity - mean_before
    denominators = (before + 1) * k
    factors = np.sqrt(before / denominators)
    rows *= factors[:, None]
    rows[0] = 1 / k  # no environment is before the first
    rows = rows.astype(second.dtype)
    flat = second.reshape(k, -1)
    doubled_rows = rows @ flat
    slope = 2 * doubled_rows
    crossed_rows = rows @ cross
    offset = -2 * crossed_rows
    n_rows = k * d
    return GradientRows(slope.reshape(n_rows, d), offset.reshape(n_rows))


def learn_gates(
    gradients: GradientRows,
    start: np.ndarray,
    seed: int,
    options: HRMOptions,
    name: str,
    growth: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """M_p: gates and a linear model for given environments, by Adam.

    Parameters
    ----------
    gradients : GradientRows
        Of the environments.
    start : ndarray, (d,)
        Of the linear model.
    seed : int
        Of the gates' noise.
    options : HRMOptions
        Of the gates.
    name : str
        Of the stream of the noise.
    growth : float
        Factor of alpha and lambda.

    Returns
    -------
    centre, w : ndarray, (d,)
        Centres of the gates, from 1/2 on, and the linear model.
    """
    size = (options.gate_steps, len(start))
    random = stream(seed, "hrm", "gates", name)
    standard = random.standard_normal(size, "float32")
    noise = standard * options.gate_noise
    noise = noise.astype(start.dtype, copy=False)
    alpha = growth * options.penalty_weight
    cost = growth * options.gate_cost

    def gradient(step: int, both: np.ndarray) -> np.ndarray:
        w, centre = both
        drawn = noise[step - 1]
        by_w, by_centre = gate_gradients(w, centre, drawn, gradients, alpha)
        cost_slope = cost_gradient(centre, options)
        by_centre = by_centre + cost * cost_slope
        return np.stack([by_w, by_centre])

    centre = np.full_like(start, 0.5)
    both_starts = np.stack([start, centre])
    w, centre = adam(
        both_starts,
        gradient,
        steps=options.gate_steps,
        learning_rate=options.gate_rate,
    )
    return centre, w


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
    not_negative = np.maximum(opened, 0)
    gate = np.minimum(not_negative, 1)
    coefficients = gate * w
    rows = gradients.slope @ coefficients + gradients.offset
    mean = rows[:d]
    contrasts = rows[d:].reshape(-1, d)
    square = gate * gate
    powers = gate * square
    cubed = (contrasts * powers).ravel()
    penalty_slope = cubed @ gradients.slope[d:]
    by_v = mean + 2 * alpha * penalty_slope
    squares = np.square(contrasts)
    variance = squares.sum(0)
    by_gate = w * by_v + 3 * alpha * square * variance
    inside = gate == opened  # elsewhere the clamp stops the derivative
    return gate * by_v, by_gate * inside


def cost_gradient(centre: np.ndarray, options: HRMOptions) -> np.ndarray:
    """Derivative of sum_d p_d, or of (sum_d p_d - d)^2, with respect to c: (d,)."""
    sigma = options.gate_noise
    exponents = centre * centre * (-0.5 / sigma**2)
    exponential = np.exp(exponents)
    unit = sigma * math.sqrt(2 * math.pi)
    density = exponential / unit
    if options.gate_goal == "few":
        return density
    p = gate_probability(centre, sigma)
    deficits = p - 1
    excess = deficits.sum()
    return density * (2 * excess)
