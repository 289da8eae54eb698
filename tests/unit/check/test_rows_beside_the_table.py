"""What stands in rows without a target says nothing of a column; nor do odd cells."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

from kerhrm.check import Checked, check, read_table


def checked(text: str, folder: Path, **options: Any) -> Checked:
    """The check of a file."""
    path = folder / "table.csv"
    path.write_text(text)
    return check(read_table(path), "y", **options)


@pytest.fixture
def table() -> pd.DataFrame:
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(90, 2)).round(3), columns=["a", "b"])
    noise = 0.3 * random.normal(size=90)
    return table.assign(y=(table.a + table.b + noise).round(3))


@pytest.mark.parametrize(
    "line", [",Source: Eurostat,", "# a sensor was replaced,,", "(cm),(kg),", "x,y,?"]
)
def test_a_row_without_a_target_makes_no_text_of_numbers(
    table: pd.DataFrame, line: str, tmp_path: Path
) -> None:
    text = table.to_csv(index=False)
    expected = checked(text, tmp_path)
    names, rest = text.split("\n", 1)
    for beside in (f"{text}{line}\n", f"{names}\n{line}\n{rest}"):
        found = checked(beside, tmp_path)
        assert list(found.X_test) == ["a", "b"]
        assert found.report.facts["left out"] == "1 row without a target"
        assert len(found.X_test) == len(expected.X_test)


def test_such_a_row_leaves_the_decimal_comma_as_it_was_given(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    b = (1000 + np.arange(90)) / 1000  # 1,000 to 1,089: a thousand, or one
    text = table.assign(b=b).to_csv(index=False, sep=";", decimal=",")
    path = tmp_path / "table.csv"
    path.write_text(f"{text};Source;\n")
    read = read_table(path, decimal=",")
    found = check(read, "y")
    assert found.X_test["b"].max() < 2


def test_an_auxiliary_column_is_read_by_the_rows_that_are_used(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    text = table.assign(t=range(90)).to_csv(index=False)
    found = checked(f"{text},,,Source\n", tmp_path, auxiliary="t")
    assert found.auxiliary_test is not None
    assert found.auxiliary_test["t"].dtype.kind == "i"


def test_a_column_that_was_misread_is_named_first(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    """Not one that names rows, which nobody misses."""
    words = table.b.map("{:.3f}".format)
    words[7] = "see note"
    name = [f"flat {number}" for number in range(90)]
    text = table.assign(b=words, name=name).to_csv(index=False)
    found = checked(text, tmp_path)
    assert found.doubts is not None
    assert found.doubts.startswith("first read the remarks on 'b' below")
    assert "but not 'see note' in 1 row" in found.report.facts["column 'b'"]


@pytest.mark.parametrize("value", [99999.0, -5e6])
@pytest.mark.parametrize("column", ["a", "y"])
def test_a_number_far_from_all_others_is_told(
    table: pd.DataFrame, column: str, value: float, tmp_path: Path
) -> None:
    table.loc[3, column] = value
    found = checked(table.to_csv(index=False), tmp_path)
    fact = found.report.facts[f"column {column!r}"]
    assert fact.startswith(f"{value:.15g} is far from all other numbers: is it right?")
    assert (
        f"column {column!r}"
        not in checked(table.drop(index=3).to_csv(index=False), tmp_path).report.facts
    )


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("{:.3f}D-01", "powers of ten, as"),
        ("{:.0f}°12'N", "angles, as"),
        ("0x{:.0f}", "hexadecimal numbers, as"),
    ],
)
def test_numbers_in_another_notation_are_told(
    table: pd.DataFrame, word: str, told: str, tmp_path: Path
) -> None:
    words = [word.format(number % 30) for number in range(90)]
    found = checked(table.assign(b=words).to_csv(index=False), tmp_path)
    assert f"it looks like {told}" in found.report.facts["column 'b'"]


def test_a_column_is_not_dropped_and_used(table: pd.DataFrame) -> None:
    told = "column 'a' is dropped, and a group or auxiliary; name it only once"
    for role in ("auxiliary", "group"):
        with refusal(told):
            check(table, "y", drop="a", **{role: "a"})


@pytest.mark.parametrize("digits", [20, 5000])
def test_a_target_beyond_64_bits_has_its_cure(table: pd.DataFrame, digits: int) -> None:
    zeros = "0" * (digits - 2)
    labels = [f"1{zeros}{number:02}" for number in range(90)]
    with refusal("beyond 64 bits: subtract their least value"):
        check(table.assign(y=labels), "y")


def test_categories_that_are_short_numbers_are_labels(table: pd.DataFrame) -> None:
    numbers = np.arange(90) % 4
    for categories in (numbers, numbers.astype(str)):
        with refusal("got 4 labels, .*merge labels until two are left"):
            check(table.assign(y=pd.Categorical(categories)), "y")


def test_two_numbers_as_a_regression_have_their_cure(table: pd.DataFrame) -> None:
    halves = np.arange(90) % 2
    facts = check(table.assign(y=halves), "y", task="regression").report.facts
    told = "it is predicted as a number: if 0, 1 are classes, leave --task out"
    assert facts["column 'y'"] == told


def test_a_file_of_two_encodings_is_told_by_its_line(tmp_path: Path) -> None:
    rows = [f"{number},{'Köln' if number % 2 else 'Münster'}\n" for number in range(60)]
    text = "".join(["y,a\n", *rows])
    data = text.encode().replace("Köln".encode(), b"K\xf6ln", 1)
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    told = r"it has one sign that is not, the first in line 3 \(byte f6\): write them"
    with refusal(f"cannot be read as utf-8; {told}"):
        read_table(path)
    path.write_bytes(text.encode("latin-1"))
    with refusal("try --encoding latin-1"):
        read_table(path)


def test_a_split_without_rows_in_an_environment_has_no_stability() -> None:
    """As where a total without features stands below the rows."""
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 200))
    turned = random.random(200) < 0.2
    noise = 0.3 * random.normal(size=200)
    y = a + np.where(turned, -2, 2) * b + noise
    rows = pd.DataFrame({"a": a.round(4).astype(str), "b": b.round(4), "y": y})
    rows.loc[200] = ["Total", np.nan, 999]
    description = check(rows, "y").model.describe(stability=2)
    assert description.environments is not None
    assert description.environments["rows"].tolist() == [140, 0]
    assert description.stability is None
    lines = [note for note in description.notes if note.startswith("stability: ")]
    assert lines == [
        "stability: all rows are likeliest in one environment, so that no half can "
        "split them alike"
    ]
