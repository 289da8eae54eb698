"""Mean, spread and interval of a few runs."""

import numpy as np
from scipy import stats

from kerhrm.randomness import stream


def summarise(values: np.ndarray, resamples: int) -> dict[str, float]:
    """Statistics over seeds.

    Parameters
    ----------
    values : ndarray, (n_seeds,)
    resamples : int
        Bootstrap resamples.

    Returns
    -------
    dict
        ``mean``; ``std`` with ddof=1; ``ci_low`` and ``ci_high``, the 95 % percentile
        bootstrap interval of the mean over seeds (Efron & Tibshirani 1993).  With a
        single seed ``std`` is NaN and the interval is the value itself.  Where a seed has
        no value (NaN), nothing has: the mean of the others would be that of the lucky.
    """
    values = np.asarray(values, dtype=float)
    if np.isnan(values).any():
        return dict.fromkeys(("mean", "std", "ci_low", "ci_high"), float("nan"))
    mean = float(values.mean())
    if len(values) < 2 or np.ptp(values) == 0:
        std = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
        return {"mean": mean, "std": std, "ci_low": mean, "ci_high": mean}
    interval = stats.bootstrap(
        (values,), np.mean, n_resamples=resamples, method="percentile", rng=stream(0, "bootstrap")
    ).confidence_interval
    return {
        "mean": mean,
        "std": float(values.std(ddof=1)),
        "ci_low": float(interval.low),
        "ci_high": float(interval.high),
    }
