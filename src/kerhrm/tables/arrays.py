"""Arrays, tables and columns as users give them, before anything is read from them.

Tensors become arrays, masked cells become missing ones, and what comes as a list keeps
the types of its values: NumPy alone would make one text of 1 and "1".
"""

from datetime import date, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from kerhrm.errors import KerhrmError


def plain(values: Any, what: str) -> Any:
    """Values without tensors and masks: masked cells are NaN, or None among objects.

    Raises KerhrmError if a tensor cannot be read.
    """
    if isinstance(values, Tensor):
        try:
            return values.detach().cpu().numpy()
        except (RuntimeError, TypeError, NotImplementedError) as error:
            text = f"{str(values.dtype)[6:]}, on {values.device}"
            problem = f"{what} is a tensor that NumPy cannot read ({text})"
            raise KerhrmError(problem, "give a dense tensor, of float32") from error
    rows = values if isinstance(values, list | tuple) else ()
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        values = np.ma.array(values)
    if not isinstance(values, np.ma.MaskedArray):
        return values
    masked = np.ma.getmaskarray(values)
    if not masked.any():
        return np.ma.getdata(values)
    numeric = values.dtype.kind in "biuf"
    filled = np.ma.getdata(values).astype(float if numeric else object)
    filled[masked] = np.nan if numeric else None
    return filled


def is_frame(values: Any) -> bool:
    """Whether it has columns with names: of pandas, or polars."""
    return hasattr(values, "columns") and hasattr(values, "to_numpy")


def frame(values: Any) -> pd.DataFrame:
    """Table as one of pandas, whose columns keep their types.

    Raises ValueError or TypeError if it is no table.
    """
    if is_frame(values) and not isinstance(values, pd.DataFrame):
        return pd.DataFrame({name: np.asarray(values[name]) for name in values.columns})
    return pd.DataFrame(values)


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
        got = f"{type(values).__name__} of shape {np.shape(values)}"
        if "Complex" in str(error):
            got = "complex numbers"
        problem = f"{what} must be a column of numbers or labels; got {got}"
        raise KerhrmError(problem, "give an array or a Series (n_samples,)") from error
    if values.dtype.hasobject:  # numbers, or truth values, among objects
        values = pd.Series(values, dtype=object).infer_objects().to_numpy()
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


def family(dtype: Any) -> str:
    """Types whose values NumPy compares as they are: numbers, text, or others."""
    return next((f for f in ("biuf", "OU") if dtype.kind in f), str(dtype.kind))
