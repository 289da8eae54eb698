"""What is tried, what a criterion has selected, and names of one cell."""

from typing import Any

import pytest
from refusals import refusal
from small_config import ERM, TREE, A, B, Load, options, refused

from kerhrm.errors import KerhrmError
from kerhrm.methods.options import DROOptions

# --- selection ------------------------------------------------------------------------


def test_a_learner_has_what_its_own_criterion_selected(load: Load) -> None:
    config = load()
    cell = config.learner(A, "erm")
    assert options(config, "erm")["steps"] == 20
    assert cell.selection == "pooled validation"
    assert cell.selected == {"steps": 20, "learning_rate": 0.1}
    assert options(config, "erm", B)["evaluate_every"] == 7
    assert options(config, "erm")["evaluate_every"] == 5


def test_a_name_may_take_another_criterion(load: Load) -> None:
    config = load()
    oracle = config.learner(A, "erm+select=oracle")
    assert oracle.options.steps == 10
    assert oracle.options.learning_rate == 0.2
    assert oracle.selection == "oracle"
    none = config.learner(A, "erm+select=none")
    library = type(none.options)
    assert none.options == library(evaluate_every=5)
    assert none.selection == "library defaults"
    assert none.selected == {}
    both = config.learner(A, "erm+steps=7+select=oracle")
    assert both.options.steps == 7
    assert both.options.learning_rate == 0.2


def test_an_option_with_one_value_in_the_grid_has_it_though_none_was_selected(
    load: Load,
) -> None:
    dro = {
        "method": "dro",
        "titles": {"model": "DRO"},
        "grid": {"rho": [0.1, 0.2], "steps": [7]},
    }
    changes = {
        "learners.yaml": {"dro": dro},
        "tables/one.yaml": {"learners": ["dro"]},
        "selected/made.yaml": {"dro": {"pooled": {"rho": 0.1}}},
    }
    config = load(changes)
    assert options(config, "dro")["steps"] == 7
    assert options(config, "dro+select=none")["steps"] == DROOptions().steps


@pytest.mark.parametrize(
    "learner",
    [
        {"grid": {"learning_rate": [0.5]}},
        {"at": {A: {"grid": {"learning_rate": [0.5]}}}},
        {"options": {"learning_rate": 0.5}},
    ],
)
def test_a_users_grid_of_one_value_is_like_an_option(
    load: Load, learner: dict[str, Any]
) -> None:
    """It wins over what was selected, which is 0.1."""
    config = load(learners={"erm": learner})
    assert options(config, "erm")["learning_rate"] == 0.5
    assert options(config, "erm+learning_rate=0.4")["learning_rate"] == 0.4


def test_a_users_grid_of_several_values_is_that_of_a_search(load: Load) -> None:
    grid = {"learning_rate": [0.5, 0.6]}
    config = load(learners={"erm": {"grid": grid}})
    assert options(config, "erm")["learning_rate"] == 0.1


def test_a_users_grid_wins_over_that_of_the_files_for_some_data(load: Load) -> None:
    at = {A: {"grid": {"steps": [30, 40]}}}
    changes = {"learners.yaml": {"erm": {"at": at}}}
    own = {"erm": {"grid": {"steps": [5, 6]}}}
    config = load(changes, preset="tuning", learners=own)
    tried = set()
    for _, name in config.searches["made"].cells:
        _, _, from_steps = name.partition("steps=")
        steps, _, _ = from_steps.partition("+")
        tried.add(steps)
    assert tried == {"5", "6"}


def test_a_grid_of_a_method_that_nothing_selects_is_refused(load: Load) -> None:
    learner = {"method": "kerhrm_authors_code", "titles": {"model": "theirs"}}
    learner |= {"grid": {"k": [3, 4]}}
    error = refused(load, {"learners": {"theirs": learner}})
    assert "learners.theirs.grid" in str(error)
    assert "has no criterion that selects; give options instead" in str(error)


def test_options_may_be_selected_on_other_data(load: Load) -> None:
    changes = {
        "data/there.yaml": TREE["data/made.yaml"] | {"at": {}, "tuning": None},
        "selected/there.yaml": {"erm": {"pooled": {"learning_rate": 0.9}}},
    }
    config = load(changes)
    assert options(config, "erm+select_on=there")["learning_rate"] == 0.9
    assert options(config, "erm")["learning_rate"] == 0.1
    assert config.learner(A, "erm+select_on=there").selected_on == "there"
    config = load(changes | {"data/made.yaml": {"select_on": "there"}})
    assert options(config, "erm")["learning_rate"] == 0.9
    assert options(config, "erm+select_on=made")["learning_rate"] == 0.1


def test_a_learner_may_take_what_was_selected_for_another_one(load: Load) -> None:
    learner = {**ERM, "tuned_as": "erm"}
    config = load({"learners.yaml": {"new": learner}})
    assert options(config, "new")["learning_rate"] == 0.1
    resolver = config.resolved.resolver
    place = resolver.learner_origins(A, "new")["learning_rate"]
    assert place == ("selected", "made", "erm", "pooled", "learning_rate")


def test_a_search_trains_all_candidates_at_its_data_and_seeds(load: Load) -> None:
    config = load(preset="tuning")
    assert config.searches["made"].data == (A,)
    assert set(config.searches["made"].cells) == {
        (A, f"erm+steps={steps}+learning_rate={rate}")
        for steps in (10, 20)
        for rate in (0.1, 0.2)
    }
    seeds = config.data(A).seeds
    assert seeds.names == [100, 101]
    assert config.tables == {}
    cell = config.learner(A, "erm+steps=10+learning_rate=0.2")
    assert cell.options.steps == 10
    assert cell.options.learning_rate == 0.2
    assert cell.n_seeds == 2
    assert cell.selected == {}
    params = config.search_params("made")
    assert {*params} == {"/".join(cell) for cell in config.searches["made"].cells}
    assert params[f"{A}/erm+steps=10+learning_rate=0.2"] == {
        "outputs": ["model"],
        "criteria": ["pooled"],
        "options": {"steps": 10, "learning_rate": 0.2},
    }


def test_iterations_are_jobs_of_no_search(load: Load) -> None:
    assert load().checkpointed == ["kerhrm"]
    assert load(preset="tuning").checkpointed == []


def test_candidates_may_be_given_one_by_one(load: Load) -> None:
    candidates = [{"steps": 3}, {"steps": 4, "learning_rate": 1}]
    grid = {"steps": None, "learning_rate": None}
    erm = {"grid": grid, "candidates": candidates}
    config = load({"learners.yaml": {"erm": erm}}, preset="tuning")
    cells = config.searches["made"].cells
    assert [learner for _, learner in cells] == [
        "erm+steps=3",
        "erm+steps=4+learning_rate=1.0",
    ]


def test_at_may_change_the_grid(load: Load) -> None:
    at = {A: {"grid": {"steps": [1], "evaluate_every": [1, 2]}}}
    config = load({"learners.yaml": {"erm": {"at": at}}}, preset="tuning")
    cells = config.searches["made"].cells
    names = [learner for _, learner in cells]
    assert sorted(names) == [
        f"erm+steps=1+learning_rate={rate}+evaluate_every={every}"
        for rate in (0.1, 0.2)
        for every in (1, 2)
    ]


def test_options_that_nobody_has_selected_are_missed_in_the_plan(load: Load) -> None:
    """What the hint says helps."""
    with pytest.raises(KerhrmError) as error:
        load({"selected/made.yaml": "{}"})
    for part in (
        "config/tables/one.yaml: learners",
        "config/selected/made.yaml: it has no options of erm by pooled",
        "write erm+select=none, or search: snakemake select --config preset=tuning",
    ):
        assert part in str(error.value)
    plain = {"learners": ["erm+select=none"], "data": {B: None}}
    tables = {"one": plain, "other": None}
    config = load(tables=tables, selected={"made": None})
    assert config.learner(A, "erm+select=none")
    with refusal("erm by pooled; write erm"):
        config.learner(A, "erm")


# --- names of one cell ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "trained"),
    [
        ("erm", "erm"),
        ("erm+steps=20", "erm"),  # selected
        ("erm+steps=10", "erm+steps=10"),
        ("erm+evaluate_every=5", "erm"),
        ("erm+steps=20+learning_rate=0.1+evaluate_every=5", "erm"),
        ("erm+steps=20+learning_rate=0.3", "erm+learning_rate=0.3"),
        ("erm+select=pooled", "erm"),
        ("erm+select=oracle", "erm+select=oracle"),
        ("erm+steps=20+learning_rate=0.1+select=oracle", "erm"),
        ("erm+select_on=made", "erm"),
        ("kerhrm+k=5", "kerhrm"),
    ],
)
def test_equal_options_are_trained_once_under_the_shortest_name(
    load: Load, name: str, trained: str
) -> None:
    config = load()
    trained_as = config.resolved.resolver.trained_as
    assert trained_as(A, name) == trained
    expected = config.learner(A, trained).options
    assert config.learner(A, name).options == expected


def test_a_name_with_more_seeds_than_a_shorter_one_is_trained_itself(
    load: Load,
) -> None:
    seeds = {"made": 2, f"{A}/erm+steps=20": 4}
    config = load(data={"made": {"seeds": seeds}})
    trained_as = config.resolved.resolver.trained_as
    assert trained_as(A, "erm+steps=20") == "erm+steps=20"
    assert trained_as(B, "erm+steps=20") == "erm"


def test_two_rows_of_a_table_may_be_one_cell(load: Load) -> None:
    oracle = TREE["selected/made.yaml"]["erm"]["pooled"]
    changes = {
        "selected/made.yaml": {"erm": {"oracle": oracle}},
        "tables/one.yaml": {"select": ["own", "oracle"]},
    }
    table = load(changes).tables["one"]
    of_a = [row for row in table.rows if row.data == A]
    rows = [row for row in of_a if row.setting == "r2=0.7"]
    assert [row.learner for row in rows] == ["erm", "erm+select=oracle"]
    assert [row.trained for row in rows] == ["erm", "erm"]
    assert [row.selection for row in rows] == ["pooled validation", "oracle"]
    assert table.cells.count((A, "erm")) == 1
