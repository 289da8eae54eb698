"""null leaves an entry out where keys are names, and is a value where it is one."""

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from refusals import refusal
from small_config import A, B, Load, options

from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.schema import DataSet, Learner, Table, TableData, Whole


def test_null_leaves_a_table_or_its_data_out(load: Load) -> None:
    tables = {"other": None, "one": {"data": {B: None}}}
    config = load(tables=tables)
    assert list(config.tables) == ["one"]
    assert config.tables["one"].data == [A]


def test_null_leaves_a_condition_out(load: Load) -> None:
    without = {"at": {B: None}}
    config = load(data={"made": without}, learners={"erm": without})
    network = config.data(B).network
    assert network.widths == [8]
    assert options(config, "erm", B)["evaluate_every"] == 5


def test_null_leaves_an_option_out_of_a_grid(load: Load) -> None:
    without_steps = {"grid": {"steps": None}}
    config = load(preset="tuning", learners={"erm": without_steps})
    cells = config.searches["made"].cells
    names = [learner for _, learner in cells]
    assert names == ["erm+learning_rate=0.1", "erm+learning_rate=0.2"]


def test_null_leaves_an_output_a_label_or_a_title_out(load: Load) -> None:
    changes = {
        "labels.yaml": {"steps": "T"},
        "tables/one.yaml": {"labels": {"r2": "r"}},
    }
    given: dict[str, Any] = {"labels": {"steps": None}}
    given["tables"] = {
        "one": {"labels": {"r2": None}},
        "other": {"outputs": {"kerhrm": None}},
    }
    config = load(changes, **given)
    second = config.tables["one"].rows[1]
    assert second.setting == "r2=0.7,steps=1"
    rows = config.tables["other"].rows
    titles = {row.learner: list(row.titles) for row in rows}
    assert titles["kerhrm"] == ["network", "linear"]
    config = load(
        learners={"kerhrm": {"titles": {"network": None}}},
    )
    learner = config.learner(A, "kerhrm")
    assert list(learner.titles) == ["linear"]


@pytest.mark.parametrize(
    "selected",
    [{"made": None}, {"made": {"erm": None}}, {"made": {"erm": {"pooled": None}}}],
)
def test_null_leaves_selected_options_out(load: Load, selected: dict[str, Any]) -> None:
    with refusal("it has no options of erm by pooled"):
        load(selected=selected)


def test_null_leaves_seeds_of_a_cell_out(load: Load) -> None:
    seeds = {"made": 2, A: 4}
    without = {"seeds": {A: None}}
    config = load({"data/made.yaml": {"seeds": seeds}}, data={"made": without})
    assert len(config.data(A).seeds) == 2


def test_null_is_a_value_where_it_is_said_to_be_one(load: Load) -> None:
    changes = {
        "data/made.yaml": {
            "features": {"n_landmarks": 30},
            "select_on": "made",
        },
        "learners.yaml": {"kerhrm": {"options": {"pretest": {"level": 0.1}}}},
    }
    given = {
        "data": {"made": {"features": {"n_landmarks": None}, "select_on": None}},
        "learners": {"kerhrm": {"options": {"pretest": None}}},
    }
    before = load(changes)
    after = load(changes, **given)
    assert before.data(A).features.n_landmarks == 30
    assert after.data(A).features.n_landmarks is None
    learner_before = before.learner(A, "kerhrm")
    learner_after = after.learner(A, "kerhrm")
    assert learner_before.options.pretest.level == 0.1
    assert learner_after.options.pretest is None
    assert after.learner(A, "erm").selected_on == "made"


NULLS = [
    # keys that may be null: a file gives one a value, and another one removes it
    ("raw_dir",),
    ("data", "made", "select_on"),
    ("data", "made", "tuning"),
    ("learners", "erm", "tuned_as"),
    ("learners", "erm", "timeout"),
    ("tables", "one", "kind"),
    ("tables", "one", "seeds"),
    ("tables", "one", "data", B, "label"),
    ("tables", "one", "data", B, "learners"),
    ("tables", "one", "data", B, "select"),
]
VALUES: dict[str, Any] = {
    "raw_dir": "config",
    "select_on": "made",
    "tuning": {"data": [A]},
    "tuned_as": "erm",
    "timeout": 5.0,
    "kind": "accuracy",
    "seeds": 2,
    "label": "x",
    "learners": ["erm"],
    "select": ["own"],
}


@pytest.mark.parametrize("key", NULLS)
def test_a_key_that_may_be_null_has_its_default_then(
    load: Load, tmp_path: Path, key: tuple[str, ...]
) -> None:
    def nested(value: Any) -> dict[str, Any]:
        for part in reversed(key):
            value = {part: value}
        return value

    load()
    content = nested(VALUES[key[-1]])
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))

    def value(config: Config) -> Any:
        found = config.resolved.whole.model_dump()
        for part in key:
            found = found[part]
        return found

    given = load_config({}, ["mine.yaml"], tmp_path)
    assert value(given) is not None
    left_out = load_config(nested(None), ["mine.yaml"], tmp_path)
    assert value(left_out) is None


def test_all_keys_that_may_be_null_are_tested() -> None:
    models = (Whole, DataSet, Learner, Table, TableData)
    found = [
        name
        for model in models
        for name, field in model.model_fields.items()
        if type(None) in get_args(field.annotation)
    ]
    tested = [key[-1] for key in NULLS]
    assert sorted(found) == sorted(tested)
