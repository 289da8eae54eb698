"""Columns as they come.

Text, categories, dates, durations, truth values and missing values as numbers.
"""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from kerhrm.errors import DataWarning, KerhrmError, shown, suggest, warn
from kerhrm.tables.arrays import check_values, dense
from kerhrm.tables.cells import EXACT, TRUTH, plain, text_of
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
#: what to do about a cell of another kind
GIVE = {
    "numbers": "write plain numbers, such as 1234.5",
    "dates": "write dates as 2024-12-31, or give pd.to_datetime of the column",
    "durations": "give pd.to_timedelta of the column, with its unit",
}


def table_encoder() -> "TableEncoder":
    """Encoder of DataFrames, for ``make_pipeline(table_encoder(), KerHRMRegressor())``.

    Numbers and booleans stay, dates become days since 1970 and durations days; missing
    ones are their column's median, next to a column that says so.  Everything else is
    text: a column of 0 and 1 for each of the 20 most frequent values, where a missing
    value is one.  Columns keep their names.

    Text that names rows, as identifiers and addresses do, is left out, and a warning
    says so: more than 20 values, none of which five rows have.  Its columns of 0 and 1
    would each mark a few rows, and hide from KerHRM what other columns do.

    Returns
    -------
    TableEncoder
        Not fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from kerhrm import table_encoder
    >>> table = pd.DataFrame({"pay": [3.0, None, 5.0], "field": ["law", None, "care"]})
    >>> encoded = table_encoder().fit_transform(table)
    >>> encoded.columns.tolist()
    ['pay', 'missingindicator_pay', 'field_care', 'field_law', 'field_missing']
    """
    return TableEncoder()


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encoder of DataFrames, see :func:`kerhrm.table_encoder`.

    What a column holds is decided by the type that it has in the fit.  Later rows may
    have another: a number 1 is the category "1", whether it is text, 1 or 1.0.  Columns
    are found by name, in any order.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians and categories of the columns X (n_samples, n_columns).

        Warns of columns of text that name rows, which are left out.

        Raises KerhrmError naming a column that cannot be encoded, or two of one name,
        or if no other column is left.
        """
        table = named(X)
        _, n_columns = table.shape
        if n_columns == 0:
            raise KerhrmError("X has no columns", "give one column or more")
        _check_rows(table)
        self.feature_names_in_ = np.array(table.columns, dtype=object)
        self.n_features_in_ = n_columns
        names_of_kind: dict[str, list[str]] = {kind: [] for kind in READERS}
        self.left_out_ = columns_that_name_rows(table)
        described = table.drop(columns=self.left_out_)
        if not described.shape[1]:
            raise KerhrmError(f"no column is left that predicts: {NAMES_ROWS}", ADD)
        for name in self.left_out_:
            hint = "give pd.to_numeric of it if it holds numbers"
            warn(f"column {name!r} is left out: {NAMES_ROWS}; {hint}", DataWarning)
        for name, column in described.items():
            names_of_kind[_kind(column)].append(str(name))
        fill = SimpleImputer(
            strategy="median", add_indicator=True, keep_empty_features=True
        )
        one_hot = OneHotEncoder(
            sparse_output=False,
            max_categories=MAX_CATEGORIES,
            handle_unknown="infrequent_if_exist",
        )
        self.parts_ = []
        for kind, names in names_of_kind.items():
            if not names:
                continue
            part = clone(one_hot if kind == "text" else fill)
            values = _read(table, names, kind)
            part.fit(values)
            self.parts_.append((kind, names, part))
        self.names_ = _distinct(self.parts_)
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """Numbers (n_samples, n_encoded), in the index of X.

        Raises KerhrmError naming a column that is not there, or a value that is not
        of the kind that its column held in the fit.  Warns of a column of text none
        of whose values the fit has seen.
        """
        check_is_fitted(self)
        table = named(X)
        _check_rows(table)
        for name in self.feature_names_in_:
            if name not in table and name not in self.left_out_:
                columns = list(table.columns)
                hint = suggest(name, columns)
                raise KerhrmError(f"column {name!r} of the fit is missing", hint)
        parts = []
        for kind, names, part in self.parts_:
            values = _read(table, names, kind)
            if kind == "text":
                _warn_of_unseen(values, names, part.categories_)
            parts.append(part.transform(values))
        encoded = np.hstack(parts)
        return pd.DataFrame(encoded, table.index, self.names_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the encoded columns."""
        check_is_fitted(self)
        return np.array(self.names_, dtype=object)


def columns_that_name_rows(table: pd.DataFrame) -> list[str]:
    """Columns of text that name rows, as an identifier or an address does.

    They have more than :data:`MAX_CATEGORIES` values, of which none is frequent.
    """
    found = []
    for name, column in table.items():
        if _kind(column) != "text":
            continue
        counts = pd.Series(texts(column)).value_counts()
        if len(counts) > MAX_CATEGORIES and counts.iloc[0] < MIN_FREQUENT:
            found.append(str(name))
    return found


def _check_rows(table: pd.DataFrame) -> None:
    """Refuse a table without rows."""
    if not len(table):
        raise KerhrmError("X has no rows", "give one row or more")


def _warn_of_unseen(
    values: np.ndarray, names: Sequence[str], categories: Sequence[np.ndarray]
) -> None:
    """Warn of columns of text (n, c) none of whose values the fit has seen."""
    for column, name, known in zip(values.T, names, categories, strict=True):
        if np.isin(column, known).any():
            continue
        categories_of_fit = [str(category) for category in known]
        had = listed(categories_of_fit)
        example = shown(column[0], 40)
        text = f"column {name!r} has no value that was in the fit, as {example}"
        warn(f"{text}; it had {had}: look at its spelling", DataWarning)


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
            hint = "give X.to_pandas()"
        elif hasattr(X, "collect"):
            kind = f"{kind} of polars"
            hint = "give X.collect()"
        raise KerhrmError(f"{what} must be a DataFrame; got {kind}", hint)
    names = X.columns.map(str)
    twice = names[names.duplicated()]
    if twice.size:
        problem = f"two columns are called {twice[0]!r}"
        raise KerhrmError(problem, "rename or drop one of them")
    return dense(X.set_axis(names, axis=1))


def column_values(column: pd.Series) -> tuple[str, np.ndarray]:
    """What a column holds, a key of :data:`READERS`, and its values (n,)."""
    kind = _kind(column)
    return kind, READERS[kind](column)


def _kind(column: pd.Series) -> str:
    """What a column holds: a key of :data:`READERS`."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "text"
    if isinstance(dtype, pd.PeriodDtype) or dtype.kind == "M":
        return "date"
    if dtype.kind == "m":
        return "duration"
    values = plain(column)
    if not types.is_object_dtype(dtype):
        return "number" if types.is_numeric_dtype(dtype) else "text"
    if types.is_float_dtype(values.dtype):
        # whole numbers among objects are codes
        whole = values.dropna() % 1 == 0
        return "text" if whole.all() else "number"
    if values.dtype.kind in "mM" or isinstance(values.dtype, pd.PeriodDtype):
        return _kind(values)
    return "text"


def _numbers(column: pd.Series) -> np.ndarray:
    """Numbers (n,); NaN: missing."""
    where = f"column {column.name!r}"
    dtype = column.dtype
    if types.is_object_dtype(dtype) or not types.is_numeric_dtype(dtype):
        objects = column.astype(object)
        words = objects.map(str, na_action="ignore")
        cells = words.map(lambda word: TRUTH.get(word.casefold(), word), "ignore")
        numbers = pd.to_numeric(cells, errors="coerce")
        _check_kind(column, numbers, "numbers")
        column = numbers
    if indistinct(column):
        problem = f"{where} has integers too large for float64 to tell apart"
        raise KerhrmError(problem, "subtract the column's minimum")
    values = column.astype(float).to_numpy()
    missing = np.isnan(values)
    known = np.where(missing, 0.0, values)
    column_of_numbers = known[:, None]
    check_values(column_of_numbers, [where], column)
    return values


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
        column = plain(column)
    if isinstance(column.dtype, pd.PeriodDtype):
        column = starts(column)
    if column.dtype.kind != "M":
        objects = column.astype(object)
        words = objects.map(text_of, na_action="ignore")
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
        objects = column.astype(object)
        words = objects.map(str, na_action="ignore")
        numbers = pd.to_numeric(words, errors="coerce")
        with_unit = words.where(numbers.isna())
        durations = pd.to_timedelta(with_unit, errors="coerce")
        _check_kind(column, durations, "durations")
        column = durations
    return _in_days(column.to_numpy())


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


def _read(table: pd.DataFrame, names: Sequence[str], kind: str) -> np.ndarray:
    """Columns of one kind (n, len(names))."""
    reader = READERS[kind]
    columns = [reader(table[name]) for name in names]
    return np.column_stack(columns)


def _distinct(parts: Sequence[tuple[str, list[str], Any]]) -> list[str]:
    """Names of the encoded columns, with a number where another one has the name."""
    kept: set[str] = set()
    for kind, names, _ in parts:
        if kind != "text":
            kept.update(names)
    distinct: list[str] = []
    for kind, names, part in parts:
        every = part.get_feature_names_out(names)
        same = 0 if kind == "text" else len(names)
        distinct += names[:same]
        for name in every[same:]:
            new = name
            number = 1
            while new in kept or new in distinct:
                number += 1
                new = f"{name}_{number}"
            distinct.append(new)
    return distinct
