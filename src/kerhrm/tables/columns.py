"""Columns as they come: which kind they are of, and their values."""

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from kerhrm.errors import KerhrmError
from kerhrm.tables.arrays import check_values, dense
from kerhrm.tables.cells import EXACT, TRUTH, by_content, text_of
from kerhrm.tables.date_formats import iso_times
from kerhrm.tables.dates import starts
from kerhrm.tables.index import first_row
from kerhrm.tables.polars import of_pandas
from kerhrm.tables.wording import listed

#: categories of a column, the rarest of which are one
MAX_CATEGORIES = 20
#: rows of its most frequent category, below which a column of more than
#: :data:`MAX_CATEGORIES` names rows, and does not describe them
MIN_FREQUENT = 5
MISSING = "missing"  #: category of a missing value
#: why a column is left out
NAMES_ROWS = "its text differs in nearly every row, as an identifier does"
ADD = "add numbers, or columns of text that several rows share"
DAY = np.timedelta64(1, "D")
#: what a duration has and a number or a month lacks, as in 3 days or 01:30:00; pandas
#: would read "2024-01" as nanoseconds
UNIT = re.compile(r"[^\W\d_]|:")
#: what to do about a cell of another kind
GIVE = {
    "numbers": "write plain numbers, such as 1234.5",
    "dates": "write dates as 2024-12-31, or give pd.to_datetime of the column",
    "durations": "give pd.to_timedelta of the column, with its unit",
}


def columns_that_name_rows(table: pd.DataFrame) -> list[str]:
    """Columns of text that name rows, as an identifier or an address does.

    They have more than :data:`MAX_CATEGORIES` values, of which none is frequent.
    """
    found = []
    for name, column in table.items():
        if column_kind(column) != "text":
            continue
        counts = pd.Series(texts(column)).value_counts()
        if len(counts) > MAX_CATEGORIES and counts.iloc[0] < MIN_FREQUENT:
            found.append(str(name))
    return found


def without_names_of_rows(
    features: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns that describe rows, and those of text that names rows.

    The encoder would leave the latter out, too.  They go before rows are compared, so
    that rows are drawn as they are without them.

    Raises KerhrmError if none describes rows.
    """
    names = columns_that_name_rows(features)
    kept = features.drop(columns=names)
    if not kept.shape[1]:
        raise none_left(names)
    return kept, features[names]


def none_left(names: Sequence[str]) -> KerhrmError:
    """Error where columns of such names are left out, and no other one predicts."""
    problem = f"no column is left that predicts besides {listed(names)}: {NAMES_ROWS}"
    return KerhrmError(problem, ADD)


def named(X: Any, what: str = "X") -> pd.DataFrame:
    """A table whose columns' names are different texts."""
    X = of_pandas(X, what)
    if not isinstance(X, pd.DataFrame):
        kind = type(X).__name__
        hint = "use pandas.DataFrame"
        if isinstance(X, str | os.PathLike):
            hint = "read a file by kerhrm.check.read_table"
        if hasattr(X, "to_pandas"):
            library, *_ = type(X).__module__.split(".")
            kind = f"{kind} of {library}"
            hint = f"give {what}.to_pandas()"
        elif hasattr(X, "collect"):
            kind = f"{kind} of polars"
            hint = f"give {what}.collect()"
        raise KerhrmError(f"{what} must be a DataFrame; got {kind}", hint)
    names = X.columns.map(str)
    twice = names[names.duplicated()]
    if twice.size:
        problem = f"two columns are called {twice[0]!r}"
        raise KerhrmError(problem, "rename or drop one of them")
    return dense(X.set_axis(names, axis=1))


def column_values(column: pd.Series) -> tuple[str, np.ndarray]:
    """What a column holds, a key of :data:`READERS`, and its values (n,)."""
    kind = column_kind(column)
    return kind, READERS[kind](column)


def column_kind(column: pd.Series) -> str:
    """What a column holds: a key of :data:`READERS`."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "text"
    if isinstance(dtype, pd.PeriodDtype) or dtype.kind == "M":
        return "date"
    if dtype.kind == "m":
        return "duration"
    values = by_content(column)
    if not types.is_object_dtype(dtype):
        return "number" if types.is_numeric_dtype(dtype) else "text"
    if types.is_numeric_dtype(values.dtype):
        return "number"
    if values.dtype.kind in "mM" or isinstance(values.dtype, pd.PeriodDtype):
        return column_kind(values)
    return "text"


def _numbers(column: pd.Series) -> np.ndarray:
    """Numbers (n,); NaN: missing."""
    where = f"column {column.name!r}"
    dtype = column.dtype
    if types.is_object_dtype(dtype) or not types.is_numeric_dtype(dtype):
        words = _words(column, str)
        cells = words.map(lambda word: TRUTH.get(word.casefold(), word), "ignore")
        numbers = pd.to_numeric(cells, errors="coerce")
        _check_kind(column, numbers, "numbers")
        column = numbers
    check_distinct(column, where)
    values = column.astype(float).to_numpy()
    missing = np.isnan(values)
    known = np.where(missing, 0.0, values)
    column_of_numbers = known[:, None]
    check_values(column_of_numbers, [where], column)
    return values


def check_distinct(column: pd.Series, what: str) -> None:
    """Refuse whole numbers, of ``what``, of several of which float64 makes one."""
    if indistinct(column):
        problem = f"{what} has integers too large for float64 to tell apart"
        raise KerhrmError(problem, "subtract its least value")


def check_exact(y: pd.Series, what: str) -> None:
    """Refuse a target of whole numbers, ``what``, that float64 rounds."""
    if not types.is_integer_dtype(y.dtype):
        return
    largest = max(abs(int(y.min())), int(y.max()))
    if largest > EXACT:
        problem = f"{what} has whole numbers beyond 2^53, which float64 rounds"
        raise KerhrmError(problem, "subtract their least value")


def indistinct(column: pd.Series) -> bool:
    """Whether float64 makes one number of several whole numbers of a column."""
    if not types.is_integer_dtype(column.dtype):
        return False
    known = column.dropna()
    if not len(known):
        return False
    least = int(known.min())
    greatest = int(known.max())
    if max(-least, greatest) <= EXACT:
        return False
    n_numbers = known.nunique()
    n_as_floats = known.astype(float).nunique()
    return bool(n_numbers > n_as_floats)


def _days(column: pd.Series) -> np.ndarray:
    """Dates as days since 1970 (n,), whatever their unit; NaN: missing."""
    if types.infer_dtype(column, skipna=True) == "period":
        column = by_content(column)
    if isinstance(column.dtype, pd.PeriodDtype):
        column = starts(column)
    if column.dtype.kind != "M":
        words = _words(column, text_of)
        dates = iso_times(words)
        _check_kind(column, dates, "dates")
        column = dates
    in_utc = pd.to_datetime(column, utc=True)
    without_zone = in_utc.dt.tz_localize(None)
    times = without_zone.to_numpy()
    duration_dtype = times.dtype.str.replace("M8", "m8")
    durations = times.view(duration_dtype)
    return _in_days(durations)


def _durations(column: pd.Series) -> np.ndarray:
    """Durations in days (n,), whatever their unit; NaN: missing."""
    if column.dtype.kind != "m":
        words = _words(column, str)
        has_unit = words.map(UNIT.search, na_action="ignore").notna()
        with_unit = words.where(has_unit)
        durations = pd.to_timedelta(with_unit, errors="coerce")
        _check_kind(column, durations, "durations")
        column = durations
    return _in_days(column.to_numpy())


def _words(column: pd.Series, spelled: Callable[[Any], str]) -> pd.Series:
    """Cells as text (n,), None of missing ones: pandas would make dates of NaT alone,
    and numbers of these."""
    objects = column.astype(object)
    known = objects.where(objects.notna(), None)
    return known.map(spelled, na_action="ignore")


def _in_days(durations: np.ndarray) -> np.ndarray:
    """Durations (n,) of any unit in days; NaN: missing."""
    missing = np.isnat(durations)
    ticks = durations.astype("int64")
    day_in_unit = DAY.astype(durations.dtype)
    day = int(day_in_unit.astype("int64"))  # in ticks
    whole_days = ticks // day
    rest = ticks % day
    days = whole_days + rest / day  # no rounding by the unit
    return np.where(missing, np.nan, days)


def texts(column: pd.Series) -> np.ndarray:
    """Cells as text (n,), equal numbers alike; a missing one is :data:`MISSING`."""
    codes, values = pd.factorize(column)
    if types.infer_dtype(values) != "string":  # 1 and True would be one
        codes = np.arange(len(column))
        values = column.astype(object).to_numpy()
    distinct = pd.Series(values, dtype=object)
    spelled = distinct.map(text_of, na_action="ignore")
    words = spelled.astype(object)
    known = words.notna()
    with_mark = words.where(known, MISSING)
    filled = with_mark.to_numpy()
    with_missing = np.append(filled, MISSING)  # whose code is -1
    return with_missing[codes]


def _check_kind(column: pd.Series, read: pd.Series, kind: str) -> None:
    """Refuse a value that is not of its column's kind."""
    wrong = read.isna() & column.notna()
    if not wrong.any():
        return
    others = column[wrong]
    first = others.iloc[0]
    value = str(first)[:40]
    problem = f"column {column.name!r} must hold {kind}, as in the fit"
    where = first_row(wrong, column)
    raise KerhrmError(f"{problem}; got {value!r} in {where}", GIVE[kind])


READERS = {"number": _numbers, "date": _days, "duration": _durations, "text": texts}
