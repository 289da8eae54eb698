"""Which layer of the configuration wins, and conditions of `at`."""

from pathlib import Path
from typing import Any

import pytest
from refusals import refusal
from small_config import ERM, TREE, A, B, Load, options

from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.strict_yaml import merge


def steps(config: Config, learner: str = "new", data: str = A) -> int:
    """Steps of a learner that are in force."""
    return options(config, learner, data)["steps"]


# --- precedence -----------------------------------------------------------------------

DATA_LAYERS = [
    # what is added, and the number of test points then
    ({}, 1000),
    ({"data/made.yaml": {"options": {"n_test": 1}}}, 1),
    ({"data/made.yaml": {"at": {A: {"options": {"n_test": 2}}}}}, 2),
    ({"presets/paper.yaml": {"data": {"made": {"options": {"n_test": 3}}}}}, 3),
    (
        {
            "presets/paper.yaml": {
                "data": {"made": {"at": {A: {"options": {"n_test": 4}}}}}
            }
        },
        4,
    ),
]


def test_of_data_a_later_layer_wins(load: Load, tmp_path: Path) -> None:
    """Generator, data set, its `at`, preset, further file, command line, name."""
    changes: dict[str, Any] = {}
    for change, n_test in DATA_LAYERS:
        for file, content in change.items():
            changes[file] = merge(changes.get(file, {}), content)
        config = load(changes)
        assert config.data(A).options.n_test == n_test
    mine = tmp_path / "mine.yaml"
    mine.write_text("data: {made: {at: {made: {options: {n_test: 5}}}}}")
    config = load_config({}, [mine], tmp_path)
    assert config.data(A).options.n_test == 5
    at = {"made": {"options": {"n_test": 6}}}
    given = {"data": {"made": {"at": at}}}
    config = load_config(given, [mine], tmp_path)
    assert config.data(A).options.n_test == 6
    assert config.data(f"{A}+n_test=7").options.n_test == 7


def test_of_a_learner_a_later_layer_wins(load: Load, tmp_path: Path) -> None:
    """Method, learner, selected, `at`, preset, further file, command line, name."""

    def with_steps(number: int) -> dict[str, Any]:
        return {"learners": {"new": {"options": {"steps": number}}}}

    new: dict[str, Any] = {**ERM, "grid": {"learning_rate": [0.1, 0.2]}}
    table = {"title": "T", "learners": ["new"], "data": [A]}
    changes: dict[str, Any] = {
        "learners.yaml": {"new": new},
        "tables/new.yaml": table,
        "selected/made.yaml": {"new": {"pooled": {"learning_rate": 0.1}}},
    }
    assert steps(load(changes)) != 2
    new["options"] = {"steps": 2}
    assert steps(load(changes)) == 2
    changes["selected/made.yaml"]["new"]["pooled"]["steps"] = 3
    assert steps(load(changes)) == 3
    new["at"] = {A: {"options": {"steps": 4}}}
    assert steps(load(changes)) == 4
    changes["presets/paper.yaml"] = with_steps(5)
    assert steps(load(changes)) == 5
    mine = tmp_path / "mine.yaml"
    mine.write_text("learners: {new: {options: {steps: 6}}}")
    config = load_config({}, [mine], tmp_path)
    assert steps(config) == 6
    config = load_config(with_steps(7), [mine], tmp_path)
    assert steps(config) == 7
    of_name = options(config, "new+steps=8")
    assert of_name["steps"] == 8
    assert of_name["learning_rate"] == 0.1


def test_the_users_options_win_over_conditions_of_the_preset(load: Load) -> None:
    options_of_made = {"n_test": 3, "d": 4}
    options_of_erm = {"steps": 3, "evaluate_every": 2}
    of_made = {A: {"options": options_of_made, "features": {"k": 6}}}
    of_erm = {A: {"options": options_of_erm}}
    preset = {
        "data": {"made": {"at": of_made}},
        "learners": {"erm": {"at": of_erm}},
    }
    changes = {"presets/paper.yaml": preset}
    config = load(
        changes,
        data={"made": {"options": {"n_test": 7}}},
        learners={"erm": {"options": {"steps": 7}}},
    )
    data = config.data(A)
    learner = config.learner(A, "erm")
    assert data.options.n_test == 7
    assert data.options.d == 4
    assert data.features.k == 6
    assert learner.options.steps == 7
    assert learner.options.evaluate_every == 2


def test_the_users_conditions_win_over_those_of_the_preset(load: Load) -> None:
    of_preset = {A: {"options": {"steps": 3}}, "made": {"options": {"steps": 4}}}
    learners = {"erm": {"at": of_preset}}
    changes = {"presets/paper.yaml": {"learners": learners}}
    config = load(changes)
    assert steps(config, "erm") == 4
    of_user = {A: {"options": {"steps": 5}}}
    config = load(changes, learners={"erm": {"at": of_user}})
    assert steps(config, "erm") == 5
    assert steps(config, "erm", B) == 4


def test_a_part_of_a_group_leaves_the_rest_as_the_preset_has_it(load: Load) -> None:
    pretest = {"level": 0.1, "n_permutations": 29}
    at = {A: {"options": {"pretest": pretest}}}
    learners = {"kerhrm": {"at": at}}
    changes = {"presets/paper.yaml": {"learners": learners}}
    own = {"kerhrm": {"options": {"pretest": {"level": 0.2}}}}
    config = load(changes, learners=own)
    found = options(config, "kerhrm")["pretest"]
    assert found["level"] == 0.2
    assert found["n_permutations"] == 29


def test_it_is_told_where_an_option_stands(load: Load) -> None:
    resolver = load().resolved.resolver
    places = resolver.learner_origins(B, "erm+steps=3")
    assert places == {
        "evaluate_every": ("learners", "erm", "at", B, "options", "evaluate_every"),
        "learning_rate": ("selected", "made", "erm", "pooled", "learning_rate"),
        "steps": f"{B}/erm+steps=3",
    }


# --- conditions -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "data", "fits"),
    [
        ("made", "made", True),
        ("made", "made+r2=0.75", True),
        ("made+r2=0.7", "made+r2=0.7", True),
        ("made+r2=0.7", "made+r2=0.75", False),
        ("made+r2=0.7", "made", True),  # the default
        ("made+r2=0.7", "made+r2=0.7+d=3", True),
        ("made+r2=0.7+d=3", "made+r2=0.7", False),
        ("made+r2=0.7+d=3", "made+r2=0.7+d=3", True),
        ("made+r_test=0.1", "made", True),
        ("made+r_test=0.1", "made+r_test=0.1_0.2", False),
        ("made+r_test=0.1_0.2", "made+r_test=0.1_0.2", True),
        ("made+network.widths=empty", "made", False),
        ("made+network.widths=empty", "made+network.widths=empty", True),
        ("made+network.widths=8", "made", True),  # of the file
        ("made+network.module=none", "made", True),
        ("made+features.k=5", "made", True),
        ("made+features.k=5", "made+features.k=6", False),
        ("made+scramble=fixed", "made+scramble=identity", False),
    ],
)
def test_at_has_conditions_on_values(
    load: Load, condition: str, data: str, fits: bool
) -> None:
    at = {condition: {"options": {"steps": 3}}}
    config = load({"learners.yaml": {"erm": {"at": at}}})
    is_met = steps(config, "erm", data) == 3
    assert is_met == fits


def test_conditions_of_data_look_at_values_without_at(load: Load) -> None:
    """So that the order of conditions decides between them, and nothing else."""
    at = {
        B: {"features": {"k": 6}},
        "made+features.k=6": {"options": {"d": 9}},
        "made+features.k=5": {"options": {"d": 8}},
    }
    config = load({"data/made.yaml": {"at": at}})
    assert config.data(B).options.d == 8


def test_it_is_told_where_a_condition_that_ends_itself_stands(load: Load) -> None:
    """The value that meets it is one that it replaces."""
    place = "made+n_test=30"
    changes = {
        "data/made.yaml": {
            "options": {"n_test": 30},
            "at": {place: {"options": {"n_test": 20}}},
        }
    }
    resolver = load(changes).resolved.resolver
    options_of_made = resolver.data("made").options
    assert options_of_made.n_test == 20
    found = resolver.data_origins("made")["options"]["n_test"]
    assert found == ("data", "made", "at", place, "options", "n_test")


def test_a_learner_and_data_may_differ_in_case_alone(load: Load) -> None:
    """They are no siblings in any folder."""
    made = {**TREE["data/made.yaml"], "tuning": None, "at": {}}
    table = {"title": "T", "data": ["ERM"], "learners": ["erm"]}
    table["select"] = ["none"]
    config = load({"data/ERM.yaml": made, "tables/new.yaml": table})
    assert config.data("ERM").base == "ERM"
    assert config.learner("ERM", "erm+select=none").base == "erm"


def test_what_is_added_marks_no_table(load: Load) -> None:
    learner = {"method": "erm", "titles": {"model": "mine"}}
    added = load(learners={"mine": learner})
    assert added.mark == ""
    assert load().mark == ""
    changed = {"erm": {"options": {"evaluate_every": 2}}}
    assert load(learners=changed).mark


def test_of_conditions_the_last_one_wins(load: Load) -> None:
    at = {
        "made": {"options": {"steps": 3, "evaluate_every": 1}},
        A: {"options": {"steps": 4}},
    }
    learner = {**ERM, "at": at}
    changes = {"learners.yaml": {"new": learner}}
    of_last = options(load(changes), "new")
    assert of_last["steps"] == 4
    assert of_last["evaluate_every"] == 1
    reversed_at = dict(reversed(at.items()))
    learner = {**ERM, "at": reversed_at}
    changes = {"learners.yaml": {"new": learner}}
    assert steps(load(changes)) == 3


def test_a_learner_may_know_some_data_alone(load: Load) -> None:
    at = {A: {"options": {"steps": 3}}}
    learner = {**ERM, "at": at, "at_only": True}
    changes = {"learners.yaml": {"new": learner}}
    config = load(changes)
    assert steps(config) == 3
    message = f"none for .*{B}; it knows {A}"
    with refusal(message.replace("+", r"\+")):
        config.learner(B, "new")
