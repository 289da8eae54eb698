"""One auxiliary column, whatever it holds, as numbers."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError, shown
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
