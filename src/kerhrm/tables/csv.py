"""A CSV file as a table: its encoding, its separator, its names and its cells.

What a file does not show without doubt is refused, in one line that says what to do.
"""

import io
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from kerhrm.errors import KerhrmError, escaped, shown, suggest
from kerhrm.files import File
from kerhrm.tables.cells import EXACT, LIKE_CODE, like_codes, read_cells
from kerhrm.tables.date_formats import ORDERS
from kerhrm.tables.dates import read_dates
from kerhrm.tables.decimals import check_decimal, shows_comma, three_decimals
from kerhrm.tables.layout import (
    LIKE_DATA,
    Layout,
    like_data,
    read_layout,
)
from kerhrm.tables.separators import one_blank
from kerhrm.tables.text import as_path, decode, read_bytes
from kerhrm.tables.wording import visible

LONG = 100  #: characters of a name that an error shows


def _check_options(
    sep: Any, decimal: Any, encoding: Any, dates: Sequence[str], date_order: Any
) -> None:
    """Refuse what says nothing of a file."""
    texts = {"sep": sep, "decimal": decimal, "encoding": encoding}
    texts["date-order"] = date_order
    for name, value in texts.items():
        if not isinstance(value, str | None):
            problem = f"--{name} must be text; got {shown(value)}"
            raise KerhrmError(problem, f"leave --{name} out")
    if decimal not in (None, ".", ","):
        problem = f"--decimal must be . or ,; got {shown(decimal)}"
        raise KerhrmError(problem, "leave --decimal out")
    if date_order not in (None, *ORDERS):
        problem = f"--date-order must be dmy, mdy or ymd; got {shown(date_order)}"
        raise KerhrmError(problem, "leave --date-order out, or use one of these")
    if date_order and not dates:
        problem = f"--date-order {date_order} changes nothing without --dates"
        raise KerhrmError(problem, "leave --date-order out, or add --dates")


def read_table(
    path: File,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    dates: str | Sequence[str] | None = (),
    date_order: str | None = None,
) -> pd.DataFrame:
    """Read a CSV file as ``kerhrm check`` does.

    What was read in a way that the file does not show stands in ``attrs["notes"]``, by
    column, and words that are read as missing in ``attrs["absent"]``; the number of
    rows stands in ``attrs["rows"]``, ``decimal`` in ``attrs["decimal"]``.

    Parameters
    ----------
    path : str or path-like
        A file or a pipe.
    sep, decimal, encoding : str, optional
        By default what the file shows.
    dates : str or sequence of str, optional
        Columns of dates.
    date_order : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year, where the cells do not show it.

    Raises
    ------
    KerhrmError
        If there is no such file, it is no table of text, a row has more or fewer cells
        than there are names, or a column has no name, the name of another, or a value
        that is no date; or if an argument is of another kind.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kerhrm.check import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "prices.csv")
    ...     size = path.write_text('size,price\\n?,"1,250.5"\\n70,980\\n')
    ...     table = read_table(path)
    >>> table["price"].tolist(), int(table["size"].isna().sum())
    ([1250.5, 980.0], 1)
    """
    path = as_path(path)
    dates = column_names(dates, "dates")
    _check_options(sep, decimal, encoding, dates, date_order)
    text = decode(read_bytes(path), path, encoding)
    text = one_blank(text) if sep == " " else text
    layout = read_layout(text, path, sep)
    for name in dates:
        check_name(name, layout.names)
    as_text = {layout.names.index(name): str for name in dates}
    table = _parse(text, path, layout, as_text)
    if rounded := _rounded(table):
        as_text |= dict.fromkeys(rounded, str)
        table = _parse(text, path, layout, as_text)
    if codes := _codes(table, text, path, layout):
        as_text |= dict.fromkeys(codes, str)
        table = _parse(text, path, layout, as_text)
    if decimal == "," or shows_comma(table):  # 1.234 may be a thousand
        table = _parse(text, path, layout, str)
    notes = {}
    for name in dates:
        times, note = read_dates(table[name], date_order)
        table[name] = times
        if note:
            notes[name] = note
    if decimal is None and layout.sep != ",":
        _check_decimal(table, text, path, layout, as_text)
    read = read_cells(table, decimal)
    notes |= read.notes
    numeric = like_data(layout.names)
    if numeric is not None:
        note = f"its name is a number, {LIKE_DATA}"
        if numeric in notes:
            note = f"{note}; {notes[numeric]}"
        notes[numeric] = note
    read.table.attrs["notes"] = notes
    read.table.attrs["absent"] = read.absent
    read.table.attrs["decimal"] = decimal
    read.table.attrs["rows"] = len(read.table)
    return read.table


def _check_decimal(
    table: pd.DataFrame,
    text: str,
    path: Path,
    layout: Layout,
    as_text: dict[int, type[str]],
) -> None:
    """Refuse numbers that may have a decimal point, or thousands with one."""
    shown = table.copy(deep=False)
    doubtful = three_decimals(table, has_zeros=".000" in text)
    if doubtful:  # whose text says more
        options = as_text | dict.fromkeys(doubtful, str)
        cells = _parse(text, path, layout, options)
        for number in doubtful:
            column = cells.iloc[:, number]
            shown.isetitem(number, column)
    check_decimal(shown)


def read_names(path: File) -> list[str]:
    """Names of the columns of a CSV file.

    Raises KerhrmError if it is no table, as :func:`read_table` does.
    """
    path = as_path(path)
    text = decode(read_bytes(path), path)
    return read_layout(text, path).names


def _rounded(table: pd.DataFrame) -> list[int]:
    """Columns of floats that may have been whole numbers too large for them."""
    rounded = []
    for number, (_, column) in enumerate(table.items()):
        if column.dtype.kind != "f":
            continue
        largest = column.abs().max()
        if EXACT <= largest < np.inf:
            rounded.append(number)
    return rounded


def _codes(table: pd.DataFrame, text: str, path: Path, layout: Layout) -> list[int]:
    """Columns of numbers some of which are written as codes, if they are read."""
    sep = re.escape(layout.sep)
    begins = re.compile(rf"(?:^|[\"{sep}]) {{0,9}}{LIKE_CODE}", re.M)
    if not layout.rows or not begins.search(text, layout.start):
        return []
    kinds = [dtype.kind for dtype in table.dtypes]
    numeric = [number for number, kind in enumerate(kinds) if kind in "iuf"]
    as_text = dict.fromkeys(numeric, str)
    cells = _parse(text, path, layout, as_text)
    codes = like_codes(cells.iloc[:, numeric])
    return [numeric[place] for place in codes]


def column_name(name: Any, what: str) -> str:
    """Name of a column, one of those that look alike; ``what`` it is for.

    Raises KerhrmError if it is None, or several.
    """
    if name is None or types.is_list_like(name):
        problem = f"{what} must be the name of a column; got {shown(name)}"
        raise KerhrmError(problem, f"give {what}='NAME'")
    return visible(str(name))


def column_names(names: Any, what: str) -> list[str]:
    """Names of different columns, in order; a single name is one, None is none.

    Raises KerhrmError if one of them is no name.
    """
    if names is None:
        return []
    if not types.is_list_like(names):
        names = [names]
    texts = [column_name(name, what) for name in names]
    return list(dict.fromkeys(texts))


def check_name(name: str, names: Sequence[str], *, alone: bool = False) -> None:
    """Refuse a column that is not among those of a table.

    One that stands ``alone``, as a target, can have no others beside it.
    """
    if name in names:
        return
    problem = f"column {name!r} does not exist"
    if len(name) > LONG:
        problem = f"column {shown(name, LONG)} does not exist"
    if like_data(names) is not None:
        problem = f"{problem}, and the first line holds numbers"
        raise KerhrmError(problem, "write the columns' names above it")
    parts = name.split(",")
    if all(part in names for part in parts):
        problem = f"{problem}, but each of its parts does"
        if alone:
            raise KerhrmError(problem, "name one of them")
        quoted = [shlex.quote(part) for part in parts]
        raise KerhrmError(problem, f"use blanks: {' '.join(quoted)}")
    hint = suggest(name, [escaped(known) for known in names])
    raise KerhrmError(problem, hint)


def _parse(text: str, path: Path, layout: Layout, dtype: Any) -> pd.DataFrame:
    """Cells by name; numbers and truth values where a column has nothing else."""
    if not layout.rows:
        return pd.DataFrame(columns=layout.names, dtype=object)
    options: dict[str, Any] = {"header": None, "names": range(layout.width)}
    options |= {"index_col": False, "low_memory": False, "dtype": dtype}
    options |= {"keep_default_na": False, "na_values": [""]}
    options |= {"sep": layout.sep, "skipinitialspace": layout.padded}
    body = io.StringIO(layout.body(text), newline="")
    try:
        table = pd.read_csv(body, **options)
    except (ValueError, TypeError) as error:  # of pandas' parser
        reason = " ".join(str(error).split())
        if "EOF inside string" in reason:
            reason = f"a quote in line {layout.last} is not closed"
        problem = f"{path}: {reason}"
        raise KerhrmError(problem, "look at the quotes in that line") from error
    n_rows = len(table)
    if n_rows != layout.rows:
        problem = f"{path} has {layout.rows} or {n_rows} rows, as quotes are read"
        raise KerhrmError(problem, "look for a quote that is not closed")
    n_names = len(layout.names)
    with_name = table.iloc[:, :n_names]
    return with_name.set_axis(layout.names, axis=1)
