"""Gates of HRM (M_p): they select the features whose gradients agree.

The objective is in :mod:`kerhrm.methods.hrm`.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kerhrm.methods.hrm_clusters import cluster_moments
from kerhrm.methods.numpy_adam import adam
from kerhrm.methods.options import HRMOptions
from kerhrm.randomness import stream


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


def gate_probability(centre: np.ndarray, sigma: float) -> np.ndarray:
    """P(clamp(c + sigma epsilon, 0, 1) > 0) for a standard normal epsilon."""
    centres = torch.from_numpy(centre)
    standardised = centres / sigma
    probabilities = torch.special.ndtr(standardised)
    return probabilities.numpy()
