"""What a job is given depends on its name, the data and the learners alone."""

from typing import Any

import pytest
from small_config import ERM, TREE, A, B, Load

from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.layout import CHECKOUT

NEW: dict[str, Any] = {
    "a learner with another option": {
        "title": "T",
        "data": [A, B],
        "learners": ["kerhrm+k=3", "erm+steps=2"],
    },
    "other data": {"title": "T", "data": ["made+r2=0.9"], "learners": ["erm"]},
    "fewer seeds and another label": {
        "title": "T",
        "seeds": 1,
        "labels": {"r2": "r"},
        "data": {B: {"label": "one"}},
        "learners": ["erm", "kerhrm", "kerhrm+n_init=2"],
        "outputs": {"kerhrm": ["network"]},
    },
    "more cells of a group": {
        "title": "T",
        "data": [A],
        "learners": ["erm", "erm+steps=1", "erm+steps=2", "erm+steps=3"],
    },
    "a table that `all` makes, with cells of one that it does not": {
        "title": "T",
        "data": [f"{A}+n_test=20"],
        "learners": ["erm", "erm+learning_rate=0.3"],
    },
    "every criterion": {
        "title": "T",
        "data": [A, B],
        "learners": ["erm"],
        "select": ["own", "oracle", "none"],
    },
}


def cells(config: Config) -> list[tuple[str, str]]:
    """Data and learner of everything that tables train."""
    every = []
    for table in config.tables.values():
        every += table.cells
    return list(dict.fromkeys(every))


def jobs(config: Config, of: list[tuple[str, str]]) -> dict[str, Any]:
    """What jobs are given for some cells, and with which others they are trained."""
    together = {
        (group.data, learner): (group.rule, group.learners)
        for group in config.groups
        for learner in group.learners
    }
    return {
        f"{data}/{learner}": (
            config.data(data),
            config.data(data).replication.params(),
            config.learner(data, learner),
            config.learner(data, learner).params(),
            together.get((data, learner)),
        )
        for data, learner in of
    }


def assert_same_jobs(before: Config, after: Config) -> None:
    """All cells of ``before`` have the jobs that they had."""
    every = cells(before)
    assert jobs(after, every) == jobs(before, every)


@pytest.mark.parametrize("name", NEW)
def test_a_table_that_is_added_changes_no_job(load: Load, name: str) -> None:
    before = load()
    after = load(tables={"added": NEW[name]})
    assert set(cells(after)) >= set(cells(before))
    assert_same_jobs(before, after)


def test_a_table_that_all_makes_takes_no_cells_of_one_that_it_does_not(
    load: Load,
) -> None:
    data = {A: None, "made+r2=0.9": {}}
    select = ["own", "oracle", "none"]
    shown = {"data": data, "select": select}
    before = load(tables={"other": shown})
    added = {"title": "T", "data": ["made+r2=0.9"], "learners": ["erm"]}
    added["select"] = ["own", "oracle"]
    after = load(tables={"other": shown, "added": added})
    assert not before.tables["other"].in_all
    assert after.tables["added"].in_all
    assert_same_jobs(before, after)


def test_without_a_table_the_jobs_of_others_stay(load: Load) -> None:
    one = load(tables={"other": None}, choices={"start": None})
    assert len(cells(one)) == 4
    assert_same_jobs(one, load())


def test_a_cell_that_no_table_has_is_resolved_like_one_of_a_table(load: Load) -> None:
    """As a path on the command line names it."""
    alone = load()
    table = {"title": "T", "data": ["made"], "learners": ["erm"]}
    shown = load(tables={"new": table})
    assert alone.data("made") == shown.data("made")
    expected = shown.learner("made", "erm")
    assert alone.learner("made", "erm") == expected


def test_another_learner_changes_no_job(load: Load) -> None:
    before = load()
    new = {
        "method": "kerhrm",
        "titles": {"network": "New"},
        "options": {"k": 30},
    }
    after = load({"learners.yaml": {"new": new}})
    assert_same_jobs(before, after)


def test_the_order_in_which_cells_are_asked_for_is_none_of_them(load: Load) -> None:
    first, second = load(), load()
    every = cells(first)
    reversed_jobs = jobs(second, every[::-1])
    assert jobs(first, every) == reversed_jobs


def test_of_this_repository_another_table_changes_no_job() -> None:
    mechanism = {"title": "T", "data": ["classification+r2=0.7"]}
    mechanism["learners"] = ["kerhrm+k=20", "kerhrm+alpha=0.0", "erm"]
    before = load_config({"preset": "smoke"}, [], CHECKOUT)
    after = load_config({"preset": "smoke", "tables": {"added": mechanism}})
    n_before = len(cells(before))
    n_after = len(cells(after))
    assert n_before > 100
    assert n_after == n_before + 1
    assert_same_jobs(before, after)


def test_a_learner_that_a_table_gets_changes_no_job(load: Load) -> None:
    files = {"tables/one.yaml": {"select": ["own", "oracle", "none"]}}
    before = load(files)
    learners = ["erm+steps=2", "erm", "erm+steps=1", "kerhrm+k=2"]
    after = load(files, tables={"one": {"learners": learners}})
    assert_same_jobs(before, after)


def test_a_group_is_a_learner_by_several_criteria(load: Load) -> None:
    select = ["own", "oracle", "none"]
    config = load({"tables/one.yaml": {"select": select}})
    names = ("erm", "erm+select=oracle", "erm+select=none")
    groups = {(group.data, group.learners) for group in config.groups}
    assert groups == {(A, names), (B, names)}
    rules = {group.rule for group in config.groups}
    assert len(rules) == 2
    learners = ["erm+steps=1", "erm+steps=2"]
    of_data = {B: {"learners": learners}}
    given = load({"tables/one.yaml": {"learners": learners, "data": of_data}})
    assert given.groups == []


def test_a_group_keeps_its_rule_where_an_earlier_file_shows_its_cells(
    load: Load,
) -> None:
    select = ["own", "oracle", "none"]
    before = load({"tables/one.yaml": {"select": select}})
    earlier = {"title": "T", "data": [A], "learners": ["erm"], "select": select}
    files = {"tables/a.yaml": earlier, "tables/one.yaml": {"select": select}}
    after = load(files)
    assert next(iter(after.tables)) == "a"
    assert_same_jobs(before, after)


def test_a_group_keeps_its_cells_where_an_earlier_file_shows_some(load: Load) -> None:
    select = ["own", "oracle", "none"]
    before = load({"tables/one.yaml": {"select": select}})
    earlier = {"title": "T", "data": [A], "learners": ["erm"]}
    earlier["select"] = ["own", "none"]
    files = {"tables/a.yaml": earlier, "tables/one.yaml": {"select": select}}
    after = load(files)
    assert next(iter(after.tables)) == "a"
    assert_same_jobs(before, after)


def test_tables_with_some_criteria_share_cells_and_no_jobs(load: Load) -> None:
    shown = {"title": "T", "data": [f"{A}+n_test=20"], "learners": ["erm"]}
    later = shown | {"select": ["own", "oracle"]}
    earlier = shown | {"select": ["own", "none"]}
    of_user = load(tables={"later": later})
    assert_same_jobs(of_user, load(tables={"earlier": earlier, "later": later}))
    before = load({"tables/later.yaml": later})
    after = load({"tables/earlier.yaml": earlier, "tables/later.yaml": later})
    assert before.groups == []
    assert_same_jobs(before, after)


def test_a_table_of_the_user_groups_nothing(load: Load) -> None:
    """Else it would train cells again that a narrower table has trained."""
    shown = {"title": "T", "data": [f"{A}+n_test=20"], "learners": ["erm"]}
    before = load(tables={"narrow": shown})
    wide = shown | {"select": ["own", "oracle", "none"]}
    after = load(tables={"narrow": shown, "wide": wide})
    assert_same_jobs(before, after)


@pytest.mark.parametrize(
    "change",
    [
        None,
        {"select": ["own"]},
        {"select": ["own", "oracle"]},
        {"learners": ["erm+steps=1"], "data": {B: {"learners": ["kerhrm"]}}},
        {"learners": ["erm", "mine"], "select": ["own"], "data": {B: None}},
    ],
)
@pytest.mark.parametrize("place", ["further file", "config.yaml"])
def test_a_shipped_table_that_the_user_changes_changes_no_job(
    load: Load, change: dict[str, Any] | None, place: str
) -> None:
    """Nor does one that is left out; else cells of other tables train again."""
    select = ["own", "oracle", "none"]
    files = {"tables/one.yaml": {"select": select}}
    grid = {"steps": [10, 20]}
    mine = {"method": "erm", "titles": {"model": "Mine"}, "grid": grid}
    selected = {"pooled": {"steps": 10}, "oracle": {"steps": 20}}
    user: dict[str, Any] = {
        "learners": {"mine": mine},
        "selected": {"made": {"mine": selected}},
    }
    shown = {"title": "T", "data": [A], "learners": ["erm", "mine"], "select": select}
    tables: dict[str, Any] = {"new": shown, "one": {"learners": ["erm", "mine"]}}
    before = load(files, **user, tables=tables)
    tables["one"] = change
    if place == "config.yaml":
        files["config.yaml"] = {"tables": tables, **user}
        after = load(files)
    else:
        after = load(files, **user, tables=tables)
    shared = [(A, "erm"), (A, "erm+select=oracle")]
    if change is not None and "mine" in change.get("learners", ()):
        shared.append((A, "mine"))
    assert {*shared} <= {*cells(after)}
    of_before = jobs(before, shared)
    assert jobs(after, shared) == of_before
    for *_, together in of_before.values():
        assert together is not None


@pytest.mark.parametrize(
    "of_preset",
    [
        {"learners": {"mine": {"options": {"steps": 3}}}},
        {"tables": {"new": {"seeds": 1}}},
        {"data": {"line": {"options": {"n_test": 9}}}},
        {"data": {"made": {"tuning": {"seeds": 1}}}, "choices": {"c": {"title": "C"}}},
    ],
)
def test_a_preset_may_change_what_a_file_of_the_user_adds(
    load: Load, of_preset: dict[str, Any]
) -> None:
    select = ["own", "oracle", "none"]
    made = TREE["data/made.yaml"] | {"tuning": None}
    files = {"tables/one.yaml": {"select": select}, "data/made.yaml": made}
    before = load(files)
    files["presets/paper.yaml"] = of_preset
    line = {"title": "L", "generator": "classification", "seeds": 2}
    choice = TREE["choices.yaml"]["start"] | {"alternatives": [], "unmeasured": "no"}
    after = load(
        files,
        data={"line": line, "made": {"tuning": {"data": [A]}}},
        learners={"mine": ERM},
        tables={"new": {"title": "T", "data": ["line", A], "learners": ["mine"]}},
        choices={"c": choice},
    )
    assert before.groups
    assert_same_jobs(before, after)


def test_a_shipped_table_without_its_data_groups_the_others(load: Load) -> None:
    select = ["own", "oracle", "none"]
    files = {
        "tables/one.yaml": {"select": select},
        "data/line.yaml": {
            "title": "L",
            "generator": "classification",
            "seeds": 2,
            "select_on": "made",
        },
        "tables/new.yaml": {
            "title": "T",
            "data": ["line", A],
            "learners": ["erm"],
            "select": select,
        },
    }
    before = load(files)
    after = load(files, data={"line": None}, tables={"new": None, "one": None})
    of_a = [group for group in before.groups if group.data == A]
    assert of_a
    assert [group for group in after.groups if group.data == A] == of_a


def test_data_that_differ_in_a_sign_have_two_rules(load: Load) -> None:
    data = ["line+r=2.0", "line+r=-2.0"]
    changes: dict[str, Any] = {
        "data/line.yaml": {
            "title": "L",
            "generator": "regression",
            "seeds": 2,
            "select_on": "made",
        },
        "learners.yaml": {"erm": {"options": {"evaluate_every": 1}}},
        "tables/new.yaml": {
            "title": "T",
            "data": data,
            "learners": ["erm"],
            "select": ["own", "oracle", "none"],
        },
    }
    groups = [group for group in load(changes).groups if group.data in data]
    rules = {group.rule for group in groups}
    assert len(rules) == 2


def groups_of_kerhrm(config: Config) -> list[tuple[str, ...]]:
    """Learners of each group that begins with one of KerHRM's."""
    learners = [group.learners for group in config.groups]
    return [names for names in learners if "kerhrm" in names[0]]


def test_learners_whose_iterations_are_jobs_are_in_no_group(load: Load) -> None:
    tuned = {"kerhrm": {"grid": {"alpha": [1.0, 2.0]}}}
    criteria = {"worst_inferred": {"alpha": 1.0}, "oracle": {"alpha": 2.0}}
    selected = {"kerhrm": criteria}
    changes: dict[str, Any] = {
        "learners.yaml": tuned,
        "selected/made.yaml": selected,
        "tables/one.yaml": {"select": ["own", "oracle", "none"]},
    }
    names = ("kerhrm+select=oracle", "kerhrm+select=none")
    assert groups_of_kerhrm(load(changes)) == [names]
    off = {"kerhrm": {"checkpoint_iterations": False}}
    without_checkpoints = load(changes, learners=off)
    assert groups_of_kerhrm(without_checkpoints) == [("kerhrm", *names)]


def test_a_search_trains_candidates_of_one_base_together(load: Load) -> None:
    config = load(preset="tuning")
    (group,) = config.groups
    assert group.data == A
    assert len(group.learners) == 4
    cells_of_group = {(A, name) for name in group.learners}
    assert set(config.searches["made"].cells) == cells_of_group
