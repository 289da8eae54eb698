"""Gain of two environments on the residuals of one regression.

A mixture of K = 2 regressions, fitted to residuals, gains likelihood from anything that
one regression with constant noise cannot say.  Of that, noise whose scale depends on x
is no environment, although two opposite regressions mimic it: the mixture

    p(e | psi) = sum_j q_j N(e | psi^T Theta_j, sigma^2)

has the variance sigma^2 + q_1 q_2 (psi^T (Theta_1 - Theta_2))^2, which grows along one
direction. The statistic is therefore the gain in mean log-likelihood over the better of
two explanations: one regression with constant noise, and the Gaussian with the
mixture's own mean and variance at every point.  What is left speaks of two lines in the
residuals, and not of a cone.

EM starts at random, and where moments of the residuals point to: two lines along a
direction v make E[(e^2 - 1) psi psi^T] large along v, and, unless they share the points
evenly, E[e^3 psi], too. Each such v splits the points by the sign of e psi^T v.  The
mixture's regressions are linear in a few such directions and that of E[e psi], so that
many features cost neither time nor power.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.em import EM, LOG_2PI
from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.progress import progress

DIRECTIONS = 2  #: of second moments that EM starts with
#: directions of second moments that the mixture's regressions are linear in
SUBSPACE = 6


def gains(
    features: np.ndarray,
    residuals: np.ndarray,
    options: HeterogeneityOptions,
    seed: int,
) -> Iterator[float]:
    """Gain of the best usable start for each of B sets of residuals, in turn.

    A start that leaves an environment empty is not usable; without a usable one, or
    below 0, the gain is 0.  That the residual alone tells its environment does not make
    a start degenerate, as it does where environments are learned: normal scores gain
    nothing by such a split, and with little noise the true environments look like one.

    Parameters
    ----------
    features : ndarray, (n, k)
        Columns are orthonormal up to a factor.
    residuals : ndarray, (B, n)
        Normal scores.
    options : HeterogeneityOptions
        Of the mixtures.
    seed : int
        Of their random starts.

    Yields
    ------
    float
        Gain in nats per point.
    """
    psi = torch.from_numpy(features)
    n = len(psi)
    n_sets = len(residuals)
    n_starts = n_sets * options.n_init
    starts = random_starts(seed, n_starts, n, 2, "heterogeneity")
    by_set = starts.split(options.n_init)
    residual_sets = torch.from_numpy(residuals)
    sets = zip(residual_sets, by_set, strict=True)
    for e, random in progress(sets, "permutations of the pre-test", len(residuals)):
        led = along_singled_out(psi, e)
        yield _gain(led, e, random, options)


def _gain(
    psi: Tensor, e: Tensor, random: Tensor, options: HeterogeneityOptions
) -> float:
    """Gain on one set of residuals (n,)."""
    directed = directed_starts(psi, e)
    starts = torch.cat([directed, random])
    em = EM(max_iter=options.em_max_iter, tol=options.em_tol)
    mixtures = fit_mixture(psi, e, starts, ridge=options.ridge, em=em)
    ones_of_points = psi[None, :, :1]
    everyone = torch.ones_like(ones_of_points)
    regression = fit_mixture(psi, e, everyone, ridge=options.ridge)
    constant_noise = regression.log_likelihood(psi, e)
    matched = matched_likelihood(mixtures, psi, e)
    alone = torch.maximum(constant_noise, matched)
    of_mixtures = mixtures.log_likelihood(psi, e)
    gain = of_mixtures - alone
    large_enough = mixtures.weights >= options.min_share
    usable = large_enough.all(-1)
    usable_gain = torch.where(usable, gain, 0.0)
    best = float(usable_gain.max())
    return max(0.0, best)


def along_singled_out(psi: Tensor, e: Tensor) -> Tensor:
    """Psi (n, k) along the directions that residuals e (n,) single out:
    at most (n, 8)."""
    if psi.shape[1] <= SUBSPACE + 2:
        return psi
    first = psi.mT @ e
    second = _second_moment_directions(psi, e, SUBSPACE)
    cubes = e**3 - 3 * e
    third = psi.mT @ cubes
    directions = torch.column_stack([first, third, second])
    factors = torch.linalg.qr(directions)
    basis = factors.Q
    return psi @ basis


def _second_moment_directions(psi: Tensor, e: Tensor, number: int) -> Tensor:
    """Directions (k, number) along which E[(e^2 - 1) psi psi^T] is largest."""
    excess = e**2 - 1
    column = excess[:, None]
    weighted = column * psi
    second = psi.mT @ weighted
    eigenpairs = torch.linalg.eigh(second)
    vectors = eigenpairs.eigenvectors
    return vectors[:, -number:]


def directed_starts(psi: Tensor, e: Tensor) -> Tensor:
    """Responsibilities (3, n, 2) by moments of residuals e (n,), psi (n, k)."""
    second_directions = _second_moment_directions(psi, e, DIRECTIONS)
    second = second_directions.mT
    cubes = e**3 - 3 * e
    third = cubes @ psi
    third_row = third[None]
    directions = torch.cat([second, third_row])
    products = directions @ psi.mT * e
    sides = products > 0
    starts = torch.stack([sides, ~sides], dim=-1)
    return starts.to(psi)


def matched_likelihood(mixtures: Mixture, psi: Tensor, y: Tensor) -> Tensor:
    """Mean log-likelihood of the Gaussian with each mixture's mean and variance at
    every point.

    Of points (n, k), (n,), in nats: (R,).
    """
    weights = mixtures.weights.unsqueeze(-2)
    means = psi @ mixtures.theta.mT
    weighted_means = weights * means
    mean = weighted_means.sum(-1)
    mean_column = mean.unsqueeze(-1)
    distances = means - mean_column
    weighted_squares = weights * distances**2
    between = weighted_squares.sum(-1)
    noise_variances = mixtures.sigma**2
    variances = mixtures.weights * noise_variances
    within = variances.sum(-1, keepdim=True)
    variance = within + between
    residuals = y - mean
    squares = residuals**2 / variance
    terms = squares + variance.log() + LOG_2PI
    mean_term = terms.mean(-1)
    return -0.5 * mean_term
