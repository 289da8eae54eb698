"""Tables of users: checked and standardised."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from kerhrm.errors import InputTypeError, KerhrmError, shown
from kerhrm.options import Task
from kerhrm.scikit_learn import validate_data
from kerhrm.tables.arrays import (
    check_values,
    family,
    frame,
    is_frame,
    is_number,
    plain,
)
from kerhrm.tables.cells import EXACT
from kerhrm.tables.index import first_row
from kerhrm.tables.loaders import LOADERS, unloaded
from kerhrm.tables.polars import check_cells

HINT = "give a DataFrame or an array (n_samples, n_features) of numbers"

#: share of a column's range by which a value may lie outside it without a word
BEYOND = 0.5
#: columns from which on one that is nearly constant may be a pixel
PIXELS = 100


def read_features(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Inputs (n, d), float64 and finite, row by row in memory; of a loader, too.

    ``reset`` when fitting, which learns the columns' names.

    Raises
    ------
    KerhrmError
        Naming the column: text, a date, NaN, a masked cell, infinite or enormous
        values, a repeated name.
    ValueError, TypeError
        scikit-learn's own, for other columns than in the fit.
    """
    if isinstance(X, LOADERS):
        X, _ = unloaded(X, needs_y=False)
    if is_frame(X) and not isinstance(X, pd.DataFrame):
        check_cells(X, "X")
    X = _dense(plain(X, "X"))
    names = list(getattr(X, "columns", ()))
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise KerhrmError(
            f"two columns are called {twice[0]!r}", "rename or drop one of them"
        )
    # their numbers would depend on the unit that the dates are stored in
    dates = any(dtype.kind in "mM" for dtype in _dtypes(X))
    if dates and (told := _not_a_number(X)) is not None:
        raise told
    try:
        x = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            order="C",
            copy=True,
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise _unreadable(X, error) from error
    # no negative zeros, which would compare differently as bytes
    x = np.asarray(x + 0.0)
    columns = [f"column {name!r}" for name in names or range(x.shape[1])]
    check_values(x, columns, X)
    _check_exact(X, x, columns)
    return x


def _check_exact(X: Any, x: np.ndarray, names: list[str]) -> None:
    """Refuse a column of whole numbers some of which are one in float64."""
    largest = np.abs(x).max(0)
    for j in np.flatnonzero(largest > EXACT):
        given = frame(X).iloc[:, j] if is_frame(X) else np.asarray(X)[:, j]
        if given.dtype.kind not in "iu":
            continue
        n_given = pd.unique(given).size
        n_read = np.unique(x[:, j]).size
        if n_given > n_read:
            problem = f"{names[j]} has integers too large for float64 to tell apart"
            raise KerhrmError(problem, "subtract the column's minimum")


def _dense(X: Any) -> Any:
    """A DataFrame without sparse columns, which scikit-learn would read as a matrix."""
    if not isinstance(X, pd.DataFrame):
        return X
    sparse = {
        name: dtype.subtype
        for name, dtype in X.dtypes.items()
        if isinstance(dtype, pd.SparseDtype)
    }
    return X.astype(sparse) if sparse else X


def _dtypes(X: Any) -> list[Any]:
    """Types of the columns of an array or DataFrame."""
    if is_frame(X):
        return list(frame(X).dtypes)
    return [X.dtype] if isinstance(X, np.ndarray) else []


def _unreadable(X: Any, error: Exception) -> Exception:
    """Why a table cannot be read: the first cell that is no number, or scikit-learn's
    reason in one line."""
    text = str(error)
    if "feature names" in text.casefold():  # scikit-learn's lists of columns
        return error
    cells = hasattr(X, "iloc") or isinstance(error, ValueError)
    if cells and (told := _not_a_number(X)) is not None:
        return told
    reason = text.partition("\n")[0].rstrip(".:; ")
    if isinstance(error, OverflowError):
        return KerhrmError(f"X has a number that float64 cannot hold ({reason})", HINT)
    kind = InputTypeError if isinstance(error, TypeError) else KerhrmError
    hint = HINT
    if isinstance(X, pd.Series):
        reason = "got a Series instead of a table"
        hint = "give X.to_frame().T for one row, X.to_frame() for one column"
    elif hasattr(X, "collect"):  # of polars
        reason, hint = "got a LazyFrame, which holds no rows yet", "give X.collect()"
    elif "Reshape your data" in text and isinstance(X, list | tuple):
        hint = "Reshape your data: [X] is one row, [[x] for x in X] is one column"
    elif "Reshape your data" in text:
        hint = "Reshape your data: X.reshape(1, -1) is one row, X.reshape(-1, 1) one "
        hint += "column"
    elif "features as input" in text:
        hint = "give the columns of the fit"
    return kind(f"X cannot be used: {reason}", hint)


def _not_a_number(X: Any) -> KerhrmError | None:
    """Error that names the first column that is not numbers, if there is one."""
    try:
        table = frame(X)
    except (ValueError, TypeError):
        return None
    for name, values in table.items():
        if pd.api.types.is_numeric_dtype(values):
            continue
        wrong = np.array([not is_number(value) for value in values], dtype=bool)
        if wrong.any():
            value = shown(" ".join(str(values.iloc[int(wrong.argmax())]).split()), 42)
            where = first_row(wrong, X)
            problem = f"column {name!r} must hold numbers; got {value} in {where}"
            hint = "drop the column, or encode it: make_pipeline(table_encoder(), ...)"
            return KerhrmError(problem, hint)
    return None


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
    def of(
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
        mean, scale = _mean_and_scale(y[:, None], weights)
        unit = float(scale[0]) if np.isfinite(scale[0]) else 1.0
        return cls(*inputs, float(mean[0]), unit)

    def inputs(self, x: np.ndarray) -> Tensor:
        """(m, d), float32."""
        ordered = x
        if not _ascending(self.columns):
            ordered = np.ascontiguousarray(x[:, self.columns])
        return torch.from_numpy(((ordered - self.mean) / self.scale).astype(np.float32))

    def target(self, y: np.ndarray) -> Tensor:
        """(m,), float32.

        Raises KerhrmError if a label is neither of the classes.
        """
        if self.classes is None:
            return torch.from_numpy(
                ((y - self.y_mean) / self.y_scale).astype(np.float32)
            )
        alike = family(y.dtype) == family(self.classes.dtype)
        known = np.isin(y, self.classes) if alike else np.zeros(len(y), dtype=bool)
        if not known.all():
            problem = f"label {y[~known].tolist()[0]!r} was not among those of the fit"
            raise KerhrmError(
                problem, "known are {!r} and {!r}".format(*self.classes.tolist())
            )
        return torch.from_numpy(
            np.where(y == self.classes[1], 1.0, -1.0).astype(np.float32)
        )


def _ascending(columns: np.ndarray) -> bool:
    return bool((columns[1:] > columns[:-1]).all())


def _mean_and_scale(
    x: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Moments of columns (n, d), by StandardScaler; powers of two avoid underflow.

    The scale of a constant column is infinite, so that it says nothing of other rows,
    either: what it does where it varies no row has shown.
    """
    size = np.ldexp(1.0, np.frexp(np.abs(x).max(0))[1] - 1)
    scaler = StandardScaler().fit(x / size, sample_weight=weights)
    scale = np.where(np.ptp(x, axis=0) == 0, np.inf, scaler.scale_ * size)
    return scaler.mean_ * size, scale


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
    with np.errstate(invalid="ignore"):  # of columns without limits
        slack = BEYOND * (limits[1] - limits[0])
        beyond = (x < limits[0] - slack) | (x > limits[1] + slack)
    if not beyond.any():
        return None
    j = int(beyond.sum(0).argmax())
    name = getattr(estimator, "feature_names_in_", range(x.shape[1]))[j]
    rows = f"{beyond.any(1).sum()} of {len(x)} rows lie outside the rows of the fit"
    column = f"column {shown(name)}: {limits[0, j]:g} to {limits[1, j]:g} there"
    return f"{rows} ({column}); what is predicted of them is extrapolation"
