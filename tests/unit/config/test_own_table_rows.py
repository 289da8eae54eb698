"""Rows and columns of your own table: they fit its keys, or are refused in one line."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

from kerhrm import KerHRMRegressor
from kerhrm.errors import KerhrmError
from kerhrm.estimators import HeterogeneityNotDetectedWarning
from kerhrm_paper.config.own_table import OwnTable
from kerhrm_paper.config.own_table_rows import check_file, check_table

FRAME = pd.DataFrame(
    {
        "2020": [1.0, 2.0, 3.0, None] * 10,
        "area": ["west", "east", "east", "north"] * 10,
        "floor": [1, 2, 1, 2] * 10,
        "is_new": [True, False, True, True] * 10,
    }
)


@pytest.fixture
def csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("t.csv", index=False)
    return "t.csv"


def read(csv: str, **more: Any) -> OwnTable:
    keys = {"csv": csv, "target": "2020"} | more
    return OwnTable.read(keys, Path("run"))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"target": "2021"}, "target=2021: t.csv has no such column; did you mean"),
        ({"group": "aria"}, "group=aria: .* 'area'"),
        ({"drop": ["area", "x"]}, "drop=x: .*known are: 2020, area, floor"),
        ({"drop": "area,floor"}, r"drop=area,floor: .*; write drop='\[area,floor\]'"),
        (
            {"group": "area", "held_out": "west, east"},
            r"held_out=west, east: .*; write held_out='\[west,east\]'",
        ),
        ({"categorical": ["flor"]}, "categorical=flor: .* 'floor'"),
        ({"group": "area", "held_out": "Wset"}, "held_out=Wset: .*: east, west$"),
        ({"group": "area", "held_out": "north"}, "held_out=north"),  # no target there
        ({"group": "area", "held_out": ["west", "east"]}, "no other group is left"),
        ({"group": "floor", "held_out": "3"}, "held_out=3: .*: 1, 2$"),
        (
            {"group": "is_new", "held_out": "TRUE"},
            "held_out=TRUE: no row has this is_new; did you mean 'True'\\?$",
        ),
        ({"group": "area", "held_out": "West"}, "held_out=West: .*; did you .* 'west'"),
    ],
)
def test_columns_and_groups_are_those_of_the_table(
    csv: str, more: dict[str, Any], told: str
) -> None:
    with refusal(told):
        check_table(read(csv, **more), FRAME)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"target": "2021"}, "target=2021: t.csv has no such column"),
        ({"group": "aria"}, "did you mean 'area'"),
        ({"drop": ["area", "x"]}, "drop=x: "),
        ({"group": "area", "held_out": "Wset"}, "held_out=Wset: no row has this area"),
        (
            {"task": "classification"},
            "task=classification: target=2020 must hold two labels",
        ),
    ],
)
def test_the_file_shows_wrong_columns_and_groups(
    csv: str, more: dict[str, Any], told: str
) -> None:
    with refusal(told):
        check_file(read(csv, **more))


def test_a_file_that_is_no_table_is_refused(csv: str) -> None:
    Path("t.csv").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00")
    with refusal(r"t\.csv"):
        check_file(read(csv))


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("2020,area\n1,caf\u00e9\n".encode("latin-1"), "--encoding latin-1"),
        (b"2020 area\n1 a\n2 b\n3 a\n", "--sep ' '"),
        (b"2020;area\n1.004;a\n2.004;b\n3.001;a\n", "--decimal ,"),
    ],
)
def test_an_option_of_another_command_is_hinted_at_as_such(
    csv: str, content: bytes, hint: str
) -> None:
    """Own tables have no --encoding, --sep and --decimal."""
    Path(csv).write_bytes(content)
    with pytest.raises(KerhrmError) as error:
        check_file(read(csv))
    text = str(error.value)
    assert "; save it in UTF-8 with commas between cells and decimal points" in text
    assert f"or use kerhrm check {csv}, there " in text
    assert hint in text
    assert "\n" not in text


def test_a_right_table_passes(csv: str) -> None:
    keys = read(csv, group="area", held_out=["west"])
    check_table(keys, FRAME)


LARGE = pd.DataFrame(
    {
        "pay": [float(n % 40) for n in range(1000)],
        "city": ["Rome", "Paris", "Oslo", "Rome"] * 250,
        "kind": ["a", "b"] * 500,
        "mixed": ["1", "2", "3", "none"] * 250,
        "codes": ["01", "02", "03", "04"] * 250,
        "flag": [True, False] * 500,
        "same": [1] * 1000,
        "none": [None] * 1000,
        "area": ["west"] * 500 + ["east"] * 500,
        "of_area": [0] * 500 + list(range(500)),
        "id": [f"row {n}" for n in range(1000)],
        "number": range(1000),
    }
)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"target": "city", "task": "regression"},
            "task=regression: target=city must hold numbers; got 'Rome'; choose",
        ),
        (
            {"target": "kind", "task": "regression"},
            "kind must hold numbers; got 'a'; set task=classification",
        ),
        (
            {"target": "pay", "task": "classification"},
            "task=classification: target=pay must hold two labels; got 40; set task=",
        ),
        (
            {"target": "city", "task": "classification"},
            "task=classification: target=city must hold two labels; got 3; recode",
        ),
        ({"target": "city"}, "city must hold two labels; got 3; recode it, or choose"),
        (
            {"target": "mixed"},
            "mixed must hold two labels; got 4; correct cells that are no numbers, as "
            "'none'",
        ),
        (
            {"target": "codes"},
            "codes must hold two labels; got 4; recode it, or choose",
        ),
        ({"target": "same"}, "target=same: all rows have one value, 1; choose another"),
        ({"target": "none"}, "target=none: no row has a value; choose another column"),
        (
            {"target": "of_area", "group": "area", "held_out": "east"},
            "target=of_area: all rows outside of the groups held out have one value, 0",
        ),
        (
            {"drop": [name for name in LARGE if name != "pay"]},
            "number: no column of t.csv is left to predict from; drop fewer",
        ),
        (
            {"drop": [name for name in LARGE if name not in ("pay", "id")]},
            "csv=t.csv: no column is left that predicts besides 'id': its text differs",
        ),
        (
            {
                "drop": [name for name in LARGE if name not in ("pay", "number")],
                "categorical": "number",
            },
            "csv=t.csv: no column is left that predicts besides 'number': its text",
        ),
        (
            {"test_share": "0.999"},
            "test_share=0.999: 1 of 1000 rows are left to train on, too few for "
            "n_environments=2; set test_share=0.3",
        ),
        (
            {"test_share": "0.99", "n_environments": "5"},
            "test_share=0.99: 10 of 1000 rows are left to train on, too few for "
            "n_environments=5; set test_share=0.3",
        ),
    ],
)
def test_what_the_rows_do_not_fit_is_refused_with_a_cure(
    csv: str, more: dict[str, Any], told: str
) -> None:
    with pytest.raises(KerhrmError) as error:
        check_table(read(csv, **{"target": "pay"} | more), LARGE)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (
            "pay",
            np.inf,
            "t.csv: column 'pay' holds inf in index 3; correct or empty the",
        ),
        (
            "size",
            -np.inf,
            "'size' holds -inf in index 3; correct or empty the cell, or",
        ),
        (
            "size",
            1e25,
            "holds 1e+25 in index 3; .*, or leave the column out: drop=size",
        ),
    ],
)
def test_numbers_that_no_estimator_takes_are_refused(
    csv: str, column: str, value: float, told: str
) -> None:
    table = LARGE.assign(size=0.5)
    table.loc[3, column] = value
    told = told.replace("+", r"\+")
    with refusal(told):
        check_table(read(csv, target="pay"), table)
    if column != "pay":
        check_table(read(csv, target="pay", drop=column), table)
        table.loc[3, "pay"] = None  # a row without a target is not used
        check_table(read(csv, target="pay"), table)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"task": "regression"},
        {"target": "kind", "task": "classification"},
        {"target": "flag", "task": "regression"},
        {"target": "flag"},
        {"test_share": "0.9", "n_environments": "20"},
    ],
)
def test_what_the_rows_fit_passes(csv: str, more: dict[str, Any]) -> None:
    keys = read(csv, **{"target": "pay"} | more)
    check_table(keys, LARGE)


@pytest.mark.parametrize(
    ("n", "n_environments", "cure"),
    [
        (30, 9, "set n_environments=8"),
        (20, 12, "set n_environments=5"),
        (6, 2, "give a file of more rows"),
    ],
)
def test_environments_need_rows(
    csv: str, n: int, n_environments: int, cure: str
) -> None:
    """As in the estimators, whose limit is that of the cure."""
    random = np.random.default_rng(0)
    x = random.standard_normal((n, 2))
    given = {"csv": csv, "target": "y"}
    y = random.permutation(n)
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})
    too_many = OwnTable(**given, n_environments=n_environments)
    with pytest.raises(KerhrmError) as error:
        check_table(too_many, table)
    assert error.value.hint == cure
    trains = n - math.ceil(0.3 * n)
    _, _, number = cure.partition("=")
    most = int(number) if number else 1

    def fit(n_environments: int) -> None:
        options = {
            "network": (4,),
            "n_iterations": 1,
            "k": 1,
            "random_state": 0,
        }
        model = KerHRMRegressor(n_environments=n_environments, **options)
        y_train = table["y"][:trains]
        model.fit(x[:trains], y_train)

    if most > 1:
        check_table(OwnTable(**given, n_environments=most), table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeterogeneityNotDetectedWarning)
            fit(most)
    with refusal("too few"):
        fit(most + 1)


@pytest.mark.parametrize(
    ("without_group", "told"),
    [
        ([4, 6, 7], "is empty in 2 rows, the first is index 4; give each row a group"),
        ([3, 5], "is empty in 1 row, the first is index 5; give each row a group"),
    ],
)
def test_rows_without_a_group_are_refused_at_once(
    csv: str, without_group: list[int], told: str
) -> None:
    """Rows 3 and 7 have no target and are not used; they count, too."""
    table = FRAME.copy()
    table.loc[without_group, "area"] = None
    with refusal(f"^group=area {told}"):
        check_table(read(csv, group="area"), table)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["None", "5"], "'None' in the column is read as missing, too; write a word"),
        (["west", "n/a"], "'n/a' in the column is read as missing, too; write"),
        (["west", ""], "the first is index 1; give each row a group"),
    ],
)
def test_words_that_are_read_as_missing_are_named(
    csv: str, words: list[str], told: str
) -> None:
    """The file has them in each row; another word is a group."""
    table = pd.DataFrame({"a": range(60), "y": np.arange(60.0) ** 2, "g": words * 30})
    table.to_csv(csv, index=False)
    keys = read(csv, target="y", group="g")
    with refusal(f"^group=g is empty in 30 rows, .*{told}"):
        check_file(keys)
    known = table["g"].replace(["None", "n/a", ""], "other")
    table.assign(g=known).to_csv(csv, index=False)
    check_file(keys)


def test_a_word_of_a_row_without_a_target_is_not_blamed(csv: str) -> None:
    """It stands in row 5, and row 2 is the one that is empty."""
    table = pd.DataFrame({"a": range(60), "y": np.arange(60.0) ** 2, "g": "west"})
    table.loc[2, "g"] = None
    table.loc[5, ["y", "g"]] = None, "NA"
    table.to_csv(csv, index=False)
    told = "the first is index 2; 'NA' in the column is read as missing, too"
    with refusal(f"^group=g is empty in 1 row, {told}"):
        check_file(read(csv, target="y", group="g"))


def test_a_cell_is_named_by_its_row_in_the_file(csv: str) -> None:
    table = FRAME.assign(size=0.5)
    table.loc[5, "size"] = np.inf
    with refusal("'size' holds inf in index 5"):
        check_table(read(csv), table)


@pytest.mark.parametrize("held_out", [2001, "2001", 2001.0])
def test_a_missing_cell_changes_the_name_of_no_group(csv: str, held_out: Any) -> None:
    """The cell is of a row without a target, which is not used."""
    years = np.tile([2000, 2001], 20)
    table = FRAME.assign(year=years)
    keys = {"group": "year", "held_out": held_out}
    check_table(read(csv, **keys), table)
    table["year"] = table["year"].astype(float)
    table.loc[3, "year"] = None
    check_table(read(csv, **keys), table)
    with refusal("held_out=2003: no row has this year; .* 2000, 2001$"):
        check_table(read(csv, group="year", held_out=2003), table)
    both = {"group": "year", "held_out": [2000, held_out]}
    with refusal("no other group is left"):
        check_table(read(csv, **both), table)


def test_the_target_s_whole_numbers_are_those_of_the_fit(csv: str) -> None:
    """As ``kerhrm check``: numbers that float64 rounds are refused, labels are not."""
    whole = 10**17 + np.arange(len(FRAME))
    keys = read(csv, target="y")
    told = "target=y has whole numbers beyond 2.53, which float64 rounds; subtract"
    with refusal(told):
        check_table(keys, FRAME.assign(y=whole))
    with refusal(told):
        check_table(read(csv, target="y", task="regression"), FRAME.assign(y=whole))
    check_table(keys, FRAME.assign(y=whole - 10**17))
    check_table(keys, FRAME.assign(y=10**17 + np.arange(len(FRAME)) % 2))
