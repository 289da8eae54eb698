"""Residuals against permutations of them, in sequence.

The test and its null hypothesis are in :mod:`kerhrm.heterogeneity.test`.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.randomness import stream

#: points beyond which the credit of the null hypothesis grows no more
CREDIT_POINTS = 2000


def against_permutations(
    features: np.ndarray,
    residuals: np.ndarray,
    options: HeterogeneityOptions,
    seed: int,
    groups: np.ndarray | None = None,
) -> HeterogeneityResult:
    """Test residuals that are exchangeable under the null.

    Then the p-value is exact: at most ``level`` with at most that probability.

    Parameters
    ----------
    features : ndarray, (n, k)
        Orthonormal.
    residuals : ndarray, (n,)
        Of the labels.
    options : HeterogeneityOptions
        Of the test.
    seed : int
        Draws permutations and initialisations.
    groups : ndarray, (n,), optional
        Numbers of the groups within which the residuals are exchangeable.

    Returns
    -------
    HeterogeneityResult
        With the p-value.
    """
    from kerhrm.heterogeneity.statistic import gains

    n = len(residuals)
    n_sets = 1 + options.n_permutations
    sets = islice(_permuted(residuals, seed, groups), n_sets)
    n_credited = min(n, CREDIT_POINTS)
    credit = options.min_gain * math.sqrt(n_credited) / n
    result = in_sequence(
        gains(features, sets, n_sets, options, seed),
        n_permutations=options.n_permutations,
        level=options.level,
        credit=credit,
    )
    return replace(result, n_points=n)


def _permuted(
    residuals: np.ndarray, seed: int, groups: np.ndarray | None
) -> Iterator[np.ndarray]:
    """Residuals (n,) as they are, and then at random within groups (n,), without an
    end."""
    n = len(residuals)
    if groups is None:
        groups = np.zeros(n, dtype=np.int64)
    random = stream(seed, "heterogeneity", "permutations")
    together = np.argsort(groups, kind="stable")
    yield residuals
    while True:
        sort_keys = random.random(n)
        order = np.lexsort((sort_keys, groups))
        permuted = np.empty_like(residuals)
        permuted[together] = residuals[order]
        yield permuted


def in_sequence(
    gains: Iterator[float], n_permutations: int, level: float, credit: float = 0.0
) -> HeterogeneityResult:
    """Compare the first gain, less a credit, with permutations' until p is above
    ``level``."""
    gain = next(gains)
    null = np.full(n_permutations, np.nan)
    # one larger gain at least: without any p is not 0
    largest_rank = level * (1 + n_permutations)
    enough = max(1, math.ceil(largest_rank - 1e-9))
    n_larger = 0
    for n_drawn, of_permutation in enumerate(gains, start=1):
        null[n_drawn - 1] = of_permutation
        n_larger += int(of_permutation >= gain - credit)
        if n_larger == enough:
            break
    p_value = (1 + n_larger) / (1 + n_permutations)
    if n_larger == enough:
        p_value = n_larger / n_drawn
    detected = bool(p_value <= level)
    return HeterogeneityResult(gain, null, p_value, detected)


def orthonormal(features: np.ndarray) -> np.ndarray:
    """Columns with the span of the features (n, k), orthogonal and of
    mean square one."""
    n = len(features)
    u, s, _ = np.linalg.svd(features, full_matrices=False)
    eps = np.finfo(float).eps
    floor = n * eps * s[0]
    above_floor = s > floor
    rank = int(above_floor.sum())
    left = u[:, :rank]
    columns = left * np.sqrt(n)
    return np.ascontiguousarray(columns)
