"""Auxiliary columns, which environments are functions of, as numbers."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from kerhrm.errors import DataWarning, KerhrmError, shown, suggest, warn
from kerhrm.given import check_order
from kerhrm.tables.arrays import check_values, frame, is_frame, without_masks
from kerhrm.tables.auxiliary_column import CATEGORIES, AuxiliaryColumn
from kerhrm.tables.index import first_row


@dataclass(frozen=True)
class AuxiliaryColumns:
    """Auxiliary columns of a fit, and how those of other rows are read."""

    columns: tuple[AuxiliaryColumn, ...]

    @classmethod
    def learn(cls, Z: Any, n: int, X: Any) -> Self:
        """Learn the columns of the n rows of a table X.

        Raises KerhrmError as :meth:`read`, or if a column holds neither numbers, dates
        nor categories.
        """
        table, named = _table(Z, n, X)
        columns = []
        for name, values in table.items():
            known_name = name if named else None
            column = AuxiliaryColumn.learn(known_name, values, _where(name))
            columns.append(column)
        return cls(tuple(columns))

    def check(self, Z: Any, n: int, X: Any) -> pd.DataFrame:
        """The columns of the n rows of a table X, as they are given.

        Raises KerhrmError if there is not a row for each of X, in its order, columns
        are not those of the fit, or a value is missing.
        """
        table, named = _table(Z, n, X)
        names = [column.name for column in self.columns]
        known = None not in names
        n_columns = table.shape[1]
        n_known = len(names)
        if named and known:
            _check_names(table, names)
        elif n_columns != n_known:
            problem = f"auxiliary has {n_columns} columns, but {n_known} in the fit"
            raise KerhrmError(problem, "give the columns of the fit")
        elif named != known and n_known > 1:  # as scikit-learn does for X
            in_fit = names if known else list(range(n_known))
            if is_frame(Z) and set(table) == set(in_fit):
                _check_names(table, in_fit)  # which columns have that are counted, too
            text = "auxiliary columns have no names, here or in the fit: they are taken"
            warn(f"{text} in the order of the fit", DataWarning)
        return table

    def read(self, Z: Any, n: int, X: Any, *, any_category: bool = False) -> np.ndarray:
        """Columns (n, c), float64, of the n rows of a table X.

        Raises KerhrmError as :meth:`check`, or if a column is of another kind than in
        the fit, or has a new category, unless ``any_category`` is let through as -1.
        """
        table = self.check(Z, n, X)
        arrays = []
        for column, (name, values) in zip(self.columns, table.items(), strict=True):
            where = _where(name)
            array = column.read(values, where, Z, any_category=any_category)
            check_values(array[:, None], [where], Z)
            arrays.append(array)
        return np.column_stack(arrays)

    def unseen(self, z: np.ndarray) -> np.ndarray:
        """Which rows (n,) of columns (n, c) that :meth:`read` gives have a category
        that the fit has not seen."""
        categories = [column.kind == CATEGORIES for column in self.columns]
        new = z[:, categories] < 0
        return np.asarray(new.any(axis=1))


def _check_names(table: pd.DataFrame, names: list[Any]) -> None:
    """Refuse other columns than those of the fit."""
    given = list(table)
    for name in names:
        if name not in given:
            problem = f"auxiliary has no column {name!r}, which the fit had"
            hint = suggest(name, [*map(str, given)])
            raise KerhrmError(problem, hint)
    for name in given:
        if name not in names:
            problem = f"auxiliary column {name!r} was not in the fit"
            raise KerhrmError(problem, "leave it out")
    if names != given:  # as scikit-learn refuses it of X
        problem = "auxiliary columns are in another order than in the fit"
        order = shown(names, 300)
        raise KerhrmError(problem, f"give auxiliary[{order}]")


def _where(name: Any) -> str:
    return f"auxiliary column {name!r}"


def _table(Z: Any, n: int, X: Any) -> tuple[pd.DataFrame, bool]:
    """Columns of the n rows of X, none missing, and whether they have names."""
    check_order(X, Z, "auxiliary")
    columns = _columns(without_masks(Z, "auxiliary"))
    try:
        table = pd.DataFrame(columns).infer_objects()
    except (ValueError, TypeError) as error:
        text = " ".join(str(error).split())
        problem = f"auxiliary must be an array or a table ({text})"
        raise KerhrmError(problem, "give a column, or columns (n, c)") from error
    n_rows, n_columns = table.shape
    if not n_columns:
        raise KerhrmError("auxiliary has no columns", "leave it out")
    if n_rows != n:
        problem = f"auxiliary has {n_rows} rows for {n} of X"
        raise KerhrmError(problem, "give one for each")
    for name, count in Counter(table).items():
        if count > 1:
            problem = f"two auxiliary columns are called {name!r}"
            raise KerhrmError(problem, "rename or drop one of them")
    for name, values in table.items():
        missing = values.isna()
        if missing.any():
            row = first_row(missing, Z)
            problem = f"{_where(name)} has a missing value in {row}"
            raise KerhrmError(problem, "drop such rows, or fill them in")
    named = isinstance(columns, pd.DataFrame)
    if isinstance(columns, pd.Series):
        named = columns.name is not None
    numbered = table.columns.equals(pd.RangeIndex(n_columns))
    return table, named and not numbered


def _columns(Z: Any) -> Any:
    """Columns as pandas takes them, without making one type of several."""
    if isinstance(Z, pd.Series):
        return Z
    if is_frame(Z):
        return frame(Z)
    if isinstance(Z, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(Z).rename(None)
    if isinstance(Z, list | tuple):
        has_rows = any(isinstance(row, list | tuple | np.ndarray) for row in Z)
        if not has_rows:
            return pd.Series(Z, dtype=object)
        array = np.array(Z, dtype=object)
    else:
        dense = Z.toarray() if hasattr(Z, "toarray") else Z
        array = np.asarray(dense)
    if array.ndim not in (1, 2):
        problem = f"auxiliary must have one or two dimensions; got shape {array.shape}"
        raise KerhrmError(problem, "give a column, or columns (n, c)")
    return array
