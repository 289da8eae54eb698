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
    decades = np.arange(1900, 2016, 20)
    first_years = np.tile(decades, per_period)
    years = first_years + random.integers(0, 16, n)
    predictors[:, PREDICTORS.index("yr_built")] = years
    prices = random.normal(500_000, 100_000, n)
    return Houses(predictors, prices, source)


def least_squares(houses: Houses, target: np.ndarray, fit: np.ndarray) -> np.ndarray:
    """Errors (6,) per period of least squares fitted to the houses ``fit``."""
    fitted_predictors = houses.predictors[fit]
    mean = fitted_predictors.mean(axis=0)
    centred = houses.predictors - mean
    scale = centred[fit].std(axis=0)
    positive_scale = np.where(scale > 0, scale, 1)
    scaled = centred / positive_scale
    ones = np.ones(len(scaled))
    x = np.column_stack([scaled, ones])
    features = x[fit]
    target_of_fit = target[fit]
    solution, *_ = np.linalg.lstsq(features, target_of_fit, rcond=1e-10)
    squares = (target - x @ solution) ** 2
    errors = []
    for period in range(6):
        inside = houses.period == period
        errors.append(squares[inside].mean())
    return np.array(errors)
