"""Mean, spread and interval of a few runs."""

import numpy as np
from scipy import stats

from kerhrm.randomness import stream


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
        interval = stats.bootstrap(
            (values,), np.mean, n_resamples=resamples, method="percentile",
            rng=stream(0, "bootstrap"),
        ).confidence_interval  # fmt: skip
        low, high = interval.low, interval.high
    std = values.std(ddof=1) if len(values) > 1 else float("nan")
    return {
        "mean": float(values.mean()),
        "std": float(std),
        "ci_low": float(low),
        "ci_high": float(high),
    }
