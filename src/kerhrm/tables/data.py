"""X of users: read as numbers, or refused with the column and the row."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import InputTypeError, KerhrmError, shown
from kerhrm.given import refuse_lazy
from kerhrm.scikit_learn import validate_data
from kerhrm.tables.arrays import (
    check_values,
    dense,
    frame,
    has_underscore,
    is_frame,
    is_number,
    merges,
    without_masks,
)
from kerhrm.tables.cells import EXACT
from kerhrm.tables.column_names import check_names, other_columns
from kerhrm.tables.index import first_row
from kerhrm.tables.loaders import LOADERS, refuse_others, unloaded
from kerhrm.tables.polars import check_cells

HINT = "give a DataFrame or an array (n_samples, n_features) of numbers"


def read_features(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Inputs (n, d), float64 and finite, row by row in memory; of a loader, too.

    ``reset`` when fitting, which learns the columns' names.

    Raises
    ------
    KerhrmError
        Naming the column: text, a date, NaN, a masked cell, infinite or enormous
        values, a repeated name, or another column than in the fit.
    """
    if isinstance(X, LOADERS):
        X, _ = unloaded(X, needs_y=False)
    refuse_lazy(X, "X")  # before its columns are asked for
    doubtful = "mM"
    if is_frame(X) and not isinstance(X, pd.DataFrame):
        check_cells(X, "X")
        doubtful += "O"  # objects may be times of day, which polars makes numbers
    X = dense(without_masks(X, "X"))
    names = list(getattr(X, "columns", ()))
    for name, count in Counter(names).items():
        if count > 1:
            problem = f"two columns are called {name!r}"
            raise KerhrmError(problem, "rename or drop one of them")
    names_to_read = check_names(estimator, names, reset=reset)
    # numbers of dates would depend on the unit that they are stored in
    dates = any(dtype.kind in doubtful for dtype in _dtypes(X))
    refusal = _not_a_number(X) if dates or _has_misread_cells(X) else None
    if refusal is not None:
        raise refusal
    X = _missing_as_nan(X)
    table = X
    if names_to_read is not None:
        table = frame(X).set_axis(names_to_read, axis=1)
    try:
        x = validate_data(
            estimator,
            table,
            reset=reset,
            dtype=np.float64,
            order="C",
            copy=True,
        )
    except (ValueError, TypeError, OverflowError) as error:
        if refused := other_columns(estimator, names, error):
            raise refused from error
        raise _unreadable(X, error) from error
    # no negative zeros, which would compare differently as bytes
    x = np.asarray(x + 0.0)
    _, n_columns = x.shape
    columns = [f"column {name!r}" for name in names or range(n_columns)]
    check_values(x, columns, X)
    _check_exact(X, x, columns)
    return x


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
