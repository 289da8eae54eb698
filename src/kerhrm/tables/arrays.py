"""Arrays and columns as users give them.

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
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.given import LARGEST, refuse_lazy
from kerhrm.tables.index import first_row
from kerhrm.tables.polars import check_width
from kerhrm.tables.wording import counted


def without_masks(values: Any, what: str) -> Any:
    """Values without tensors and masks: masked cells are NaN, or None among objects.

    Raises KerhrmError if a tensor, or whole numbers of polars, cannot be read, or a
    table of polars has no rows yet.
    """
    refuse_lazy(values, what)
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
    values = without_masks(values, what)
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
    if has_underscore(value):
        return False
    try:
        float(value)
    except OverflowError:
        return True
    except (ValueError, TypeError):
        return False
    return True


def has_underscore(value: Any) -> bool:
    """Whether a cell is text with "_", as 1_000, a number by Python's grammar alone."""
    return isinstance(value, str | bytes) and "_" in str(value)


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


def check_values(x: np.ndarray, names: list[str], table: Any) -> None:
    """Refuse what is not finite or enormous, by column, in the rows of a table."""
    bad = ~(np.abs(x) < LARGEST)  # True of NaN
    if bad.any():
        j = int(bad.any(0).argmax())
        bad_rows = bad[:, j]
        n_bad = bad_rows.sum()
        first = first_row(bad_rows, table)
        value = x[bad_rows.argmax(), j]
        what = "missing (NaN), infinite (inf) or enormous values"
        problem = f"{names[j]} has {what} in {counted(n_bad)}, the first is {first}"
        hint = "drop these rows, or fill them in"
        raise KerhrmError(f"{problem}, with {value:g}", hint)
