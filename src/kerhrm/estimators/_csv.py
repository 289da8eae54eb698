"""A CSV file as a table: its encoding, its separator, its names and its cells.

What a file does not show without doubt is refused, in one line that says what to do.
"""

import csv
import difflib
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.estimators._cells import check_decimal, counted, read_cells, shows_comma
from kerhrm.estimators._dates import ORDERS, read_dates
from kerhrm.estimators._text import decode, read_bytes
from kerhrm.options import suggest

SEPARATORS = ",;\t|"
OTHER_SEPARATORS = " :^~#"  #: are not tried, but named in a hint
SEP_LINE = re.compile(r'"?sep=([^"\r\n])"?[ \t,;]*(?:\r\n|\n|\r)', re.I)
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d{1,2})?", re.I)
LIKE_DATA = "as if the file had no names: write them above its first line"
SAMPLE, SAMPLE_ROWS = 2**16, 50  #: characters and rows that show the separator
MAX_SHOWN = 20  #: names in a hint


def read_table(
    path: Path,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    dates: Sequence[str] = (),
    date_order: str | None = None,
) -> pd.DataFrame:
    """Read a CSV file.

    What was read in a way that the file does not show stands in ``attrs["notes"]``, by
    column.

    Parameters
    ----------
    path : Path
        A file or a pipe.
    sep, decimal, encoding : str, optional
        By default what the file shows.
    dates : sequence of str
        Columns of dates.
    date_order : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year, where the cells do not show it.

    Raises
    ------
    KerhrmError
        If there is no such file, it is no table of text, a row has more or fewer cells
        than there are names, or a column has no name, the name of another, or a value
        that is no date.
    """
    if decimal not in (None, ".", ","):
        problem = f"--decimal must be . or ,; got {decimal!r}"
        raise KerhrmError(problem, "leave --decimal out")
    if date_order not in (None, *ORDERS):
        problem = f"--date-order must be dmy, mdy or ymd; got {date_order!r}"
        raise KerhrmError(problem, "leave --date-order out, or use one of these")
    if date_order and not dates:
        problem = f"--date-order {date_order} is of no column: there are no --dates"
        raise KerhrmError(problem, "leave --date-order out, or add --dates")
    text = decode(read_bytes(path), path, encoding)
    layout = read_layout(text, path, sep)
    for name in dates:
        check_name(name, layout.names)
    as_text = {layout.names.index(name): str for name in dates}
    table = _parse(text, path, layout, as_text)
    if rounded := _rounded(table):
        table = _parse(text, path, layout, as_text | dict.fromkeys(rounded, str))
    if decimal == "," or shows_comma(table):  # 1.234 may be a thousand
        table = _parse(text, path, layout, str)
    notes = {}
    for name in dates:
        table[name], notes[name] = read_dates(table[name], date_order)
    if decimal is None and layout.sep != ",":
        check_decimal(table)
    cells = read_cells(table, decimal)
    told = {name: note for name, note in notes.items() if note} | cells.notes
    if (name := like_data(layout.names)) is not None:
        note = f"its name is a number, {LIKE_DATA}"
        told[name] = f"{note}; {told[name]}" if name in told else note
    cells.table.attrs["notes"] = told
    return cells.table


def read_names(path: Path) -> list[str]:
    """Names of the columns of a CSV file.

    Raises KerhrmError if it is no table, as :func:`read_table` does.
    """
    return read_layout(decode(read_bytes(path), path), path).names


def _rounded(table: pd.DataFrame) -> list[int]:
    """Columns of floats that may have been whole numbers too large for them."""
    columns = (column for _, column in table.items())
    return [
        number
        for number, column in enumerate(columns)
        if column.dtype.kind == "f" and 2**53 <= column.abs().max() < np.inf
    ]


def check_name(name: str, names: Sequence[str]) -> None:
    """Refuse a column that is not among those of a table."""
    if name in names:
        return
    if like_data(names) is not None:
        problem = f"column {name!r} does not exist, and the first line holds numbers"
        raise KerhrmError(problem, "write the columns' names above it")
    near = difflib.get_close_matches(name, names, n=1)
    known = [*names[:MAX_SHOWN], *["..."] * (len(names) > MAX_SHOWN)]
    raise KerhrmError(f"column {name!r} does not exist", suggest(name, near or known))


def like_data(names: Sequence[str]) -> str | None:
    """First name that is a number, if those that are look like a row of data.

    Numbers as names are whole, and ascend.
    """
    numbers = [name for name in names if NUMBER.fullmatch(name)]
    values = [float(name.replace(",", ".")) for name in numbers]
    ascend = all(left < right for left, right in itertools.pairwise(values))
    if ascend and all(value.is_integer() for value in values):
        return None
    return numbers[0]


class Layout(NamedTuple):
    """Where the cells of a CSV file are."""

    names: list[str]  #: of the columns
    sep: str
    padded: bool  #: whether blanks follow the separators, before quotes
    start: int  #: of the first row, in the text
    width: int  #: cells of the longest row; those without a name are empty
    rows: int
    last: int  #: line in which the last row begins


def read_layout(text: str, path: Path, sep: str | None = None) -> Layout:
    """Find the names and rows of a CSV file.

    Raises KerhrmError if a column has no name or that of another one, or a row has
    more or fewer cells than there are names.
    """
    start, line = 0, 0
    if first := SEP_LINE.match(text):  # which Excel writes
        start, line, sep = first.end(), 1, sep or first[1]
    sep = check_separator(sep) if sep else find_separator(text[start:])
    padded = sep != " " and re.search(rf'{re.escape(sep)} +"', text) is not None
    stream = io.StringIO(text, newline="")
    stream.seek(start)
    rows = _rows(stream, sep, padded, path, line)
    header_line, header = next(rows, (line + 1, []))
    start = stream.tell()
    names = [" ".join(cell.split()) for cell in header[: _filled(header)]]
    if not names:
        problem = f"{path} has no names in line {header_line}"
        raise KerhrmError(problem, "name every column in the first line")
    width = number = last = 0
    line = header_line
    for end, row in rows:
        last, line = line + 1, end
        if len(row) < len(names) or any(cell.strip() for cell in row[len(names) :]):
            problem = f"{path}: line {line} has {counted(len(row), 'cell')} for "
            problem += f"{counted(len(names), 'name')} in line {header_line}"
            raise KerhrmError(problem, _uneven(number == 0, len(row) < len(names), sep))
        width, number = max(width, len(row)), number + 1
    _check_names(names, path)
    if len(names) == 1:
        problem = f"{path} has one column, {names[0][:40]!r}, separated by {sep!r}"
        raise KerhrmError(problem, _better_separator(text, sep))
    return Layout(names, sep, padded, start, width, number, last)


def _rows(
    stream: io.StringIO, sep: str, padded: bool, path: Path, offset: int
) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the number of its last line."""
    reader = csv.reader(stream, delimiter=sep, skipinitialspace=padded)
    line = 0
    try:
        for row in reader:
            line = reader.line_num
            if len(row) > 1 or (row and row[0].strip()):
                yield offset + line, row
    except csv.Error as error:
        problem = f"{path}: line {offset + line + 1}: {error}"
        raise KerhrmError(problem, "look for a quote that is not closed") from error


def _uneven(first: bool, short: bool, sep: str) -> str:
    """Hint for a row with more or fewer cells than there are names."""
    if first and not short:
        return "name every column in the first line, and delete what stands above"
    if short:
        return "complete the line or delete it"
    return f"put cells that hold {sep!r} into quotes"


def _check_names(names: Sequence[str], path: Path) -> None:
    """Refuse columns without a name, or of one name."""
    name, number = Counter(names).most_common(1)[0]
    numbers = all(NUMBER.fullmatch(name) for name in names)
    if numbers and (number > 1 or not all(name.isdecimal() for name in names)):
        problem = f"{path}: the first line holds numbers, not names"
        raise KerhrmError(problem, "write the columns' names above it")
    if nameless := sum(not name for name in names):
        what = counted(nameless, "column")
        raise KerhrmError(
            f"{path}: {what} without a name", "name them in the first line"
        )
    if number > 1:
        problem = f"{path}: two columns are called {name!r}"
        raise KerhrmError(problem, "rename one of them")


def check_separator(sep: str) -> str:
    """A separator as it was given, \\t as a tab.

    Raises KerhrmError if it is none.
    """
    sep = "\t" if sep == "\\t" else sep
    if len(sep) != 1 or sep in '"\r\n' or sep.isalnum():
        problem = f"--sep must be one character, no letter or quote; got {sep!r}"
        raise KerhrmError(problem, r"use ',', ';' or '\t', a tab")
    return sep


def find_separator(text: str) -> str:
    """Separator that gives most columns, as many in the first rows as in the header."""
    return max(SEPARATORS, key=lambda sep: _evenness(text, sep))


def _evenness(text: str, sep: str) -> tuple[bool, int]:
    """Whether the first rows have as many cells as the header, and how many."""
    reader = csv.reader(io.StringIO(text[:SAMPLE], newline=""), delimiter=sep)
    try:
        rows = [row for row in itertools.islice(reader, SAMPLE_ROWS) if row]
    except csv.Error:
        return False, 0
    if len(rows) > 2 and len(text) > SAMPLE:
        rows.pop()  # which may be cut
    widths = [_filled(row) for row in rows]
    usual = max(widths, key=lambda width: (widths.count(width), width), default=0)
    return widths[:1] == [usual] and usual > 1, usual


def _filled(row: Sequence[str]) -> int:
    """Number of cells, without empty ones at the end."""
    return max((j for j, cell in enumerate(row, 1) if cell.strip()), default=0)


def _better_separator(text: str, sep: str) -> str:
    """Hint for a file that has one column with this separator."""
    lines = [line for line in text[:SAMPLE].splitlines() if line.strip()][:2]
    for other in (find_separator(text), *OTHER_SEPARATORS):
        counts = {line.count(other) for line in lines}
        if other != sep and len(counts) == 1 and max(counts) > 0:
            shown = r"\t" if other == "\t" else other
            return f"set --sep '{shown}'"
    return "give a file of two columns or more"


def _parse(text: str, path: Path, layout: Layout, dtype: Any) -> pd.DataFrame:
    """Cells by name; numbers and truth values where a column has nothing else."""
    if not layout.rows:
        return pd.DataFrame(columns=layout.names, dtype=object)
    options: dict[str, Any] = {"header": None, "names": range(layout.width)}
    options |= {"index_col": False, "low_memory": False, "dtype": dtype}
    options |= {"keep_default_na": False, "na_values": [""]}
    options |= {"sep": layout.sep, "skipinitialspace": layout.padded}
    body = io.StringIO(text[layout.start :], newline="")
    try:
        table = pd.read_csv(body, **options)
    except (ValueError, TypeError) as error:  # of pandas' parser
        problem = f"{path}: {' '.join(str(error).split())}"
        if "EOF inside string" in problem:
            problem = f"{path}: a quote in line {layout.last} is not closed"
        raise KerhrmError(problem, "look at the quotes in that line") from error
    if len(table) != layout.rows:
        problem = f"{path} has {layout.rows} or {len(table)} rows, as quotes are read"
        raise KerhrmError(problem, "look for a quote that is not closed")
    return table.iloc[:, : len(layout.names)].set_axis(layout.names, axis=1)
