"""Auxiliary columns, which environments are functions of, as numbers."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from kerhrm.errors import DataWarning, KerhrmError, shown, suggest, warn
from kerhrm.given import check_order
from kerhrm.tables.arrays import check_values, frame, is_frame, plain
from kerhrm.tables.cells import EXACT, NO_NUMBER, Words
from kerhrm.tables.dates import possible_orders, readings, starts
from kerhrm.tables.index import first_row
from kerhrm.tables.wording import visible

NUMBERS = "numbers"
DATES = "dates"
DURATIONS = "durations"
CATEGORIES = "categories"
#: kinds of columns by pandas' names of what they hold
KINDS = {
    NUMBERS: {"boolean", "integer", "floating", "mixed-integer-float", "decimal"},
    DATES: {"datetime64", "datetime", "date", "period"},
    DURATIONS: {"timedelta64", "timedelta"},
}
SHOWN = 5  #: known categories that an error names


@dataclass(frozen=True)
class AuxiliaryColumn:
    """How one column is read.

    Attributes
    ----------
    name : object
        None: it has no name.
    kind : str
        Of :data:`KINDS`, or categories.
    origin : int
        What numbers are counted from: the least of integers that are larger than
        float64 can tell apart, else 0.
    categories : list
        Their places in it are their numbers.
    """

    name: Any
    kind: str
    origin: int
    categories: list[Any]

    @classmethod
    def learn(cls, name: Any, values: pd.Series, where: str) -> Self:
        """Learn what a column holds; an error says ``where`` it stands."""
        as_numbers = _numbers_in_text(values)
        are_numbers = as_numbers is not values
        # "01" and "1" are two categories
        if are_numbers and as_numbers.nunique() == values.nunique():
            values = as_numbers
        kind = _kind(values, where)
        origin = 0
        categories = []
        if kind == CATEGORIES:
            _check_no_dates(values, where)
            categories = _categories(values, where)
            if len(categories) == len(values) > 1:
                problem = f"{where} has another category in every row"
                hint = "leave it out, or give numbers, dates, or groups of rows"
                raise KerhrmError(problem, hint)
        elif kind == NUMBERS and _whole(values):
            least = int(values.min())
            largest = int(values.max())
            if max(-least, largest) > EXACT:
                origin = least
        return cls(name, kind, origin, categories)

    def read(
        self, values: pd.Series, where: str, table: Any, *, any_category: bool = False
    ) -> np.ndarray:
        """Numbers (n,), float64, of a column of the same kind, in a table; with
        ``any_category`` -1 of those that the fit has not seen."""
        if self.kind == CATEGORIES:
            codes = self._codes(values, where)
            if not any_category:
                self._check_known(codes, values, where, table)
            return codes
        if self.kind == NUMBERS:
            values = _numbers_in_text(values)
        kind = _kind(values, where)
        if kind != self.kind:
            example = shown(values.iloc[0])
            problem = f"{where} held {self.kind} in the fit; got {kind}, as {example}"
            raise KerhrmError(problem, f"convert it to {self.kind}")
        if self.kind == DATES:  # of any resolution and time zone
            if isinstance(values.dtype, pd.PeriodDtype):
                values = starts(values)
            times = pd.to_datetime(values, utc=True)
            microseconds = times.dt.as_unit("us").astype("int64")
            return microseconds.to_numpy(np.float64)
        if self.kind == DURATIONS:
            spans = pd.to_timedelta(values)
            microseconds = spans.dt.as_unit("us").astype("int64")
            return microseconds.to_numpy(np.float64)
        try:
            if self.origin and _whole(values):
                distances = [int(value) - self.origin for value in values]
                return np.array(distances, dtype=np.float64)
            numbers = values.to_numpy(np.float64)
            return numbers - float(self.origin)
        except OverflowError as error:
            problem = f"{where} has a number that float64 cannot hold"
            raise KerhrmError(problem, "divide it by a power of ten") from error

    def _codes(self, values: pd.Series, where: str) -> np.ndarray:
        """Numbers (n,) of categories, -1 of those that the fit has not seen."""
        known = {}
        for code, category in enumerate(self.categories):
            known[_key(category)] = code
        try:
            numbers = [known.get(_key(value), -1) for value in values]
        except TypeError as error:
            raise _no_category(values, where) from error
        return np.array(numbers, dtype=np.float64)

    def _check_known(
        self, codes: np.ndarray, values: pd.Series, where: str, table: Any
    ) -> None:
        """Refuse categories that the fit has not seen."""
        unknown = codes < 0
        if unknown.any():
            first = int(unknown.argmax())
            value = shown(values.iloc[first])
            row = first_row(unknown, table)
            problem = f"{where} has {value}, which the fit has not seen, in {row}"
            names = [shown(category, 20) for category in self.categories[:SHOWN]]
            hint = f"known are {', '.join(names)}"
            more = len(self.categories) - SHOWN
            if more > 0:
                hint += f" and {more} more"
            raise KerhrmError(problem, hint)


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
    columns = _columns(plain(Z, "auxiliary"))
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


def _numbers_in_text(values: pd.Series) -> pd.Series:
    """Numbers that have become text next to other text, as numbers."""
    if pd.api.types.infer_dtype(values, skipna=False) != "string":
        return values
    numbers = pd.to_numeric(values, errors="coerce")
    return values if numbers.isna().any() else numbers


def _kind(values: pd.Series, where: str) -> str:
    held = pd.api.types.infer_dtype(values, skipna=False)
    if held == "complex":
        problem = f"{where} must hold numbers, dates or categories; got complex numbers"
        raise KerhrmError(problem, "give their real part, or their modulus")
    for kind, names in KINDS.items():
        if held in names:
            return kind
    return CATEGORIES


def _check_no_dates(values: pd.Series, where: str) -> None:
    """Refuse dates as text, which have an order that categories lack."""
    if pd.api.types.infer_dtype(values, skipna=False) != "string":
        return
    words = Words.from_column(values).known(NO_NUMBER)
    ways = readings(words)
    if not ways:
        return
    orders = set(possible_orders(ways))
    option = ""
    if orders == {"dmy"}:
        option = ", dayfirst=True"
    elif orders == {"ymd"}:
        option = ", yearfirst=True"
    elif {"dmy", "mdy"} <= orders:
        option = ", dayfirst=True or False"
    example = shown(values.iloc[0])
    problem = f"{where} holds dates as text, as {example}"
    hint = f"convert it by pd.to_datetime(...{option}), or by astype('category')"
    raise KerhrmError(problem, hint)


def _whole(values: pd.Series) -> bool:
    return pd.api.types.infer_dtype(values, skipna=False) == "integer"


def _key(value: Any) -> tuple[bool, Any]:
    """What equal categories have in common: True is not 1; text as the eye sees it."""
    if isinstance(value, str):
        value = visible(value)
    is_truth_value = isinstance(value, bool | np.bool_)
    return is_truth_value, value


def _categories(values: pd.Series, where: str) -> list[Any]:
    """Distinct categories, in the order of their text."""
    try:
        distinct = dict.fromkeys(_key(value) for value in values)
    except TypeError as error:
        raise _no_category(values, where) from error
    ordered = sorted(distinct, key=_text_and_type)
    return [value for _, value in ordered]


def _text_and_type(key: tuple[bool, Any]) -> tuple[str, str]:
    _, value = key
    name = type(value).__name__
    return str(value), name


def _no_category(values: pd.Series, where: str) -> KerhrmError:
    example = shown(values.iloc[0])
    problem = f"{where} must hold numbers, dates or categories; got {example}"
    return KerhrmError(problem, "drop the column")
