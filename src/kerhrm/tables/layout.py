"""Where a CSV file has its names and rows, and what separates its cells."""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kerhrm.errors import KerhrmError
from kerhrm.tables.separators import (
    better_separator,
    check_separator,
    evenness,
    filled,
    find_separator,
    use_separator,
)
from kerhrm.tables.wording import counted, visible

SEP_LINE = re.compile(r'"?sep=([^"\r\n])"?[ \t,;]*(?:\r\n|\n|\r)', re.I)
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d{1,2})?", re.I)
LIKE_DATA = "as if the file had no names: write them above its first line"
#: names between bars and a line of dashes, as in Markdown and psql
MARKDOWN = re.compile(
    r"[^\r\n|]*\|[^\r\n]*(?:\r\n|\n|\r)"
    r"(?=[^\r\n]*--)(?=[^\r\n]*[|+])[|:+ \t-]+(?:[\r\n]|\Z)"
)
#: the first part of a cell in quotes of another kind
HALF_QUOTED = re.compile(r"\s*['\u2018\u201c\u201e][^'\u2019\u201c\u201d]*")
LINE_END = re.compile(r"\r\n|\r|\n")
#: a quote after a backslash, and text after it, in a cell in quotes
BACKSLASH = re.compile(r'(?:^|[,;\t|])"[^"\n]*\\"[^,;\t|\r\n"]', re.M)


def like_data(names: Sequence[str]) -> str | None:
    """First name that is a number, if those that are look like a row of data.

    Numbers as names are whole, and ascend.
    """
    numbers = [name for name in names if NUMBER.fullmatch(name)]
    values = [float(name.replace(",", ".")) for name in numbers]
    ascend = all(left < right for left, right in itertools.pairwise(values))
    whole = all(value.is_integer() for value in values)
    if ascend and whole:
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
    last: int  #: line in which the last cell that has several lines may begin
    blank: list[slice]  #: rows of white space alone, in the text; not counted

    def body(self, text: str) -> str:
        """The rows of the file's text, without those of white space alone."""
        kept = []
        start = self.start
        for row in self.blank:
            kept.append(text[start : row.start])
            start = max(start, row.stop)  # rows above the names cut nothing
        return "".join([*kept, text[start:]])


def read_layout(text: str, path: Path, sep: str | None = None) -> Layout:
    """Find the names and rows of a CSV file.

    Raises KerhrmError if a column has no name or that of another one, or a row has
    more or fewer cells than there are names.
    """
    _check_quotes(text, path)
    start, line, sep = _body(text, sep)
    body = text[start:]
    blank_and_quote = re.search(rf'{re.escape(sep)} +"', text)
    padded = sep != " " and blank_and_quote is not None
    if MARKDOWN.match(text, start):
        problem = f"{path} is a table as a text shows it, with a line of dashes"
        cure = f"delete line {line + 2}, and the bars at the ends of lines"
        raise KerhrmError(problem, cure)
    stream = io.StringIO(text, newline="")
    stream.seek(start)
    blank: list[slice] = []
    rows = _rows(stream, sep, padded, path, line, blank)
    _, header_line, header = next(rows, (line + 1, line + 1, []))
    start = stream.tell()
    named_cells = header[: filled(header)]
    names = [" ".join(visible(cell).split()) for cell in named_cells]
    if not names:
        problem = f"{path} has no names in line {header_line}"
        raise KerhrmError(problem, "name every column in the first line")
    n_names = len(names)
    width = number = opens = 0
    for opens, line, row in rows:
        n_cells = len(row)
        beyond_names = any(cell.strip() for cell in row[n_names:])
        if n_cells < n_names or beyond_names:
            problem = f"{path}: line {line} has {counted(n_cells, 'cell')} for "
            problem += f"{counted(n_names, 'name')} in line {header_line}"
            first = number == 0
            title = first and header[0].lstrip().startswith("#")
            one_name = n_names == 1 and n_cells > 1
            if title or one_name:
                hint = "delete the lines above the names"
            elif opens < line:
                hint = f"close the quote that opens in line {opens}, or delete it"
            else:
                hint = _uneven(first, n_names, row, sep)
            better = find_separator(body)
            even, _ = evenness(body, better)
            if even and better != sep:
                hint = use_separator(better)
            raise KerhrmError(problem, hint)
        width = max(width, n_cells)
        number += 1
    _check_names(names, path)
    if n_names == 1:
        name = names[0][:40]
        problem = f"{path} has one column, {name!r}, separated by {sep!r}"
        hint = better_separator(body, sep)
        raise KerhrmError(problem, hint)
    return Layout(names, sep, padded, start, width, number, opens, blank)


def _body(text: str, sep: str | None) -> tuple[int, int, str]:
    """Start of the names, the number of lines before them, and the separator."""
    start = 0
    line = 0
    sep_line = SEP_LINE.match(text)
    if sep_line is not None:  # which Excel writes
        start = sep_line.end()
        line = 1
        if sep is None:
            sep = sep_line[1]
    if sep is None:
        return start, line, find_separator(text[start:])
    return start, line, check_separator(sep)


def _rows(
    stream: io.StringIO,
    sep: str,
    padded: bool,
    path: Path,
    offset: int,
    blank: list[slice],
) -> Iterator[tuple[int, int, list[str]]]:
    """Rows that are not blank, each with two numbers of lines.

    In the first one a cell of several lines begins, the second is the row's last.
    Rows of white space alone are added to ``blank``, by their place in the stream.
    """
    raw: list[str] = []  # lines of a row

    def lines() -> Iterator[str]:
        for text in stream:
            raw.append(text)
            yield text

    reader = csv.reader(lines(), delimiter=sep, skipinitialspace=padded)
    line = 0
    end = stream.tell()
    try:
        for row in reader:
            opens = line + 1
            line = reader.line_num
            start, end = end, stream.tell()
            line_ends = [len(LINE_END.findall(cell)) for cell in row]
            several = [j for j, n_ends in enumerate(line_ends) if n_ends]
            before = several[0] if several else 0
            if line < opens + sum(line_ends):
                before = len(row) - 1  # the file ends in the last cell
            opens += offset + sum(line_ends[:before])
            is_blank = len(row) < 2 and not "".join(row).strip()
            doubtful = several or is_blank
            if doubtful and not _closed(raw, sep, padded):
                raise _refused_quotes(raw, opens, path)
            if is_blank:
                blank.append(slice(start, end))
            else:
                yield opens, offset + line, row
            raw.clear()
    except csv.Error as error:
        problem = f"{path}: line {offset + line + 1}: {error}"
        hint = "look for a quote that is not closed"
        if "field limit" in str(error):
            hint += ", or delete the column of such long texts"
        raise KerhrmError(problem, hint) from error


def _closed(lines: Sequence[str], sep: str, padded: bool) -> bool:
    """Whether all quotes of a row are closed, where a cell ends."""
    reader = csv.reader(lines, delimiter=sep, skipinitialspace=padded, strict=True)
    try:
        return len(list(reader)) == 1
    except csv.Error:
        return False


def _refused_quotes(lines: Sequence[str], line: int, path: Path) -> KerhrmError:
    """Say what is wrong with the quotes of a row, which begin in a line."""
    are_pairs = "".join(lines).count('"') % 2 == 0
    if are_pairs:
        problem = f"{path}: line {line} has text or a blank behind a quote that closes"
        return KerhrmError(problem, "delete it, or the quotes")
    problem = f"{path}: a quote in line {line} is not closed"
    return KerhrmError(problem, "close it, or delete it")


def _uneven(first: bool, names: int, row: Sequence[str], sep: str) -> str:
    """Hint for a row with more or fewer cells than there are names."""
    short = len(row) < names
    if not short and any(HALF_QUOTED.fullmatch(cell) for cell in row):
        return f"put cells that hold {sep!r} into double quotes"
    digits = all(re.fullmatch(r"\s*-?\d+\s*", cell) for cell in row)
    if first and not short and sep == "," and digits:
        cure = "write decimal commas as points, or name every column in the first line"
        return f"{cure}, or delete the lines above the names"
    if first and not short:
        cure = "name every column in the first line, or delete the lines above the "
        return f"{cure}names"
    if short:
        return "complete the line or delete it"
    return f"put cells that hold {sep!r} into quotes"


def _check_names(names: Sequence[str], path: Path) -> None:
    """Refuse columns without a name, or of one name."""
    name, number = Counter(names).most_common(1)[0]
    numbers = all(NUMBER.fullmatch(name) for name in names)
    years = all(name.isdecimal() for name in names)  # or other codes
    if numbers and (number > 1 or not years):
        problem = f"{path}: the first line holds numbers, not names"
        raise KerhrmError(problem, "write the columns' names above it")
    nameless = names.count("")
    if nameless:
        columns = counted(nameless, "column")
        problem = f"{path}: {columns} without a name"
        raise KerhrmError(problem, "name them in the first line")
    if number > 1:
        problem = f"{path}: two columns are called {name!r}"
        raise KerhrmError(problem, "rename one of them")


def _check_quotes(text: str, path: Path) -> None:
    """Refuse quotes after a backslash, as MySQL writes them."""
    cell = BACKSLASH.search(text)
    if cell is not None:
        before = text[: cell.end()]
        line = 1 + len(LINE_END.findall(before))
        problem = f"{path}: line {line} has a quote after a backslash"
        raise KerhrmError(problem, 'double the quotes inside of quotes: "" for \\"')
