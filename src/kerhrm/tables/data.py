"""Tables of users: checked and standardised."""

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from kerhrm.errors import InputTypeError, KerhrmError, shortened, shown
from kerhrm.options import Task
from kerhrm.scikit_learn import validate_data
from kerhrm.tables.arrays import (
    check_values,
    dense,
    family,
    frame,
    has_underscore,
    is_frame,
    is_number,
    merges,
    plain,
)
from kerhrm.tables.cells import EXACT
from kerhrm.tables.index import first_row
from kerhrm.tables.loaders import LOADERS, refuse_others, unloaded
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
    doubtful = "mM"
    if is_frame(X) and not isinstance(X, pd.DataFrame):
        check_cells(X, "X")
        doubtful += "O"  # objects may be times of day, which polars makes numbers
    X = dense(plain(X, "X"))
    names = list(getattr(X, "columns", ()))
    for name, count in Counter(names).items():
        if count > 1:
            problem = f"two columns are called {name!r}"
            raise KerhrmError(problem, "rename or drop one of them")
    _check_column_order(estimator, names, reset=reset)
    # numbers of dates would depend on the unit that they are stored in
    dates = any(dtype.kind in doubtful for dtype in _dtypes(X))
    refusal = _not_a_number(X) if dates or _has_misread_cells(X) else None
    if refusal is not None:
        raise refusal
    X = _missing_as_nan(X)
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
    _, n_columns = x.shape
    columns = [f"column {name!r}" for name in names or range(n_columns)]
    check_values(x, columns, X)
    _check_exact(X, x, columns)
    return x


def _check_column_order(estimator: Any, names: list[Any], *, reset: bool) -> None:
    """Learn names that are not text, or refuse those of the fit in another order.

    scikit-learn compares names of text alone: years, and names of several levels, would
    be read by position.  Other names than in the fit are, as there.
    """
    all_text = all(isinstance(name, str) for name in names)
    given = [] if all_text else [repr(name) for name in names]
    if reset:
        estimator._other_names = given
        return
    known = getattr(estimator, "_other_names", [])
    if given != known and sorted(given) == sorted(known):
        problem = "the columns of X are in another order than in the fit"
        hint = f"give X[[{', '.join(known)}]], or X.to_numpy() if the order is right"
        raise KerhrmError(problem, shortened(hint, 300))


def _check_exact(X: Any, x: np.ndarray, names: list[str]) -> None:
    """Refuse a column of whole numbers some of which are one in float64."""
    largest = np.abs(x).max(0)
    beyond = np.flatnonzero(largest > EXACT)
    if not len(beyond):
        return
    table: Any = None
    cells: Any = X
    if is_frame(X):
        table = frame(X)
    elif isinstance(X, list | tuple):
        cells = np.array(X, dtype=object)  # each of its own type
    for j in beyond:
        given = np.asarray(cells)[:, j] if table is None else table.iloc[:, j]
        if merges(given, x[:, j]):
            problem = f"{names[j]} has integers too large for float64 to tell apart"
            raise KerhrmError(problem, "subtract the column's minimum")


def _has_misread_cells(X: Any) -> bool:
    """Whether NumPy would read cells as numbers that they are not.

    Its times are numbers in some unit, and text as 1_000 is one by Python's grammar.
    """
    cells: Any = ()
    if isinstance(X, pd.DataFrame):
        others = X.select_dtypes(exclude=["number", "bool"])
        cells = others.to_numpy(dtype=object).flat
    elif isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
        cells = X.flat
    elif isinstance(X, list | tuple):
        rows = (row for row in X if isinstance(row, list | tuple))
        cells = itertools.chain.from_iterable(rows)
    times = np.datetime64 | np.timedelta64
    return any(isinstance(cell, times) or has_underscore(cell) for cell in cells)


def _missing_as_nan(X: Any) -> Any:
    """A table of objects with NaN for ``pd.NA`` and its like, which are no floats."""
    if isinstance(X, pd.DataFrame):
        dtypes = X.dtypes.items()
        objects = [name for name, dtype in dtypes if dtype == np.dtype(object)]
        if not objects:
            return X
        filled = X.copy()
        filled[objects] = X[objects].where(X[objects].notna(), np.nan)
        return filled
    if isinstance(X, np.ndarray) and X.dtype == object:
        return np.where(pd.isna(X), np.nan, X)
    return X


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
    refuse_others(X)
    cells = hasattr(X, "iloc") or isinstance(error, ValueError)
    refusal = _not_a_number(X) if cells else None
    if refusal is not None:
        return refusal
    first_line, *_ = text.split("\n")
    reason = first_line.rstrip(".:; ")
    if isinstance(error, OverflowError):
        problem = f"X has a number that float64 cannot hold ({reason})"
        return KerhrmError(problem, HINT)
    kind = InputTypeError if isinstance(error, TypeError) else KerhrmError
    hint = HINT
    if isinstance(X, pd.Series):
        reason = "got a Series instead of a table"
        hint = "give X.to_frame().T for one row, X.to_frame() for one column"
    elif hasattr(X, "collect"):  # of polars
        reason = "got a LazyFrame, which holds no rows yet"
        hint = "give X.collect()"
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
            number_of_row = int(wrong.argmax())
            first = values.iloc[number_of_row]
            words = str(first).split()
            value = shown(" ".join(words), 42)
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
