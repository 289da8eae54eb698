"""Keys of your own table: read as they are, or refused in one line."""

import os
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal
from small_config import Load

from kerhrm_paper.config.config import load_config, page_name
from kerhrm_paper.config.own_table import OwnTable, check_changes
from kerhrm_paper.runs import provenance


@pytest.fixture
def csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("2020,area,floor\n1,west,2\n")
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
        ("csv", "a\nb.csv", "csv='a.*b.csv': must be a path without line breaks, tabs"),
        ("csv", ["t.csv"], r"csv=\['t\.csv'\]: must be one name; .* \"\[t\.csv\]\"$"),
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
        ("drop", ["a", ["b"]], r"in quotes: drop='\[a,\"\[b\]\"\]'$"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(
    csv: str, key: str, value: Any, told: str
) -> None:
    with refusal(told) as error:
        read(**{"csv": csv, key: value})
    message = str(error.value)
    assert len(message.splitlines()) == 1


def test_a_pipe_is_no_file_of_a_table(csv: str) -> None:
    """Several jobs read it."""
    os.mkfifo("pipe.csv")
    with refusal("csv=pipe.csv: it is a pipe or a device; give the path of a CSV file"):
        read("pipe.csv")


def test_numbers_are_names_and_a_name_is_a_list(csv: str) -> None:
    table = read(csv, target=2020, group="floor", held_out=2, drop="area")
    assert table.target == "2020"
    assert table.held_out == ["2"]
    assert table.drop == ["area"]
    given = table.model_dump(exclude_unset=True)
    assert set(given) == {"csv", "target", "group", "held_out", "drop"}


def test_a_column_that_is_dropped_is_not_one_of_categories(csv: str) -> None:
    with refusal("categorical: 'area' is also in drop; name it once"):
        read(csv, drop=["floor", "area"], categorical="area")


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
