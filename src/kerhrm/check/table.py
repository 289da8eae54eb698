"""Rows and columns of a table that ``kerhrm check`` uses."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kerhrm.check.columns import (
    Roles,
    complete_rows,
    plain_name,
    read_auxiliary,
    read_target,
    task_of,
)
from kerhrm.errors import KerhrmError
from kerhrm.options import Task
from kerhrm.tables.cells import Cells, is_text, read_cells
from kerhrm.tables.columns import indistinct, named, without_names_of_rows
from kerhrm.tables.copies import copied, repeated
from kerhrm.tables.oddities import as_labels, without_notes


class CheckedTable(NamedTuple):
    """Rows of a table that are used, and what is known of them.

    Attributes
    ----------
    rows : DataFrame
        With a target and auxiliary values, all columns.
    features : DataFrame
        Columns that predict.
    y : Series
        Target.
    z : DataFrame
        Auxiliary columns.
    copies, repeated : ndarray, (n,), bool
        Rows that occur more than once; that others equal but for the target.
    notes : dict
        On columns, by name.
    left_out : DataFrame
        Columns of text that names rows, or the training rows, which do not predict.
    task : {"classification", "regression"}
        What is learned.
    """

    rows: pd.DataFrame
    features: pd.DataFrame
    y: pd.Series
    z: pd.DataFrame
    copies: np.ndarray
    repeated: np.ndarray
    notes: dict[Any, str]
    left_out: pd.DataFrame
    task: Task

    @classmethod
    def read(
        cls, table: pd.DataFrame, roles: Roles, task: str | None
    ) -> "CheckedTable":
        """Read a table; KerhrmError if a column cannot be used, or none predicts."""
        if isinstance(table, pd.DataFrame):
            table = table.set_axis(table.columns.map(plain_name), axis=1)
        whole = without_notes(named(table, "table"))
        cells = read_cells(whole)
        complete = complete_rows(cells.table, roles)
        n_empty = int(cells.table[roles.target].isna().sum())
        if not complete.all():
            decimal = getattr(table, "attrs", {}).get("decimal")
            cells = _reread(cells, whole[complete], decimal)
            complete = complete_rows(cells.table, roles)
        rows = cells.table[complete]
        y = read_target(rows[roles.target], n_empty)
        learned = task_of(y, task)
        if learned == "regression":
            y = y.astype(float) if y.dtype.kind == "b" else y
        else:
            y = as_labels(y)
        z = read_auxiliary(rows[roles.auxiliary])
        features = rows.drop(columns=list({roles.target, *roles.others}))
        if not features.shape[1]:
            options = " and ".join(roles.options)
            hint = f"name fewer columns in {options}" if options else "add columns"
            raise KerhrmError("no column is left that predicts", hint)
        indistinct_names = [
            name for name, column in features.items() if indistinct(column)
        ]
        for name in indistinct_names:  # identifiers, as are those beyond 64 bits
            texts_of_name = features[name].astype(object).map(str, na_action="ignore")
            features[name] = texts_of_name
            note = "its whole numbers are too large for float64: each is a category"
            before = cells.notes.get(name)
            cells.notes[name] = f"{before}; {note}" if before else note
        features, left_out = without_names_of_rows(features)
        return cls(
            rows=rows,
            features=features,
            y=y,
            z=z,
            copies=copied(features, y),
            repeated=repeated(features),
            notes=cells.notes,
            left_out=left_out,
            task=learned,
        )


def without(data: CheckedTable, names: list[str]) -> CheckedTable:
    """A table of which some more columns are left out."""
    left_out = pd.concat([data.left_out, data.features[names]], axis=1)
    features = data.features.drop(columns=names)
    return data._replace(features=features, left_out=left_out)


def _reread(cells: Cells, used: pd.DataFrame, decimal: str | None) -> Cells:
    """Cells of the rows that are used, by themselves.

    Units, totals and sources that stand beside them would make text of numbers.
    """
    again = read_cells(used, decimal)
    notes = dict(cells.notes)
    for name, column in again.table.items():
        before = cells.table[name]
        if is_text(before) and not is_text(column):
            notes[str(name)] = again.notes.get(str(name), "")
    said = {name: note for name, note in notes.items() if note}
    return Cells(again.table, said, again.absent)
