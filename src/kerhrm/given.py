"""What all functions ask of the numbers and rows that users give."""

import sys
from typing import Any

import numpy as np

from kerhrm.errors import InputTypeError, KerhrmError

#: larger values stand for missing ones, or are in a unit whose squares overflow in
#: float32
LARGEST = 1e20


def check_order(table: Any, other: Any, what: str) -> None:
    """Refuse what has the rows of a table in another order, by the index of both.

    Rows are taken as they come, as everywhere in scikit-learn, so that the rows of X
    would have the values of others.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None:  # so that none of its tables is given
        return
    rows = getattr(table, "index", None)
    others = getattr(other, "index", None)
    if not isinstance(rows, pandas.Index) or not isinstance(others, pandas.Index):
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


def refuse_lazy(values: Any, what: str) -> None:
    """Refuse a table of polars without rows, whose columns are not asked for: polars
    would warn of what that costs."""
    kind = type(values)
    if hasattr(kind, "collect") and not hasattr(kind, "to_numpy"):
        problem = f"{what} cannot be used: got a {kind.__name__}, which holds no rows"
        raise InputTypeError(f"{problem} yet", f"give {what}.collect()")


def expected_pairs(table: np.ndarray) -> float:
    """Expected number of equal pairs among m rows with independent columns, each with
    the law of its values in these distinct rows (m, c)."""
    m = len(table)
    ordered_pairs = m * (m - 1)
    pairs = ordered_pairs / 2
    for column in table.T:
        _, counts = np.unique(column, return_counts=True)
        shares = counts / m
        chance = float((shares**2).sum())
        pairs *= chance
    return pairs


def few_categories(different: np.ndarray) -> bool:
    """Whether different points (m, c) hold so few values that equal ones are expected:
    equal points are draws then, as ratings from 1 to 5, and else copies."""
    return expected_pairs(different) >= 1
