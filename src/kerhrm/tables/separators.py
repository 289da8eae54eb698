"""Which character separates the cells of a CSV file?"""

import csv
import io
import itertools
import re
from collections.abc import Sequence

from kerhrm.errors import KerhrmError, shown

SEPARATORS = ",;\t|"
OTHER_SEPARATORS = " :^~#"  #: are not tried, but named in a hint
SAMPLE, SAMPLE_ROWS = 2**16, 50  #: characters and rows that show the separator
BLANKS = re.compile(
    r'(?P<quoted>"[^"]*")|(?P<around>(?:(?<=[\r\n])|\A)[ \t]+|[ \t]+(?=[\r\n]|\Z))'
    r"|[ \t]+"
)


def check_separator(sep: str) -> str:
    """A separator as it was given, \\t as a tab.

    Raises KerhrmError if it is none.
    """
    if sep == "\\t":
        sep = "\t"
    reserved = sep in '"\r\n' or sep.isalnum()
    if len(sep) != 1 or reserved:
        problem = f"--sep must be one character, no letter or quote; got {shown(sep)}"
        hint = r"use ',', ';' or '\t', a tab, or leave --sep out"
        if sep.startswith("\\s"):
            hint = "for runs of blanks use --sep ' '"
        raise KerhrmError(problem, hint)
    return sep


def find_separator(text: str) -> str:
    """Separator that gives most columns, as many in the first rows as in the header."""
    return max(SEPARATORS, key=lambda sep: evenness(text, sep))


def evenness(text: str, sep: str) -> tuple[bool, int]:
    """Whether the first rows have as many cells as the header, and how many."""
    sample = io.StringIO(text[:SAMPLE], newline="")
    reader = csv.reader(sample, delimiter=sep)
    try:
        rows = [row for row in itertools.islice(reader, SAMPLE_ROWS) if filled(row)]
    except csv.Error:
        return False, 0
    if len(rows) > 2 and len(text) > SAMPLE:
        rows.pop()  # which may be cut
    widths = [filled(row) for row in rows]
    usual = max(widths, key=lambda width: (widths.count(width), width), default=0)
    as_header = widths[:1] == [usual]
    return as_header and usual > 1, usual


def one_blank(text: str) -> str:
    """Text whose runs of blanks, outside of quotes, are one blank; none around rows."""

    def blank(run: re.Match[str]) -> str:
        if run["quoted"]:
            return run["quoted"]
        return "" if run["around"] is not None else " "

    return BLANKS.sub(blank, text)


def _separated_by_blanks(text: str) -> str | None:
    """Hint for a file whose cells are separated by white space; None: they are not."""
    lines = io.StringIO(one_blank(text), newline="")
    reader = csv.reader(lines, delimiter=" ")
    try:
        header, *widths = [len(row) for row in reader if row]
    except (csv.Error, ValueError):
        return None
    if not widths or min(widths) < 2:
        return None
    if set(widths) == {header}:
        return "set --sep ' '"
    if set(widths) == {header + 1}:
        cure = "its cells are separated by blanks: name the first column, too, and then"
        return f"{cure} set --sep ' '"
    return (
        "its cells are separated by blanks, some rows have more: write it with commas"
    )


def filled(row: Sequence[str]) -> int:
    """Number of cells, without empty ones at the end."""
    numbers = [j for j, cell in enumerate(row, 1) if cell.strip()]
    return max(numbers, default=0)


def use_separator(sep: str) -> str:
    """Hint for a file with this separator."""
    written = r"\t" if sep == "\t" else sep
    return f"set --sep '{written}'"


def better_separator(text: str, sep: str) -> str:
    """Hint for a file that has one column with this separator."""
    blanks = _separated_by_blanks(text) if sep != " " else None
    if blanks:
        return blanks
    lines = [line for line in text[:SAMPLE].splitlines() if line.strip()]
    first_lines = lines[:2]
    for other in (find_separator(text), *OTHER_SEPARATORS):
        counts = {line.count(other) for line in first_lines}
        even = len(counts) == 1 and 0 not in counts
        if even and other != sep:
            return use_separator(other)
    return "give a file of two columns or more"
