"""Tables: their rows, labels, outputs and alternatives."""

from typing import Any

import pytest
from refusals import refusal
from small_config import A, B, Load, options

from kerhrm_paper.config.views import TableView


def test_a_table_is_its_cells_in_order_with_their_labels(load: Load) -> None:
    table = load().tables["one"]
    assert table.cells == [(A, "erm"), (A, "erm+steps=1"), (B, "erm"), (B, "kerhrm")]
    settings = [row.setting for row in table.rows]
    assert settings == ["r2=0.7", "r2=0.7,steps=1", "B", "B"]
    assert table.kind == "accuracy"
    assert table.in_all is True
    assert table.n_seeds is None


@pytest.mark.parametrize(
    ("labels", "settings"),
    [
        ({}, ["made", "r2=0.8,scramble=identity", "made,steps=3"]),
        ({"steps": "T"}, ["made", "r2=0.8,scramble=identity", "made,T=3"]),
        ({"steps=3": "three"}, ["made", "r2=0.8,scramble=identity", "made,three"]),
        ({"steps": ""}, None),  # two rows would have one name
        ({"made": "M"}, ["M", "M,r2=0.8,scramble=identity", "M,steps=3"]),
        (
            {"scramble": "H", "scramble=identity": "H=I"},
            ["made", "r2=0.8,H=I", "made,steps=3"],
        ),
        ({"r2": ""}, ["made", "scramble=identity", "made,steps=3"]),
    ],
)
def test_labels_say_what_a_table_shows(
    load: Load, labels: dict[str, str], settings: list[str] | None
) -> None:
    data = {"made": {"learners": ["erm", "erm+steps=3"]}}
    data["made+r2=0.8+scramble=identity"] = {"learners": ["erm"]}
    table = {"title": "T", "data": data}
    of_table = {"tables": {"new": table | {"labels": labels}}}
    for place in (of_table, {"labels": labels}):
        given = {"tables": {"new": table}} | place
        if settings is None:
            with refusal(r"its row '.*', 'ERM' is of"):
                load(**given)
            continue
        rows = load(**given).tables["new"].rows
        first, second, third = (row.setting for row in rows)
        shown = [first, third, second]
        assert shown == settings


def learners_of_b(table: TableView) -> list[str]:
    """Learners of the rows of the second data."""
    return [row.learner for row in table.rows if row.data == B]


@pytest.mark.parametrize(
    "text", ["r2=0.70", "k=abc", "steps=", "seeds=0", "crossed=21", "r2=1.5"]
)
def test_labels_of_values_that_no_name_has_are_refused(load: Load, text: str) -> None:
    with refusal(f"no name has '{text}'"):
        load(labels={text: "x"})


@pytest.mark.parametrize("text", ["select=oracle", "select_on=made", "select=foo"])
def test_labels_of_what_no_setting_shows_are_refused(load: Load, text: str) -> None:
    option, _, _ = text.partition("=")
    with refusal(f"labels.{text} = 'x': no setting shows {option}; leave it out"):
        load(labels={text: "x"})
    with refusal(f"one.labels.{text} = 'x': no setting shows {option}"):
        load(tables={"one": {"labels": {text: "x"}}})


def test_labels_of_a_table_go_before_those_of_all(load: Load) -> None:
    changes = {
        "labels.yaml": {"steps": "all", "r2": "r"},
        "tables/one.yaml": {"labels": {"steps": "one"}},
    }
    table = load(changes).tables["one"]
    settings = [row.setting for row in table.rows]
    assert settings[:2] == ["r=0.7", "r=0.7,one=1"]


def test_a_table_shows_a_row_for_each_criterion_of_a_plain_name(load: Load) -> None:
    select = ["own", "oracle", "none"]
    table = load({"tables/one.yaml": {"select": select}}).tables["one"]
    rows = [row for row in table.rows if row.data == A]
    shown = [(row.learner, row.selection) for row in rows]
    assert shown == [
        ("erm", "pooled validation"),
        ("erm+select=oracle", "oracle"),
        ("erm+select=none", "library defaults"),
        ("erm+steps=1", "pooled validation"),
    ]


def test_criteria_that_a_learner_does_not_have_make_no_row(load: Load) -> None:
    select = ["own", "worst_inferred", "pooled"]
    table = load({"tables/one.yaml": {"select": select}}).tables["one"]
    assert learners_of_b(table) == ["erm", "kerhrm"]


def test_data_of_a_table_may_have_criteria_of_their_own(load: Load) -> None:
    one = {"select": ["oracle"], "learners": ["erm"]}
    changes = {"tables/one.yaml": {"data": {B: one}}}
    table = load(changes).tables["one"]
    assert learners_of_b(table) == ["erm+select=oracle"]


def test_a_learner_is_never_dropped_in_silence(load: Load) -> None:
    """By its own criterion's name it has its row; by no criterion that it has, it is
    refused."""
    of_b = {"select": ["pooled"], "learners": ["erm"]}
    table = load({"tables/one.yaml": {"data": {B: of_b}}}).tables["one"]
    assert learners_of_b(table) == ["erm"]
    of_b = {"select": ["oracle"], "learners": ["erm", "kerhrm"]}
    with refusal(r"kerhrm cannot be selected by oracle; add"):
        load({"tables/one.yaml": {"data": {B: of_b}}})


def titles_of(table: TableView) -> dict[str, list[str]]:
    """Outputs that a table shows of its learners."""
    return {row.learner: list(row.titles) for row in table.rows}


def test_outputs_are_those_of_the_longest_name_that_fits(load: Load) -> None:
    config = load()
    titles = titles_of(config.tables["other"])
    assert titles["kerhrm"] == ["linear"]
    assert titles["kerhrm+n_init=1"] == ["linear"]
    titles = titles_of(config.tables["one"])
    assert titles["kerhrm"] == ["network", "linear"]
    outputs = {"kerhrm": ["linear"], "kerhrm+n_init=1": ["network"]}
    changed = load(tables={"other": {"outputs": outputs}})
    titles = titles_of(changed.tables["other"])
    assert titles["kerhrm+n_init=1"] == ["network"]
    assert titles["kerhrm"] == ["linear"]


def test_jobs_make_all_outputs_whatever_tables_show(load: Load) -> None:
    learner = load().learner(A, "kerhrm")
    assert learner.params()["outputs"] == ["network", "linear"]


def test_a_table_may_show_fewer_seeds(load: Load) -> None:
    table = load(tables={"one": {"seeds": 2}}).tables["one"]
    assert table.n_seeds == 2


@pytest.mark.parametrize("preset", [{}, {"seeds": 2}, {"seeds": {"made": 1, A: 2}}])
def test_a_preset_of_fewer_seeds_shows_what_there_are(
    load: Load, preset: dict[str, Any]
) -> None:
    changes = {"presets/small.yaml": {"data": {"made": preset}}}
    small = {"preset": "small"}
    assert load(changes, **small, tables={"one": {"seeds": 3}}).tables["one"].n_seeds
    with refusal(r"seeds = 4: made\+r2=0.7 has 3; lower it"):
        load(changes, **small, tables={"one": {"seeds": 4}})
    more = {"presets/small.yaml": {"data": {"made": {"seeds": 5}}}}
    assert load(more, **small, tables={"one": {"seeds": 5}})
    table = {"data": {f"{A}+seeds=2": {}}, "seeds": 3}
    with refusal(r"made\+r2=0.7\+seeds=2 has 2; lower it"):
        load(changes, **small, tables={"one": table})


def test_choices_become_learners_data_and_rows_of_their_table(load: Load) -> None:
    config = load()
    table = config.tables["other"]
    assert (A, "kerhrm+n_init=1") in table.cells
    default = options(config, "kerhrm")
    changed = options(config, "kerhrm+n_init=1")
    assert changed == default | {"n_init": 1}
    fewer = f"{A}+n_test=20"
    wider = f"{A}+network.widths=16"
    assert config.data(fewer).options.n_test == 20
    assert config.data(wider).network.widths == [16]
    of_choices = [cell for cell in table.cells if cell[0] in (fewer, wider)]
    assert of_choices == [(fewer, "erm"), (wider, "erm")]
    assert {row.setting for row in table.rows} == {
        "r2=0.7",
        "r2=0.7,n_init=1",
        "r2=0.7,n_test=20",
        "r2=0.7,network.widths=16",
    }
    found = [
        (one.alternative, one.changed_data, one.changed_learner)
        for one in config.choices
    ]
    assert found == [
        ("kerhrm+n_init=1", None, "kerhrm+n_init=1"),
        ("made+n_test=20", fewer, None),
        ("made+network.widths=16", wider, None),
    ]


def test_data_of_an_alternative_keep_their_own_learners(load: Load) -> None:
    fewer = f"{A}+n_test=20"
    data = {A: {}, fewer: {"learners": ["kerhrm"]}}
    table = load(tables={"other": {"data": data}}).tables["other"]
    shown = [row.learner for row in table.rows if row.data == fewer]
    assert shown == ["kerhrm", "erm"]
    of_data = [learner for name, learner in table.cells if name == fewer]
    assert sorted(of_data) == ["erm", "kerhrm"]


def test_alternatives_change_the_tables_own_names(load: Load) -> None:
    """An option that the table's learner has stays."""
    learners = ["erm", "kerhrm+n_iterations=1"]
    config = load(tables={"other": {"learners": learners}})
    effect = config.choices[0]
    assert effect.learner == "kerhrm+n_iterations=1"
    assert effect.changed_learner == "kerhrm+n_iterations=1+n_init=1"
