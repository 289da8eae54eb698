"""Arrays and columns as users give them, and the targets and weights that they hold.

Tensors become arrays, masked cells become missing ones, and what comes as a list keeps
the types of its values: NumPy alone would make one text of 1 and "1".
"""

import contextlib
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Number
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.tables.cells import EXACT
from kerhrm.tables.index import first_row
from kerhrm.tables.polars import check_width

#: larger values stand for missing ones, or are in a unit whose squares overflow in
#: float32
LARGEST = 1e20


def plain(values: Any, what: str) -> Any:
    """Values without tensors and masks: masked cells are NaN, or None among objects.

    Raises KerhrmError if a tensor, or whole numbers of polars, cannot be read.
    """
    if hasattr(values, "to_arrow"):  # of polars
        check_width(values, what)
    if isinstance(values, Tensor):
        try:
            if values.dtype == torch.bfloat16:  # which NumPy does not have
                values = values.float()
            return values.detach().cpu().numpy()
        except (RuntimeError, TypeError, NotImplementedError) as error:
            dtype = str(values.dtype).removeprefix("torch.")
            text = f"{dtype}, on {values.device}"
            problem = f"{what} is a tensor that NumPy cannot read ({text})"
            raise KerhrmError(problem, "give a dense tensor, of float32") from error
    rows = values if isinstance(values, list | tuple) else ()
    has_masked_rows = any(isinstance(row, np.ma.MaskedArray) for row in rows)
    if has_masked_rows:
        values = np.ma.array(values)
    if not isinstance(values, np.ma.MaskedArray):
        return values
    masked = np.ma.getmaskarray(values)
    cells = np.ma.getdata(values)
    if not masked.any():
        return cells
    numeric = values.dtype.kind in "biuf"
    filled = cells.astype(float if numeric else object)
    filled[masked] = np.nan if numeric else None
    return filled


def is_frame(values: Any) -> bool:
    """Whether it has columns with names: of pandas, or polars."""
    return hasattr(values, "columns") and hasattr(values, "to_numpy")


def frame(values: Any) -> pd.DataFrame:
    """Table as one of pandas, whose columns keep their types.

    Raises ValueError or TypeError if it is no table.
    """
    of_pandas = isinstance(values, pd.DataFrame)
    if is_frame(values) and not of_pandas:
        columns = {name: np.asarray(values[name]) for name in values.columns}
        return pd.DataFrame(columns)
    return pd.DataFrame(values)


def dense(X: Any) -> Any:
    """A DataFrame without sparse columns, which scikit-learn would read as a matrix."""
    if not isinstance(X, pd.DataFrame):
        return X
    types = {}
    for name, dtype in X.dtypes.items():
        if isinstance(dtype, pd.SparseDtype):
            types[name] = dtype.subtype
    return X.astype(types) if types else X


def column(values: Any, what: str, *, nested: bool = False) -> np.ndarray:
    """A column (n,), of objects where its values are not all numbers, or all text.

    With ``nested`` values of a list may be tuples.

    Raises KerhrmError if it is not a column, or a tensor that cannot be read.
    """
    values = plain(values, what)
    if isinstance(values, list | tuple):
        sequences = any(isinstance(v, list | tuple | np.ndarray) for v in values)
        if nested or not sequences:
            values = pd.Series(values, dtype=object)
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, pd.api.extensions.ExtensionDtype):
        values = np.asarray(values, dtype=object)  # whole numbers stay whole
    try:
        values = column_or_1d(values, warn=not nested)
    except (ValueError, TypeError) as error:
        got = type(values).__name__
        with contextlib.suppress(ValueError):  # of rows of several lengths
            got = f"{got} of shape {np.shape(values)}"
        if "Complex" in str(error):
            got = "complex numbers"
        problem = f"{what} must be a column of numbers or labels; got {got}"
        raise KerhrmError(problem, "give an array or a Series (n_samples,)") from error
    if values.dtype.hasobject:  # numbers, or truth values, among objects
        objects = pd.Series(values, dtype=object)
        values = objects.infer_objects().to_numpy()
    return np.asarray(values)


def kind(value: Any) -> str:
    """Kind of a value that other kinds are not mixed with, in the plural."""
    if isinstance(value, bool | np.bool_):
        return "truth values"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Number | Decimal | np.number):
        return "numbers"
    return type(value).__name__


def is_number(value: Any) -> bool:
    """Whether a cell is a number, numbers as text included, or missing."""
    if isinstance(value, np.datetime64 | np.timedelta64 | date | timedelta):
        return False
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return True
    try:
        float(value)
    except OverflowError:
        return True
    except (ValueError, TypeError):
        return False
    return True


def merges(given: Any, read: np.ndarray) -> bool:
    """Whether float64 makes one number of several numbers (n,) that are given.

    Floats are what they are.  Among objects and text a whole number has all its digits.
    """
    dtype = given.dtype
    n_read = np.unique(read).size
    if dtype.kind in "iu":
        return bool(pd.unique(given).size > n_read)
    if dtype.kind not in "OSUT" and not isinstance(dtype, pd.StringDtype):
        return False
    exact = {_exact(value) for value in given}
    return len(exact) > n_read


def _exact(value: Any) -> Any:
    """A number with all its digits, if it is whole."""
    if isinstance(value, Integral | Decimal | Fraction):
        return value
    try:
        return int(value) if isinstance(value, str | bytes) else float(value)
    except ValueError:
        return float(value)


def family(dtype: Any) -> str:
    """Types whose values NumPy compares as they are: numbers, text, or others."""
    letter = str(dtype.kind)
    for letters in ("biuf", "OU"):
        if letter in letters:
            return letters
    return letter


def check_order(table: Any, other: Any, what: str) -> None:
    """Refuse what has the rows of a table in another order, by the index of both.

    Rows are taken as they come, as everywhere in scikit-learn, so that the rows of X
    would have the values of others.
    """
    rows = getattr(table, "index", None)
    others = getattr(other, "index", None)
    if not isinstance(rows, pd.Index) or not isinstance(others, pd.Index):
        return
    if len(rows) != len(others) or rows.equals(others):
        return
    if rows.nlevels != others.nlevels:  # labels of other kinds
        return
    same_rows = rows.isin(others).all() and others.isin(rows).all()
    if same_rows:
        hint = f"give {what}.loc[X.index], or {what}.to_numpy() if the order is right"
        problem = f"the rows of {what} are in another order than those of X, by index"
        raise KerhrmError(problem, hint)


def check_values(x: np.ndarray, names: list[str], table: Any = None) -> None:
    """Refuse what is not finite or enormous, by column, in the rows of a table."""
    bad = ~(np.abs(x) < LARGEST)  # True of NaN
    if bad.any():
        j = int(bad.any(0).argmax())
        bad_rows = bad[:, j]
        n_bad = bad_rows.sum()
        first = first_row(bad_rows, table)
        value = x[bad_rows.argmax(), j]
        what = "missing (NaN), infinite (inf) or enormous values"
        problem = f"{names[j]} has {what} in {n_bad} rows, the first is {first}"
        hint = "drop these rows, or fill them in"
        raise KerhrmError(f"{problem}, with {value:g}", hint)


def read_target(
    y: Any, n: int, task: Task, *, varies: bool = True, table: Any = None
) -> np.ndarray:
    """Target (n,) of a table: labels as they are, or numbers in float64.

    Of two values or more if it varies.

    Raises KerhrmError if it is missing or infinite, of another length or order than the
    table, of several kinds, constant, or has more than two classes.
    """
    values = read_values(y, n, table)
    _check_kinds(values)
    infinite = np.zeros(n, dtype=bool)
    if values.dtype.kind == "f":
        infinite = np.isinf(values)
    if infinite.any():
        n_infinite = infinite.sum()
        first = first_row(infinite, y)
        rows = f"{n_infinite} rows, the first is {first}"
        problem = "Input y contains infinity or a value too large for dtype('float64')"
        raise KerhrmError(f"{problem}, in {rows}", "drop these rows")
    values = _numbers(values, y) if task == "regression" else _classes(values)
    constant = n > 1 and (values == values[:1]).all()
    if varies and constant:
        problem = "the target y is constant: it has only one class or value, "
        hint = "there is nothing to learn: choose other rows"
        raise KerhrmError(f"{problem}{values[0]}", hint)
    return values


def read_values(y: Any, n: int, table: Any = None) -> np.ndarray:
    """Target (n,) of a table, of any kind, of which none is missing."""
    if y is None:
        problem = "the estimator requires y to be passed, but the target y is None"
        raise KerhrmError(problem, "call fit(X, y)")
    check_order(table, y, "y")
    values = column(y, "y")
    missing = pd.isna(values)
    if missing.any():
        n_missing = missing.sum()
        first = first_row(missing, y)
        rows = f"{n_missing} rows, the first is {first}"
        raise KerhrmError(f"the target y is missing (NaN) in {rows}", "drop these rows")
    n_values = len(values)
    if n_values != n:
        problem = f"{n} rows of X but {n_values} of y"
        raise KerhrmError(problem, "give one target for each row")
    return values


def _numbers(y: np.ndarray, given: Any) -> np.ndarray:
    """Target (n,) of a regression, float64."""
    if y.dtype.kind in "mM":
        hint = "give a number, as days since a date"
        raise KerhrmError("the target y must hold numbers; got dates", hint)
    try:
        values = y.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        wrong = np.array([not is_number(value) for value in y])
        if y.dtype.kind == "c" or not wrong.any():
            problem = f"the target y must hold numbers in a regression ({error})"
            raise KerhrmError(problem, "give real numbers") from error
        value = shown(y[wrong.argmax()])
        where = first_row(wrong, given)
        problem = "the target y must hold numbers in a regression; got "
        problem += f"{value} in {where}"
        hint = "drop such rows, or use a classifier for two labels"
        raise KerhrmError(problem, hint) from error
    check_values(values[:, None], ["the target y"], given)
    if np.abs(values).max() > EXACT and merges(y, values):
        problem = "the target y has integers too large for float64 to tell apart"
        raise KerhrmError(problem, "subtract its least value")
    return np.asarray(values)


def _classes(y: np.ndarray) -> np.ndarray:
    """Target (n,) of a classification, of one or two labels of one kind."""
    try:
        if y.dtype.kind == "S":  # as scikit-learn from 1.7 on
            raise TypeError("Support for labels represented as bytes is not supported")
        check_classification_targets(y)
        number = type_of_target(y, input_name="y")
    except (ValueError, TypeError) as error:
        first_line, *_ = str(error).split("\n")
        first_sentence, *_ = first_line.split(". ")
        reason = first_sentence.rstrip(".:; ")
        problem = f"the target y must be two labels, numbers or text: {reason}"
        hint = "give pd.Series(y).astype(str)"
        numeric = y.dtype.kind in "fiu"
        if numeric and len(np.unique(y)) > 2:
            hint = "for a numeric target use task='regression' or KerHRMRegressor"
        raise KerhrmError(problem, hint) from error
    if number != "binary":
        problem = "Only binary classification is supported. The type of the target "
        problem += f"is {number}"
        raise KerhrmError(problem, "wrap the estimator in OneVsRestClassifier")
    return y


def _check_kinds(y: np.ndarray) -> None:
    """Refuse values (n,) of several kinds, some of which might be one, as 1 and "1"."""
    if y.dtype != object:
        return
    kinds = {kind(value): value for value in reversed(y)}
    if len(kinds) > 1:
        first, second, *_ = sorted(kinds)
        pair = f"{shown(kinds[first])} ({first})"
        pair += f" and {shown(kinds[second])} ({second})"
        problem = f"the target y must have values of one kind; got {pair}"
        raise KerhrmError(problem, "give pd.Series(y).astype(str), or recode it")


def read_weights(sample_weight: Any, n: int, table: Any = None) -> np.ndarray | None:
    """Weights (n,) of the rows of a table, zero or positive; None: all alike.

    Raises KerhrmError if there is not a finite weight for each row, in the table's
    order, or none is positive.
    """
    if sample_weight is None:
        return None
    check_order(table, sample_weight, "sample_weight")
    hint = "give one number for each row, or leave it out to weigh all alike"
    given = plain(sample_weight, "sample_weight")
    try:
        weights = np.asarray(given)
        if weights.dtype.kind in "cmM":
            raise TypeError("no numbers")
        weights = weights.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        problem = f"sample_weight must be numbers; got {shown(sample_weight)}"
        raise KerhrmError(problem, hint) from error
    if weights.shape != (n,):
        problem = f"sample_weight must have shape ({n},); got shape {weights.shape}"
        raise KerhrmError(problem, hint)
    usable = np.isfinite(weights) & (weights >= 0)
    bad = ~usable
    if bad.any():
        n_bad = bad.sum()
        first = first_row(bad, sample_weight)
        value = weights[bad.argmax()]
        rows = f"{n_bad} rows, the first is {first}"
        problem = f"sample_weight must be finite and 0 or more; it is not in {rows}"
        raise KerhrmError(f"{problem}, with {value:g}", hint)
    if not weights.any():
        raise KerhrmError("sample_weight is zero in all rows", hint)
    largest = weights.max()
    if 1e-20 < largest < 1e20:
        return weights
    return weights / largest  # their sums might overflow, or vanish
