"""Cells of text: truth values, numbers and dates by what a whole column shows, and what
counts as missing, which the report says."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm.tables.almost import almost_dates, almost_numbers
from kerhrm.tables.cells import read_cells, text_of
from kerhrm.tables.dates import date_options, digit_dates, read_dates

#: cells, the numbers that they are, and words of the note
NUMBERS: dict[str, tuple[list[Any], list[float], str]] = {
    "plain": (["1", "2.5", "-3e2"], [1, 2.5, -300], ""),
    "mixed with text": ([1, "2", 3.5], [1, 2, 3.5], ""),
    "thousands": (["1,234", "12", "1,234,567"], [1234, 12, 1234567], "'1,234' is read"),
    "thousands and decimals": (["1,234.5", "0.25"], [1234.5, 0.25], "read as 1234.5"),
    "decimal comma": (["1,5", "0,25", "3"], [1.5, 0.25, 3], "'1,5' is read as 1.5"),
    "three decimals": (["0,123", "1,234"], [0.123, 1.234], "read as 0.123"),
    "both, German": (["1.234,5", "2,25"], [1234.5, 2.25], "read as 1234.5"),
    "blanks": (["1 234", "12 345"], [1234, 12345], "'1 234' is read as 1234"),
    "hard blanks": (["1\xa0234", "5"], [1234, 5], "read as 1234"),
    "apostrophes": (
        ["1'234", "1\N{RIGHT SINGLE QUOTATION MARK}234'567"],
        [1234, 1234567],
        "read as 1234",
    ),
    "Indian": (["1,23,456", "12,34,567"], [123456, 1234567], "read as 123456"),
    "per cent": (["12%", "3.5 %"], [12, 3.5], "'12%' is read as 12"),
    "dollars": (["$5", "$1,200.50", "($3)"], [5, 1200.5, -3], "'$5' is read as 5"),
    "euros": (["5,50 €", "1.000 €"], [5.5, 1000], "'5,50 €' is read as 5.5"),
    "minus signs": (["\N{MINUS SIGN}5", "+3"], [-5, 3], "5' is read as -5"),
    "missing": (["?", "1", "2"], [np.nan, 1, 2], "missing in 1 row: '?'"),
    "a dash": (["-", "1", "-"], [np.nan, 1, np.nan], "missing in 2 rows: '-'"),
    "Excel's": (["#DIV/0!", "1", "#N/A"], [np.nan, 1, np.nan], "'#DIV/0!', '#N/A'"),
    "blank": ([" ", "1", None], [np.nan, 1, np.nan], "missing in 1 row: ''"),
    "words": (["n/a", "Missing", "1"], [np.nan, np.nan, 1], "'Missing', 'n/a'"),
    "powers": (["1,257E-01", "9,500e+00"], [0.1257, 9.5], "read as 0.1257"),
    "a power among others": (["1,257", "3,500E1"], [1.257, 35], "read as 1.257"),
    "powers with a point": (["1.257E-01", "2"], [0.1257, 2], ""),
    "zeros in front": (["007", "12"], [7, 12], "'007' is read as 7: put a letter in"),
    "zeros": (["0", "0.5", "00.5"], [0, 0.5, 0.5], "'00.5' is read as 0.5"),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_are_read_by_the_whole_column(case: str) -> None:
    cells, expected, note = NUMBERS[case]
    column = pd.Series(cells, dtype=object)
    read = read_cells(pd.DataFrame({"a": column}))
    numbers = read.table["a"].to_numpy(float)
    np.testing.assert_array_equal(numbers, expected)
    assert note in read.notes.get("a", "")
    assert bool(note) == bool(read.notes)
    again = read_cells(read.table)
    pd.testing.assert_frame_equal(again.table, read.table)


@pytest.mark.parametrize("word", ["now", "today", "Today", "-0044-03-15", "-44-03-15"])
def test_words_that_pandas_reads_as_times_are_no_dates(word: str) -> None:
    """Today's date would differ from run to run."""
    five_days = pd.date_range("2024-01-01", periods=5)
    days = five_days.strftime("%Y-%m-%d").tolist()
    message = f"must hold dates; got '{word}' in"
    for cells in ([word] * 3, [*days, word]):
        column = pd.Series(cells, name="c", dtype=object)
        assert date_options(column) is None
        with pytest.raises(KerhrmError, match=message):
            read_dates(column)


TEXT: dict[str, tuple[list[Any], str | None]] = {
    "a comma and a point": (
        ["1.5", "2,5"],
        "some with a decimal point and some with a",
    ),
    "units": (["5 €", "$5", "5"], "different units: $, none, €"),
    "with and without %": (["5%", "5"], "different units: %, none"),
    "a word": (["1", "2", "many", "3"], "but not 'many' in 1 row"),
    "versions": (["1.2.3", "1.10.0"], None),
    "addresses": (["192.168.1.1", "10.0.0.1"], None),
    "times": (["10:30", "11:45"], "like times, as '10:30': write numbers, such as"),
    "seconds": (["13:05:00", "7:00:59.5", "x"], "like times, as '13:05:00'"),
    "kilograms": (["70.1 kg", "1,070 kg"], "written as '70.1 kg', '1,070 kg': write"),
    "thousands of K": (["59.9K", "1.2M", "3"], "written as '59.9K', '1.2M': write pl"),
    "a sign behind": (["0.66-", "1.5", "2-", "3-"], "with the minus in front"),
    "few signs behind": (["0.66-", "1.5", "2", "3"], "with the minus in front"),
    "formulas": (['="0.12"', '="3"'], """written as '="0.12"', '="3"'"""),
    "apostrophes": (["'0.12", "'3"], """written as "'0.12", "'3": write plain"""),
    "bounds": (["<0.5", "0.7", ">100"], "written as '<0.5', '>100'"),
    "rupees": (["Rs. 500", "Rs. 1,200"], "written as 'Rs. 500'"),
    "most with a unit": (["70 kg", "71 kg", "heavy"], "written as '70 kg', '71 kg'"),
    "houses": ([f"{i}{c}" for i in range(9) for c in "ABCDEF"], None),
    "quarters": (["Q1 2020", "Q2 2020"], None),
    "ranges": (["10-20", "30-40"], None),
    "long identifiers": (["12345678901234567890", "12345678901234567891"], None),
    "codes": (["p1", "p2"], None),
}


@pytest.mark.parametrize("case", TEXT)
def test_other_text_stays_and_what_looks_like_numbers_is_said(case: str) -> None:
    cells, note = TEXT[case]
    read = read_cells(pd.DataFrame({"a": cells}))
    column = read.table["a"]
    assert column.tolist() == cells
    message = almost_numbers(column)
    if note is None:
        assert message is None
    else:
        assert note in str(message)


def test_truth_values_and_words_that_are_categories() -> None:
    table = pd.DataFrame(
        {
            "all": ["True", "FALSE", "true"],
            "some": ["True", None, "False"],
            "told": ["True", "?", "False"],
            "none": ["none", "some", "-"],
            "asked": ["yes", "?", "no"],
        }
    )
    read = read_cells(table)
    assert read.table["all"].dtype == bool
    assert read.table["some"].tolist() == [True, pd.NA, False]
    assert read.table["told"].tolist() == [True, pd.NA, False]
    assert read.table["none"].tolist() == ["none", "some", "-"]
    assert read.table["asked"].tolist() == ["yes", None, "no"]
    assert read.notes == dict.fromkeys(["told", "asked"], "missing in 1 row: '?'")


def test_a_given_decimal_sign_must_fit() -> None:
    table = pd.DataFrame({"a": ["0.126", "1.5"], "b": ["x", "y"]})
    read = read_cells(table, ".")
    assert read.table["a"].tolist() == [0.126, 1.5]
    message = r"'a' must hold numbers; got '0.126'.*--decimal ,; leave --dec"
    with pytest.raises(KerhrmError, match=message):
        read_cells(table, ",")


@pytest.mark.parametrize("cell", [[1], {"a": 1}, {1}, (1, 2), np.ones(2), 1j])
def test_cells_that_are_no_values_are_refused(cell: Any) -> None:
    column = pd.Series([cell] * 3, dtype=object)
    table = pd.DataFrame({"a": column})
    with pytest.raises(KerhrmError, match=r"column 'a' holds (lists|complex)"):
        read_cells(table)


def test_equal_numbers_are_one_text() -> None:
    alike = [1, 1.0, np.int8(1), np.float32(1), "1", "1.0", " 1.00 "]
    texts = {text_of(value) for value in alike}
    assert texts == {"1"}
    for tenth in (np.float32(0.1), 0.1, "0.10"):
        assert text_of(tenth) == "0.1"
    large = 10**15
    assert text_of(large) == str(large)
    assert text_of(float(large)) == str(large)
    for text in ("007", "1.2.0", "v1.0", "1e3", "True", "-"):
        assert text_of(text) == text


#: words that look alike, and the one that all of them are
ALIKE = {
    "Köln": ["K\xf6ln", "Ko\u0308ln", "K\xf6ln\u200b", "\ufeffK\xf6ln", "K\xf6\xadln"],
    "New York": ["New York", "New\xa0York", " New York\u200e", "New\u2009York\u2060"],
    "5": ["5", "\ufeff5", "5\u200b"],
    "law": ["law", "l\u200daw", "law\u200c"],
}


@pytest.mark.parametrize("word", ALIKE)
def test_words_that_look_alike_are_one(word: str) -> None:
    cells = pd.Series(ALIKE[word] * 2, dtype=object)
    table = pd.DataFrame({"a": cells})
    column = read_cells(table).table["a"]
    read = {str(cell) for cell in column}
    texts = {text_of(cell) for cell in cells}
    assert read == {word}
    assert texts == {word}


def test_joiners_that_shape_other_letters_stay() -> None:
    for word in (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f469\u200d\U0001f52c",
        "two\nlines",
        "two  blanks",
    ):
        assert text_of(word) == word


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
    column = pd.Series(DAYS.strftime(written), name="day")
    times, note = read_dates(column)
    assert (times.to_numpy() == expected.to_numpy()).all()
    assert note == ""


def test_the_order_is_asked_for_where_cells_do_not_show_it() -> None:
    days = [1 + i % 9 for i in range(40)]
    months = [1 + i % 7 for i in range(40)]
    cells = [f"0{day}/0{month}/2020" for day, month in zip(days, months, strict=True)]
    column = pd.Series(cells, name="d")
    message = r"'d' .*'01/01/2020'; add --date-order dmy o"
    with pytest.raises(KerhrmError, match=message):
        read_dates(column)
    by_day, _ = read_dates(column, "dmy")
    by_month, _ = read_dates(column, "mdy")
    assert (by_day.dt.day == by_month.dt.month).all()
    assert by_day.dt.day.tolist() == days
    with pytest.raises(KerhrmError, match="add --date-order dmy"):
        read_dates(column, "ymd")

    same, _ = read_dates(pd.Series(["05/05/2020", "06/06/2020"]))
    assert same.dt.month.tolist() == [5, 6]

    short = pd.Series(["31/12/20", "01/12/68"])
    with pytest.raises(KerhrmError, match="add --date-order dmy"):
        read_dates(short)
    times, _ = read_dates(short, "dmy")
    assert times.dt.year.tolist() == [2020, 2068]


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
    with pytest.raises(KerhrmError, match=words):
        read_dates(column, order)
    times, _ = read_dates(column)
    assert times.notna().all()


def test_an_order_changes_nothing_where_dates_show_theirs() -> None:
    for cells in (["2024-01-31"], ["31 Jan 2024"], ["Jan 2024"], ["20240131"]):
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
    with pytest.raises(KerhrmError, match=f"'d' must hold dates; got {wrong}"):
        read_dates(column)


def test_numbers_far_and_missing_dates() -> None:
    years, _ = read_dates(pd.Series([2020, 1066]))
    assert years.dt.year.tolist() == [2020, 1066]
    in_digits, _ = read_dates(pd.Series([20200131]))
    assert in_digits.dt.day.tolist() == [31]
    months, _ = read_dates(pd.Series(["2020.10", "2020.11"]))
    assert months.dt.month.tolist() == [10, 11]
    cells = ["9999-12-31", "-", "0001-01-01", None]
    far, note = read_dates(pd.Series(cells))
    years = far.dt.year.fillna(0)
    assert years.tolist() == [9999, 0, 1, 0]
    assert note == "missing in 1 row: '-'"


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d/%m/%Y", "%b %d, %Y", "%d.%m.%y"])
@pytest.mark.parametrize("wrong", ["0000-00-00", "2023-02-29", "30/02/2024", "soon"])
def test_a_column_of_dates_but_for_a_few_cells_is_said(
    written: str, wrong: str
) -> None:
    days = pd.date_range("2024-01-01", periods=119).strftime(written)
    cells = [*days, wrong, None]
    column = pd.Series(cells, name="c", dtype=object)
    assert date_options(column) is None
    message = almost_dates(column)
    assert message is not None
    assert f"but not '{wrong}' in 1 row: leave such cells empty, or" in message
    assert "and add --dates c" in message

    emptied = column.where(column != wrong)
    options = str(date_options(emptied))
    assert message.endswith(options)
    _, _, after = options.partition("--date-order ")
    order, _, _ = after.partition(" or")
    times, _ = read_dates(emptied, order or None)
    assert times.notna().sum() == 119


def test_zeros_in_most_rows_are_one_way_of_writing_no_date() -> None:
    days = pd.date_range("2024-01-01", periods=20).strftime("%Y-%m-%d")
    zeros = ["0000-00-00"] * 200
    column = pd.Series([*days, *zeros], name="c")
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
    in_digits = times.strftime(written).astype("int64")
    column = pd.Series(in_digits, name="c")
    first = column.iloc[0]
    message = f"it looks like dates, as {first}: --dates c"
    assert digit_dates(column) == message
    for cells in (column, column.astype(float), column.astype(str)):
        read, _ = read_dates(cells)
        assert (read.dt.tz_localize(None) == expected).all()

    zeros = pd.Series([0, 0])
    with_zeros = pd.concat([column, zeros]).rename("c").astype(float)
    message = f"as {first}, but not '0' in 2 rows: leave"
    assert message in str(digit_dates(with_zeros))


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


@pytest.mark.parametrize(
    "cell",
    [
        "a" + " " * 10**5 + "x",
        "1 jan " * 20_000,
        "9" * 10**5,
        "2024" + " " * 10**5 + "x",
    ],
)
def test_long_cells_do_not_hang(cell: str) -> None:
    """Whose search by the expression of a date would take minutes."""
    table = pd.DataFrame({"a": [cell, "2"] * 10})
    column = read_cells(table).table["a"]
    expected = [cell.strip(), "2"] * 10
    assert column.tolist() == expected
    assert date_options(column) is None
