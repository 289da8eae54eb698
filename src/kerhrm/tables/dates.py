"""Dates in columns of text: one way of writing for a whole column, or none.

A date is ISO 8601 (2024-12-31, with or without a time), has a month with a name, or has
three numbers, whose order is that in which *every* cell of the column is a date.  Where
several orders are possible and give other dates, or a year has two digits, the cells do
not tell the order, and it must be given.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.tables.cells import NO_NUMBER, Words, text_of
from kerhrm.tables.cures import OPTIONS, Cures
from kerhrm.tables.date_formats import (
    DIGITS,
    FORMATS,
    ISO,
    ORDERS,
    SHOWN,
    has_zone,
    times_in,
)
from kerhrm.tables.index import first_row
from kerhrm.tables.spelling import CORRECT
from kerhrm.tables.wording import counted, listed

MOST = 0.9  #: share of a column's numbers that are dates, from which others are errors
SAMPLE = 100  #: words that most formats are ruled out by
#: how a year of two digits is read, which its cells do not show
CENTURY = "its years of two digits are read as 1969 to 2068; write four if they are not"


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
    words = Words.from_column(spelled)
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
        hint = "write all of them as 2024-12-31 or leave such cells empty, or "
        hint += "leave the column out of --dates"
        raise KerhrmError(problem, hint)
    shown_format = evident_format(ways)
    given = [name for name in ORDERS.get(order or "", ()) if name in ways]
    possible = possible_orders(ways)
    orders = " or ".join(possible)
    if possible and order and not given:
        example = _misfit(known, order)
        problem = f"{where} must hold dates; got {example!r}"
        hint = f"correct it, or give --date-order {orders}"
        if shown_format:
            hint = "leave --date-order out, so that each column shows its own"
        raise KerhrmError(f"{problem} with --date-order {order}", hint)
    chosen = shown_format or next(iter(given), None)
    if chosen is None:
        problem = f"{where} does not show the order of day, month and year"
        hint = f"add --date-order {orders}"
        if len(possible) == 1:  # by cells that may be wrong themselves
            problem = f"{where} has years of two digits, which show no order"
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


def date_orders(column: pd.Series) -> list[str] | None:
    """Orders in which a column of text may be dates; None: it is no dates, empty: the
    cells show the one."""
    words = Words.from_column(column).known(NO_NUMBER)
    ways = readings(words)
    if not ways:
        return None
    return [] if evident_format(ways) else possible_orders(ways)


def date_options(column: pd.Series, cures: Cures = OPTIONS) -> str | None:
    """What reads a column of text as dates, as options of ``kerhrm check``; None: no
    dates."""
    orders = date_orders(column)
    return None if orders is None else cures.as_dates(column.name, orders)


def readings(words: Sequence[str]) -> dict[str, pd.Series]:
    """Times (m,) of m words, in every format in which all of them are dates."""
    zones = {has_zone(word) for word in words} - {None}
    if not len(words) or len(zones) > 1:
        return {}
    sample = words[:SAMPLE]
    likely = []
    for name in FORMATS:
        times = times_in(sample, name)
        if times.notna().all():
            likely.append(name)
    if ISO in likely:
        times = times_in(words, ISO)
        if times.notna().all():
            return {ISO: times}
    found = {}
    for name in likely:
        times = times_in(words, name)
        if times.notna().all():
            found[name] = times
    return found


def evident_format(ways: Mapping[str, pd.Series]) -> str | None:
    """Name the format that the words show themselves, of those that are possible."""
    for name in ways:
        if name in SHOWN:
            return name
    long = [name for name in ways if "%Y" in name]
    if not long:  # most short years fit day, month and year in several orders
        return None
    first, *others = long
    alike = all(ways[name].equals(ways[first]) for name in others)
    return first if alike else None


def possible_orders(ways: Mapping[str, pd.Series]) -> list[str]:
    """Orders of day, month and year, of the formats that are possible."""
    orders = []
    for order, formats in ORDERS.items():
        possible = ways.keys() & set(formats)
        if possible:
            orders.append(order)
    return orders


def digit_dates(column: pd.Series, cures: Cures = OPTIONS) -> str | None:
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
    if dated.all():
        return f"{text}: {cures.as_dates(column.name)}"
    examples = listed([text_of(value) for value in others])
    n_others = int(column.isin(others).sum())
    rows = counted(n_others)
    also = cures.also_as_dates(column.name)
    return f"{text}, but not {examples} in {rows}: {CORRECT}, and {also}"


def _misfit(words: Sequence[str], order: str) -> str:
    """First word that is no date in an order, by the format that most words have."""
    absent = _fewest_absent(words, ORDERS[order])
    first_absent = int(absent.argmax())
    return words[first_absent]


def _fewest_absent(words: Sequence[str], names: Collection[str]) -> np.ndarray:
    """Words that are no dates in the format that most words have, (m,), bool."""
    absent = []
    for name in names:
        times = times_in(words, name)
        absent.append(times.isna().to_numpy())
    return min(absent, key=np.count_nonzero)


def _dated(values: np.ndarray) -> np.ndarray:
    """Which numbers (m,) are dates of this and the last century: bool (m,)."""
    texts = [text_of(value) for value in values]
    words = pd.Series(texts, dtype=object)
    lengths = words.map(len)
    commonest = lengths.mode()[0]
    usual = lengths == commonest
    matches = words.map(DIGITS.fullmatch)
    written = matches.notna()
    times = times_in(words.tolist(), ISO)
    are_dates = written & usual & times.notna()
    return np.asarray(are_dates)


def strangers(words: Sequence[str]) -> list[str]:
    """Words that are not written as most others are."""
    with_zone = [word for word in words if has_zone(word)]
    without = [word for word in words if has_zone(word) is False]
    if with_zone and without:
        return min(with_zone, without, key=len)
    absent = _fewest_absent(words, FORMATS)
    all_words = np.array(words)
    others = all_words[absent]
    return others.tolist()


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
