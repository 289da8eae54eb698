"""What the files say together of data and learners, and of a run."""

from pathlib import Path

import pytest
from refusals import refusal
from small_config import TREE, A, B, Load, write

from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.resolve import resolved
from kerhrm_paper.config.written import sources_of_run

# --- data -----------------------------------------------------------------------------


def test_options_of_the_data_are_merged_and_have_their_defaults(load: Load) -> None:
    config = load()
    made = config.data(B)
    values = made.options.model_dump()
    assert values["r2"] == 0.8
    assert values["n_train_per_environment"] == 40
    assert values["r_test"] == [0.1]  # the generator's default
    assert made.network.widths == [4]
    assert config.data(A).network.widths == [8]
    assert made.task == "classification"
    assert made.raw is None
    assert made.n_points == 80
    assert made.base == "made"
    assert made.generator == "classification"


def test_a_name_may_give_any_option_of_data(load: Load) -> None:
    made = load().data(f"{A}+d=3+network.widths=4_2+features.k=7+seeds=2")
    assert made.options.d == 3
    assert made.network.widths == [4, 2]
    assert made.features.k == 7
    assert len(made.seeds) == 2


def test_later_files_win(load: Load, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("data: {made: {options: {n_test: 7}}}")
    small = load(preset="small")
    assert small.data(A).options.n_test == 10
    both = load_config({"preset": "small"}, ["mine.yaml"], tmp_path)
    assert both.data(A).options.n_test == 7
    top = {"preset": "small", "data": {"made": {"options": {"n_test": 5}}}}
    config = load_config(top, ["mine.yaml"], tmp_path)
    assert config.data(A).options.n_test == 5
    assert config.data(f"{A}+n_test=3").options.n_test == 3
    assert both.run == Path("results/small")


# --- seeds ----------------------------------------------------------------------------


def test_seeds_are_a_number_or_a_map_of_cells(load: Load) -> None:
    seeds_of_a = load().data(A).seeds
    assert seeds_of_a.names == [0, 1, 2]
    seeds = {"made": 2, B: 4, f"{A}/erm": 5, f"{B}/kerhrm": 3}
    without_seeds = {"data/made.yaml": {"seeds": None}}
    config = load(without_seeds, data={"made": {"seeds": seeds}})
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
    assert len(config.data(A).seeds) == 5
    assert len(config.data(B).seeds) == 4


def test_criteria_are_compared_on_the_seeds_of_the_learner(load: Load) -> None:
    seeds = {"made": 2, f"{A}/erm": 5, f"{A}/erm+steps=3+select=none": 4}
    config = load({"data/made.yaml": {"seeds": None}}, data={"made": {"seeds": seeds}})
    numbers = {
        learner: config.learner(A, learner).n_seeds
        for learner in (
            "erm+select=none",
            "erm+select=oracle",
            "erm+steps=3",
            "erm+steps=3+select=none",
        )
    }
    assert numbers == {
        "erm+select=none": 5,
        "erm+select=oracle": 5,
        "erm+steps=3": 2,
        "erm+steps=3+select=none": 4,
    }


def test_a_map_without_a_number_for_some_data_is_refused(load: Load) -> None:
    changes = {"data/made.yaml": {"seeds": {B: 4}}}
    with refusal(r"no number is for .*; add made: NUMBER"):
        load(changes)


def test_data_of_a_name_may_have_their_own_seeds(load: Load) -> None:
    config = load(seed_offset=10)
    few = config.data(f"{A}+seeds=2")
    seeds = few.seeds
    assert seeds.data == (10, 11)
    assert seeds.network == (10, 11)
    assert seeds.clustering == (10, 11)
    learner = config.learner(few.name, "erm")
    assert learner.n_seeds == 2


def test_crossed_seeds_are_all_combinations(load: Load) -> None:
    config = load(seed_offset=10)
    seeds = config.data(f"{A}+crossed=2").seeds
    assert len(seeds) == 8
    assert seeds.data[0] == 10
    assert seeds.data[-1] == 11
    assert seeds.names[1] == "data=10,network=10,clustering=11"
    combinations = zip(seeds.data, seeds.network, seeds.clustering, strict=True)
    assert len(set(combinations)) == 8
    assert config.learner(f"{A}+crossed=2", "erm").n_seeds == 8


def test_an_offset_shifts_the_seeds_of_tables_alone(load: Load) -> None:
    shifted = load(seed_offset=1000).data(A)
    assert shifted.seeds.names == [1000, 1001, 1002]
    config = load(seed_offset=1000, preset="tuning")
    seeds = config.data(A).seeds
    assert seeds.names == [100, 101]


# --- files ----------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["data", "tables", "selected", "presets"])
def test_hidden_files_are_passed_over(load: Load, tmp_path: Path, folder: str) -> None:
    """As Emacs, macOS and Jupyter leave them beside files that are edited."""
    before = load()
    places = tmp_path / "config" / folder
    (places / ".#one.yaml").symlink_to("me@here.1234")
    (places / "._one.yaml").write_bytes(b"\x00\x05\x16\x07")
    (places / ".ipynb_checkpoints").mkdir()
    (places / ".ipynb_checkpoints" / "one-checkpoint.yaml").write_text("title: T")
    after = load_config({}, root=tmp_path)
    assert repr(after.written) == repr(before.written)


# --- the rest -------------------------------------------------------------------------


def test_unknown_cells_are_told_the_nearest_name(load: Load) -> None:
    config = load()
    for data, learner, told in (
        ("maed", "erm", "did you mean 'made'"),
        ("made+r3=1", "erm", "kerhrm options made lists them"),
        (A, "kerhr", "did you mean 'kerhrm'"),
        (A, "kerhrm+kk=3", "did you mean 'k'"),
        (A, "erm+n_init=3", "it is an option of kerhrm: kerhrm options kerhrm"),
        (A, "erm+network.widths=3", "data have it: .* in front of the /, as of made"),
        (
            "made+n_init=3",
            "kerhrm",
            r"learners have it: write n_init=\.\.\. behind the /, as of kerhrm",
        ),
    ):
        with refusal(told) as error:
            config.learner(data, learner)
        message = str(error.value)
        assert len(message.splitlines()) == 1


def test_two_calls_resolve_the_same() -> None:
    """Else the second call of Snakemake would see other parameters, and run jobs
    again."""
    first = load_config({"preset": "smoke"})
    second = load_config({"preset": "smoke"})
    assert repr(first.written) == repr(second.written)
    assert first.tables == second.tables
    assert first.groups == second.groups


def test_what_a_run_notes_is_resolved_to_the_same_cells(
    load: Load, tmp_path: Path
) -> None:
    """A grid of the user's, the preset and the selected options keep their order."""
    grid = {"learning_rate": [0.5]}
    given = {"learners": {"erm": {"grid": grid}}}
    config = load(preset="small", **given)
    sources = sources_of_run("config.yaml", config.written)
    folder = write(tmp_path, TREE) / "config"
    again = resolved(sources, folder).resolver
    for data, learner in config.tables["one"].cells:
        assert again.data(data) == config.data(data)
        expected = config.learner(data, learner)
        assert again.learner(data, learner) == expected


def test_a_run_notes_the_changes_of_the_preset_and_of_the_user_apart(
    load: Load,
) -> None:
    given = {"learners": {"erm": {"options": {"steps": 7}}}}
    written = load(preset="small", **given).written
    assert written["changes"] == given
    assert set(written["preset_changes"]) <= {"data", "learners"}
    assert written["preset_changes"] != {}
    of_preset = load(preset="small").written
    assert written["preset_changes"] == of_preset["preset_changes"]


def test_a_note_of_an_earlier_version_has_all_changes_together(
    load: Load, tmp_path: Path
) -> None:
    """Of which a grid with one value, as a preset may have it, chooses nothing."""
    grid = {"learning_rate": [0.5]}
    tried = {"learners": {"erm": {"grid": grid}}}
    config = load({"presets/small.yaml": tried}, preset="small")
    written = config.written
    written["changes"] = written.pop("preset_changes")
    sources = sources_of_run("config.yaml", written)
    folder = write(tmp_path, TREE) / "config"
    again = resolved(sources, folder).resolver
    for data, learner in config.tables["one"].cells:
        expected = config.learner(data, learner)
        assert again.learner(data, learner) == expected


def test_a_run_of_other_options_is_marked(load: Load) -> None:
    assert load(preset="small").mark == "small sizes"
    made = {"seeds": 2, "options": {"n_test": 10}}
    changed = load(data={"made": made})
    assert changed.mark == (
        "options differ from the published: data.made.seeds, data.made.options.n_test"
    )
    of_the_machine = load(device="cpu", threads=2, raw_dir="/tmp")
    assert of_the_machine.mark == ""


def test_an_output_that_an_option_switches_off_has_no_title(load: Load) -> None:
    """Without ``training`` the method makes no network."""
    titles = {"linear": "Z", "network": "Z (network)"}
    auxiliary = {"method": "kerhrm_auxiliary", "titles": titles, "options": {"k": 5}}
    config = load(learners={"z": auxiliary})
    whole = config.learner(A, "z+training.steps=3")
    assert whole.titles == titles
    linear = config.learner(A, "z+training=none")
    assert linear.titles == {"linear": "Z"}
    assert linear.params()["outputs"] == ["linear"]
    alone = auxiliary | {"titles": {"network": "Z (network)"}}
    with refusal("has no output network with these options"):
        load(learners={"z": alone}).learner(A, "z+training=none")
