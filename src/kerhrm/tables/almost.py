"""Columns of text that are almost numbers or dates, and what to do about them."""

import re
from collections.abc import Sequence

import pandas as pd

from kerhrm.tables.cells import NO_NUMBER, Words
from kerhrm.tables.cures import OPTIONS, Cures
from kerhrm.tables.dates import SAMPLE, date_orders, strangers
from kerhrm.tables.numerals import decimal_signs, number, unit
from kerhrm.tables.spelling import correction
from kerhrm.tables.wording import counted, listed

#: share of a column's cells that are numbers, from which others look like errors
ALMOST = 0.5
MAX_WAYS = 5  #: of writing something around numbers; more are names, such as 12A

_PLAIN = r"\d+(?:[.,]\d+)?"
_UNIT_OF_TIME = r"(?:d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)"
#: times and durations: of clocks, of pandas and Python, of ISO 8601, and as 2h 30m
_TIME = re.compile(
    r"(?:-?\d{1,6} days?,? [+-]?)?\d{1,3}:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?"
    r"(?: ?[ap]\.?m\.?)?"
    rf"|P(?:{_PLAIN}[YMWD])*T(?:{_PLAIN}[HMS])+|P(?:{_PLAIN}[YMWD]){{2,4}}"
    rf"|{_PLAIN} ?{_UNIT_OF_TIME}(?:,? {_PLAIN} ?{_UNIT_OF_TIME}){{1,3}}",
    re.I,
)
#: cells of two numbers or more, what they look like, and what to do
_SEVERAL = (
    (
        re.compile(r"[+-]?(?:\d{1,6} )?\d{1,3} ?[/\u2044] ?\d{1,6}|\d{0,6} ?[¼-¾⅐-⅞]"),
        "fractions",
        "write decimal numbers, or a column for each part",
    ),
    (
        re.compile(rf"[+-]?{_PLAIN} ?(?:±|\+/?[-\u2212]) ?{_PLAIN}"),
        "numbers with their errors",
        "write a column for each",
    ),
    (
        re.compile(
            rf"[+-]?{_PLAIN} ?[x*\u00b7\u00d7] ?10"
            r"(?:\^?[+\u2212-]?\d{1,3}|[⁺⁻]?[⁰¹²³⁴-⁹]{1,3})"
            rf"|[+-]?{_PLAIN}[dD][+-]?\d{{1,3}}"  # of Fortran
        ),
        "powers of ten",
        "write them as 1.5e3",
    ),
    (
        re.compile(
            rf"[+-]?{_PLAIN} ?[°º] ?{_PLAIN} ?['\u2032\u2019] ?"
            rf"(?:{_PLAIN} ?(?:[\"\u2033\u201d]|'') ?)?[NSEWO]?"
        ),
        "angles",
        "write decimal degrees",
    ),
    (
        re.compile(r"0[xX][0-9a-fA-F]+"),
        "hexadecimal numbers",
        "write decimal numbers, or a letter in front of each if they are codes",
    ),
)
#: a number in quotes or with a sign or unit, as ="0.12", <5, Rs. 5, 70 kg, 59.9K, 0.6-
_DRESSED = re.compile(
    r"(?P<before>[^\w\s]{0,4}\s?|[^\W\d]{1,3}[.$]?\s|[^\W\d]{1,2}[.$])"
    r"(?P<core>\d[\d.,' ]*\d|\d|[.,]\d+)"
    r"(?P<after>[^\d]{0,12})"
)


def almost_numbers(column: pd.Series) -> str | None:
    """Say why a column of text does not hold numbers, if most of its cells do."""
    words = Words.from_column(column)
    known = words.known(NO_NUMBER)
    others = [word for word in known if not _is_number(word)]
    most = (1 - ALMOST) * words.rows(known)
    if not known or decimal_signs(known):  # numbers, which are text on purpose
        return None
    times = [word for word in others if _TIME.fullmatch(word)]
    n_times = words.rows(times)
    if n_times > most:
        example = listed(times[:1])
        text = f"it looks like times, as {example}"
        return f"{text}: write numbers, such as hours or seconds"
    for way, what, cure in _SEVERAL:
        written = [word for word in others if way.fullmatch(word)]
        if words.rows(written) > most:
            return f"it looks like {what}, as {listed(written[:1])}: {cure}"
    dressed = _dressed(others)
    wrong = words.rows(others)
    if dressed and wrong - words.rows(dressed) < most:
        cure = "write plain numbers, all in one unit"
        minus_behind = any(word.endswith("-") for word in dressed)
        if minus_behind:
            cure += ", with the minus in front"
        return f"it looks like numbers, written as {listed(dressed)}: {cure}"
    if wrong >= most:
        return None
    if others:
        examples = listed(others)
        rows = counted(wrong)
        text = f"it looks like numbers, but not {examples} in {rows}"
        return f"{text}: {correction(others)}"
    units = {unit(word) or "none" for word in known}
    if len(units) > 1:
        names = ", ".join(sorted(units))
        return f"it looks like numbers of different units: {names}"
    return "it looks like numbers, some with a decimal point and some with a comma"


def _is_number(word: str) -> bool:
    """Whether a word is a number, with some decimal sign."""
    by_point = number(word, ".")
    by_comma = number(word, ",")
    return by_point is not None or by_comma is not None


def almost_dates(column: pd.Series, cures: Cures = OPTIONS) -> str | None:
    """Say why a column of text does not hold dates, if most of its words do."""
    words = Words.from_column(column)
    known = words.known(NO_NUMBER)
    if not known:
        return None
    every = 1 + len(known) // SAMPLE
    sample = known[::every]
    n_strangers = len(strangers(sample))
    if n_strangers > (1 - ALMOST) * len(sample):
        return None
    others = strangers(known)
    rest = set(known) - set(others)
    dates = [word for word in rest if not _is_number(word)]
    fewest = max(2, ALMOST * len(known))
    if not others or len(dates) < fewest:
        return None
    dated = pd.Series(dates, name=column.name, dtype=object)
    also = cures.also_as_dates(column.name, date_orders(dated) or ())
    examples = listed(others)
    rows = counted(words.rows(others))
    text = f"it looks like dates, but not {examples} in {rows}: {correction(others)}"
    return f"{text}, and {also}"


def _dressed(words: Sequence[str]) -> list[str]:
    """Words that are a number with something around it, in a few ways."""
    dressed = {}
    for word in words:
        cell = _DRESSED.fullmatch(word)
        if cell and _is_number(cell["core"]):
            dressed[word] = cell["before"], cell["after"]
    ways = set(dressed.values())
    return list(dressed) if len(ways) <= MAX_WAYS else []
