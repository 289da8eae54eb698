"""Units of a table: inputs and targets are standardised by the training rows.

And the limits of its columns in the fit: rows to predict may lie well outside.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.tables.arrays import family

#: share of a column's range by which a value may lie outside it without a word
BEYOND = 0.5
#: columns from which on one that is nearly constant may be a pixel
PIXELS = 100


@dataclass(frozen=True)
class Units:
    """Units of inputs and targets.

    Mean 0 and standard deviation 1 over the training rows.

    Labels become -1 and +1, by ``classes``; a constant column becomes 0.
    """

    columns: np.ndarray  #: numbers (d,) of the table's columns, in the fit's order
    mean: np.ndarray  #: of these columns, (d,), float64, as ``scale``
    scale: np.ndarray
    y_mean: float = 0.0  #: of the target, as ``y_scale``
    y_scale: float = 1.0
    classes: np.ndarray | None = None  #: (2,), sorted; None in regression

    @classmethod
    def measure(
        cls,
        columns: np.ndarray,
        x: np.ndarray,
        y: np.ndarray,
        task: Task,
        weights: np.ndarray | None,
    ) -> Self:
        """Units of training rows x (n, d), whose ``columns`` (d,) are taken in this
        order, and targets y (n,); the rows' weights may differ."""
        ordered = np.ascontiguousarray(x[:, columns])
        inputs = columns, *_mean_and_scale(ordered, weights)
        if task == "classification":
            return cls(*inputs, classes=np.unique(y))
        (mean,), (scale,) = _mean_and_scale(y[:, None], weights)
        unit = scale if np.isfinite(scale) else 1.0
        return cls(*inputs, float(mean), float(unit))

    def inputs(self, x: np.ndarray) -> Tensor:
        """(m, d), float32."""
        ordered = x
        if not _ascending(self.columns):
            ordered = np.ascontiguousarray(x[:, self.columns])
        standardised = (ordered - self.mean) / self.scale
        return torch.from_numpy(standardised.astype(np.float32))

    def target(self, y: np.ndarray) -> Tensor:
        """(m,), float32.

        Raises KerhrmError if a label is neither of the classes.
        """
        if self.classes is None:
            centred = y - self.y_mean
            standardised = centred / self.y_scale
            return torch.from_numpy(standardised.astype(np.float32))
        alike = family(y.dtype) == family(self.classes.dtype)
        known = np.zeros(len(y), dtype=bool)
        if alike:
            known = np.isin(y, self.classes)
        low, high = self.classes.tolist()
        if not known.all():
            label, *_ = y[~known].tolist()
            problem = f"label {label!r} was not among those of the fit"
            raise KerhrmError(problem, f"known are {low!r} and {high!r}")
        is_high = y == self.classes[1:]  # NumPy takes a label of an Enum alone for text
        signs = np.where(is_high, 1.0, -1.0)
        return torch.from_numpy(signs.astype(np.float32))


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


def far_outside(x: np.ndarray, least: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Which values of rows (m, d) lie well outside the limits (d,) of the fit: (m, d).

    None does in a column without limits.
    """
    with np.errstate(invalid="ignore"):  # of columns without limits
        slack = BEYOND * (largest - least)
        below = x < least - slack
        above = x > largest + slack
    return below | above


def outside(x: np.ndarray, limits: np.ndarray, estimator: Any) -> str | None:
    """How many rows (m, d) lie well outside the limits (2, d) of the fit, and in which
    column most of them do; None if none does."""
    least, largest = limits
    beyond = far_outside(x, least, largest)
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


def _ascending(columns: np.ndarray) -> bool:
    larger = columns[1:] > columns[:-1]
    return bool(larger.all())


def _mean_and_scale(
    x: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Moments of columns (n, d), by StandardScaler; powers of two avoid underflow.

    The scale of a constant column is infinite, so that it says nothing of other rows,
    either: what it does where it varies no row has shown.
    """
    largest = np.abs(x).max(0)
    _, exponents = np.frexp(largest)
    size = np.ldexp(1.0, exponents - 1)
    scaler = StandardScaler()
    # a constant column's weighted variance may be rounded to a negative number
    with np.errstate(invalid="ignore"):
        scaler.fit(x / size, sample_weight=weights)
    mean = scaler.mean_ * size
    scale = scaler.scale_ * size
    varies = np.ptp(x, axis=0) > 0
    # of a column far from 0 in units of its spread, which scikit-learn calls constant
    far = varies & (scaler.scale_ == 1)
    if far.any():
        first = x[0, far]
        moments = StandardScaler().fit(x[:, far] - first, sample_weight=weights)
        mean[far] = first + moments.mean_
        scale[far] = moments.scale_
    constant = ~varies | np.isnan(scale)
    return mean, np.where(constant, np.inf, scale)
