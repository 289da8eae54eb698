"""Names that would share a folder, a file or a rule; names that match nothing."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from small_config import TREE, Load, write

from kerhrm.errors import KerhrmError
from kerhrm.paper.config import CHECKOUT, load_config
from kerhrm.paper.config.layout import reserved, tracked

TABLE = {"title": "T", "settings": ["made/a"], "learners": ["erm"]}
DATA = {"title": "D", "generator": "classification", "seeds": 1, "settings": {"x": {}}}


def refused(load: Load, content: dict[str, Any], *words: str) -> None:
    """What a further file says is refused in one line that has the words."""
    with pytest.raises(KerhrmError) as error:
        load(**content)
    text = str(error.value)
    assert all(word in text for word in words), text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    "name",
    [
        "endpoints",  # figures/endpoints.png
        "Selection",  # figures/selection.png
        "claims",
        "choices",  # choices.csv
        "config",
        "report",
        "comparisons",
        "one-comparisons",
        "verify",
        "train_network",
        "all",
    ],
)
def test_a_table_has_no_name_of_the_workflows(load: Load, name: str) -> None:
    refused(load, {"tables": {name: TABLE}}, f"--config: tables.{name}", "reserved")


@pytest.mark.parametrize(
    "name", ["raw", "Logs", "tables", "provenance", "temporary", "report.html"]
)
def test_a_data_set_has_no_name_of_a_runs_folder(load: Load, name: str) -> None:
    refused(load, {"data": {name: DATA}}, f"--config: data.{name}", "reserved")


def test_a_learner_has_no_name_of_a_settings_folder(load: Load) -> None:
    for name in ("data", "Features", "iterations"):
        content = {"learners": {name: {"like": "erm"}}}
        refused(load, content, f"--config: learners.{name}", "reserved")


def test_a_new_rule_reserves_the_names_of_its_files(tmp_path: Path) -> None:
    root = write(tmp_path, TREE | {"tables/quality.yaml": TABLE})
    shutil.copytree(CHECKOUT / "workflow", root / "workflow")
    assert "quality" in load_config(root=root).tables
    rule = (
        "rule measure_quality:\n"
        "    input:\n"
        '        "<run>/scores/{table}.csv.gz",\n'
        "    output:\n"
        '        png="<run>/figures/quality.png",\n'
        '        folder="<run>/qualities/{data}.txt",\n'
        "    script:\n"
        '        "../scripts/verify.py"\n'
    )
    (root / "workflow" / "rules" / "new.smk").write_text(rule)
    with pytest.raises(KerhrmError, match="'quality' is reserved") as error:
        load_config(root=root)
    assert "tables/quality.yaml: " in str(error.value)
    pattern = reserved(root)
    assert pattern.fullmatch("measure_quality")
    assert pattern.fullmatch("Qualities")
    assert not pattern.fullmatch("quality")  # a learner may be called so


def test_presets_leave_published_folders_alone(tmp_path: Path) -> None:
    history = tracked(CHECKOUT)
    if not history:
        pytest.skip("needs git")
    assert {Path("results", name) for name in ("reference", "bench")} <= history
    assert Path("config/presets/smoke.yaml") in history


def test_a_preset_is_no_published_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Path("config/presets/mine.yaml")
    history = {mine, *(Path("results", name) for name in ("reference", "mine"))}
    monkeypatch.setattr("kerhrm.paper.config.names.tracked", lambda root: history)
    for name in ("reference", "Reference"):
        write(tmp_path, TREE | {f"presets/{name}.yaml": {}})
        with pytest.raises(KerhrmError, match="results/reference has files of the"):
            load_config({"preset": name}, root=tmp_path)
        (tmp_path / f"config/presets/{name}.yaml").unlink()
    write(tmp_path, {"presets/mine.yaml": {}})
    assert load_config({"preset": "mine"}, root=tmp_path).preset == "mine"


@pytest.mark.parametrize(
    "content",
    [
        {"data": {"Made": DATA}},
        {"data": {"made": {"settings": {"A": {}}}}},
        {"learners": {"ERM": {"like": "erm"}}},
        {"tables": {"One": TABLE}},
    ],
)
def test_names_differ_in_more_than_case(load: Load, content: dict[str, Any]) -> None:
    refused(load, content, "--config: ", "differ in case alone")


def test_presets_differ_in_more_than_case(load: Load) -> None:
    with pytest.raises(KerhrmError, match="'Small' differs in case alone"):
        load({"presets/Small.yaml": {}}, preset="small")


UNKNOWN: list[tuple[dict[str, Any], str, str]] = [
    ({"learners": {"erm": {"at": {"maed": {}}}}}, "erm.at.maed", "'made'"),
    ({"learners": {"erm": {"at": {"made/c*": {}}}}}, "erm.at.made/c*", "'made/"),
    ({"learners": {"erm": {"selected": "emr"}}}, "erm.selected", "'erm'"),
    ({"learners": {"new": {"like": "emr"}}}, "new.like", "'erm'"),
    ({"tables": {"one": {"outputs": {"kerhm": ["linear"]}}}}, "outputs", "'kerhrm'"),
    ({"tables": {"other": {"outputs": {"erm_s*": ["x"]}}}}, "outputs", "erm"),
    (
        {"tables": {"one": {"outputs": {"kerhrm": ["network", "linaer"]}}}},
        "outputs.kerhrm",
        "'linear'",
    ),
    ({"tables": {"one": {"marks": {"kerhm": "x"}}}}, "marks.kerhm", "'kerhrm'"),
    ({"tables": {"other": {"marks": {"erm_short": "x"}}}}, "marks", "erm, kerhrm"),
    ({"tables": {"one": {"learners": ["emr"]}}}, "one.learners.0", "'erm'"),
    ({"tables": {"other": {"choices": ["emr"]}}}, "other.choices", "'erm'"),
    (
        {"data": {"made": {"more_seeds": {"seeds": 9, "learners": ["emr"]}}}},
        "more_seeds.learners.0",
        "'erm'",
    ),
    ({"data": {"made": {"selected_from": "maed"}}}, "selected_from", "'made'"),
    ({"data": {"maed": {"seeds": 2}}}, "data.maed", "'made'"),
    ({"data": {"made": {"settings": {"bb": {}}}}}, "settings.bb", "'b'"),
    ({"selected": {"maed": {}}}, "selected.maed", "'made'"),
    ({"selected": {"made": {"emr": {}}}}, "selected.made.emr", "'erm'"),
    (
        {"selected": {"made": {"erm": {"pooled validaton": {}}}}},
        "selected.made.erm",
        "'pooled validation'",
    ),
    ({"learners": {"ermm": {"options": {}}}}, "learners.ermm", "'erm'"),
    ({"tables": {"onee": {"in_all": False}}}, "tables.onee.title", "'one'"),
    ({"learners": {"erm_short": {"options": {"step": 1}}}}, "options.step", "'steps'"),
    ({"learners": {"erm": {"grid": {"step": [1]}}}}, "grid.step", "'steps'"),
    ({"learners": {"kerhrm": {"candidates": [{"kk": 1}]}}}, "candidates.0.kk", "'k'"),
    (
        {"learners": {"erm": {"at": {"made": {"grid": {"step": [1]}}}}}},
        "at.made.grid.step",
        "'steps'",
    ),
    (
        {"learners": {"erm_short": {"at": {"made/a": {"options": {"steps": 0}}}}}},
        "at.made/a.options.steps = 0",
        "greater than 0",
    ),
    ({"learners": {"erm": {"grid": {"steps": [5, 0]}}}}, "grid.steps", "greater"),
    ({"data": {"made": {"options": {"r2": 2}}}}, "made.options.r2 = 2", "equal to 1"),
    (
        {
            "data": {
                "made": {"more_seeds": {"seeds": [7, 8, 9, 1], "learners": ["erm"]}}
            }
        },
        "more_seeds.seeds",
        "those of made/a",
    ),
    (
        {"data": {"made": {"more_seeds": {"seeds": 2, "learners": ["erm"]}}}},
        "more_seeds.seeds = 2",
        "those of made/a",
    ),
    ({"n_environmentz": 3}, "n_environmentz", "'n_environments'"),
]


@pytest.mark.parametrize(("content", "key", "near"), UNKNOWN)
def test_a_name_that_matches_nothing_is_told(
    load: Load, content: dict[str, Any], key: str, near: str
) -> None:
    refused(load, content, "--config: ", key, near)


@pytest.mark.parametrize("key", ["where", "learner", "title", "instead", "selection"])
def test_alternatives_name_what_is_there(load: Load, key: str) -> None:
    row = {"title": "ERM", "instead": "linear"}
    content: dict[str, Any] = {"to": "x", "where": ["made"]}
    content |= {"mark": "m", "set": {"steps": 1}} if key == "learner" else row
    if key == "selection":
        del content["instead"]
    content[key] = ["maed"] if key == "where" else "emr"
    choice = dict(TREE["choices.yaml"]["start"]) | {"alternatives": [content]}
    refused(load, {"choices": {"start": choice}}, "start.alternatives.0", "unknown")


def test_what_another_file_leaves_out_is_no_error(load: Load) -> None:
    """Of a learner's `at` for a data set, or a table's outputs, that are gone."""
    config = load(
        data={"made": {"settings": {"b": None}}},
        tables={"one": {"settings": {"made/b": None}}},
    )
    assert list(config.tables) == ["one", "other"]


@pytest.mark.parametrize("name", ["mine.yml", "mine.YAML", "more/mine.yaml"])
def test_a_file_that_would_not_be_read_is_told(load: Load, name: str) -> None:
    for folder in ("tables", "data", "presets", "selected"):
        with pytest.raises(
            KerhrmError, match=f"{name}: .*; call it {folder}/mine.yaml"
        ):
            load({f"{folder}/{name}": {}})
        Path("config", folder, name).unlink()


def test_two_tables_have_no_alternatives_on_one_data_set(load: Load) -> None:
    with pytest.raises(KerhrmError, match=r"other.yaml: choices = .*: one has the alt"):
        load(tables={"one": {"choices": ["erm"]}})


def test_alternatives_on_one_data_set_have_marks_of_their_own(load: Load) -> None:
    content = {"to": "x", "where": ["made"], "learner": "erm", "set": {"steps": 1}}
    choice = TREE["choices.yaml"]["start"]
    more = {**choice, "alternatives": [{**content, "mark": "N_init=1"}]}
    refused(load, {"choices": {"x": more}}, "x.alternatives.0", "N_init=1")
