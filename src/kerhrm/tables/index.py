"""Rows of a table by its index: named in errors, and in the order of another table.

Pandas is all that this imports, so that a file is read without PyTorch.
"""

from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError


def first_row(bad: Any, table: Any = None) -> str:
    """Name the first of some rows as pandas counts.

    By its index, or from 0 if it has none.
    """
    row, index = int(np.argmax(bad)), getattr(table, "index", None)
    return (
        f"index {index[row]}"
        if isinstance(index, pd.Index)
        else f"row {row} (counted from 0)"
    )


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
