"""Means, intervals and tests over a few seeds.

The interval of a mean is Student's: with five to ten values it covers the mean more
often than a bootstrap does (docs/protocol.md).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # scipy.stats takes half a second to import

LEVEL = 0.05  #: of every test; intervals have the confidence 1 - LEVEL


def summarise(values: ArrayLike) -> dict[str, float | int]:
    """Statistics over seeds (n_seeds,): mean, std, n_seeds, ci_low, ci_high.

    ``std`` has ddof = 1; ``ci_low`` and ``ci_high`` are the 95 % t interval of the
    mean, which ignores bounds: that of an accuracy may pass 1.  A single seed has
    neither ``std`` nor an interval (NaN).  Where a seed has no value (NaN), nothing
    has: the mean of the others would be biased.
    """
    values = np.asarray(values, dtype=float)
    n = len(values)
    mean = float(values.mean())
    std = half = float("nan")
    if n > 1:
        are_equal = np.ptp(values) == 0
        # 0: and no rounding
        std = 0.0 if are_equal else float(values.std(ddof=1))
        t = special.stdtrit(n - 1, LEVEL / 2)
        quantile = -float(t)
        half = quantile * std / n**0.5
    return {
        "mean": mean,
        "std": std,
        "n_seeds": n,
        "ci_low": mean - half,
        "ci_high": mean + half,
    }


def tail(distance: float, std: float, n: int, error: float = 0.0) -> float:
    """p-value of a mean's distance from a reference: the one-sided t test.

    The mean and ``std`` (ddof = 1) are over n seeds; ``error`` is the standard error of
    the reference.  There are n - 1 degrees of freedom: all that is known of either
    spread comes from the seeds.  NaN with a single one.  Twice the tail of the absolute
    distance is the two-sided test's, and the tail of what is missing to a margin that
    of equivalence: two one-sided tests (Schuirmann 1987), at most 5 % exactly where the
    90 % interval lies within the margin.
    """
    is_unknown = np.isnan(distance) or np.isnan(std)
    if n < 2 or is_unknown:
        return float("nan")
    of_mean = std / n**0.5
    standard_error = float(np.hypot(of_mean, error))
    if standard_error == 0:
        # certain: none beyond a distance, but half of the tail at zero
        if distance == 0:
            return 0.5
        return float(distance < 0)
    t = -distance / standard_error
    probability = special.stdtr(n - 1, t)
    return float(probability)


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Adjusted p-values (m,) of m tests, in their order (Holm 1979).

    The i-th smallest is multiplied by m - i + 1, and none may fall below one that was
    smaller. NaN is no test: it stays, and does not count.
    """
    p = np.asarray(p, dtype=float)
    is_number = np.isfinite(p)
    n_tests = int(is_number.sum())
    # NaN is sorted to the end
    order = np.argsort(p, kind="stable")
    order = order[:n_tests]
    factors = np.arange(n_tests, 0, -1)
    products = p[order] * factors
    steps = np.maximum.accumulate(products)
    adjusted = p.copy()
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
