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

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.em import EM, LOG_2PI
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.algorithm.regressions import products, repeated
from kerhrm.algorithm.starts import drawn_starts
from kerhrm.progress import progress
from kerhrm.randomness import stream

DIRECTIONS = 2  #: of second moments that EM starts with
#: directions of second moments that the mixture's regressions are linear in
SUBSPACE = 6
#: responsibilities that EM holds at once: 1 MB, which a core's own cache has room for
AT_ONCE = 2**17


def gains(
    features: np.ndarray,
    residual_sets: Iterable[np.ndarray],
    n_sets: int,
    options: HeterogeneityOptions,
    seed: int,
) -> Iterator[float]:
    """Gain of the best usable start for each set of residuals, in turn.

    A start that leaves an environment empty is not usable; without a usable one, or
    below 0, the gain is 0.  That the residual alone tells its environment does not make
    a start degenerate, as it does where environments are learned: normal scores gain
    nothing by such a split, and with little noise the true environments look like one.

    Parameters
    ----------
    features : ndarray, (n, k)
        Columns are orthonormal up to a factor.
    residual_sets : iterable of ndarray, (n,)
        Normal scores; a set is asked for when its gain is, or a little earlier.
    n_sets : int
        How many there are.
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
    random = stream(seed, "clustering", "heterogeneity")

    def one_by_one() -> Iterator[float]:
        for batch in _batches(residual_sets, len(psi), options):
            stacked = np.stack(batch)
            e = torch.from_numpy(stacked)
            n_starts = len(batch) * options.n_init
            starts = drawn_starts(random, n_starts, len(psi), 2)
            by_set = starts.unflatten(0, (len(batch), options.n_init))
            of_batch = _gains(psi, e, by_set, options)
            yield from of_batch.tolist()

    yield from progress(one_by_one(), "permutations of the pre-test", n_sets)


def _batches(
    residual_sets: Iterable[np.ndarray], n: int, options: HeterogeneityOptions
) -> Iterator[list[np.ndarray]]:
    """Sets of n residuals whose gains are computed at once: few ahead of the one that
    is asked for, as many tests end early."""
    n_starts = DIRECTIONS + 1 + options.n_init
    responsibilities = 2 * n_starts * n
    most = max(1, AT_ONCE // responsibilities)
    sets = iter(residual_sets)
    n_before = 0
    while True:
        ahead = max(4, n_before)
        size = min(ahead, most)
        batch = [*islice(sets, size)]
        if not batch:
            return
        yield batch
        n_before += len(batch)


def _gains(
    psi: Tensor, e: Tensor, random: Tensor, options: HeterogeneityOptions
) -> Tensor:
    """Gains (S,) on sets of residuals (S, n), with random starts (S, n_init, n, 2)."""
    along = along_singled_out(psi, e)
    directed = directed_starts(along, e)
    starts = torch.cat([directed, random], 1)
    em = EM(max_iter=options.em_max_iter, tol=options.em_tol)
    mixtures = fit_mixture(along, e, starts.flatten(0, 1), ridge=options.ridge, em=em)
    everyone = torch.ones_like(e)[..., None]
    regressions = fit_mixture(along, e, everyone, ridge=options.ridge)
    constant_noise = regressions.log_likelihood(along, e)[:, None]
    by_set = (len(e), starts.shape[1])
    matched = matched_likelihood(mixtures, along, e).reshape(by_set)
    alone = torch.maximum(constant_noise, matched)
    of_mixtures = mixtures.log_likelihood(along, e).reshape(by_set)
    gain = of_mixtures - alone
    large_enough = mixtures.weights >= options.min_share
    usable = large_enough.all(-1).reshape(by_set)
    usable_gain = torch.where(usable, gain, 0.0)
    best = usable_gain.amax(1)
    return best.clamp_min(0.0)


def along_singled_out(psi: Tensor, e: Tensor) -> Tensor:
    """Psi (n, k) along the directions that residuals e (S, n) single out: at most
    (S, n, 8)."""
    n_sets = len(e)
    if psi.shape[1] <= SUBSPACE + 2:
        return psi.expand(n_sets, -1, -1)
    first = e @ psi
    second = _second_moment_directions(psi, e, SUBSPACE)
    cubes = e**3 - 3 * e
    third = cubes @ psi
    directions = torch.cat([first[..., None], third[..., None], second], -1)
    factors = torch.linalg.qr(directions)
    return psi @ factors.Q


def _second_moment_directions(psi: Tensor, e: Tensor, number: int) -> Tensor:
    """Directions (S, k, number) along which E[(e^2 - 1) psi psi^T] is largest."""
    excess = e**2 - 1
    column = excess[..., None]
    weighted = column * psi
    second = psi.mT @ weighted
    eigenpairs = torch.linalg.eigh(second)
    vectors = eigenpairs.eigenvectors
    return vectors[..., -number:]


def directed_starts(psi: Tensor, e: Tensor) -> Tensor:
    """Responsibilities (S, 3, n, 2) by moments of residuals e (S, n), psi (S, n, k)."""
    second_directions = _second_moment_directions(psi, e, DIRECTIONS)
    second = second_directions.mT
    cubes = e**3 - 3 * e
    third_row = cubes[:, None] @ psi
    directions = torch.cat([second, third_row], 1)
    products_with_e = directions @ psi.mT * e[:, None]
    sides = products_with_e > 0
    starts = torch.stack([sides, ~sides], dim=-1)
    return starts.to(psi)


def matched_likelihood(mixtures: Mixture, psi: Tensor, y: Tensor) -> Tensor:
    """Mean log-likelihood of the Gaussian with each mixture's mean and variance at
    every point.

    Of points (n, k), (n,), or of several data sets, (S, n, k), (S, n); in nats: (R,).
    """
    weights = mixtures.weights.unsqueeze(-1)
    means = products(mixtures.theta, psi.mT)
    weighted_means = weights * means
    mean = weighted_means.sum(-2)
    mean_row = mean.unsqueeze(-2)
    distances = means - mean_row
    weighted_squares = weights * distances**2
    between = weighted_squares.sum(-2)
    noise_variances = mixtures.sigma**2
    variances = mixtures.weights * noise_variances
    within = variances.sum(-1, keepdim=True)
    variance = within + between
    if y.ndim > 1:
        y = repeated(y, len(mean))
    residuals = y - mean
    squares = residuals**2 / variance
    terms = squares + variance.log() + LOG_2PI
    mean_term = terms.mean(-1)
    return -0.5 * mean_term
