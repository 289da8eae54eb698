"""Tables of polars as those of pandas, column by column.

Neither polars nor pyarrow is imported: a table brings its own methods.
"""

from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.tables.cells import decoded

#: whole numbers that neither NumPy nor pandas has
WIDE = ("Int128", "UInt128")


def _is_of_polars(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "polars"


def is_polars(table: Any) -> bool:
    """Whether it is a DataFrame of polars, which holds its rows."""
    return _is_of_polars(table) and hasattr(table, "get_columns")


def of_pandas(table: Any, what: str = "table") -> Any:
    """A table of polars as one of pandas, with rows counted from 0; others as they are.

    Raises KerhrmError naming a column whose cells are lists or records.
    """
    if not is_polars(table):
        return table
    columns = {column.name: _column(column, what) for column in table.get_columns()}
    rows = pd.RangeIndex(len(table))
    return pd.DataFrame(columns, rows)


def check_width(values: Any, what: str) -> None:
    """Refuse whole numbers of 128 bits in a table or column of polars."""
    columns = values.get_columns() if is_polars(values) else [values]
    for column in columns if _is_of_polars(values) else ():
        kind = str(getattr(column, "dtype", ""))
        if kind in WIDE:
            problem = f"column {column.name!r} of {what} has cells of type {kind}"
            raise KerhrmError(problem, "cast it to pl.Int64, or to pl.Float64")


def check_cells(table: Any, what: str) -> None:
    """Refuse a table of polars with cells that are lists, records or objects.

    Raises KerhrmError naming the first such column.
    """
    if is_polars(table):
        for column in table.get_columns():
            _check_cells(column, what)


def _check_cells(column: Any, what: str) -> None:
    kind = str(column.dtype)
    if column.dtype.is_nested() or kind == "Object":
        problem = f"column {column.name!r} of {what} has cells of type {kind}"
        raise KerhrmError(problem, "drop it, or make a column of each of their values")
    check_width(column, what)


def _text(cell: Any) -> str:
    return decoded(cell) if isinstance(cell, bytes) else str(cell)


def _column(column: Any, what: str) -> pd.Series:
    """A Series of polars as one of pandas; missing values stay missing."""
    _check_cells(column, what)
    dtype = column.dtype
    kind = str(dtype)
    if dtype.is_temporal() and kind != "Time":
        return pd.Series(column.to_numpy())
    if kind.startswith("Decimal"):
        numbers = np.array(column.to_list(), dtype=float)
        return pd.Series(numbers)
    has_missing = column.null_count() > 0
    full_numbers = dtype.is_numeric() and not has_missing
    if dtype.is_float() or full_numbers:
        return pd.Series(column.to_numpy())
    if dtype.is_integer():
        name = "UInt64" if kind.startswith("U") else "Int64"
        return pd.Series(column.to_list(), dtype=name)
    if kind == "Boolean":
        truth = "boolean" if has_missing else bool
        return pd.Series(column.to_list(), dtype=truth)
    texts = [None if cell is None else _text(cell) for cell in column]
    return pd.Series(texts, dtype=object)
