"""What the files say together: parameters of settings, learners and tables."""

from pathlib import Path

import pytest
from small_config import TREE, Load, write

from kerhrm.errors import KerhrmError
from kerhrm.methods.dro import DROOptions
from kerhrm.paper.config import load_config


def test_options_of_the_data_are_merged_and_have_their_defaults(load: Load) -> None:
    made = load().params("made", "b")
    assert made["options"]["r2"] == 0.8
    assert made["options"]["n_train_per_environment"] == 40
    assert made["options"]["r_test"] == [0.1]  # the generator's default
    assert made["network"]["widths"] == [4]
    assert load().params("made", "a")["network"]["widths"] == [8]
    assert (made["task"], made["raw"], made["features"]) == (
        "classification",
        None,
        None,
    )


def test_later_files_win(load: Load, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("data: {made: {options: {n_test: 7}}}")
    assert load(preset="small").params("made", "a")["options"]["n_test"] == 10
    both = load_config({"preset": "small"}, ["mine.yaml"], tmp_path)
    assert both.params("made", "a")["options"]["n_test"] == 7
    top = {"preset": "small", "data": {"made": {"options": {"n_test": 5}}}}
    assert (
        load_config(top, ["mine.yaml"], tmp_path).params("made", "a")["options"][
            "n_test"
        ]
        == 5
    )
    assert both.run == Path("results/small")


@pytest.mark.parametrize(
    ("seeds", "data", "network", "names"),
    [
        (2, [0, 1], [0, 1], [0, 1]),
        ([4, 7], [4, 7], [4, 7], [4, 7]),
        (
            [[3, 0, 5], [3, 1, 5]],
            [3, 3],
            [0, 1],
            ["data=3,network=0,clustering=5", "data=3,network=1,clustering=5"],
        ),
    ],
)
def test_seeds_may_be_a_number_a_list_or_streams(
    load, seeds, data, network, names
) -> None:
    params = load({"data/made.yaml": {"seeds": seeds}}).params("made", "a")
    assert (params["seeds"]["data"], params["seeds"]["network"]) == (data, network)
    assert params["replicates"] == names


def test_an_offset_shifts_the_seeds_of_tables_alone(load: Load) -> None:
    config = load(seed_offset=1000)
    assert config.params("made", "a")["replicates"] == [1000, 1001, 1002]
    assert config.tuning("made")["seeds"] == [100, 101]


def test_some_learners_may_have_more_seeds(load: Load) -> None:
    config = load({"data/made.yaml": {"more_seeds": {"seeds": 5, "learners": ["erm"]}}})
    assert len(config.params("made", "a")["replicates"]) == 5
    assert len(config.params("made", "a", "erm")["replicates"]) == 5
    assert config.params("made", "a", "erm_short")["replicates"] == [0, 1, 2]


def test_a_learner_has_what_was_selected_then_its_options_then_those_of_the_place(
    load,
) -> None:
    config = load()
    a, b = (config.params("made", s, "erm")["candidates"][0] for s in "ab")
    assert (a["steps"], a["learning_rate"], a["evaluate_every"]) == (20, 0.1, 5)
    assert b["evaluate_every"] == 7
    short = config.params("made", "a", "erm_short")
    assert [c["steps"] for c in short["candidates"]] == [1]
    # selected for the one that it is like
    assert short["candidates"][0]["learning_rate"] == 0.1
    assert (short["shown"], short["titles"]) == (
        {"pooled validation": 0},
        {"model": "ERM"},
    )


def test_an_option_with_one_value_in_the_grid_has_it_though_none_was_selected(
    load: Load,
) -> None:
    dro = {
        "method": "dro",
        "titles": {"model": "DRO"},
        "grid": {"rho": [0.1, 0.2], "steps": [7]},
    }
    changes = {"learners.yaml": {"dro": dro}, "tables/one.yaml": {"learners": ["dro"]}}
    changes["selected/made.yaml"] = {"dro": {"pooled validation": {"rho": 0.1}}}
    one = load(changes).params("made", "a", "dro")
    steps = {
        name: one["candidates"][number]["steps"]
        for name, number in one["shown"].items()
    }
    assert steps == {"pooled validation": 7, "library defaults": DROOptions().steps}


def test_every_criterion_is_trained_and_the_own_one_comes_first(load: Load) -> None:
    chosen = {
        "worst inferred environment": {"steps": 10, "learning_rate": 0.3},
        "pooled validation": {"steps": 20, "learning_rate": 0.1},
    }
    changes = {"selected/made.yaml": {"erm": chosen}}
    b = load(changes).params("made", "b", "erm")
    own, other, defaults = (
        "pooled validation",
        "worst inferred environment",
        "library defaults",
    )
    assert b["shown"] == {own: 0, other: 1, defaults: 2}
    assert [c["learning_rate"] for c in b["candidates"]] == [0.1, 0.3, 1e-3]
    for change in (
        {"data/made.yaml": {"criteria": "own"}},
        {"learners.yaml": {"erm": {"criteria": "own"}}},
    ):
        assert load(changes | change).params("made", "b", "erm")["shown"] == {own: 0}
    others = load(changes | {"learners.yaml": {"erm": {"criteria": "others"}}})
    assert others.params("made", "b", "erm")["shown"] == {other: 1, defaults: 2}


def test_a_search_trains_all_candidates_at_its_settings_and_seeds(load: Load) -> None:
    config = load(preset="tuning")
    search = config.tuning("made")
    assert (search["settings"], search["learners"]) == (["a"], ["erm"])
    params = config.params("made", "a", "erm")
    assert len(params["candidates"]) == 4
    assert (
        params["replicates"] == config.params("made", "a")["replicates"] == [100, 101]
    )
    assert (config.tables, params["shown"]) == ({}, {})


def test_options_that_nobody_has_selected_yet_are_missed_by_the_job_alone(
    load: Load,
) -> None:
    config = load({"selected/made.yaml": "{}"})
    with pytest.raises(
        KerhrmError, match=r"config/selected/made\.yaml.*; run snakemake select"
    ):
        config.params("made", "a", "erm")
    assert load({"selected/made.yaml": "{}"}, preset="tuning").params(
        "made", "a", "erm"
    )


def test_options_may_be_selected_on_other_data(load: Load) -> None:
    changes = {
        "data/made.yaml": {"settings": {"b": {"selected_from": "there"}}},
        "data/there.yaml": TREE["data/made.yaml"],
        "selected/there.yaml": {"erm": {"pooled validation": {"learning_rate": 0.9}}},
    }
    config = load(changes)
    assert config.params("made", "b", "erm")["candidates"][0]["learning_rate"] == 0.9
    assert config.params("made", "a", "erm")["candidates"][0]["learning_rate"] == 0.1


def test_a_table_is_its_cells_in_order_with_their_labels(load: Load) -> None:
    table = load().tables["one"]
    assert table.cells == [
        ("made", "a", "erm"),
        ("made", "a", "erm_short"),
        ("made", "b", "erm"),
        ("made", "b", "kerhrm"),
    ]
    labels = [table.label(*cell) for cell in table.cells]
    assert labels == ["a", "a,steps=1", "B", "B"]
    assert (table.kind, table.in_all, table.criteria) == ("accuracy", True, "all")
    marked = load({"tables/one.yaml": {"marks": {"erm_short": "M"}}}).tables["one"]
    assert marked.label("made", "a", "erm_short") == "a,M"


def test_outputs_are_made_where_some_table_shows_them(load: Load) -> None:
    config = load()
    assert config.tables["other"].outputs["kerhrm"] == ["linear"]
    assert list(config.params("made", "a", "kerhrm")["titles"]) == ["linear"]
    assert list(config.params("made", "b", "kerhrm")["titles"]) == ["network", "linear"]


def test_features_have_the_largest_dimension_of_their_learners(load: Load) -> None:
    config = load(
        {
            "choices.yaml": {
                "start": {
                    "alternatives": [
                        {
                            "to": "more",
                            "where": ["made"],
                            "mark": "k=9",
                            "set": {"k": [9]},
                        }
                    ]
                }
            }
        }
    )
    assert config.params("made", "a")["k_max"] == 9
    assert config.params("made", "b")["k_max"] == 5
    assert (
        load(
            {"tables/one.yaml": {"settings": {"made/b": {"learners": ["erm"]}}}}
        ).params("made", "b")["k_max"]
        is None
    )


def test_choices_become_learners_settings_and_rows_of_their_table(load: Load) -> None:
    config = load()
    table = config.tables["other"]
    assert ("made", "a", "kerhrm_n_init_1") in table.cells
    assert table.label("made", "a", "kerhrm_n_init_1") == "a,n_init=1"
    one = config.params("made", "a", "kerhrm_n_init_1")
    assert one["candidates"][0] == config.params("made", "a", "kerhrm")["candidates"][
        0
    ] | {"n_init": 1}
    assert config.params("made", "a+n_test=20")["options"]["n_test"] == 20
    assert config.params("made", "a+wide")["network"]["widths"] == [16]
    assert [cell[2] for cell in table.cells if cell[1] == "a+wide"] == ["erm"]
    names = [one["name"] for one in config.choices["start"]]
    assert names == ["n_init=1", "n_test=20", "wide"]
    assert {f"a,{name}" for name in names} <= {
        table.label(*cell) for cell in table.cells
    }


def test_null_leaves_an_entry_out(load: Load) -> None:
    config = load(tables={"other": None, "one": {"settings": {"made/b": None}}})
    assert list(config.tables) == ["one"]
    assert config.tables["one"].settings == [("made", "a")]


def test_unknown_places_are_told(load: Load) -> None:
    for place in (
        ("none", "a"),
        ("made", "c"),
        ("made", "a", "kerhr"),
        ("made", "b", "erm_short"),
    ):
        with pytest.raises(KerhrmError, match="/".join(place)):
            load().params(*place)


def test_what_is_read_is_what_was_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the second call of Snakemake would see other parameters, and write them
    again."""
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(tmp_path))
    first, second = (load_config({"preset": "smoke"}).merged for _ in range(2))
    assert repr(first) == repr(second)


def test_the_cache_knows_what_it_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(tmp_path / "cache"))
    root = write(tmp_path / "root", TREE)

    def n_test(**overrides: object) -> int:
        return load_config(overrides, root=root).params("made", "a")["options"][
            "n_test"
        ]

    assert n_test() == n_test() == 1000
    assert n_test(preset="small") == 10
    write(root, {"presets/paper.yaml": {"data": {"made": {"options": {"n_test": 3}}}}})
    assert n_test() == 3
    assert len(list((tmp_path / "cache/config").glob("*.json"))) == 3
    (tmp_path / "cache").rename(tmp_path / "gone")
    (tmp_path / "cache").touch()  # nowhere to write
    assert n_test() == 3


def test_a_run_of_other_options_is_marked(load: Load) -> None:
    assert load(preset="small").mark == "small sizes"
    changed = load(data={"made": {"seeds": 2, "options": {"n_test": 10}}})
    assert changed.mark == (
        "options differ from the published: data.made.seeds, data.made.options.n_test"
    )
    assert load(device="cpu", threads=2, raw_dir="/tmp").mark == ""
