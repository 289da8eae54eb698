"""Limits of the columns in a fit, and rows to predict that lie well outside."""

from typing import Any

import numpy as np

from kerhrm.errors import shown

#: share of a column's range by which a value may lie outside it without a word
BEYOND = 0.5
#: columns from which on one that is nearly constant may be a pixel
PIXELS = 100


def limits_of(x: np.ndarray) -> np.ndarray:
    """Least and largest value of columns (n, d): (2, d).

    A constant column has no limits, since it does not predict.  Nor has one of very
    many that has one value in half of the rows: a pixel.
    """
    n, d = x.shape
    least = x.min(0)
    largest = x.max(0)
    free = least == largest
    if d > PIXELS:
        half = (n + 1) // 2
        ordered = np.sort(x, axis=0)
        first = ordered[: n - half + 1]
        as_many_later = ordered[half - 1 :]
        free |= (first == as_many_later).any(0)
    least[free] = -np.inf
    largest[free] = np.inf
    return np.stack([least, largest])


def outside(x: np.ndarray, limits: np.ndarray, estimator: Any) -> str | None:
    """How many rows (m, d) lie well outside the limits (2, d) of the fit, and in which
    column most of them do; None if none does."""
    least, largest = limits
    with np.errstate(invalid="ignore"):  # of columns without limits
        slack = BEYOND * (largest - least)
        below = x < least - slack
        above = x > largest + slack
    beyond = below | above
    if not beyond.any():
        return None
    n_rows, n_columns = x.shape
    n_beyond = beyond.any(1).sum()
    j = int(beyond.sum(0).argmax())
    names = getattr(estimator, "feature_names_in_", range(n_columns))
    name = shown(names[j])
    rows = f"{n_beyond} of {n_rows} rows lie outside the rows of the fit"
    column = f"column {name}: {least[j]:g} to {largest[j]:g} there"
    return f"{rows} ({column}); what is predicted of them is extrapolation"
