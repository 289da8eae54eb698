"""Targets and weights of a table's rows, as users give them."""

from datetime import date, time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from kerhrm.errors import KerhrmError, shown
from kerhrm.given import check_order
from kerhrm.options import Task
from kerhrm.tables.arrays import (
    check_values,
    column,
    has_underscore,
    is_number,
    kind,
    merges,
    without_masks,
)
from kerhrm.tables.cells import EXACT
from kerhrm.tables.index import first_row
from kerhrm.tables.wording import counted, names_of

#: objects of dates and times
TIMES = (date, time, pd.Period, np.datetime64)


def read_target(
    y: Any, n: int, task: Task, *, varies: bool = True, table: Any = None
) -> np.ndarray:
    """Target (n,) of a table: labels as they are, or numbers in float64.

    Of two values or more if it varies.

    Raises KerhrmError if it is missing or infinite, of another length or order than the
    table, of several kinds, constant, or has more than two classes, or two that look
    the same.
    """
    values = read_values(y, n, table)
    _check_kinds(values)
    infinite = np.zeros(n, dtype=bool)
    if values.dtype.kind == "f":
        infinite = np.isinf(values)
    if infinite.any():
        n_infinite = infinite.sum()
        first = first_row(infinite, y)
        rows = f"{counted(n_infinite)}, the first is {first}"
        problem = "Input y contains infinity or a value too large for dtype('float64')"
        raise KerhrmError(f"{problem}, in {rows}", "drop these rows")
    values = _numbers(values, y) if task == "regression" else _classes(values)
    constant = n > 1 and (values == values[:1]).all()
    if varies and constant:
        problem = "the target y is constant: it has only one class or value, "
        hint = "there is nothing to learn: choose other rows"
        raise KerhrmError(f"{problem}{values[0]}", hint)
    return values


def read_values(y: Any, n: int, table: Any) -> np.ndarray:
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
        rows = f"{counted(n_missing)}, the first is {first}"
        raise KerhrmError(f"the target y is missing (NaN) in {rows}", "drop these rows")
    n_values = len(values)
    if n_values != n:
        problem = f"{n} rows of X but {n_values} of y"
        raise KerhrmError(problem, "give one target for each row")
    return values


def _numbers(y: np.ndarray, given: Any) -> np.ndarray:
    """Target (n,) of a regression, float64."""
    problem = "the target y must hold numbers; got"
    if y.dtype.kind == "M":
        raise KerhrmError(f"{problem} dates", "give a number, as days since a date")
    if y.dtype.kind == "m":
        hint = 'give a number, as pd.to_timedelta(y) / pd.Timedelta("1s")'
        raise KerhrmError(f"{problem} durations", hint)
    wrong = np.zeros(len(y), dtype=bool)
    if y.dtype.kind in "OUS":
        wrong = np.array([not is_number(value) for value in y])
    if wrong.any():
        first = y[wrong.argmax()]
        value = shown(first)
        where = first_row(wrong, given)
        problem = "the target y must hold numbers in a regression; got "
        problem += f"{value} in {where}"
        hint = "drop such rows, or use a classifier for two labels"
        if isinstance(first, TIMES):
            hint = "give a number, as days since a date, or seconds since midnight"
        raise KerhrmError(problem, hint)
    try:
        values = y.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        problem = f"the target y must hold numbers in a regression ({error})"
        raise KerhrmError(problem, "give real numbers") from error
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
        if y.dtype.kind in "fiu":
            values = np.unique(y)
            hint = f"give y == {values[-1]}"  # text may have another order
            if len(values) > 2:
                hint = "for a numeric target use KerHRMRegressor, or task='regression' "
                hint += "where the estimator has a task"
        raise KerhrmError(problem, hint) from error
    if y.dtype.kind in "OU":
        distinct = pd.unique(y)
        names_of(distinct, "y")
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


def read_weights(sample_weight: Any, n: int, table: Any) -> np.ndarray | None:
    """Weights (n,) of the rows of a table, zero or positive; None: all alike.

    Raises KerhrmError if there is not a finite weight for each row, in the table's
    order, or none is positive.
    """
    if sample_weight is None:
        return None
    check_order(table, sample_weight, "sample_weight")
    hint = "give one number for each row, or leave it out to weigh all alike"
    given = without_masks(sample_weight, "sample_weight")
    try:
        weights = np.asarray(given)
        if weights.dtype.kind in "cmM" or any(map(has_underscore, weights.flat)):
            raise TypeError("no numbers")
        weights = weights.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        problem = f"sample_weight must be numbers; got {shown(sample_weight)}"
        raise KerhrmError(problem, hint) from error
    if weights.shape == (n, 1):
        weights = weights[:, 0]
    if weights.shape != (n,):
        problem = f"sample_weight must have shape ({n},); got shape {weights.shape}"
        raise KerhrmError(problem, hint)
    usable = np.isfinite(weights) & (weights >= 0)
    bad = ~usable
    if bad.any():
        n_bad = bad.sum()
        first = first_row(bad, sample_weight)
        value = weights[bad.argmax()]
        rows = f"{counted(n_bad)}, the first is {first}"
        problem = f"sample_weight must be finite and 0 or more; it is not in {rows}"
        raise KerhrmError(f"{problem}, with {value:g}", hint)
    if not weights.any():
        raise KerhrmError("sample_weight is zero in all rows", hint)
    largest = weights.max()
    if 1e-20 < largest < 1e20:
        return weights
    return weights / largest  # their sums might overflow, or vanish
