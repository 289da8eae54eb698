"""Dates in cells of text and in digits: one order for a whole column, or a question."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

from kerhrm.tables.almost import almost_dates
from kerhrm.tables.dates import date_options, digit_dates, read_dates

DAYS = pd.date_range("2020-01-01", periods=60, freq="31h")
FORMATS = {
    "%d/%m/%Y": "D",
    "%m/%d/%Y": "D",
    "%d.%m.%Y": "D",
    "%Y/%m/%d": "D",
    "%Y-%m-%d": "D",
    "%Y%m%d": "D",
    "%d %b %Y": "D",
    "%d-%B-%Y": "D",
    "%d%b%Y": "D",
    "%B %d, %Y": "D",
    "%a, %d %b %Y": "D",
    "%d/%m/%Y %H:%M": "min",
    "%m/%d/%Y %I:%M %p": "min",
    "%Y-%m-%dT%H:%M:%SZ": "s",
    "%d.%m.%Y, %H:%M:%S": "s",
}


@pytest.mark.parametrize("written", FORMATS)
def test_dates_have_one_order_for_a_whole_column(written: str) -> None:
    floored = DAYS.floor(FORMATS[written])
    expected = floored.tz_localize("UTC")
    texts = DAYS.strftime(written)
    column = pd.Series(texts, name="day")
    times, note = read_dates(column)
    is_same = times.to_numpy() == expected.to_numpy()
    assert is_same.all()
    assert note == ""


def test_the_century_of_short_years_is_said() -> None:
    column = pd.Series(["31.12.45", "14.01.69", "?"], name="born")
    times, note = read_dates(column, "dmy")
    assert times[:2].dt.year.tolist() == [2045, 1969]
    assert note.startswith("missing in 1 row: '?'; its years of two digits are read as")
    _, note = read_dates(pd.Series(["31.12.1945", "14.01.1969"]))
    assert note == ""


def test_the_order_is_asked_for_where_cells_do_not_show_it() -> None:
    days = [1 + i % 9 for i in range(40)]
    months = [1 + i % 7 for i in range(40)]
    dates = zip(days, months, strict=True)
    cells = [f"0{day}/0{month}/2020" for day, month in dates]
    column = pd.Series(cells, name="d")
    message = r"'d' .*'01/01/2020'; add --date-order dmy o"
    with refusal(message):
        read_dates(column)
    by_day, _ = read_dates(column, "dmy")
    by_month, _ = read_dates(column, "mdy")
    days_read = by_day.dt.day
    is_swapped = days_read == by_month.dt.month
    assert is_swapped.all()
    assert days_read.tolist() == days
    with refusal(
        "'01/01/2020' with --date-order ymd; correct it, or give --date-order dmy"
    ):
        read_dates(column, "ymd")

    either_order = pd.Series(["05/05/2020", "06/06/2020"])
    same, _ = read_dates(either_order)
    assert same.dt.month.tolist() == [5, 6]

    short = pd.Series(["30/12/20", "01/12/28"])
    with refusal("add --date-order dmy or ymd"):
        read_dates(short)
    times, _ = read_dates(short, "dmy")
    assert times.dt.year.tolist() == [2020, 2028]


@pytest.mark.parametrize(
    ("order", "cells"),
    [
        ("dmy", ["28.04.65", "13.01.70"]),
        ("mdy", ["04/28/65", "01/13/70"]),
        ("dmy", ["28-Apr-65", "13-Jan-70"]),
        ("ymd", ["65-04-28", "70-01-13"]),
    ],
)
def test_the_order_of_short_years_is_asked_for(order: str, cells: list[str]) -> None:
    """Also where one order fits alone: a single wrong day may be why."""
    column = pd.Series(cells, name="d")
    with refusal(f"has years of two digits, .* add --date-order {order}$"):
        read_dates(column)
    times, note = read_dates(column, order)
    expected = ["2065-04-28", "1970-01-13"]
    assert times.dt.strftime("%Y-%m-%d").tolist() == expected
    assert note.startswith("its years of two digits are read as")


def test_a_day_that_there_is_not_does_not_choose_the_order() -> None:
    days = [f"{1 + i % 12:02}/10/2{i % 5}" for i in range(80)]
    column = pd.Series([*days, "31/11/23"], name="d")
    with refusal("years of two digits"):
        read_dates(column)
    with refusal("got '31/11/23' with --date-order dmy; correct it, or give"):
        read_dates(column, "dmy")


@pytest.mark.parametrize(
    ("cells", "order", "wrong"),
    [
        (["13/02/2024", "01/02/2024"], "mdy", "13/02/2024"),
        (["01/02/2024", "02/13/2024"], "dmy", "02/13/2024"),
        (["05/05/2024", "06/06/2024"], "ymd", "05/05/2024"),
        (["13.02.2024 10:00"], "mdy", "13.02.2024 10:00"),
    ],
)
def test_an_order_that_is_given_must_fit(
    cells: list[str], order: str, wrong: str
) -> None:
    column = pd.Series(cells, name="d")
    words = f"'d' must hold dates; got '{wrong}' with --date-order {order}; leave --da"
    with refusal(words):
        read_dates(column, order)
    times, _ = read_dates(column)
    assert times.notna().all()


def test_an_order_changes_nothing_where_dates_show_theirs() -> None:
    in_one_order = (["2024-01-31"], ["31 Jan 2024"], ["Jan 2024"], ["20240131"])
    for cells in in_one_order:
        column = pd.Series(cells)
        without_order, _ = read_dates(column)
        with_order, _ = read_dates(column, "mdy")
        assert without_order.equals(with_order)


@pytest.mark.parametrize(
    ("cells", "wrong"),
    [
        (["2020-01-01", "2020-01-02", "31/12/2020"], "'31/12/2020' in index 2"),
        (["31/12/2020", "12/31/2020", "30/12/2020"], "'12/31/2020' in index 1"),
        (["2020-01-01", "2020-02-30"], "'2020-02-30' in index 1"),
        (["2020-01-01 10:00", "2020-01-01 10:00+01:00"], "'.*' in index 1"),
        (["2020-01-01 10:00", "2020-01-01 25:00"], "'2020-01-01 25:00' in index 1"),
        (["jan", "feb"], "'jan' in index 0"),
        (["Mon", "Tue"], "'Mon' in index 0"),
        (["10:30", "11:45"], "'10:30' in index 0"),
        ([43831, 43832], "'43831' in index 0"),
        ([2020.1, 2020.1], "'2020.1' in index 0"),
    ],
)
def test_what_is_no_date_or_another_way_of_writing_is_named(
    cells: list[Any], wrong: str
) -> None:
    column = pd.Series(cells, name="d")
    with refusal(f"'d' must hold dates; got {wrong}"):
        read_dates(column)


@pytest.mark.skipif(pd.__version__ < "3", reason="pandas 2 reads 1677 to 2262")
def test_numbers_far_and_missing_dates() -> None:
    numbers = pd.Series([2020, 1066])
    years, _ = read_dates(numbers)
    assert years.dt.year.tolist() == [2020, 1066]
    digits = pd.Series([20200131])
    in_digits, _ = read_dates(digits)
    assert in_digits.dt.day.tolist() == [31]
    texts = pd.Series(["2020.10", "2020.11"])
    months, _ = read_dates(texts)
    assert months.dt.month.tolist() == [10, 11]
    cells = ["9999-12-31", "-", "0001-01-01", None]
    texts = pd.Series(cells)
    far, note = read_dates(texts)
    years = far.dt.year
    years = years.fillna(0)
    assert years.tolist() == [9999, 0, 1, 0]
    assert note == "missing in 1 row: '-'"


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d/%m/%Y", "%b %d, %Y", "%d.%m.%y"])
@pytest.mark.parametrize("wrong", ["0000-00-00", "2023-02-29", "30/02/2024", "soon"])
def test_a_column_of_dates_but_for_a_few_cells_is_said(
    written: str, wrong: str
) -> None:
    times = pd.date_range("2024-01-01", periods=119)
    days = times.strftime(written)
    cells = [*days, wrong, None]
    column = pd.Series(cells, name="c", dtype=object)
    assert date_options(column) is None
    message = almost_dates(column)
    assert message is not None
    assert f"but not '{wrong}' in 1 row: leave such cells empty, or" in message
    assert "and add --dates c" in message

    is_date = column != wrong
    emptied = column.where(is_date)
    options = str(date_options(emptied))
    assert message.endswith(options)
    _, _, after = options.partition("--date-order ")
    order, _, _ = after.partition(" or")
    times, _ = read_dates(emptied, order or None)
    assert times.notna().sum() == 119


def test_zeros_in_most_rows_are_one_way_of_writing_no_date() -> None:
    times = pd.date_range("2024-01-01", periods=20)
    days = times.strftime("%Y-%m-%d")
    zeros = ["0000-00-00"] * 200
    cells = [*days, *zeros]
    column = pd.Series(cells, name="c")
    message = str(almost_dates(column))
    assert "but not '0000-00-00' in 200 rows" in message


@pytest.mark.parametrize(
    "cells",
    [
        ["low", "mid", "2024-01-01"],
        ["12A", "2023", "2024"],
        [f"word {i} of many" for i in range(300)],
        ["10:30", "11:45"],
        [None, None],
    ],
)
def test_what_is_not_almost_dates(cells: list[Any]) -> None:
    column = pd.Series(cells, dtype=object)
    assert almost_dates(column) is None


@pytest.mark.parametrize("written", ["%Y%m", "%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S"])
def test_dates_in_digits_are_said_and_read(written: str) -> None:
    times = pd.date_range("2023-11-01", periods=60, freq="7D")
    expected = times
    if written == "%Y%m":
        expected = times.to_period("M").to_timestamp()
    in_text = times.strftime(written)
    in_digits = in_text.astype("int64")
    column = pd.Series(in_digits, name="c")
    first = column.iloc[0]
    message = f"it looks like dates, as {first}: --dates c"
    assert digit_dates(column) == message
    as_numbers = column.astype(float)
    as_text = column.astype(str)
    for cells in (column, as_numbers, as_text):
        read, _ = read_dates(cells)
        is_same = read.dt.tz_localize(None) == expected
        assert is_same.all()

    zeros = pd.Series([0, 0])
    both = pd.concat([column, zeros])
    as_numbers = both.astype(float)
    with_zeros = as_numbers.rename("c")
    message = f"as {first}, but not '0' in 2 rows: leave"
    warned = str(digit_dates(with_zeros))
    assert message in warned


def test_whole_numbers_that_are_no_dates() -> None:
    random = np.random.default_rng(0)
    for numbers in (
        random.integers(190_000, 210_000, 300),
        random.integers(19_000_000, 21_000_000, 300),
        random.normal(size=300),
        np.arange(2000, 2025),
        [20240101, 20240102] * 10,
        [201301, 201302, 20240101],
    ):
        column = pd.Series(numbers)
        assert digit_dates(column) is None
