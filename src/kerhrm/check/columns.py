"""Columns of a table by their roles: target, auxiliary, group, dropped, features."""

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from kerhrm.errors import KerhrmError, shown, suggest
from kerhrm.options import Task
from kerhrm.tables.almost import almost_dates, almost_numbers
from kerhrm.tables.cells import is_text
from kerhrm.tables.columns import check_exact, column_values
from kerhrm.tables.csv import check_name, column_name, column_names
from kerhrm.tables.dates import date_options
from kerhrm.tables.index import first_row
from kerhrm.tables.oddities import is_regression
from kerhrm.tables.spelling import doubtful_words
from kerhrm.tables.wording import counted, listed, visible

MIN_ROWS = 20
#: words of whole numbers, of a column of text where one is too long for 64 bits
LONG_NUMBER = re.compile(r"[+-]?\d+")


class Roles(NamedTuple):
    """Columns that do not predict, by what they are."""

    target: str
    auxiliary: list[str]
    group: str | None
    drop: list[str]

    @classmethod
    def named(
        cls,
        target: Any,
        auxiliary: Any,
        group: Any,
        drop: Any,
    ) -> "Roles":
        """Roles by the arguments of :func:`check`.

        Raises KerhrmError if one of them is no name.
        """
        return cls(
            target=column_name(target, "target"),
            auxiliary=column_names(auxiliary, "auxiliary"),
            group=None if group is None else column_name(group, "group"),
            drop=column_names(drop, "drop"),
        )

    @property
    def others(self) -> list[str]:
        """All of them but the target."""
        groups = [] if self.group is None else [self.group]
        return [*self.auxiliary, *groups, *self.drop]

    @property
    def options(self) -> list[str]:
        """Options of the command that name columns."""
        by_option = {
            "--auxiliary": self.auxiliary,
            "--group": self.group,
            "--drop": self.drop,
        }
        return [option for option, columns in by_option.items() if columns]


def check_column(name: str, table: pd.DataFrame, *, alone: bool = False) -> None:
    """Refuse a column that a table does not have; ``alone`` as in ``check_name``."""
    check_name(name, [str(known) for known in table.columns], alone=alone)


def plain_name(name: Any) -> str:
    """Name of a column, one of those that look alike."""
    return visible(str(name))


def complete_rows(table: pd.DataFrame, roles: Roles) -> np.ndarray:
    """Whether rows have a target and auxiliary values: (n,), bool.

    Raises KerhrmError if a column does not exist or is named twice, or such rows are
    few.
    """
    for name in (roles.target, *roles.others):
        alone = name in (roles.target, roles.group)
        check_column(name, table, alone=alone)
    if roles.target in roles.others:
        problem = f"column {roles.target!r} is the target"
        problem += ", and no group, auxiliary or dropped"
        raise KerhrmError(problem, "name it only once")
    for name in roles.drop:
        if name in (roles.group, *roles.auxiliary):
            problem = f"column {name!r} is dropped, and a group or auxiliary"
            raise KerhrmError(problem, "name it only once")
    needed = table[[roles.target, *roles.auxiliary]]
    complete = needed.notna().all(axis=1).to_numpy()
    n_complete = int(complete.sum())
    if n_complete < MIN_ROWS:
        problem = f"{n_complete} of {len(table)} rows have a target"
        problem += " and auxiliary values" if roles.auxiliary else ""
        raise KerhrmError(problem, f"give {MIN_ROWS} such rows or more")
    return complete


def read_target(y: pd.Series, n_empty: int) -> pd.Series:
    """A target without missing values, as NumPy's numbers, truth values, or text.

    ``n_empty`` rows without a target are left out.

    Raises KerhrmError if it is neither numbers nor two labels.
    """
    what = f"the target {y.name!r} must be numbers or two labels"
    period = isinstance(y.dtype, pd.PeriodDtype)
    dates = is_text(y) and (date_options(y) or almost_dates(y))
    if y.dtype.kind == "m":
        hint = "give them in one unit, as seconds, as a column of numbers"
        raise KerhrmError(f"{what}; got durations", hint)
    if y.dtype.kind == "M" or period or dates:
        hint = "give the days since a first day as a column of numbers"
        raise KerhrmError(f"{what}; got dates", hint)
    if isinstance(y.dtype, pd.CategoricalDtype):
        y = y.cat.remove_unused_categories()
    n_labels = y.nunique()
    if n_labels < 2:
        label = str(y.iloc[0])
        problem = f"the target {y.name!r} has one value, {label!r}, "
        if n_empty:
            problem += f"and is empty in {counted(n_empty)}"
            hint = (
                "write the other label into its empty cells, or choose another column"
            )
            raise KerhrmError(problem, hint)
        hint = "there is nothing to learn: choose another column"
        raise KerhrmError(f"{problem}in all rows", hint)
    if types.is_bool_dtype(y):
        return y.astype(bool)
    if types.is_numeric_dtype(y):
        return _numeric_target(y)
    if n_labels > 2:
        labels = [str(label) for label in y.unique()]
        shown = listed(labels)
        almost = almost_numbers(y) if is_text(y) else None
        whole = all(LONG_NUMBER.fullmatch(label) for label in labels)
        if whole and any(abs(float(label)) >= 2**63 for label in labels):
            almost = "its whole numbers are beyond 64 bits: subtract their least value"
        hint = (
            almost
            or doubtful_words(y)
            or "merge labels until two are left, or leave their cells empty"
        )
        raise KerhrmError(f"{what}; got {n_labels} labels, {shown}", hint)
    return y


def task_of(y: pd.Series, task: str | None) -> Task:
    """What a target is learned as: as it is given, or by its values.

    Raises KerhrmError if there is no such task, or it does not fit the target.
    """
    if task is None and not is_regression(y):
        return "classification"
    if task in (None, "regression"):
        if types.is_numeric_dtype(y):
            check_exact(y, f"the target {y.name!r}")
            return "regression"
        labels = listed([str(label) for label in y.unique()])
        problem = f"the target {y.name!r} holds labels, {labels}, and a regression"
        hint = "use task classification, or leave the task out"
        raise KerhrmError(f"{problem} needs numbers", hint)
    if task == "classification":
        if y.nunique() == 2:
            return "classification"
        problem = f"the target {y.name!r} has {y.nunique()} values, and a"
        hint = "merge them into two, or use task regression"
        raise KerhrmError(f"{problem} classification needs two", hint)
    problem = f"task must be classification or regression; got {shown(task)}"
    raise KerhrmError(problem, suggest(str(task), ["classification", "regression"]))


def _numeric_target(y: pd.Series) -> pd.Series:
    """A target of numbers as NumPy's; refuse those that are not finite."""
    infinite = np.isinf(y.astype(float))
    if infinite.any():
        problem = f"the target {y.name!r} must be finite; got {y[infinite].iloc[0]}"
        where = first_row(infinite, y)
        raise KerhrmError(f"{problem} in {where}", "leave such cells empty")
    if not types.is_integer_dtype(y):
        return y.astype(float)
    is_beyond = y.max() > np.iinfo(np.int64).max
    return y.astype("uint64" if is_beyond else "int64")


def read_auxiliary(table: pd.DataFrame) -> pd.DataFrame:
    """Auxiliary columns: numbers, dates, or categories of text.

    Raises KerhrmError if text is dates, which are no categories.
    """
    columns = {}
    for name, column in table.items():
        kind, cells = column_values(column)
        where = f"auxiliary column {name!r}"
        if column.nunique() < 2:
            raise KerhrmError(f"{where} is constant", "give a column that varies")
        if kind != "text":
            columns[name] = column
            continue
        options = date_options(column)
        if options:
            problem = f"{where} holds dates, as {column.iloc[0]!r}"
            raise KerhrmError(problem, f"add {options}")
        hint = almost_dates(column)
        if hint:
            raise KerhrmError(f"{where} must hold dates or categories", hint)
        columns[name] = cells
    return pd.DataFrame(columns, table.index)
