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

from kerhrm.description.rows import DescribedRows, environment_names

LEVEL = "(level)"  #: the constant: the target's mean where all columns have theirs
#: rows of an environment for each coefficient; of more columns those that differ most
ROWS_PER_COEFFICIENT = 5
#: share of a column's variance that others leave, below which it is a sum of them
DEPENDENT = 1e-8


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
    weighted = design * r[:, None]
    gram = design.T @ weighted
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    scaled = gram / np.outer(scale, scale)
    inverse = np.linalg.pinv(scaled, rcond=DEPENDENT, hermitian=True)
    determined = np.abs(np.diag(inverse @ scaled) - 1) < 1e-6
    inverse /= np.outer(scale, scale)
    coefficients = inverse @ (weighted.T @ y)
    residuals = y - design @ coefficients
    leverage = np.einsum("ij,jk,ik->i", weighted, inverse, design)
    left = np.maximum(1 - leverage, 1e-6)
    meat = weighted * (residuals / left)[:, None]
    covariance = inverse @ (meat.T @ meat) @ inverse
    n_effective = r.sum() ** 2 / max((r**2).sum(), 1e-300)
    freedom = max(n_effective - design.shape[1], 1.0)
    squares = float(r @ residuals**2) / max(r.sum(), 1e-300)
    noise = np.sqrt(squares * n_effective / freedom)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0))
    return Regression(
        coefficients=np.where(determined, coefficients, np.nan),
        errors=np.where(determined, errors, np.nan),
        freedom=freedom,
        noise=float(noise),
    )


def independent_columns(x: np.ndarray) -> np.ndarray:
    """Numbers of columns (n, d) that vary, and are no sums of others and a constant."""
    centred = x - x.mean(0)
    scale = centred.std(0)
    varies = np.flatnonzero(scale > 1e-12 * np.maximum(np.abs(x).max(0), 1e-300))
    if not len(varies):
        return varies
    centred = centred[:, varies] / scale[varies]
    _, r, pivots = qr(centred, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(r)) / np.sqrt(len(x))
    return np.sort(varies[pivots[: len(sizes)][sizes**2 > DEPENDENT]])


def environment_regressions(
    rows: DescribedRows, memberships: np.ndarray
) -> tuple[list[Regression], list[str], int]:
    """Regressions of the environments; names of their coefficients, the constant first;
    and how many columns are left out.

    Left out are sums of other columns, and, where an environment has fewer than five
    rows for each, those whose slopes on their own differ least.
    """
    r = memberships * rows.weights[:, None]
    chosen = independent_columns(rows.x)
    effective = r.sum(0) ** 2 / np.maximum((r**2).sum(0), 1e-300)
    most = max(1, int(effective.min() / ROWS_PER_COEFFICIENT) - 1)
    if len(chosen) > most:
        alone = [_difference_alone(rows.x[:, j], rows.y, r) for j in chosen]
        best = np.argsort(-np.array(alone), kind="stable")[:most]
        chosen = np.sort(chosen[best])
    x = rows.x[:, chosen]
    centred = x - np.average(x, axis=0, weights=rows.weights)
    design = np.column_stack([np.ones(len(x)), centred])
    regressions = [weighted_least_squares(design, rows.y, part) for part in r.T]
    names = [LEVEL, *(rows.names[j] for j in chosen)]
    return regressions, names, len(rows.names) - len(chosen)


def _difference_alone(column: np.ndarray, y: np.ndarray, r: np.ndarray) -> float:
    """Difference of the slopes on one column (n,), in standard errors."""
    design = np.column_stack([np.ones(len(column)), column - column.mean()])
    regressions = [weighted_least_squares(design, y, part) for part in r.T]
    return float(differences(regressions)[1])


def differences(regressions: list[Regression]) -> np.ndarray:
    """Largest difference (p,) of each coefficient between two environments, in its
    standard errors."""
    largest = np.zeros(len(regressions[0].coefficients))
    for first, second in itertools.combinations(regressions, 2):
        errors = np.sqrt(first.errors**2 + second.errors**2)
        difference = np.abs(first.coefficients - second.coefficients)
        ratio = difference / np.maximum(errors, 1e-300)
        largest = np.maximum(largest, np.nan_to_num(ratio))
    return largest


def slopes(
    regressions: list[Regression], names: list[str], most: int = 5
) -> pd.DataFrame:
    """Coefficients of the columns that differ most, with 95 % intervals.

    Columns ``column``, ``environment``, ``coefficient``, ``low``, ``high`` and
    ``difference``, the largest between two environments in its standard errors; the
    constant is one of them.  Intervals are too narrow, as the module says.
    """
    difference = differences(regressions)
    ranked = sorted(range(len(names)), key=lambda j: (-difference[j], names[j]))
    environments = environment_names(len(regressions))
    lines = []
    for j in ranked[:most]:
        for environment, fitted in zip(environments, regressions, strict=True):
            half = stats.t.ppf(0.975, fitted.freedom) * fitted.errors[j]
            line = {
                "column": names[j],
                "environment": environment,
                "coefficient": fitted.coefficients[j],
                "low": fitted.coefficients[j] - half,
                "high": fitted.coefficients[j] + half,
                "difference": difference[j],
            }
            lines.append(line)
    return pd.DataFrame(lines)
