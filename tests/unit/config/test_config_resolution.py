"""What the files say together of data and learners, and of a run."""

from pathlib import Path
from typing import Any

import pytest
from small_config import ERM, TREE, A, B, Load, options, write

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.resolve import resolved
from kerhrm_paper.config.strict_yaml import merge
from kerhrm_paper.config.written import sources_of_run

# --- data -----------------------------------------------------------------------------


def test_options_of_the_data_are_merged_and_have_their_defaults(load: Load) -> None:
    config = load()
    made = config.data(B)
    values = made.options.model_dump()
    assert values["r2"] == 0.8
    assert values["n_train_per_environment"] == 40
    assert values["r_test"] == [0.1]  # the generator's default
    assert (made.network.widths, config.data(A).network.widths) == ([4], [8])
    assert (made.task, made.raw, made.n_points) == ("classification", None, 80)
    assert (made.base, made.generator) == ("made", "classification")


def test_a_name_may_give_any_option_of_data(load: Load) -> None:
    made = load().data(f"{A}+d=3+network.widths=4_2+features.k=7+seeds=2")
    assert (made.options.d, made.network.widths, made.features.k) == (3, [4, 2], 7)
    assert len(made.seeds) == 2


def test_later_files_win(load: Load, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("data: {made: {options: {n_test: 7}}}")
    assert load(preset="small").data(A).options.n_test == 10
    both = load_config({"preset": "small"}, ["mine.yaml"], tmp_path)
    assert both.data(A).options.n_test == 7
    top = {"preset": "small", "data": {"made": {"options": {"n_test": 5}}}}
    config = load_config(top, ["mine.yaml"], tmp_path)
    assert config.data(A).options.n_test == 5
    assert config.data(f"{A}+n_test=3").options.n_test == 3
    assert both.run == Path("results/small")


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
        assert load(changes).data(A).options.n_test == n_test
    mine = tmp_path / "mine.yaml"
    mine.write_text("data: {made: {at: {made: {options: {n_test: 5}}}}}")
    assert load_config({}, [mine], tmp_path).data(A).options.n_test == 5
    given = {"data": {"made": {"at": {"made": {"options": {"n_test": 6}}}}}}
    config = load_config(given, [mine], tmp_path)
    assert config.data(A).options.n_test == 6
    assert config.data(f"{A}+n_test=7").options.n_test == 7


def test_of_a_learner_a_later_layer_wins(load: Load, tmp_path: Path) -> None:
    """Method, learner, selected, `at`, preset, further file, command line, name."""

    def steps(content: dict[str, Any]) -> dict[str, Any]:
        return {"learners": {"new": content}}

    new: dict[str, Any] = {**ERM, "grid": {"learning_rate": [0.1, 0.2]}}
    table = {"title": "T", "learners": ["new"], "data": [A]}
    changes: dict[str, Any] = {
        "learners.yaml": {"new": new},
        "tables/new.yaml": table,
        "selected/made.yaml": {"new": {"pooled": {"learning_rate": 0.1}}},
    }
    default = load(changes)
    assert options(default, "new")["steps"] != 2
    new["options"] = {"steps": 2}
    assert options(load(changes), "new")["steps"] == 2
    changes["selected/made.yaml"]["new"]["pooled"]["steps"] = 3
    assert options(load(changes), "new")["steps"] == 3
    new["at"] = {A: {"options": {"steps": 4}}}
    assert options(load(changes), "new")["steps"] == 4
    changes["presets/paper.yaml"] = steps({"options": {"steps": 5}})
    assert options(load(changes), "new")["steps"] == 5
    mine = tmp_path / "mine.yaml"
    mine.write_text("learners: {new: {options: {steps: 6}}}")
    assert options(load_config({}, [mine], tmp_path), "new")["steps"] == 6
    config = load_config(steps({"options": {"steps": 7}}), [mine], tmp_path)
    assert options(config, "new")["steps"] == 7
    assert options(config, "new+steps=8")["steps"] == 8
    assert options(config, "new+steps=8")["learning_rate"] == 0.1


def test_the_users_options_win_over_conditions_of_the_preset(load: Load) -> None:
    at = {A: {"options": {"n_test": 3, "d": 4}, "features": {"k": 6}}}
    of_erm = {A: {"options": {"steps": 3, "evaluate_every": 2}}}
    preset = {"data": {"made": {"at": at}}, "learners": {"erm": {"at": of_erm}}}
    changes = {"presets/paper.yaml": preset}
    config = load(
        changes,
        data={"made": {"options": {"n_test": 7}}},
        learners={"erm": {"options": {"steps": 7}}},
    )
    data, learner = config.data(A), config.learner(A, "erm")
    assert (data.options.n_test, data.options.d, data.features.k) == (7, 4, 6)
    assert (learner.options.steps, learner.options.evaluate_every) == (7, 2)


def test_the_users_conditions_win_over_those_of_the_preset(load: Load) -> None:
    of_preset = {A: {"options": {"steps": 3}}, "made": {"options": {"steps": 4}}}
    changes = {"presets/paper.yaml": {"learners": {"erm": {"at": of_preset}}}}
    assert options(load(changes), "erm")["steps"] == 4
    of_user = {A: {"options": {"steps": 5}}}
    config = load(changes, learners={"erm": {"at": of_user}})
    assert options(config, "erm")["steps"] == 5
    assert options(config, "erm", B)["steps"] == 4


def test_a_part_of_a_group_leaves_the_rest_as_the_preset_has_it(load: Load) -> None:
    pretest = {A: {"options": {"pretest": {"level": 0.1, "n_permutations": 29}}}}
    changes = {"presets/paper.yaml": {"learners": {"kerhrm": {"at": pretest}}}}
    own = {"kerhrm": {"options": {"pretest": {"level": 0.2}}}}
    found = options(load(changes, learners=own), "kerhrm")["pretest"]
    assert (found["level"], found["n_permutations"]) == (0.2, 29)


def test_it_is_told_where_an_option_stands(load: Load) -> None:
    places = load().resolved.resolver.learner_origins(B, "erm+steps=3")
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
    changes = {"learners.yaml": {"erm": {"at": {condition: {"options": {"steps": 3}}}}}}
    assert (options(load(changes), "erm", data)["steps"] == 3) == fits


def test_conditions_of_data_look_at_values_without_at(load: Load) -> None:
    """So that the order of conditions decides between them, and nothing else."""
    at = {
        B: {"features": {"k": 6}},
        "made+features.k=6": {"options": {"d": 9}},
        "made+features.k=5": {"options": {"d": 8}},
    }
    assert load({"data/made.yaml": {"at": at}}).data(B).options.d == 8


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
    assert resolver.data("made").options.model_dump()["n_test"] == 20
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
    assert load(learners={"mine": learner}).mark == load().mark == ""
    assert load(learners={"erm": {"options": {"evaluate_every": 2}}}).mark


def test_of_conditions_the_last_one_wins(load: Load) -> None:
    at = {
        "made": {"options": {"steps": 3, "evaluate_every": 1}},
        A: {"options": {"steps": 4}},
    }
    learner = {**ERM, "at": at}
    changes = {"learners.yaml": {"new": learner}}
    assert options(load(changes), "new")["steps"] == 4
    assert options(load(changes), "new")["evaluate_every"] == 1
    changes = {"learners.yaml": {"new": {**ERM, "at": dict(reversed(at.items()))}}}
    assert options(load(changes), "new")["steps"] == 3


def test_a_learner_may_know_some_data_alone(load: Load) -> None:
    at = {A: {"options": {"steps": 3}}}
    changes = {"learners.yaml": {"new": {**ERM, "at": at, "at_only": True}}}
    config = load(changes)
    assert options(config, "new")["steps"] == 3
    with pytest.raises(
        KerhrmError, match=f"none for .*{B}; it knows {A}".replace("+", r"\+")
    ):
        config.learner(B, "new")


# --- seeds ----------------------------------------------------------------------------


def test_seeds_are_a_number_or_a_map_of_cells(load: Load) -> None:
    assert load().data(A).seeds.names == [0, 1, 2]
    seeds = {"made": 2, B: 4, f"{A}/erm": 5, f"{B}/kerhrm": 3}
    config = load({"data/made.yaml": {"seeds": None}}, data={"made": {"seeds": seeds}})
    numbers = {
        (data, learner): config.learner(data, learner).n_seeds
        for data in (A, B, "made+r2=0.9")
        for learner in ("erm", "kerhrm")
    }
    assert numbers == {
        (A, "erm"): 5,
        (A, "kerhrm"): 2,
        (B, "erm"): 4,
        (B, "kerhrm"): 3,
        ("made+r2=0.9", "erm"): 2,
        ("made+r2=0.9", "kerhrm"): 2,
    }
    # data have as many as any learner on them
    assert [len(config.data(data).seeds) for data in (A, B)] == [5, 4]


def test_a_map_without_a_number_for_some_data_is_refused(load: Load) -> None:
    with pytest.raises(KerhrmError, match=r"no number is for .*; add made: NUMBER"):
        load({"data/made.yaml": {"seeds": {B: 4}}})


def test_data_of_a_name_may_have_their_own_seeds(load: Load) -> None:
    config = load(seed_offset=10)
    few = config.data(f"{A}+seeds=2")
    assert few.seeds.data == few.seeds.network == few.seeds.clustering == (10, 11)
    assert config.learner(few.name, "erm").n_seeds == 2


def test_crossed_seeds_are_all_combinations(load: Load) -> None:
    config = load(seed_offset=10)
    seeds = config.data(f"{A}+crossed=2").seeds
    assert len(seeds) == 8
    assert (seeds.data[0], seeds.data[-1]) == (10, 11)
    assert seeds.names[1] == "data=10,network=10,clustering=11"
    assert len({*zip(seeds.data, seeds.network, seeds.clustering, strict=True)}) == 8
    assert config.learner(f"{A}+crossed=2", "erm").n_seeds == 8


def test_an_offset_shifts_the_seeds_of_tables_alone(load: Load) -> None:
    assert load(seed_offset=1000).data(A).seeds.names == [1000, 1001, 1002]
    config = load(seed_offset=1000, preset="tuning")
    assert config.data(A).seeds.names == [100, 101]


# --- the rest -------------------------------------------------------------------------


def test_unknown_cells_are_told_the_nearest_name(load: Load) -> None:
    config = load()
    for data, learner, told in (
        ("maed", "erm", "did you mean 'made'"),
        ("made+r3=1", "erm", "kerhrm options made lists them"),
        (A, "kerhr", "did you mean 'kerhrm'"),
        (A, "kerhrm+kk=3", "did you mean 'k'"),
    ):
        with pytest.raises(KerhrmError, match=told) as error:
            config.learner(data, learner)
        assert len(str(error.value).splitlines()) == 1


def test_two_calls_resolve_the_same() -> None:
    """Else the second call of Snakemake would see other parameters, and run jobs
    again."""
    first, second = (load_config({"preset": "smoke"}) for _ in range(2))
    assert repr(first.written) == repr(second.written)
    assert first.tables == second.tables
    assert first.groups == second.groups


def test_what_a_run_notes_is_resolved_to_the_same_cells(
    load: Load, tmp_path: Path
) -> None:
    """A grid of the user's, the preset and the selected options keep their order."""
    given = {"learners": {"erm": {"grid": {"learning_rate": [0.5]}}}}
    config = load(preset="small", **given)
    sources = sources_of_run("config.yaml", config.written)
    again = resolved(sources, write(tmp_path, TREE) / "config").resolver
    for data, learner in config.tables["one"].cells:
        assert again.data(data) == config.data(data)
        assert again.learner(data, learner) == config.learner(data, learner)


def test_a_run_notes_the_changes_of_the_preset_and_of_the_user_apart(
    load: Load,
) -> None:
    given = {"learners": {"erm": {"options": {"steps": 7}}}}
    written = load(preset="small", **given).written
    assert written["changes"] == given
    assert set(written["preset_changes"]) <= {"data", "learners"}
    assert written["preset_changes"] != {}
    assert written["preset_changes"] == load(preset="small").written["preset_changes"]


def test_a_note_of_an_earlier_version_has_all_changes_together(
    load: Load, tmp_path: Path
) -> None:
    """Of which a grid with one value, as a preset may have it, chooses nothing."""
    tried = {"learners": {"erm": {"grid": {"learning_rate": [0.5]}}}}
    config = load({"presets/small.yaml": tried}, preset="small")
    written = config.written
    written["changes"] = written.pop("preset_changes")
    sources = sources_of_run("config.yaml", written)
    again = resolved(sources, write(tmp_path, TREE) / "config").resolver
    for data, learner in config.tables["one"].cells:
        assert again.learner(data, learner) == config.learner(data, learner)


def test_a_run_of_other_options_is_marked(load: Load) -> None:
    assert load(preset="small").mark == "small sizes"
    changed = load(data={"made": {"seeds": 2, "options": {"n_test": 10}}})
    assert changed.mark == (
        "options differ from the published: data.made.seeds, data.made.options.n_test"
    )
    assert load(device="cpu", threads=2, raw_dir="/tmp").mark == ""
