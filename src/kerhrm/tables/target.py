"""Targets and weights of a table's rows."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.tables.arrays import (
    column,
    is_number,
    kind,
    plain,
)
from kerhrm.tables.data import check_values
from kerhrm.tables.index import check_order, first_row


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
        check_classification_targets(y)
        number = type_of_target(y, input_name="y", raise_unknown=True)
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
