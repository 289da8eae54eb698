"""Small tables of houses, and the least squares that houses are compared with."""

import numpy as np

from kerhrm_paper.data.king_county import PREDICTORS, Houses


def small(per_period: int = 40, source: str = "king_county", seed: int = 0) -> Houses:
    """``per_period`` houses of every period in a mixed order; column 0 holds the row
    number."""
    random = np.random.default_rng(seed)
    n = 6 * per_period
    predictors = random.normal(50, 10, (n, 17))
    predictors[:, 0] = np.arange(n)
    years = np.tile(np.arange(1900, 2016, 20), per_period) + random.integers(0, 16, n)
    predictors[:, PREDICTORS.index("yr_built")] = years
    return Houses(predictors, random.normal(500_000, 100_000, n), source)


def least_squares(houses: Houses, target: np.ndarray, fit: np.ndarray) -> np.ndarray:
    """Errors (6,) per period of least squares fitted to the houses ``fit``."""
    x = houses.predictors - houses.predictors[fit].mean(axis=0)
    x = np.column_stack(
        [x / np.where(x[fit].std(axis=0) > 0, x[fit].std(axis=0), 1), x[:, 0] ** 0]
    )
    squares = (target - x @ np.linalg.lstsq(x[fit], target[fit], rcond=1e-10)[0]) ** 2
    return np.array([squares[houses.period == number].mean() for number in range(6)])
