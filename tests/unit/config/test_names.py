"""Names that would share a folder, a file or a rule; names that match nothing."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model
from refusals import refusal
from small_config import TREE, A, Load, write

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.layout import CHECKOUT, reserved, tracked
from kerhrm_paper.config.names import check_case
from kerhrm_paper.data.registry import DATA_SETS

TABLE = {"title": "T", "data": [A], "learners": ["erm"]}
DATA = {"title": "D", "generator": "classification", "seeds": 1}
ERM = TREE["learners.yaml"]["erm"]


def refused(load: Load, content: dict[str, Any], *words: str) -> None:
    """What a further file says is refused in one line that has the words."""
    with pytest.raises(KerhrmError) as error:
        load(**content)
    text = str(error.value)
    assert all(word in text for word in words), text
    assert len(text.splitlines()) == 1


# --- names of the workflow -----------------------------------------------------------


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


def test_a_table_has_no_name_of_a_study(load: Load) -> None:
    content = {"tables": {"study_pretest": TABLE}}
    refused(load, content, "--config: tables.study_pretest", "reserved")


def test_a_learner_has_no_name_of_a_folder_of_data(load: Load) -> None:
    for name in ("data", "Features", "iterations"):
        content = {"learners": {name: ERM}}
        refused(load, content, f"--config: learners.{name}", "reserved")


@pytest.mark.parametrize("name", ["a+b", "a=b", "a/b", "..", "-a", "x" * 81, "a b"])
def test_a_base_leaves_room_for_options(load: Load, name: str) -> None:
    refused(load, {"learners": {name: ERM}}, f"--config: learners.{name}")
    refused(load, {"data": {name: DATA}}, f"--config: data.{name}")


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
    (root / "workflow" / "rules" / "._new.smk").write_bytes(b"\xb0")  # of macOS
    (root / "workflow" / "rules" / "new.smk").write_text(rule)
    with refusal("'quality' is reserved") as error:
        load_config(root=root)
    assert "tables/quality.yaml: " in str(error.value)
    pattern = reserved(root)
    assert pattern.fullmatch("measure_quality")
    assert pattern.fullmatch("Qualities")
    assert not pattern.fullmatch("quality")  # a learner may be called so


# --- names of options ----------------------------------------------------------------


def with_option(options: type[Options], option: str, kind: Any = int) -> type[Options]:
    """The options with one more."""
    value = 1 if kind is int else kind()
    field = {option: (kind, value)}
    return create_model("Mine", __base__=options, **field)


@pytest.fixture
def add_method(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A plugin's method: ERM with one option more."""

    def add(option: str) -> None:
        erm = METHODS["erm"]
        more = with_option(erm.options, option)
        mine = dataclasses.replace(erm, name="mine", options=more)
        monkeypatch.setattr(METHODS, "_plugins", {"mine": mine})

    return add


@pytest.mark.parametrize("option", ["select", "select_on", "größe"])
def test_a_plugins_method_has_no_reserved_option(
    load: Load, add_method: Callable[[str], None], option: str
) -> None:
    add_method(option)
    refused(load, {}, "kerhrm.methods: mine: the option name", option, "rename it")


@pytest.mark.parametrize(
    ("option", "kind"),
    [
        ("seeds", int),
        ("crossed", int),
        ("network", NetworkOptions),
        ("features", NetworkOptions),
    ],
)
def test_a_plugins_data_set_has_no_reserved_option(
    load: Load, monkeypatch: pytest.MonkeyPatch, option: str, kind: Any
) -> None:
    made = DATA_SETS["classification"]
    more = with_option(made.options, option, kind)
    mine = dataclasses.replace(made, options=more)
    monkeypatch.setattr(DATA_SETS, "_plugins", {"mine": mine})
    told = f"'{option}' is reserved; rename it; reserved are crossed, seeds, network"
    refused(load, {}, "kerhrm.data_sets: mine: the option name", told)


def test_a_plugins_other_options_can_be_named(
    load: Load, add_method: Callable[[str], None]
) -> None:
    add_method("speed")
    learner = {"method": "mine", "titles": {"model": "Mine"}}
    config = load({"learners.yaml": {"new": learner}})
    learner = config.learner(A, "new+speed=7")
    assert learner.options.speed == 7
    with refusal("did you mean 'speed'"):
        config.learner(A, "new+sped=7")


# --- presets -------------------------------------------------------------------------


def test_presets_leave_published_folders_alone() -> None:
    history = tracked(CHECKOUT)
    if not history:
        pytest.skip("needs git")
    results = Path("results")
    assert results / "reference" in history
    assert results / "bench" in history
    assert Path("config/presets/smoke.yaml") in history


def test_a_preset_is_no_published_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Path("config/presets/mine.yaml")
    results = Path("results")
    history = {mine, results / "reference", results / "mine"}
    monkeypatch.setattr("kerhrm_paper.config.names.tracked", lambda root: history)
    for name in ("reference", "Reference"):
        write(tmp_path, TREE | {f"presets/{name}.yaml": {}})
        with refusal("results/reference has files of the"):
            load_config({"preset": name}, root=tmp_path)
        (tmp_path / f"config/presets/{name}.yaml").unlink()
    write(tmp_path, {"presets/mine.yaml": {}})
    config = load_config({"preset": "mine"}, root=tmp_path)
    assert config.preset == "mine"


# --- case ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        {"data": {"Made": DATA}},
        {"learners": {"ERM": ERM}},
        {"tables": {"One": TABLE}},
    ],
)
def test_names_differ_in_more_than_case(load: Load, content: dict[str, Any]) -> None:
    refused(load, content, "--config: ", "differ in case alone")


def test_presets_differ_in_more_than_case(load: Load) -> None:
    with refusal("'Small' differs in case alone"):
        load({"presets/Small.yaml": {}}, preset="small")


@pytest.fixture
def networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two networks that only the case of a letter tells apart."""
    text = "from kerhrm.networks.modules import small_cnn as net\nNet = net\n"
    (tmp_path / "mine_cased.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    start = f"{A}+network.module=mine_cased."
    return f"{start}net", f"{start}Net"


def test_cells_of_tables_differ_in_more_than_case(
    load: Load, networks: tuple[str, str]
) -> None:
    data = {}
    for number, name in enumerate(networks):
        data[name] = {"label": str(number)}
    table = TABLE | {"data": data}
    first, second = networks
    told = f"'{first}' and '{second}' differ in case alone"
    refused(load, {"tables": {"new": table}}, "--config: tables.new.data.", told)
    both = {"x": TABLE | {"data": [first]}, "y": TABLE | {"data": [second]}}
    refused(load, {"tables": both}, "--config: tables.y.data.", told)


def test_a_cell_that_is_asked_for_differs_in_more_than_case(
    load: Load, networks: tuple[str, str]
) -> None:
    first, second = networks
    table = TABLE | {"data": [first]}
    config = load(tables={"new": table})
    assert config.data(first)

    def with_erm(name: str) -> Any:
        return config.learner(name, "erm")

    for ask in (config.data, with_erm):
        with refusal("differ in case alone"):
            ask(second)
    check_case("A", {"b": "b"})
    with refusal("'a' and 'A' differ in case alone"):
        check_case("A", {"a": "a"})


# --- names of nothing ----------------------------------------------------------------

UNKNOWN: list[tuple[dict[str, Any], str, str]] = [
    ({"learners": {"erm": {"at": {"maed": {}}}}}, "erm.at.maed", "'made'"),
    ({"learners": {"erm": {"at": {"made+r3=1": {}}}}}, "erm.at.made+r3=1", "options"),
    ({"learners": {"erm": {"tuned_as": "emr"}}}, "erm.tuned_as", "'erm'"),
    ({"tables": {"one": {"outputs": {"kerhm": ["linear"]}}}}, "outputs", "'kerhrm'"),
    ({"tables": {"other": {"outputs": {"erm+s": ["x"]}}}}, "outputs", "erm"),
    (
        {"tables": {"one": {"outputs": {"kerhrm": ["network", "linaer"]}}}},
        "outputs.kerhrm",
        "'linear'",
    ),
    ({"tables": {"one": {"labels": {"stepz": "x"}}}}, "labels.stepz", "'steps'"),
    ({"labels": {"stepz=1": "x"}}, "labels.stepz=1", "'steps'"),
    ({"tables": {"one": {"learners": ["emr"]}}}, "one.learners", "'erm'"),
    ({"tables": {"one": {"data": {"maed": {}}}}}, "one.data.maed", "'made'"),
    (
        {"tables": {"one": {"data": {A: {"learners": ["emr"]}}}}},
        f"one.data.{A}.learners",
        "'erm'",
    ),
    ({"tables": {"other": {"choices": ["emr"]}}}, "other.choices", "'erm'"),
    ({"data": {"made": {"select_on": "maed"}}}, "select_on", "'made'"),
    ({"data": {"maed": {"seeds": 2}}}, "data.maed", "'made'"),
    ({"selected": {"maed": {}}}, "selected.maed", "'made'"),
    ({"selected": {"made": {"emr": {}}}}, "selected.made.emr", "'erm'"),
    (
        {"selected": {"made": {"erm": {"poled": {}}}}},
        "selected.made.erm",
        "'pooled'",
    ),
    ({"learners": {"ermm": {"options": {}}}}, "learners.ermm", "'erm'"),
    ({"tables": {"onee": {"in_all": False}}}, "tables.onee.title", "'one'"),
    ({"learners": {"erm": {"options": {"step": 1}}}}, "options.step", "'steps'"),
    ({"learners": {"erm": {"grid": {"step": [1]}}}}, "grid.step", "'steps'"),
    ({"learners": {"kerhrm": {"candidates": [{"kk": 1}]}}}, "candidates.0.kk", "'k'"),
    (
        {"learners": {"erm": {"at": {"made": {"grid": {"step": [1]}}}}}},
        "at.made.grid.step",
        "'steps'",
    ),
    (
        {"learners": {"erm": {"at": {A: {"options": {"steps": 0}}}}}},
        f"at.{A}.options.steps = 0",
        "greater than 0",
    ),
    ({"learners": {"erm": {"grid": {"steps": [5, 0]}}}}, "grid.steps", "greater"),
    ({"data": {"made": {"options": {"r2": 2}}}}, "made.options.r2 = 2", "equal to 1"),
    ({"n_environmentz": 3}, "n_environmentz", "'n_environments'"),
]


@pytest.mark.parametrize(("content", "key", "near"), UNKNOWN)
def test_a_name_that_matches_nothing_is_told(
    load: Load, content: dict[str, Any], key: str, near: str
) -> None:
    refused(load, content, "--config: ", key, near)


@pytest.mark.parametrize("key", ["where", "title", "instead", "select", "only"])
def test_alternatives_name_what_is_there(load: Load, key: str) -> None:
    content: dict[str, Any] = {
        "to": "x",
        "where": ["made"],
        "title": "ERM",
        "instead": "linear",
    }
    if key == "select":
        del content["instead"]
    content[key] = ["maed"] if key == "where" else "emr"
    start = TREE["choices.yaml"]["start"]
    choice = start | {"alternatives": [content]}
    place = f"choices.start.alternatives.0.{key}"
    refused(load, {"choices": {"start": choice}}, f"--config: {place}")


def test_what_another_file_leaves_out_is_no_error(load: Load) -> None:
    """Outputs of a learner that a later file takes out of the table, and others."""
    fewer = {"other": {"learners": ["erm"]}}
    config = load(tables=fewer, choices={"start": None})
    assert list(config.tables) == ["one", "other"]
    changes = {
        "labels.yaml": {"new": "n"},
        "data/new.yaml": DATA,
        "selected/new.yaml": {"erm": {"pooled": {"steps": 3}}},
    }
    assert load(changes).data_sets == ["made", "new"]
    without_new = load(changes, data={"new": None})
    assert without_new.data_sets == ["made"]


@pytest.mark.parametrize("name", ["mine.yml", "mine.YAML", "more/mine.yaml"])
def test_a_file_that_would_not_be_read_is_told(load: Load, name: str) -> None:
    for folder in ("tables", "data", "presets", "selected"):
        with refusal(f"{name}: .*; call it {folder}/mine.yaml"):
            load({f"{folder}/{name}": {}})
        Path("config", folder, name).unlink()


def test_two_tables_have_no_alternatives_on_one_data_set(load: Load) -> None:
    with refusal(r"other.yaml: choices = .*: one has the alt"):
        load(tables={"one": {"choices": ["erm"]}})


def test_an_alternative_is_measured_once_on_a_data_set(load: Load) -> None:
    choice = TREE["choices.yaml"]["start"]
    content = {"to": "x", "where": ["made"], "learner": "kerhrm+n_init=1"}
    more = {**choice, "alternatives": [content]}
    refused(load, {"choices": {"x": more}}, "x.alternatives.0", "kerhrm+n_init=1")
