"""Whether residuals scatter more at one end of a column than at the other.

Under one law whose noise has the same size everywhere the moduli of the residuals and
a column are independent, so that Spearman's rank correlation of both is near zero.  The
column with the smallest p-value counts, times the number of columns (Bonferroni).
Every draw counts once, whatever it weighs: one law has the same noise in all of them.

Such noise is no environment, and the pre-test allows for it; but a mixture of
regressions whose components have one size of noise everywhere explains it by two
slopes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from kerhrm.description.rows import DescribedRows

LEVEL = 0.01  #: of all columns together
LEAST = 1.3  #: times that the scatter differs by, at least, to be worth a line
END = 0.2  #: share of the rows at each end of a column


@dataclass(frozen=True)
class Spread:
    """A column along which the residuals' scatter changes.

    Attributes
    ----------
    column : str
        Its name.
    low, high : float
        Standard deviation of the residuals in the fifth of the rows in which the column
        is lowest, and highest.
    p_value : float
        Of the rank correlation, for all columns together.
    """

    column: str
    low: float
    high: float
    p_value: float


def spread_along(rows: DescribedRows, residuals: np.ndarray) -> Spread | None:
    """The column along which the scatter of residuals (n,) changes most clearly.

    None: there is none.
    """
    sizes = np.abs(residuals)
    n_columns = rows.x.shape[1]
    best = None
    for name, column in zip(rows.names, rows.x.T, strict=True):
        if np.ptp(column) == 0 or np.ptp(sizes) == 0:
            continue
        p_value = min(1.0, n_columns * float(spearmanr(column, sizes).pvalue))
        if best is not None and p_value >= best.p_value:
            continue
        lowest, highest = _ends(column)
        low = float(residuals[lowest].std())
        high = float(residuals[highest].std())
        best = Spread(name, low, high, p_value)
    if best is None or best.p_value >= LEVEL:
        return None
    larger = max(best.low, best.high)
    smaller = min(best.low, best.high)
    return best if larger >= LEAST * smaller else None


def _ends(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n,) at the lower and at the upper end of a column that varies."""
    low, high = np.quantile(column, [END, 1 - END])
    lowest = column <= low
    highest = column >= high
    if low == column.max():
        lowest = column < low
    if high == column.min():
        highest = column > high
    return lowest, highest
