"""Arrays and columns as users give them, and the targets and weights that they hold.

Tensors become arrays, masked cells become missing ones, and what comes as a list keeps
the types of its values: NumPy alone would make one text of 1 and "1".
"""

from datetime import date, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.tables.index import first_row

#: larger values stand for missing ones, or are in a unit whose squares overflow in
#: float32
LARGEST = 1e20


def plain(values: Any, what: str) -> Any:
    """Values without tensors and masks: masked cells are NaN, or None among objects.

    Raises KerhrmError if a tensor cannot be read.
    """
    if isinstance(values, Tensor):
        try:
            if values.dtype == torch.bfloat16:  # which NumPy does not have
                values = values.float()
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


def check_order(table: Any, other: Any, what: str) -> None:
    """Refuse what has the rows of a table in another order, by the index of both.

    Rows are taken as they come, as everywhere in scikit-learn, so that the rows of X
    would have the values of others.
    """
    rows, others = (getattr(given, "index", None) for given in (table, other))
    if not (isinstance(rows, pd.Index) and isinstance(others, pd.Index)):
        return
    if len(rows) != len(others) or rows.equals(others):
        return
    if rows.isin(others).all() and others.isin(rows).all():
        hint = f"give {what}.loc[X.index], or {what}.to_numpy() if the order is right"
        problem = f"the rows of {what} are in another order than those of X, by index"
        raise KerhrmError(problem, hint)


def check_values(x: np.ndarray, names: list[str], table: Any = None) -> None:
    """Refuse what is not finite or enormous, by column, in the rows of a table."""
    bad = ~(np.abs(x) < LARGEST)  # True of NaN
    if bad.any():
        j = int(bad.any(0).argmax())
        rows = f"{bad[:, j].sum()} rows, the first is {first_row(bad[:, j], table)}"
        what = (
            f"{names[j]} has missing (NaN), infinite (inf) or enormous values in {rows}"
        )
        value = x[bad[:, j].argmax(), j]
        raise KerhrmError(f"{what}, with {value:g}", "drop these rows, or fill them in")


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
    infinite = np.isinf(values) if values.dtype.kind == "f" else np.zeros(n, dtype=bool)
    if infinite.any():
        rows = f"{infinite.sum()} rows, the first is {first_row(infinite, y)}"
        problem = "Input y contains infinity or a value too large for dtype('float64')"
        raise KerhrmError(f"{problem}, in {rows}", "drop these rows")
    values = _numbers(values, y) if task == "regression" else _classes(values)
    if varies and n > 1 and (values == values[0]).all():
        hint = "there is nothing to learn: choose other rows"
        problem = (
            f"the target y is constant: it has only one class or value, {values[0]}"
        )
        raise KerhrmError(problem, hint)
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
        rows = f"{missing.sum()} rows, the first is {first_row(missing, y)}"
        raise KerhrmError(f"the target y is missing (NaN) in {rows}", "drop these rows")
    if len(values) != n:
        raise KerhrmError(
            f"{n} rows of X but {len(values)} of y", "give one target for each row"
        )
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
        where = f"{shown(y[wrong.argmax()])} in {first_row(wrong, given)}"
        problem = f"the target y must hold numbers in a regression; got {where}"
        hint = "drop such rows, or use a classifier for two labels"
        raise KerhrmError(problem, hint) from error
    check_values(values[:, None], ["the target y"], given)
    return np.asarray(values)


def _classes(y: np.ndarray) -> np.ndarray:
    """Target (n,) of a classification, of one or two labels of one kind."""
    try:
        if y.dtype.kind == "S":  # as scikit-learn from 1.7 on
            raise TypeError("Support for labels represented as bytes is not supported")
        check_classification_targets(y)
        number = type_of_target(y, input_name="y")
    except (ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".:; ")
        problem = f"the target y must be two labels, numbers or text: {reason}"
        numbers = y.dtype.kind in "fiu" and len(np.unique(y)) > 2
        hint = "for a numeric target use task='regression' or KerHRMRegressor"
        recode = "give pd.Series(y).astype(str)"
        raise KerhrmError(problem, hint if numbers else recode) from error
    if number != "binary":
        problem = (
            "Only binary classification is supported. The type of the target "
            f"is {number}"
        )
        raise KerhrmError(problem, "wrap the estimator in OneVsRestClassifier")
    return y


def _check_kinds(y: np.ndarray) -> None:
    """Refuse values (n,) of several kinds, some of which might be one, as 1 and "1"."""
    kinds = {kind(value): value for value in reversed(y)} if y.dtype == object else {}
    if len(kinds) > 1:
        pair = " and ".join(f"{shown(v)} ({k})" for k, v in sorted(kinds.items())[:2])
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
    if (bad := ~(np.isfinite(weights) & (weights >= 0))).any():
        rows = f"{bad.sum()} rows, the first is {first_row(bad, sample_weight)}"
        problem = f"sample_weight must be finite and 0 or more; it is not in {rows}"
        raise KerhrmError(f"{problem}, with {weights[bad.argmax()]:g}", hint)
    if not weights.any():
        raise KerhrmError("sample_weight is zero in all rows", hint)
    largest = weights.max()
    # sums of others might overflow, or vanish
    return weights if 1e-20 < largest < 1e20 else weights / largest
