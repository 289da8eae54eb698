"""What ``kerhrm check`` says of the rows and columns of a table."""

from typing import Any

import numpy as np
import pandas as pd

from kerhrm.check.columns import Roles
from kerhrm.check.table import CheckedTable
from kerhrm.options import Task
from kerhrm.tables.almost import almost_numbers
from kerhrm.tables.cells import is_text
from kerhrm.tables.columns import NAMES_ROWS, column_values, indistinct
from kerhrm.tables.dates import digit_dates
from kerhrm.tables.oddities import misread, missing_code, notes_of, oddities
from kerhrm.tables.spelling import doubtful_words
from kerhrm.tables.wording import counted

MAX_CLASSES = 5  #: whole numbers of a target that may be classes
OWN_GROUPS = (
    "every test row is a group of its own: errors of one row say little; "
    "give a column that several rows share"
)
#: remark on a column of text that names rows; more follows if it should hold numbers
LEFT_OUT = f"left out: {NAMES_ROWS}"


def facts_of_rows(
    data: CheckedTable, train: np.ndarray, n_rows: int, left_out: list[str]
) -> dict[str, str]:
    """Facts on rows that are left out, lack cells, or stand more than once in the
    table."""
    facts = {}
    n_missing = n_rows - len(data.rows)
    if n_missing:
        what = "a target or auxiliary value" if data.z.shape[1] else "a target"
        text = f"{counted(n_missing)} without {what}"
        left_out = [*left_out, text]
    if left_out:
        facts["left out"] = ", ".join(left_out)
    facts |= _missing(data.features.iloc[train])
    n_copies = int(data.copies.sum())
    if n_copies:
        text = f"{counted(n_copies)} occur more than once"
        facts["copies"] = f"{text}; all copies of a row train, or all test"
    n_repeated = int((data.repeated & ~data.copies).sum())
    if n_repeated:
        text = f"{counted(n_repeated)} differ from others in the target alone"
        facts["repeated rows"] = f"{text}; such rows all train, or all test"
    return facts


def _missing(features: pd.DataFrame) -> dict[str, str]:
    """Fact on missing cells of the rows that train."""
    empty = features.isna().sum()
    empty = empty[empty > 0]
    if empty.empty:
        return {}
    text = f"{empty.idxmax()!r} in {empty.max()} of {counted(len(features))} that train"
    if len(empty) == 1:
        return {"missing": f"{text}; a further column says where"}
    text = f"{counted(len(empty), 'column')}, most of all {text}"
    return {"missing": f"{text}; of each a further column says where"}


def facts_of_columns(
    data: CheckedTable,
    roles: Roles,
    table: pd.DataFrame,
    *,
    test: np.ndarray,
    groups: pd.Series | None,
) -> dict[str, str]:
    """What is odd about columns."""
    notes = notes_of(table) | data.notes
    data.features.attrs["notes"] = notes
    odd = dict(oddities(data.features, data.y, data.task == "regression"))
    for name, column in data.left_out.items():
        hint = misread(column) if is_text(column) else None
        odd[str(name)] = f"{LEFT_OUT}; {hint}" if hint else LEFT_OUT
    for name in dict.fromkeys((roles.target, *roles.others)):
        column = data.rows[name]
        if name in roles.drop:
            continue
        if indistinct(column):  # labels or groups
            column = column.astype(object).map(str, na_action="ignore")
        remarks: list[Any] = [notes.get(name), missing_code(column)]
        almost = almost_numbers(column) if is_text(column) else None
        if name in roles.auxiliary:
            remarks += [digit_dates(column), almost]
        if not almost and column_values(column)[0] == "text":
            remarks.append(doubtful_words(column))
        if name == roles.target:
            remarks.append(_few(data.y, data.y.iloc[test], data.task))
            remarks.append(_dates_in_digits(data.y))
        if name == roles.group and groups is not None and groups.is_unique:
            remarks.append(OWN_GROUPS)
        remarks = [remark for remark in remarks if remark]
        if remarks:
            odd[name] = "; ".join(remarks)
    return {f"column {name!r}": text for name, text in odd.items()}


def _dates_in_digits(y: pd.Series) -> str | None:
    """Remark on a target whose digits are dates."""
    digits = digit_dates(y)
    if not digits:
        return None
    what, _, _ = digits.partition(":")
    return f"{what}: give the days since a first day"


def _few(y: pd.Series, tested: pd.Series, task: Task) -> str | None:
    """Say what is odd about a target, of which some rows are tested."""
    if task == "classification":
        counts = y.value_counts()
        for label, count in counts.items():
            if not (tested == label).any():
                rows = counted(int(count))
                text = f"{str(label)!r} stands in {rows}, none of which tests"
                return f"{text}: the errors say nothing about it; give more such rows"
        return None
    numbers = sorted(y.unique())
    if len(numbers) > MAX_CLASSES or (y % 1 != 0).any():
        return None
    shown = ", ".join(f"{number:g}" for number in numbers)
    cure = "merge them into two" if len(numbers) > 2 else "leave --task out"
    return f"it is predicted as a number: if {shown} are classes, {cure}"
