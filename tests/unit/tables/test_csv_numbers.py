"""``read_table``: signs of decimals and thousands, powers, codes and large numbers."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from csv_files import read_text, written
from refusals import refusal

from kerhrm.check import read_table


def test_the_decimal_sign_is_that_of_the_file(tmp_path: Path) -> None:
    """1.234 is a thousand next to 1,5, and less than two next to 1.5."""
    with_commas = read_text(tmp_path, "a;b\n1,5;1.234\n2,25;2.345\n")
    expected = {"a": [1.5, 2.25], "b": [1234, 2345]}
    assert with_commas.to_dict("list") == expected
    note = with_commas.attrs["notes"]["b"]
    assert note == "'1.234' is read as 1234"

    with_points = read_text(tmp_path, "a;b\n1.5;1.234\n2.25;2.345\n")
    expected = {"a": [1.5, 2.25], "b": [1.234, 2.345]}
    assert with_points.to_dict("list") == expected

    given = read_text(tmp_path, "a;b\n1;1.234\n2;2.345\n", decimal=",")
    expected = {"a": [1, 2], "b": [1234, 2345]}
    assert given.to_dict("list") == expected


def test_powers_with_a_comma_have_decimals(tmp_path: Path) -> None:
    text = 'a,b\n1.234,"1,257E-01"\n0.5,"2,000E+00"\n'
    quoted = read_text(tmp_path, text)
    expected = {"a": [1.234, 0.5], "b": [0.1257, 2]}
    assert quoted.to_dict("list") == expected
    given = read_text(tmp_path, "a;b\n1,257E-01;2\n1,5;3\n", decimal=",")
    assert given["a"].tolist() == [0.1257, 1.5]


def text_of(rows: list[str], sep: str) -> str:
    """Lines of a file; rows are given with semicolons."""
    with_semicolons = "\n".join(rows)
    return with_semicolons.replace(";", sep)


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_a_comma_that_no_column_explains_is_asked_for(sep: str, tmp_path: Path) -> None:
    """Three decimals, or thousands."""
    rows = ["a;b;c", "10,126;9,337;1", "-21,464;10,000;2"]
    text = text_of(rows, sep)
    path = written(tmp_path, text)
    with refusal(r"'10,126' is 10.126 or 10126; add --decima"):
        read_table(path)
    decimals = read_text(tmp_path, text, decimal=",")
    thousands = read_text(tmp_path, text, decimal=".")
    assert decimals["a"].tolist() == [10.126, -21.464]
    assert thousands["a"].tolist() == [10126, -21464]

    meanings = {"0,5": 10.126, "0.5": 10126, "1,234,567": 10126}
    for cell, meaning in meanings.items():
        explained = text_of([*rows, f"10,126;9,337;{cell}"], sep)
        table = read_text(tmp_path, explained)
        assert table["a"][0] == meaning

    rows = ["a;b", "1.234 €;2", "2.500 €;3", ""]
    prices = text_of(rows, sep)
    path = written(tmp_path, prices)
    with refusal("add --decimal"):
        read_table(path)


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_a_point_that_no_column_explains_is_asked_for(sep: str, tmp_path: Path) -> None:
    """Three decimals, or thousands next to numbers below a thousand."""
    below_a_thousand = [f"{i};{i % 3}" for i in range(850, 1000)]
    rows = ["a;b", *below_a_thousand, "1.004;1", "-1.263;3"]
    text = text_of(rows, sep)
    path = written(tmp_path, text)
    with refusal(r"'1.004' is 1004 or 1.004; add --decimal ,"):
        read_table(path)
    thousands = read_text(tmp_path, text, decimal=",")
    decimals = read_text(tmp_path, text, decimal=".")
    read_thousands = thousands["a"]
    last_two = read_thousands.iloc[-2:]
    assert last_two.tolist() == [1004, -1263]
    read_decimals = decimals["a"]
    last_two = read_decimals.iloc[-2:]
    assert last_two.tolist() == [1.004, -1.263]

    with_a_decimal = ("0.004", "1.5", "1.2345", "1004", "1234.567", "1.004e3")
    for cell in with_a_decimal:
        explained = text_of([*rows, f"{cell};2"], sep)
        table = read_text(tmp_path, explained)
        numbers = table["a"]
        assert numbers.iloc[-2] == -1.263, cell
    meanings = {"0.5": -1.263, "0,5": -1263}
    for cell, meaning in meanings.items():
        explained = text_of([*rows, f"900;{cell}"], sep)
        table = read_text(tmp_path, explained)
        numbers = table["a"]
        assert numbers.iloc[-2] == meaning, cell


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_round_thousands_are_asked_for(sep: str, tmp_path: Path) -> None:
    rows = ["price;people", "1;10.000", "2;850", "3;20.000", ""]
    text = text_of(rows, sep)
    path = written(tmp_path, text)
    with refusal(r"'people' .* '10.000' is 10000 or 10.0; add --decimal ,"):
        read_table(path)
    thousands = read_text(tmp_path, text, decimal=",")
    assert thousands["people"].tolist() == [10_000, 850, 20_000]
    elsewhere = ["a;b", "10.000;2000.000", "850.000;1.000", ""]
    table = read_text(tmp_path, text_of(elsewhere, sep))
    assert table["a"].tolist() == [10, 850]
    for cell in ("10.0", "10.0000", "1000.000", "1000", "0.000"):
        only = text_of(["price;people", f"1;{cell}", "2;850", "3;", ""], sep)
        table = read_text(tmp_path, only)
        first = table["people"].iloc[0]
        assert first == float(cell), cell


@pytest.mark.parametrize(
    ("cells", "values"),
    {
        "metres": (["4410.123", "10999.001"], [4410.123, 10999.001]),
        "degrees": (["12.345678", "48.123456"], [12.345678, 48.123456]),
        "Indian, with points": (["12.34.567", "1.23.456"], [1_234_567, 123_456]),
        "telephones": (["30 123456", "31 123456"], ["30 123456", "31 123456"]),
        "words": (["4 12 345", "1'23'456"], ["4 12 345", "1'23'456"]),
    }.values(),
)
def test_digits_that_are_no_groups(
    cells: list[str], values: list[Any], tmp_path: Path
) -> None:
    """A column with a decimal comma stands beside them."""
    first, second = cells
    rows = ["price;x", f"1,5;{first}", f"2,5;{second}", ""]
    table = read_text(tmp_path, text_of(rows, ";"))
    assert table["x"].tolist() == values


def test_a_point_is_decimal_where_commas_separate(tmp_path: Path) -> None:
    table = read_text(tmp_path, "a,b\n850,1\n1.004,2\n")
    assert table["a"].tolist() == [850, 1.004]


@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_zeros_in_front_are_said(sep: str, tmp_path: Path) -> None:
    rows = ["zip;a;b;c;d", "01234;0;0.5;08:00;", "91234;10;-0.5;09:00;007", ""]
    text = text_of(rows, sep)
    table = read_text(tmp_path, text)
    assert table["zip"].tolist() == [1234, 91234]
    message = "'{}' is read as {}: put a letter in front of each if they are codes"
    notes = {
        "zip": message.format("01234", 1234),
        "d": message.format("007", 7),
    }
    assert table.attrs["notes"] == notes

    quoted = read_text(tmp_path, 'a,b\n"01","x"\n"02","y"\n')
    note = message.format("01", 1)
    assert quoted.attrs["notes"] == {"a": note}


def test_large_whole_numbers_are_exact_next_to_empty_cells(tmp_path: Path) -> None:
    large = 2**53 + 1
    larger = 2**60
    table = read_text(tmp_path, f"a,b\n{large},1\n,2\n{larger},3\n")
    assert table["a"].tolist() == [large, pd.NA, larger]


def test_codes_that_read_as_powers_are_said(tmp_path: Path) -> None:
    rows = "well,size,a\n12E3,1e-05,1\n7E2,2.5e3,2\n3E10,1E+21,3\n"
    table = read_text(tmp_path, rows)
    assert table["well"].tolist() == [12e3, 7e2, 3e10]
    assert table["size"].tolist() == [1e-5, 2.5e3, 1e21]
    text = "'12E3' is read as 12000.0: put a letter in front of each if they are codes"
    assert table.attrs["notes"] == {"well": text}
