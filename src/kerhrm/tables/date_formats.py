"""Ways of writing a date, and the times that words are in one of them.

A word is a date with or without a time.  A time with a time zone is read in UTC.
"""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

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
DIGITS = re.compile(r"\A((?:19|20)\d\d)(\d\d)(?:(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?)?\Z")
_TOGETHER = re.compile(r"(\d\d?)([a-z]{3,9})(\d\d(?:\d\d)?)", re.IGNORECASE)  #: SAS
_MONTH = re.compile(
    r"\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?",
    re.IGNORECASE,
)


def _cell(word: str) -> re.Match[str] | None:
    """Parts of a cell, if it may be a date."""
    return _CELL.fullmatch(word) if len(word) <= LONGEST else None


def has_zone(word: str) -> bool | None:
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


def times_in(words: Sequence[str], name: str) -> pd.Series:
    """Times of words in one format; NaT for those that are not written so."""
    if name == ISO:
        spelled = [DIGITS.sub(_with_signs, word) for word in words]
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
