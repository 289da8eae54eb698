"""Columns of a table that probably should not predict as they are."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from kerhrm.tables.almost import almost_dates, almost_numbers
from kerhrm.tables.cells import is_text
from kerhrm.tables.columns import column_values, indistinct
from kerhrm.tables.copies import repeated
from kerhrm.tables.cures import OPTIONS, Cures
from kerhrm.tables.dates import date_options, digit_dates
from kerhrm.tables.spelling import doubtful_words
from kerhrm.tables.unusual import gives_away
from kerhrm.tables.wording import counted

MAX_SEARCHED = 2000  #: rows that are searched for such columns
#: days that programs write for a missing one
CODE_DATES = frozenset(
    {"0001-01-01", "1753-01-01", "1899-12-30", "1899-12-31", "1900-01-01"}
    | {"1970-01-01", "2099-12-31", "2999-12-31", "9999-01-01", "9999-12-31"}
)
MIN_ROWS = 20  #: different rows, without which all rows are searched
MIN_CLASS = 5  #: rows of the rarer label, without which columns are not searched
#: times the spread of all others, from which a number is far from them
FAR = 10


def oddities(
    features: pd.DataFrame,
    y: pd.Series,
    regression: bool | None = None,
    cures: Cures = OPTIONS,
) -> Iterator[tuple[str, str]]:
    """Columns that look wrong, and why; ``y`` is the target of the same rows.

    By default its values say whether it is a ``regression``, and what to do is an
    option of ``kerhrm check``.
    Notes on how cells were read, ``features.attrs["notes"]``, come first.
    """
    notes = notes_of(features)
    features = without_notes(features)
    searched = _searched(features, y)
    if regression is None:
        regression = is_regression(y)
    target = y.to_numpy()[searched]
    searches = True
    if not regression:
        target, _ = pd.factorize(target)
        n_rarer = np.bincount(target, minlength=2).min()
        searches = n_rarer >= MIN_CLASS
    for name, column in features.items():
        kind, values = column_values(column)
        texts = [notes.get(str(name)), _odd(column, kind, values, cures)]
        if searches and gives_away(kind, values[searched], target, regression):
            hint = f"{cures.left_out(name)} unless it is known beforehand"
            texts.append(f"it gives the target away; {hint}")
        text = "; ".join(filter(None, texts))
        if text:
            yield str(name), text


def notes_of(table: pd.DataFrame) -> dict[str, str]:
    """Notes on how cells were read; of a part of a file's rows, that they are the
    file's."""
    notes: dict[str, str] = table.attrs.get("notes", {})
    n_rows = len(table)
    if table.attrs.get("rows", n_rows) == n_rows:
        return notes
    return {name: f"in the whole file {note}" for name, note in notes.items()}


def without_notes(table: pd.DataFrame) -> pd.DataFrame:
    """The table without ``attrs``, which pandas copies with every column."""
    table = table.copy(deep=False)
    table.attrs = {}
    return table


def _searched(features: pd.DataFrame, y: pd.Series) -> np.ndarray:
    """Rows (m,) of which no two are alike, unless hardly any are left.

    Nor do two differ in the target alone, where that is no chance: measurements of one
    unit have nearly the same target, which any column that names the unit would tell.
    """
    n_rows, n_columns = features.shape
    table = features.set_axis(range(n_columns), axis=1).copy()
    if not repeated(table).any():
        table[n_columns] = y.to_numpy()
    again = table.duplicated()
    rows = np.flatnonzero(~again)
    if len(rows) < MIN_ROWS:
        rows = np.arange(n_rows)
    every = 1 + len(rows) // MAX_SEARCHED
    return rows[::every]


def is_regression(y: pd.Series) -> bool:
    """Whether a target is numbers, more than two of them."""
    return pd.api.types.is_numeric_dtype(y) and y.nunique() > 2


def as_labels(y: pd.Series) -> pd.Series:
    """Labels, of which numbers with decimals, or too large for float64, are text.

    scikit-learn takes 1.5 and 2.5 for a regression's; float64 makes one label of two.
    Classes are in the order of text: where it is not that of the numbers, as of 9.5 and
    10.5, they are numbered, ``1: 9.5``.
    """
    has_decimals = y.dtype.kind == "f" and (y % 1 != 0).any()
    if not (has_decimals or indistinct(y)):
        return y
    texts = y.astype(str)
    order = y.to_numpy().argsort()
    by_number = texts.iloc[order].unique().tolist()
    if by_number == sorted(by_number):
        return texts
    ranks = {text: rank for rank, text in enumerate(by_number, start=1)}
    return texts.map(lambda text: f"{ranks[text]}: {text}")


def _odd(column: pd.Series, kind: str, values: np.ndarray, cures: Cures) -> str | None:
    """Say what is odd about a column, whatever the target is."""
    drop = cures.left_out(column.name)
    n = len(column)
    n_different = column.nunique()
    if n_different < 2:
        known = column.dropna()
        n_known = len(known)
        if n_known == 0:
            return f"it is empty; {drop}"
        if n_known == n:
            return f"it is constant; {drop}"
        value = str(known.iloc[0])[:40]
        rows = counted(n - n_known)
        problem = f"it is {value!r}, and empty in {rows}"
        return f"{problem}; {drop} unless empty cells tell something"
    if is_text(column) and (text := misread(column, cures)):
        return text
    if kind == "number" and (text := digit_dates(column, cures)):
        return text
    doubts = doubtful_words(column) if kind == "text" else None
    whole = kind == "text" or column.dtype.kind in "iu"
    if whole and n_different == n:
        identifier = f"it differs in every row: an identifier? {drop}"
        return "; ".join(filter(None, [doubts, identifier]))
    return doubts or _code(kind, values)


def misread(column: pd.Series, cures: Cures = OPTIONS) -> str | None:
    """Say which option or change makes dates or numbers of a column of text."""
    if options := date_options(column, cures):
        return f"it looks like dates: {options}"
    return almost_dates(column, cures) or almost_numbers(column)


def missing_code(column: pd.Series) -> str | None:
    """Say which number or date of a column, such as a target, may mean missing."""
    kind, values = column_values(column)
    return _code(kind, values)


def _code(kind: str, values: np.ndarray) -> str | None:
    """The same of numbers (n,), or days since 1970."""
    if kind not in ("number", "date"):
        return None
    known = values[~np.isnan(values)]
    is_code = _is_code_date if kind == "date" else _is_code
    if not len(known):
        return None
    code = _sentinel(known, is_code)
    if code is None:
        return _far(known) if kind == "number" else None
    shown = np.datetime64(code, "D") if kind == "date" else code
    return f"{shown} stands apart: does it mean missing? leave such cells empty"


def _is_code(value: float) -> bool:
    """Whether a number is one that stands for a missing one."""
    return value.is_integer() and bool(re.fullmatch("-?9+|-1", str(int(value))))


def _is_code_date(day: float) -> bool:
    """Whether a day since 1970 is one that stands for a missing one."""
    return str(np.datetime64(int(day // 1), "D")) in CODE_DATES


def _sentinel(values: np.ndarray, is_code: Callable[[float], bool]) -> int | None:
    """A code such as -999: repeated, and farther from all others than they are from
    each other."""
    for value in (values.min(), values.max()):
        others = values[values != value]
        n_others = len(others)
        n_equal = len(values) - n_others
        if n_equal < 2 or not n_others or not is_code(float(value)):
            continue
        distances = np.abs(others - value)
        spread = np.ptp(others)
        if 0 < spread < distances.min():
            return int(value // 1)
    return None


def _far(values: np.ndarray) -> str | None:
    """Say which number is far from all others, of which a slip of the pen may be the
    cause: every scale and mean follows it."""
    for value in (values.min(), values.max()):
        others = values[values != value]
        n_equal = len(values) - len(others)
        if n_equal > 1 or len(others) < MIN_ROWS:
            continue
        spread = np.ptp(others)
        distance = np.abs(others - value).min()
        if 0 < FAR * spread < distance:
            text = f"{value:.15g} is far from all other numbers: is it right?"
            return f"{text} correct it, or leave the cell empty"
    return None
