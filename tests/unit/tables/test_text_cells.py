"""Cells of text: truth values and numbers by what a whole column shows, and what
counts as missing, which the report says."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_series_equal
from refusals import refusal

from kerhrm.tables.almost import almost_numbers
from kerhrm.tables.cells import read_cells, text_of
from kerhrm.tables.dates import date_options, read_dates
from kerhrm.tables.spelling import doubtful_words


def column_of(cells: list[Any]) -> pd.Series:
    """Cells as they stand, of any type."""
    return pd.Series(cells, name="a", dtype=object)


def read(column: pd.Series) -> tuple[pd.Series, str | None]:
    """The column as it is read, and the note of the report."""
    table = read_cells(column.to_frame())
    return table.table["a"], table.notes.get("a")


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
    column, said = read(column_of(cells))
    numbers = column.to_numpy(float)
    assert_array_equal(numbers, expected)
    if note:
        assert note in str(said)
    else:
        assert said is None
    again, _ = read(column)
    assert_series_equal(again, column)


@pytest.mark.parametrize("word", ["now", "today", "Today", "-0044-03-15", "-44-03-15"])
def test_words_that_pandas_reads_as_times_are_no_dates(word: str) -> None:
    """Today's date would differ from run to run."""
    five_days = pd.date_range("2024-01-01", periods=5)
    in_text = five_days.strftime("%Y-%m-%d")
    days = in_text.tolist()
    message = f"must hold dates; got '{word}' in"
    words = [word] * 3
    for cells in (words, [*days, word]):
        column = column_of(cells)
        assert date_options(column) is None
        with refusal(message):
            read_dates(column)


HOUSES = [f"{i}{letter}" for i in range(9) for letter in "ABCDEF"]
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
    "durations of pandas": (
        ["2 days 03:00:00", "-1 days +23:30:00", "0 days"],
        "like times, as '2 days 03:00:00'",
    ),
    "durations of Python": (["1 day, 0:00:00", "3:00:05.5"], "like times"),
    "durations of ISO 8601": (["PT1H30M", "P1DT2H", "P1Y6M"], "like times"),
    "durations in words": (["2h 30m", "1 hr 5 min", "3h 0m"], "like times"),
    "fractions": (["1/2", "1 3/4", "2/3"], "like fractions, as '1/2': write decimal"),
    "fractions in one sign": (["½", "2¼", "3"], "like fractions, as '½'"),
    "two numbers": (["120/80", "135 / 90"], "or a column for each part"),
    "seasons": (["2019/20", "2020/21"], None),
    "errors": (["1.5±0.2", "2.5 +/- 0.1"], "numbers with their errors, as '1.5±0.2'"),
    "powers": (["1.5x10^3", "2 × 10⁻⁴", "2*10^5"], "write them as 1.5e3"),  # noqa: RUF001
    "codes with letters around": (["P1D", "P2D", "P3W"], None),
    "a total": (["1", "2", "3", "Total:"], "delete such rows if they sum up others, e"),
    "kilograms": (["70.1 kg", "1,070 kg"], "written as '70.1 kg', '1,070 kg': write"),
    "thousands of K": (["59.9K", "1.2M", "3"], "written as '59.9K', '1.2M': write pl"),
    "a sign behind": (["0.66-", "1.5", "2-", "3-"], "with the minus in front"),
    "few signs behind": (["0.66-", "1.5", "2", "3"], "with the minus in front"),
    "formulas": (['="0.12"', '="3"'], """written as '="0.12"', '="3"'"""),
    "apostrophes": (["'0.12", "'3"], """written as "'0.12", "'3": write plain"""),
    "bounds": (["<0.5", "0.7", ">100"], "written as '<0.5', '>100'"),
    "rupees": (["Rs. 500", "Rs. 1,200"], "written as 'Rs. 500'"),
    "most with a unit": (["70 kg", "71 kg", "heavy"], "written as '70 kg', '71 kg'"),
    "houses": (HOUSES, None),
    "quarters": (["Q1 2020", "Q2 2020"], None),
    "ranges": (["10-20", "30-40"], None),
    "long identifiers": (["12345678901234567890", "12345678901234567891"], None),
    "codes": (["p1", "p2"], None),
}


@pytest.mark.parametrize("case", TEXT)
def test_other_text_stays_and_what_looks_like_numbers_is_said(case: str) -> None:
    cells, note = TEXT[case]
    column, _ = read(pd.Series(cells, name="a"))
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
    found = read_cells(table)
    columns = {name: column.tolist() for name, column in found.table.items()}
    assert found.table["all"].dtype == bool
    assert columns["some"] == [True, pd.NA, False]
    assert columns["told"] == [True, pd.NA, False]
    assert columns["none"] == ["none", "some", "-"]
    assert columns["asked"] == ["yes", None, "no"]
    note = "missing in 1 row: '?'"
    assert found.notes == {"told": note, "asked": note}


def test_bytes_are_their_text() -> None:
    """As HDF5 and SAS files give cells."""
    letter = "\N{LATIN SMALL LETTER E WITH ACUTE}"
    words, _ = read(column_of([b"x", None, letter.encode()]))
    assert words.tolist() == ["x", None, letter]
    numbers, _ = read(column_of([b"1.5", b"2", b"?"]))
    assert_array_equal(numbers, [1.5, 2, np.nan])
    assert text_of(b"x") == "x"


def test_a_large_whole_number_is_read_as_it_is_without_a_note() -> None:
    large = 2**53 + 1
    digits = pd.Series([str(large), None, "7"], name="a")
    numbers, note = read(digits)
    assert numbers.tolist() == [large, pd.NA, 7]
    assert note is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Male", "male ", "MALE", "f"], "'Male', 'male', 'MALE' differ in case alone"),
        (["a", "A", "b", "B", "c"], "'a', 'A' .* alone, as do spellings of 1 other w"),
        (["x", "Total", "Total", "Grand total."], "'Total', 'Grand .*in 3 rows: delet"),
        (["NA", "na", "x"], None),
        (["total loss", "sums", "x"], None),
        ([1, 2, True], None),
    ],
)
def test_words_that_may_be_one_or_sum_up_rows_are_said(
    words: list[Any], said: str | None
) -> None:
    column = column_of(words)
    categories = pd.Series(words, dtype="category")
    for words_or_categories in (column, categories):
        found = doubtful_words(words_or_categories)
        if said is None:
            assert found is None
        else:
            assert re.match(said, str(found))


def test_a_given_decimal_sign_must_fit() -> None:
    numbers = ["0.126", "1.5"]
    table = pd.DataFrame({"a": numbers, "b": ["x", "y"]})
    with_points = read_cells(table, ".").table
    assert with_points["a"].tolist() == [0.126, 1.5]
    message = r"'a' must hold numbers; got '0.126'.*--decimal ,; leave --dec"
    with refusal(message):
        read_cells(table, ",")


@pytest.mark.parametrize("cell", [[1], {"a": 1}, {1}, (1, 2), np.ones(2), 1j])
def test_cells_that_are_no_values_are_refused(cell: Any) -> None:
    column = column_of([cell] * 3)
    with refusal(r"column 'a' holds (lists|complex)"):
        read(column)


def test_equal_numbers_are_one_text() -> None:
    alike = [1, 1.0, np.int8(1), np.float32(1), "1", "1.0", " 1.00 "]
    texts = {text_of(value) for value in alike}
    assert texts == {"1"}
    ways_to_write_it = (np.float32(0.1), 0.1, "0.10")
    for tenth in ways_to_write_it:
        assert text_of(tenth) == "0.1"
    large = 10**15
    assert text_of(large) == str(large)
    as_float = float(large)
    assert text_of(as_float) == str(large)
    as_they_stand = ("007", "1.2.0", "v1.0", "1e3", "True", "-")
    for text in as_they_stand:
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
    words = ALIKE[word] * 2
    column, _ = read(column_of(words))
    cells = {str(cell) for cell in column}
    texts = {text_of(cell) for cell in words}
    assert cells == {word}
    assert texts == {word}


def test_joiners_that_shape_other_letters_stay() -> None:
    for word in (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f469\u200d\U0001f52c",
        "two\nlines",
        "two  blanks",
    ):
        assert text_of(word) == word


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
    cells = [cell, "2"] * 10
    column, _ = read(pd.Series(cells, name="a"))
    expected = [cell.strip(), "2"] * 10
    assert column.tolist() == expected
    assert date_options(column) is None
