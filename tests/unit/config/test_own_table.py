"""Keys of your own table: read as they are, or refused in one line."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal
from small_config import Load

from kerhrm import KerHRMRegressor
from kerhrm.errors import KerhrmError
from kerhrm.estimators import HeterogeneityNotDetectedWarning
from kerhrm_paper.config.config import load_config, page_name
from kerhrm_paper.config.own_table import OwnTable, check_changes
from kerhrm_paper.runs import provenance

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
    ("key", "value", "told"),
    [
        ("csv", "none.csv", "csv=none.csv: it does not exist"),
        ("csv", ".", "it is a folder"),
        ("csv", "5", "csv=5: it does not exist"),
        ("csv", "x" * 300, "too long"),
        ("csv", "a{b}.csv", r"csv='a\{b\}\.csv': must be a file without"),
        ("csv", "a<b>.csv", "csv="),
        ("csv", ["t.csv"], r"csv=\['t\.csv'\]: must be a valid string"),
        ("csv", None, "needs csv="),
        ("target", None, "needs target="),
        ("task", "regresion", "task='regresion': must be 'regression' or"),
        ("test_share", "1", "test_share='1': must be less than 1"),
        ("test_share", "30%", "test_share="),
        ("n_environments", "1", "n_environments='1'"),
        ("seed", "-1", "seed='-1'"),
        ("seed", str(2**32), "seed="),
        ("held_out", "west", "held_out: needs group=COLUMN"),
        ("group", "2020", "group: is the target"),
        ("drop", ["2020"], "drop: '2020' is the target or the group; leave it"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(
    csv: str, key: str, value: Any, told: str
) -> None:
    with refusal(told) as error:
        read(**{"csv": csv, key: value})
    message = str(error.value)
    assert len(message.splitlines()) == 1


def test_numbers_are_names_and_a_name_is_a_list(csv: str) -> None:
    table = read(csv, target=2020, group="floor", held_out=2, drop="area")
    assert table.target == "2020"
    assert table.held_out == ["2"]
    assert table.drop == ["area"]
    given = table.model_dump(exclude_unset=True)
    assert set(given) == {"csv", "target", "group", "held_out", "drop"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"target": "2021"}, "target=2021: t.csv has no such column; did you mean"),
        ({"group": "aria"}, "group=aria: .* 'area'"),
        ({"drop": ["area", "x"]}, "drop=x: .*known are: 2020, area, floor"),
        ({"drop": "area,floor"}, r"drop=area,floor: .*; write drop=\[area,floor\]"),
        (
            {"group": "area", "held_out": "west, east"},
            r"held_out=west, east: .*; write held_out=\[west,east\]",
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
        read(csv, **more).check(FRAME)


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
        read(csv, **more).check_file()


def test_a_file_that_is_no_table_is_refused(csv: str) -> None:
    Path("t.csv").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00")
    with refusal(r"t\.csv"):
        read(csv).check_file()


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
        read(csv).check_file()
    text = str(error.value)
    assert "; save it in UTF-8 with commas between cells and decimal points" in text
    assert f"or use kerhrm check {csv}, there " in text
    assert hint in text
    assert "\n" not in text


def test_a_right_table_passes(csv: str) -> None:
    table = read(csv, group="area", held_out=["west"])
    table.check(FRAME)


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
        read(csv, **{"target": "pay"} | more).check(LARGE)
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
        read(csv, target="pay").check(table)
    if column != "pay":
        read(csv, target="pay", drop=column).check(table)
        table.loc[3, "pay"] = None  # a row without a target is not used
        read(csv, target="pay").check(table)


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
    table = read(csv, **{"target": "pay"} | more)
    table.check(LARGE)


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
        too_many.check(table)
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
        OwnTable(**given, n_environments=most).check(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeterogeneityNotDetectedWarning)
            fit(most)
    with refusal("too few"):
        fit(most + 1)


def test_the_page_of_another_file_stays(csv: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "own_table").mkdir(parents=True)
    page = run / "own_table" / "t.html"
    page.write_text("")
    provenance.write(run, "own_table", [page], {"../t.csv": "0"}, {})
    other = tmp_path / "other" / "t.csv"
    other.parent.mkdir()
    other.write_bytes((tmp_path / "t.csv").read_bytes())
    keys = {"target": "2020"}
    assert OwnTable.read(keys | {"csv": csv}, run)
    absolute = str(tmp_path / "t.csv")
    assert OwnTable.read(keys | {"csv": absolute}, run)
    with refusal("is the page of another file"):
        OwnTable.read({"csv": str(other), **keys}, run)


def test_a_page_has_a_name_that_a_file_may_have() -> None:
    assert page_name("a/b c(1).csv") == "b_c_1_"
    long_name = page_name("ü" * 120 + ".csv")
    assert len(long_name.encode()) <= 200


def test_keys_of_the_paper_have_no_use_for_it() -> None:
    check_changes({"preset": "smoke", "results": "mine", "device": "cpu"})
    with refusal("does not use the key learners"):
        check_changes({"preset": "smoke", "learners": {"kerhrm": {}}})


def test_its_keys_are_no_part_of_the_run(load: Load, tmp_path: Path) -> None:
    config = load(csv="t.csv", target="y", seed="3")
    assert config.own_table == {"csv": "t.csv", "target": "y", "seed": "3"}
    assert config.mark == ""
    (tmp_path / "mine.yaml").write_text("csv: u.csv\ntarget: x\nthreads: 2")
    config = load_config({"target": "y"}, ["mine.yaml"], tmp_path)
    assert config.own_table == {"csv": "u.csv", "target": "y"}
    assert config.threads == 2


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
        read(csv, group="area").check(table)


def test_a_cell_is_named_by_its_row_in_the_file(csv: str) -> None:
    table = FRAME.assign(size=0.5)
    table.loc[5, "size"] = np.inf
    with refusal("'size' holds inf in index 5"):
        read(csv).check(table)


@pytest.mark.parametrize("held_out", [2001, "2001", 2001.0])
def test_a_missing_cell_changes_the_name_of_no_group(csv: str, held_out: Any) -> None:
    """The cell is of a row without a target, which is not used."""
    years = np.tile([2000, 2001], 20)
    table = FRAME.assign(year=years)
    keys = {"group": "year", "held_out": held_out}
    read(csv, **keys).check(table)
    table["year"] = table["year"].astype(float)
    table.loc[3, "year"] = None
    read(csv, **keys).check(table)
    with refusal("held_out=2003: no row has this year; .* 2000, 2001$"):
        read(csv, group="year", held_out=2003).check(table)
    both = {"group": "year", "held_out": [2000, held_out]}
    with refusal("no other group is left"):
        read(csv, **both).check(table)
