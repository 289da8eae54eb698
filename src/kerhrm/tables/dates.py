"""Dates in columns of text: one way of writing for a whole column, or none.

A date is ISO 8601 (2024-12-31, with or without a time), has a month with a name, or has
three numbers, whose order is that in which *every* cell of the column is a date.  Where
several orders are possible and give other dates, or a year has two digits, the cells do
not tell the order, and it must be given.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.tables.cells import NO_NUMBER, Words, text_of
from kerhrm.tables.index import first_row
from kerhrm.tables.wording import counted, flag, listed

#: formats by the order of day, month and year: years of four digits, then of two
ORDERS = {
    "dmy": ("%d-%m-%Y", "%d-%m-%y", "%d-%b-%y"),
    "mdy": ("%m-%d-%Y", "%m-%d-%y", "%b-%d-%y"),
    "ymd": ("%Y-%m-%d", "%y-%m-%d", "%y-%b-%d"),
}
ISO = "ISO8601"
#: formats that show their order
SHOWN = (
    ISO,
    "%d-%b-%Y",
    "%b-%d-%Y",
    "%Y-%b-%d",
    "%b-%Y",
    "%Y-%b",
    "%m-%Y",
    "%Y-%m",
)
FORMATS = (*SHOWN, *(name for names in ORDERS.values() for name in names))
LONGEST = 60  #: characters of a date, whose search takes their square
MOST = 0.9  #: share of a column's numbers that are dates, from which others are errors
CORRECT = "leave such cells empty, or correct them"
SAMPLE = 100  #: words that most formats are ruled out by
#: how a year of two digits is read, which its cells do not show
CENTURY = "its years of two digits are read as 1969 to 2068; write four if they are not"

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d(?:\.\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
)
_CELL = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
    rf"(?P<date>.+?)(?:(?:,?\s+|T){_CLOCK})?",
    re.IGNORECASE,
)
#: what may be ISO 8601
_ISO_CELL = re.compile(r"\s*\d{4}[\d\s./\\:,+T-]*(?:Z|UTC|GMT)?", re.IGNORECASE)
#: 202412, 20241231, 202412312359 or 20241231235959
_DIGITS = re.compile(r"\A((?:19|20)\d\d)(\d\d)(?:(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?)?\Z")
_TOGETHER = re.compile(r"(\d\d?)([a-z]{3,9})(\d\d(?:\d\d)?)", re.IGNORECASE)  #: SAS
_MONTH = re.compile(
    r"\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?",
    re.IGNORECASE,
)


def read_dates(column: pd.Series, order: str | None = None) -> tuple[pd.Series, str]:
    """Dates of a column of text, numbers or dates, in UTC, and a note.

    Parameters
    ----------
    column : Series
        Its name stands in errors.  A number is a year, or a date as 20241231, a month
        as 202412, or a time as 20241231235959.
    order : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year, where the cells do not show it.

    Raises
    ------
    KerhrmError
        If a cell is no date, cells are written in several ways, or they do not show
        the order and none is given, or show another one.
    """
    if column.dtype.kind == "M":
        return pd.to_datetime(column, utc=True), ""
    spelled = column.map(_date_text, na_action="ignore")
    words = Words.of(spelled)
    known = words.known(NO_NUMBER)
    absent = words.absent(NO_NUMBER)
    if not known:
        empty = words.values({})
        return pd.to_datetime(empty, utc=True), absent
    where = f"column {str(column.name)!r}"
    ways = readings(known)
    if not ways:
        others = dict.fromkeys(strangers(known), True)
        wrong = words.values(others).notna()
        others_in_column = column[wrong]
        first = others_in_column.iloc[0]
        example = str(first)[:40]
        row = first_row(wrong, column)
        problem = f"{where} must hold dates; got {example!r} in {row}"
        hint = "write all of them as 2024-12-31, or leave the column out of --dates"
        raise KerhrmError(problem, hint)
    shown_format = shown(ways)
    given = [name for name in ORDERS.get(order or "", ()) if name in ways]
    possible = possible_orders(ways)
    if shown_format and possible and order and not given:
        example = _misfit(known, order)
        problem = f"{where} must hold dates; got {example!r}"
        hint = "leave --date-order out, so that each column shows its own"
        raise KerhrmError(f"{problem} with --date-order {order}", hint)
    chosen = shown_format or next(iter(given), None)
    if chosen is None:
        problem = f"{where} does not show the order of day, month and year"
        orders = " or ".join(possible)
        hint = f"add --date-order {orders}"
        raise KerhrmError(f"{problem}: {known[0]!r}", hint)
    meaning = dict(zip(known, ways[chosen], strict=True))
    times = words.values(meaning)
    notes = [absent, CENTURY if "%y" in chosen else ""]
    return pd.to_datetime(times, utc=True), "; ".join(filter(None, notes))


def _date_text(value: Any) -> str:
    """A cell as text; a number with decimals, which may be any date, as none."""
    if isinstance(value, str):
        return value
    text = text_of(value)
    return f"the number {text}" if "." in text else text


def date_options(column: pd.Series) -> str | None:
    """Options of ``kerhrm check`` that read a column of text as dates; None: no dates.

    Quoted for a shell.
    """
    words = Words.of(column).known(NO_NUMBER)
    ways = readings(words)
    if not ways:
        return None
    option = flag("--dates", column.name)
    if shown(ways):
        return option
    orders = " or ".join(possible_orders(ways))
    return f"{option} --date-order {orders}"


def readings(words: Sequence[str]) -> dict[str, pd.Series]:
    """Times (m,) of m words, in every format in which all of them are dates."""
    zones = {_has_zone(word) for word in words} - {None}
    if not len(words) or len(zones) > 1:
        return {}
    sample = words[:SAMPLE]
    likely = []
    for name in FORMATS:
        times = _times(sample, name)
        if times.notna().all():
            likely.append(name)
    if ISO in likely:
        times = _times(words, ISO)
        if times.notna().all():
            return {ISO: times}
    found = {}
    for name in likely:
        times = _times(words, name)
        if times.notna().all():
            found[name] = times
    return found


def shown(ways: Mapping[str, pd.Series]) -> str | None:
    """Name the format that the words show themselves, of those that are possible."""
    for name in ways:
        if name in SHOWN:
            return name
    long = [name for name in ways if "%Y" in name]
    if not long:
        return None
    first = ways[long[0]]
    alike = all(ways[name].equals(first) for name in long)
    return long[0] if alike else None


def possible_orders(ways: Mapping[str, pd.Series]) -> list[str]:
    """Orders of day, month and year, of the formats that are possible."""
    orders = []
    for order, formats in ORDERS.items():
        possible = ways.keys() & set(formats)
        if possible:
            orders.append(order)
    return orders


def digit_dates(column: pd.Series) -> str | None:
    """Say that whole numbers, as 20241231, are dates, and what reads them; None: no.

    Two numbers are a flag, whatever they stand for.
    """
    values = column.dropna().unique()
    if column.dtype.kind not in "iuf" or len(values) <= 2:
        return None
    every = 1 + len(values) // SAMPLE
    sample = values[::every]
    if _dated(sample).mean() < MOST:
        return None
    dated = _dated(values)
    if dated.mean() < MOST:
        return None
    dates = values[dated]
    others = values[~dated]
    example = text_of(dates[0])
    text = f"it looks like dates, as {example}"
    option = flag("--dates", column.name)
    if dated.all():
        return f"{text}: {option}"
    examples = listed([text_of(value) for value in others])
    n_others = int(column.isin(others).sum())
    rows = counted(n_others)
    return f"{text}, but not {examples} in {rows}: {CORRECT}, and add {option}"


def _misfit(words: Sequence[str], order: str) -> str:
    """First word that is no date in an order, by the format that most words have."""
    absent = _fewest_absent(words, ORDERS[order])
    first_absent = int(absent.argmax())
    return words[first_absent]


def _fewest_absent(words: Sequence[str], names: Collection[str]) -> np.ndarray:
    """Words that are no dates in the format that most words have, (m,), bool."""
    absent = []
    for name in names:
        times = _times(words, name)
        absent.append(times.isna().to_numpy())
    return min(absent, key=np.count_nonzero)


def _dated(values: np.ndarray) -> np.ndarray:
    """Which numbers (m,) are dates of this and the last century: bool (m,)."""
    texts = [text_of(value) for value in values]
    words = pd.Series(texts, dtype=object)
    lengths = words.map(len)
    commonest = lengths.mode()[0]
    usual = lengths == commonest
    matches = words.map(_DIGITS.fullmatch)
    written = matches.notna()
    times = _times(words.tolist(), ISO)
    are_dates = written & usual & times.notna()
    return np.asarray(are_dates)


def strangers(words: Sequence[str]) -> list[str]:
    """Words that are not written as most others are."""
    with_zone = [word for word in words if _has_zone(word)]
    without = [word for word in words if _has_zone(word) is False]
    if with_zone and without:
        return min(with_zone, without, key=len)
    absent = _fewest_absent(words, FORMATS)
    all_words = np.array(words)
    others = all_words[absent]
    return others.tolist()


def _cell(word: str) -> re.Match[str] | None:
    """Parts of a cell, if it may be a date."""
    return _CELL.fullmatch(word) if len(word) <= LONGEST else None


def _has_zone(word: str) -> bool | None:
    """Whether a time has a time zone; None: it is no time."""
    cell = _cell(word)
    if cell is None or cell["hour"] is None:
        return None
    return cell["zone"] is not None


def iso_times(column: pd.Series) -> pd.Series:
    """Times of text in ISO 8601, in UTC; NaT for what is not written so.

    pandas alone would read "now", "today" and years before 0.
    """
    cells = column.map(_ISO_CELL.fullmatch, na_action="ignore")
    written = column.where(cells.notna())
    return pd.to_datetime(written, format=ISO, errors="coerce", utc=True)


def _times(words: Sequence[str], name: str) -> pd.Series:
    """Times of words in one format; NaT for those that are not written so."""
    if name == ISO:
        spelled = [_DIGITS.sub(_with_signs, word) for word in words]
        texts = pd.Series(spelled, dtype=object)
        return iso_times(texts)
    parts = [_split(word) for word in words]
    dates, clocks = zip(*parts, strict=True)
    written = pd.Series(dates)
    days = pd.to_datetime(written, format=name, errors="coerce", utc=True)
    seconds = pd.Series(clocks)
    since_midnight = pd.to_timedelta(seconds, unit="s")
    return days + since_midnight


def _with_signs(digits: re.Match[str]) -> str:
    """A month or a time in digits alone as ISO 8601, which pandas does not read so."""
    year, month, day, hour, minute, second = digits.groups()
    if day is None:
        return f"{year}-{month}"
    date = f"{year}-{month}-{day}"
    if hour is None:
        return date
    return f"{date}T{hour}:{minute}:{second or '00'}"


def _split(word: str) -> tuple[str, float]:
    """Date, its parts joined by "-", and seconds of the day in UTC; NaN: no time."""
    cell = _cell(word)
    # pandas alone would read "now", and years before 0
    if cell is None:
        return "", np.nan
    date = cell["date"]
    if not re.match(r"\w.*\d", date):
        return "", np.nan
    date = _TOGETHER.sub(r"\1 \2 \3", date)
    date = _MONTH.sub(lambda month: month[1][:3], date)
    date = re.sub(r"[\s,./-]+", "-", date)
    return date, _seconds_of_day(cell)


def _seconds_of_day(cell: re.Match[str]) -> float:
    """Time of a cell in seconds since midnight, in UTC; NaN: it is no time."""
    if cell["hour"] is None:
        return 0.0
    hour = float(cell["hour"])
    minute = float(cell["minute"] or 0)
    second = float(cell["second"] or 0)
    half = cell["half"] or ""
    if half:
        if not 1 <= hour <= 12:
            return np.nan
        hour %= 12
        if half.casefold().startswith("p"):
            hour += 12
    if hour >= 24 or minute >= 60 or second >= 60:
        return np.nan
    seconds = 3600 * hour + 60 * minute + second
    zone = re.fullmatch(r"([+-])(\d\d):?(\d\d)?", cell["zone"] or "")
    if zone is None:
        return seconds
    zone_hours = int(zone[2])
    zone_minutes = int(zone[3] or 0)
    ahead = 3600 * zone_hours + 60 * zone_minutes
    return seconds - ahead if zone[1] == "+" else seconds + ahead


def starts(periods: pd.Series) -> pd.Series:
    """Times at which periods (n,) start."""
    try:
        return periods.dt.to_timestamp()
    except pd.errors.OutOfBoundsDatetime:  # of nanoseconds
        return pd.Series(_seconds(periods), periods.index)


def _seconds(column: pd.Series) -> np.ndarray:
    """Starts of periods (n,), in seconds, which hold any year."""
    starts = column.dt.asfreq("s", how="start").array
    seconds = starts.asi8.astype("datetime64[s]")
    seconds[column.isna()] = np.datetime64("NaT")
    return seconds
