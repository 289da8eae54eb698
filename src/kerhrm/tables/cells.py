"""Cells of text as truth values and numbers, and what counts as missing.

A column of text is one of

- truth values, if every cell is True or False in any case;
- numbers, if every cell is one in the same notation: a decimal point or comma,
  thousands in groups of three, a currency or % that all cells have;
- text, for anything else.

A cell such as ``?`` or ``NA`` counts as missing.  What the cells alone do not show is
noted, for the report.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_object_dtype

from kerhrm.errors import KerhrmError
from kerhrm.tables.numerals import LARGEST, decimal_signs, number
from kerhrm.tables.wording import counted, listed, visible

#: missing in every column, in any case
MISSING = frozenset(
    {"", "?", "na", "n/a", "n.a.", "nan", "null", "<na>", "nat", "missing"}
    | {"#n/a", "#na", "#value!", "#ref!", "#div/0!", "#num!", "#name?", "#null!"}
)
#: missing among numbers and dates; among text they may be a category
NO_NUMBER = MISSING | {"-", "--", "—", ".", "..", "none", "nil", "unknown"}
TRUTH = {"true": True, "false": False}
EXACT = 2**53  #: larger whole numbers share their float64 with others

#: cells that are no values
CONTAINERS = (
    *(list, dict, set, frozenset, tuple, bytearray, memoryview),
    *(np.ndarray, pd.Series, pd.DataFrame, pd.Index),
)

#: how codes begin that are numbers, too, as 01234 and 12E3; programs write 1.2e+04
LIKE_CODE = r"(?:[+-]?0\d|\d+[eE]\d)"
_LIKE_CODE = re.compile(LIKE_CODE)


class Cells(NamedTuple):
    """A table with the values of its cells, and notes on how they were read."""

    table: pd.DataFrame
    notes: dict[str, str]  #: by column; none where a cell is what it looks like
    absent: dict[str, list[str]]  #: words that are read as missing, by column


class Words(NamedTuple):
    """The different cells of a column of text, without blanks around them."""

    index: pd.Index
    codes: np.ndarray  #: (n,), numbers of the rows' words; -1: an empty cell
    words: list[str]

    @classmethod
    def from_column(cls, column: pd.Series) -> "Words":
        """Words of a column; numbers among text by their digits."""
        text = column.map(str, na_action="ignore")
        codes, written = pd.factorize(text)
        words = [visible(str(word)) for word in written]
        return cls(column.index, codes, words)

    def known(self, missing: Collection[str]) -> list[str]:
        """Words that do not count as missing."""
        return [word for word in self.words if word.casefold() not in missing]

    def rows(self, words: Sequence[str]) -> int:
        """Number of rows that hold some of the words."""
        filled = self.codes[self.codes >= 0]
        counts = np.bincount(filled, minlength=len(self.words))
        among = np.isin(self.words, words)
        return int(counts[among].sum())

    def values(self, meaning: Mapping[str, Any]) -> pd.Series:
        """The column as objects, each word by its meaning; None without one."""
        n_words = len(self.words)
        each = np.empty(n_words + 1, dtype=object)  # the last one is of code -1
        each[:-1] = [meaning.get(word) for word in self.words]
        cells = each[self.codes]
        return pd.Series(cells, self.index, dtype=object)

    def without_value(self, column: pd.Series) -> list[str]:
        """Words that are missing in the column that was read of them."""
        is_missing = column.isna().to_numpy()
        missing_codes = np.unique(self.codes[is_missing])
        return [self.words[code] for code in missing_codes if code >= 0]

    def absent(self, missing: Collection[str]) -> str:
        """Say which words count as missing, and in how many rows; empty: none does."""
        absent = {word for word in self.words if word.casefold() in missing}
        if not absent:
            return ""
        words = sorted(absent)
        rows = counted(self.rows(words))
        return f"missing in {rows}: {listed(words)}"


def read_cells(table: pd.DataFrame, decimal: str | None = None) -> Cells:
    """Read columns of text and of objects; others stay as they are.

    Parameters
    ----------
    table : DataFrame
        Columns of any kind.
    decimal : {".", ","}, optional
        By default what the cells of a column show.  Where they do not, as in 1.234, it
        is a comma if it is one in other columns and a point in none.

    Returns
    -------
    Cells
        Truth values as ``bool`` or ``boolean``, numbers as numbers, text without
        blanks around it; None or NaN for what is missing.

    Raises
    ------
    KerhrmError
        If a column holds lists or the like, or numbers, but none with this ``decimal``.
    """
    values = {name: by_content(column) for name, column in table.items()}
    texts = {}
    signs = {}
    for name, column in values.items():
        if is_text(column):
            words = Words.from_column(column)
            texts[name] = words
            signs[name] = decimal_signs(words.known(NO_NUMBER))
    usual = decimal or _usual_sign(signs.values())
    notes = {}
    absent = {}
    for name, words in texts.items():
        possible = signs[name]
        if decimal and possible and decimal not in possible:
            known = words.known(NO_NUMBER)
            example = next(word for word in known if number(word, decimal) is None)
            problem = f"column {str(name)!r} must hold numbers; got {example!r}"
            hint = "leave --decimal out, so that each column shows its own"
            raise KerhrmError(f"{problem} with --decimal {decimal}", hint)
        values[name], note = _read(words, possible, usual)
        if note:
            notes[str(name)] = note
        if without_value := words.without_value(values[name]):
            absent[str(name)] = without_value
    read = pd.DataFrame(values, table.index, table.columns)
    return Cells(read, notes, absent)


def _usual_sign(signs: Collection[set[str]]) -> str:
    """Comma if some columns show it and none the point, by their possible signs."""
    has_comma = {","} in signs
    has_point = {"."} in signs
    return "," if has_comma and not has_point else "."


def _read(words: Words, signs: Collection[str], usual: str) -> tuple[pd.Series, str]:
    """Values of a column, whose numbers have one of these decimal signs, and a note."""
    known = words.known(MISSING)
    are_truth_values = all(word.casefold() in TRUTH for word in known)
    if known and are_truth_values:
        meaning = {word: TRUTH[word.casefold()] for word in known}
        truth = words.values(meaning)
        has_missing = truth.isna().any()
        kind = "boolean" if has_missing else "bool"
        return truth.astype(kind), words.absent(MISSING)
    possible_numbers = words.known(NO_NUMBER)
    if not possible_numbers:
        empty = words.values({})
        return empty.astype(float), words.absent(NO_NUMBER)
    if not signs:
        text = words.values({word: word for word in known})
        return text, words.absent(MISSING)
    sign = usual if usual in signs else next(iter(signs))
    numbers = {word: number(word, sign) for word in possible_numbers}
    column = words.values(numbers)
    numeric = column.astype(_number_type(column))
    notes = [words.absent(NO_NUMBER), _reading(numbers)]
    return numeric, "; ".join(filter(None, notes))


def _reading(numbers: Mapping[str, float | None]) -> str:
    """Say how the first word is read that is no plain number; empty: all are."""
    for word, value in numbers.items():
        note = f"{word!r} is read as {value}"
        if _LIKE_CODE.match(word):
            return f"{note}: put a letter in front of each if they are codes"
        if not _is_float(word, value):
            return note
    return ""


def like_codes(table: pd.DataFrame) -> list[int]:
    """Columns of text that are numbers, some of which are written as codes are."""
    codes = []
    for place, (_, column) in enumerate(table.items()):
        known = Words.from_column(column).known(NO_NUMBER)
        written_as_codes = any(_LIKE_CODE.match(word) for word in known)
        if written_as_codes and decimal_signs(known):
            codes.append(place)
    return codes


def _number_type(column: pd.Series) -> str:
    """Type that holds Python's numbers exactly, if whole ones are not too large."""
    known = column.dropna()
    whole = all(isinstance(value, int) for value in known)
    if not whole:
        return "float64"
    if len(known) == len(column):
        return "int64"
    largest = known.map(abs).max()
    return "Int64" if largest > EXACT else "float64"


def _is_float(word: str, value: float | None) -> bool:
    """Whether Python reads a word as the same number."""
    kind = int if isinstance(value, int) else float
    try:
        return kind(word) == value
    except ValueError:
        return False


def by_content(column: pd.Series) -> pd.Series:
    """Turn a column of objects into what its objects are, if they are all alike.

    Raises KerhrmError if they are lists or the like, or complex numbers.
    """
    where = f"column {str(column.name)!r}"
    column = _in_usual_precision(column)
    kind = infer_dtype(column, skipna=True)
    is_object = is_object_dtype(column.dtype)
    has_complex = is_object and any(isinstance(cell, complex) for cell in column)
    if kind == "complex" or has_complex:
        problem = f"{where} holds complex numbers"
        raise KerhrmError(problem, "use a column for each of their parts")
    if not is_object:
        return column
    has_containers = any(isinstance(cell, CONTAINERS) for cell in column)
    if has_containers:
        problem = f"{where} holds lists"
        raise KerhrmError(problem, "use a column for each of their values")
    return _converted(column, kind)


def _converted(column: pd.Series, kind: str) -> pd.Series:
    """Objects of a kind as pandas has it."""
    if kind == "bytes":
        return column.map(decoded, na_action="ignore")
    if kind == "boolean":
        dtype = "boolean" if column.isna().any() else "bool"
        return column.astype(dtype)
    if kind == "integer":
        sizes = column.dropna().map(abs)
        if (sizes > LARGEST).any():
            return column.map(str, na_action="ignore")  # identifiers
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return pd.to_numeric(column)
    if kind in ("date", "datetime", "datetime64"):
        return pd.to_datetime(column, utc=True)
    if kind in ("timedelta", "timedelta64", "period"):
        return column.infer_objects()
    return column


def _in_usual_precision(column: pd.Series) -> pd.Series:
    """A column without NumPy's long floats, at which pandas cannot look."""
    usual = {"f": np.float64, "c": np.complex128}.get(column.dtype.kind)
    is_long = usual and column.dtype.itemsize > np.dtype(usual).itemsize
    return column.astype(usual) if is_long else column


def is_text(column: pd.Series) -> bool:
    """Whether a column holds text, or objects of several kinds."""
    dtype = column.dtype
    if isinstance(dtype, pd.StringDtype):
        return True
    return bool(is_object_dtype(dtype))


def decoded(value: bytes) -> str:
    """Text of bytes, as HDF5 and SAS files give it."""
    return value.decode("utf-8", "backslashreplace")


def text_of(value: Any) -> str:
    """A cell as text: equal numbers are one text, whatever their type.

    1, 1.0, "1" and "1.0" are "1"; "007", a code, stays as it is.
    """
    if isinstance(value, bytes):
        value = decoded(value)
    if isinstance(value, (*CONTAINERS, complex)):
        problem = f"a cell holds {str(value)[:40]}"
        raise KerhrmError(problem, "use a column for each of its values")
    is_float = isinstance(value, (float, np.floating))
    if is_float and float(value).is_integer():
        return str(int(value))
    # a member of a text Enum is its value
    text = visible(str.__str__(value) if isinstance(value, str) else str(value))
    digits = re.fullmatch(r"(-?(?:0|[1-9]\d{0,14}))(?:\.(\d{1,15}))?", text)
    if digits is None:
        return text
    whole = digits[1]
    decimals = digits[2] or ""
    part = decimals.rstrip("0")
    if part:
        return f"{whole}.{part}"
    return "0" if whole == "-0" else whole
