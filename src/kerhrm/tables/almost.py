"""Columns of text that are almost numbers or dates, and what to do about them."""

import re
from collections.abc import Sequence

import pandas as pd

from kerhrm.tables.cells import NO_NUMBER, Words, decimal_signs, number, unit
from kerhrm.tables.dates import CORRECT, SAMPLE, date_options, strangers
from kerhrm.tables.wording import counted, flag, listed

#: share of a column's cells that are numbers, from which others look like errors
ALMOST = 0.5
MAX_WAYS = 5  #: of writing something around numbers; more are names, such as 12A

_TIME = re.compile(r"\d{1,3}:[0-5]\d(:[0-5]\d([.,]\d+)?)?( ?[ap]\.?m\.?)?", re.I)
#: a number in quotes or with a sign or unit, as ="0.12", <5, Rs. 5, 70 kg, 59.9K, 0.6-
_DRESSED = re.compile(
    r"(?P<before>[^\w\s]{0,4}\s?|[^\W\d]{1,3}[.$]?\s|[^\W\d]{1,2}[.$])"
    r"(?P<core>\d[\d.,' ]*\d|\d|[.,]\d+)"
    r"(?P<after>[^\d]{0,12})"
)


def almost_numbers(column: pd.Series) -> str | None:
    """Say why a column of text does not hold numbers, if most of its cells do."""
    words = Words.of(column)
    known = words.known(NO_NUMBER)
    signs = {word: {s for s in ".," if number(word, s) is not None} for word in known}
    others = [word for word in known if not signs[word]]
    most = (1 - ALMOST) * words.rows(known)
    if not known or decimal_signs(known):  # numbers, which are text on purpose
        return None
    times = [word for word in others if _TIME.fullmatch(word)]
    if words.rows(times) > most:
        text = f"it looks like times, as {listed(times[:1])}"
        return f"{text}: write numbers, such as hours or seconds"
    dressed = _dressed(others)
    wrong = words.rows(others)
    if dressed and wrong - words.rows(dressed) < most:
        cure = "write plain numbers, all in one unit"
        if any(word.endswith("-") for word in dressed):
            cure += ", with the minus in front"
        return f"it looks like numbers, written as {listed(dressed)}: {cure}"
    if wrong >= most:
        return None
    if others:
        text = f"it looks like numbers, but not {listed(others)} in {counted(wrong)}"
        return f"{text}: {CORRECT}"
    units = sorted({unit(word) or "none" for word in known})
    if len(units) > 1:
        return f"it looks like numbers of different units: {', '.join(units)}"
    return "it looks like numbers, some with a decimal point and some with a comma"


def almost_dates(column: pd.Series) -> str | None:
    """Say why a column of text does not hold dates, if most of its words do."""
    words = Words.of(column)
    known = words.known(NO_NUMBER)
    sample = known[:: 1 + len(known) // SAMPLE]
    if not known or len(strangers(sample)) > (1 - ALMOST) * len(sample):
        return None
    others = strangers(known)
    rest = set(known) - set(others)
    dates = [word for word in rest if number(word, ".") is number(word, ",") is None]
    if not others or len(dates) < max(2, ALMOST * len(known)):
        return None
    options = date_options(pd.Series(dates, name=column.name, dtype=object))
    rows = counted(words.rows(others))
    text = f"it looks like dates, but not {listed(others)} in {rows}: {CORRECT}"
    return f"{text}, and add {options or flag('--dates', column.name)}"


def _dressed(words: Sequence[str]) -> list[str]:
    """Words that are a number with something around it, in a few ways."""
    cells = {word: _DRESSED.fullmatch(word) for word in words}
    dressed = {
        word: (cell["before"], cell["after"])
        for word, cell in cells.items()
        if cell and any(number(cell["core"], sign) is not None for sign in ".,")
    }
    return list(dressed) if len(set(dressed.values())) <= MAX_WAYS else []
