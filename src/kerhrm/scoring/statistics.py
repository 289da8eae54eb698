"""Mean, spread and interval of a few runs."""

import numpy as np

from kerhrm.randomness import stream

TAIL = (1 - 0.95) / 2  #: share of the resamples on either side of the interval


def summarise(values: np.ndarray, resamples: int) -> dict[str, float]:
    """Statistics over seeds (n_seeds,).

    ``mean``; ``std`` with ddof=1; ``ci_low`` and ``ci_high``, the 95 % percentile bootstrap
    interval of the mean over seeds (Efron & Tibshirani 1993).  With a single seed ``std`` is NaN
    and the interval is the value itself.  Where a seed has no value (NaN), nothing has: the mean
    of the others would be that of the lucky.
    """
    values = np.asarray(values, dtype=float)
    low = high = values.mean()
    if np.ptp(values) > 0:
        drawn = stream(0, "bootstrap").integers(0, len(values), (resamples, len(values)))
        means = np.sort(values[drawn].mean(axis=-1))
        low, high = _quantile(means, TAIL), _quantile(means, 1 - TAIL)
    std = values.std(ddof=1) if len(values) > 1 else float("nan")
    return {
        "mean": float(values.mean()),
        "std": float(std),
        "ci_low": float(low),
        "ci_high": float(high),
    }


def _quantile(ordered: np.ndarray, p: float) -> float:
    """Quantile of sorted values, linear between two of them; as SciPy's bootstrap to the bit."""
    below, share = divmod(p * len(ordered) + (1 - p), 1)
    low, high = ordered[np.minimum([int(below) - 1, int(below)], len(ordered) - 1)]
    return float((1 - share) * low + share * high)
