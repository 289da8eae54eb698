r"""Regressions of the target on the columns, one for each environment.

Weighted least squares: in environment j row i counts r_ij, its membership times its
weight,

.. math::
    b_j = (X^\top R_j X)^{-1} X^\top R_j y,

with the robust covariance HC3 (MacKinnon and White, Journal of Econometrics 29, 1985)
of weighted rows,

.. math::
    V_j = (X^\top R_j X)^{-1}
          \Big(\sum_i r_{ij}^2 \frac{e_{ij}^2}{(1 - h_{ij})^2} x_i x_i^\top\Big)
          (X^\top R_j X)^{-1},

h_ij = r_ij x_i^T (X^T R_j X)^-1 x_i.  Intervals are Student's, with the degrees of
freedom of (sum_i r_ij)^2 / sum_i r_ij^2 rows.

The same rows have made the memberships, and these are taken as known.  So intervals are
too narrow, and slopes of rows without environments differ by them, too.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.linalg import qr

from kerhrm.description.rows import (
    DescribedRows,
    effective_number,
    environment_names,
)

LEVEL = "(level)"  #: the constant: the target's mean where all columns have theirs
#: rows of an environment for each coefficient; of more columns those that differ most
ROWS_PER_COEFFICIENT = 5
#: share of a column's variance that others leave, below which it is a sum of them
DEPENDENT = 1e-8
#: share of the target's standard deviation that counts as none
EXACT = 1e-6
#: share of the target's size that noise, or a column's effect, is by rounding
ROUNDING = 1e-12
MOST_DIFFERENT = 5  #: columns whose slopes are shown
SOME_ROWS = 2000  #: that show whether a target is the sum of columns


@dataclass(frozen=True)
class Regression:
    """Weighted least squares of one environment.

    Attributes
    ----------
    coefficients, errors : ndarray, (p,)
        And their robust standard errors; NaN where the rows do not determine them.
    freedom : float
        Degrees of freedom.
    noise : float
        Standard deviation of the residuals.
    """

    coefficients: np.ndarray
    errors: np.ndarray
    freedom: float
    noise: float


def weighted_least_squares(
    design: np.ndarray, y: np.ndarray, r: np.ndarray
) -> Regression:
    """Regress y (n,) on a design (n, p); rows count r (n,), 0 or more."""
    column_of_weights = r[:, None]
    weighted = design * column_of_weights
    gram = design.T @ weighted
    diagonal = np.diag(gram)
    squared_lengths = np.maximum(diagonal, 1e-300)
    inverse, determined = _gram_inverse(gram, squared_lengths)
    moments = weighted.T @ y
    coefficients = inverse @ moments
    residuals = y - design @ coefficients
    total = r.sum()
    n_effective = effective_number(r)
    _, n_coefficients = design.shape
    freedom = max(n_effective - n_coefficients, 1.0)
    size_of_target, spread_of_target = _size_and_spread(y, r)
    noise = _noise(residuals, r, n_effective, freedom)
    if noise < max(EXACT * spread_of_target, ROUNDING * size_of_target):
        noise = 0.0
    mean_squares_of_columns = squared_lengths / max(total, 1e-300)
    effects = np.abs(coefficients) * np.sqrt(mean_squares_of_columns)
    rounding = effects < ROUNDING * size_of_target
    coefficients = np.where(rounding, 0.0, coefficients)
    variances = _hc3(design, weighted, inverse, residuals)
    errors = np.sqrt(variances) if noise > 0 else np.zeros_like(variances)
    return Regression(
        coefficients=np.where(determined, coefficients, np.nan),
        errors=np.where(determined, errors, np.nan),
        freedom=freedom,
        noise=noise,
    )


def _gram_inverse(
    gram: np.ndarray, squared_lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-inverse of X^T R X (p, p), and which coefficients (p,) the rows determine.

    Columns have unit length meanwhile, so that their units do not matter.
    """
    lengths = np.sqrt(squared_lengths)
    scales = np.outer(lengths, lengths)
    scaled = gram / scales
    inverse = np.linalg.pinv(scaled, rcond=DEPENDENT, hermitian=True)
    identity = np.diag(inverse @ scaled)
    distance = np.abs(identity - 1)
    inverse /= scales
    return inverse, distance < 1e-6


def _hc3(
    design: np.ndarray, weighted: np.ndarray, inverse: np.ndarray, residuals: np.ndarray
) -> np.ndarray:
    """Robust variances (p,) of the coefficients, with residuals (n,) as if their rows
    were left out."""
    leverage = np.einsum("ij,jk,ik->i", weighted, inverse, design)
    left = np.maximum(1 - leverage, 1e-6)
    left_out_residuals = residuals / left
    column_of_residuals = left_out_residuals[:, None]
    scores = weighted * column_of_residuals
    outer_products = scores.T @ scores
    covariance = inverse @ outer_products @ inverse
    variances = np.diag(covariance)
    return np.maximum(variances, 0)


def _noise(
    residuals: np.ndarray, r: np.ndarray, n_effective: float, freedom: float
) -> float:
    """Standard deviation of residuals (n,), whose rows count r (n,)."""
    sum_of_squares = float(r @ residuals**2)
    mean_square = sum_of_squares / max(r.sum(), 1e-300)
    return float(np.sqrt(mean_square * n_effective / freedom))


def _size_and_spread(y: np.ndarray, r: np.ndarray) -> tuple[float, float]:
    """Root mean square and standard deviation of y (n,), whose rows count r (n,)."""
    total = max(r.sum(), 1e-300)
    mean_square = float(r @ y**2) / total
    mean = float(r @ y) / total
    deviations = y - mean
    variance = float(r @ deviations**2) / total
    return np.sqrt(mean_square), np.sqrt(variance)


def independent_columns(x: np.ndarray) -> np.ndarray:
    """Numbers of columns (n, d) that vary, and are no sums of others and a constant."""
    means = x.mean(0)
    centred = x - means
    scale = centred.std(0)
    sizes = np.abs(x).max(0)
    largest = np.maximum(sizes, 1e-300)
    floor = 1e-12 * largest
    varies = np.flatnonzero(scale > floor)
    if not len(varies):
        return varies
    varying = centred[:, varies]
    standardised = varying / scale[varies]
    _, r, pivots = qr(standardised, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    left = diagonal / np.sqrt(len(x))
    independent = left**2 > DEPENDENT
    pivots_with_size = pivots[: len(left)]
    chosen = pivots_with_size[independent]
    columns = varies[chosen]
    return np.sort(columns)


def explains_exactly(rows: DescribedRows) -> bool:
    """Whether a regression on the columns leaves nothing of the target but rounding.

    So it is where a column is the target, or columns add up to it.  Coefficients of
    some rows have to hold for all of them.  Rows that no more than determine the
    coefficients say nothing.
    """
    n, d = rows.x.shape
    most = max(SOME_ROWS, 4 * d)
    numbers = np.linspace(0, n - 1, min(n, most))
    some = numbers.astype(int)
    chosen = independent_columns(rows.x[some])
    if len(some) <= len(chosen) + 1:
        return False
    x = rows.x[:, chosen]
    means = x[some].mean(0)
    sizes = x[some].std(0)
    constant = np.ones(n)
    scaled = (x - means) / sizes
    design = np.column_stack([constant, scaled])
    largest = np.abs(rows.y).max()
    y = rows.y / largest if largest > 0 else rows.y  # squares of tiny numbers are 0
    coefficients, *_ = np.linalg.lstsq(design[some], y[some], rcond=None)
    residuals = y - design @ coefficients
    return bool(residuals.std() <= EXACT * y.std())


def environment_regressions(
    rows: DescribedRows, memberships: np.ndarray
) -> tuple[list[Regression], list[str], list[str]]:
    """Regressions of the environments; names of their coefficients, the constant first;
    and the names of columns that are left out for lack of rows.

    Where an environment has fewer than five rows for each column, these are the ones
    whose slopes on their own differ least.  Sums of others, as the last category of a
    text, are left out besides.
    """
    column_of_weights = rows.weights[:, None]
    r = memberships * column_of_weights
    independent = independent_columns(rows.x)
    chosen = independent
    totals = r.sum(0)
    totals_of_squares = (r**2).sum(0)
    positive_squares = np.maximum(totals_of_squares, 1e-300)
    n_effective = totals**2 / positive_squares
    n_rows = n_effective.min()
    n_coefficients = int(n_rows / ROWS_PER_COEFFICIENT)
    most = max(1, n_coefficients - 1)
    if len(chosen) > most:
        alone = [_difference_alone(rows.x[:, j], rows.y, r) for j in chosen]
        difference = np.array(alone)
        by_difference = np.argsort(-difference, kind="stable")
        best = by_difference[:most]
        chosen = np.sort(chosen[best])
    x = rows.x[:, chosen]
    mean = np.average(x, axis=0, weights=rows.weights)
    constant = np.ones(len(x))
    centred = x - mean
    design = np.column_stack([constant, centred])
    regressions = [weighted_least_squares(design, rows.y, part) for part in r.T]
    level = LEVEL
    while level in rows.names:
        level = f"({level})"
    names = [level, *(rows.names[j] for j in chosen)]
    too_many = np.setdiff1d(independent, chosen)
    return regressions, names, [rows.names[j] for j in too_many]


def _difference_alone(column: np.ndarray, y: np.ndarray, r: np.ndarray) -> float:
    """Difference of the slopes on one column (n,), in standard errors."""
    constant = np.ones(len(column))
    centred = column - column.mean()
    design = np.column_stack([constant, centred])
    regressions = [weighted_least_squares(design, y, part) for part in r.T]
    _, of_slope = differences(regressions)
    return float(of_slope)


def differences(regressions: list[Regression]) -> np.ndarray:
    """Largest difference (p,) of each coefficient between two environments, in its
    standard errors."""
    n_coefficients = len(regressions[0].coefficients)
    largest = np.zeros(n_coefficients)
    for first, second in itertools.combinations(regressions, 2):
        variances = first.errors**2 + second.errors**2
        errors = np.sqrt(variances)
        signed = first.coefficients - second.coefficients
        difference = np.abs(signed)
        positive_errors = np.maximum(errors, 1e-300)
        ratio = difference / positive_errors
        comparable = np.nan_to_num(ratio)
        largest = np.maximum(largest, comparable)
    return largest


def slopes(regressions: list[Regression], names: list[str]) -> pd.DataFrame:
    """Coefficients of the columns that differ most, with 95 % intervals.

    Columns ``column``, ``environment``, ``coefficient``, ``low``, ``high`` and
    ``difference``, the largest between two environments in its standard errors; the
    constant is one of them.  Intervals are too narrow, as the module says.
    """
    difference = differences(regressions)
    numbers = range(len(names))
    ranked = sorted(numbers, key=lambda j: (-difference[j], names[j]))
    environments = environment_names(len(regressions))
    lines = []
    for j in ranked[:MOST_DIFFERENT]:
        pairs = zip(environments, regressions, strict=True)
        for environment, fitted in pairs:
            coefficient = fitted.coefficients[j]
            quantile = stats.t.ppf(0.975, fitted.freedom)
            half = quantile * fitted.errors[j]
            line = {
                "column": names[j],
                "environment": environment,
                "coefficient": coefficient,
                "low": coefficient - half,
                "high": coefficient + half,
                "difference": difference[j],
            }
            lines.append(line)
    return pd.DataFrame(lines)
