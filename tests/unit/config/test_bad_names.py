"""Names in files that mean nothing are refused in one line with the nearest one."""

import re
from typing import Any

import pytest
from refusals import refusal
from small_config import TREE, A, Load, refused

from kerhrm.errors import KerhrmError

NAMES = [
    # data of a table, or a learner; what is told
    ("made+r3=0.7", "no option is called 'r3'"),
    ("made+R2=0.7", "did you mean 'r2'?"),
    ("Made", "did you mean 'made'?"),
    ("maed+r2=0.7", "did you mean 'made'?"),
    ("made+r2=0.70", "write made+r2=0.7"),
    ("made+r2=x", "r2=x: it must be a number"),
    ("made+r2=1.5", "r2: must be less than or equal to 1"),
    ("made+r2=", "r2 has no value"),
    ("made+", "an option is missing behind a +"),
    ("made+r2=0.7+r2=0.8", "r2 is given twice"),
    ("made+d=3+r2=0.7", "write made+r2=0.7+d=3"),
    ("made+k=5", "no option is called 'k'"),
    ("made+..", "must be a name"),
    ("../made", "must be a name"),
    ("made/r2=0.7", "write made+r2=0.7"),
    ("made+r2=0.7/erm", "is a cell of two names; write data and learner apart"),
    ("made+r2=0.7/erm+steps=1", "is a cell of two names"),
    ("made/", "is a cell of two names"),
    ("erm/", "is a cell of two names"),
    ("made+r3=0,7", "no option is called 'r3'"),
    ("made+n_test=1,000", "n_test=1,000: it must be a whole number"),
    ("made+scramble=a,b", "scramble=a,b: it must be one of fixed, per_seed, identity"),
    ("made+network=1,5", "no option is called 'network'"),
    ("maed+r2=0,7", "no data set is called 'maed'; did you mean 'made'?"),
    ("erm+select=own,oracle", "select=own,oracle: it has no spelling in a name"),
    ("kerhrm+pretest=0,1", "pretest is a group; write pretest=none, or one of it"),
    ("made+r2=" + "7" * 300, "has 308 characters, more than 100"),
    ("made+seeds=0", "seeds: must be greater than 0"),
    ("made+crossed=21", "crossed: must be less than or equal to 20"),
    ("made+crossed=2+seeds=3", "crossed says how many seeds there are"),
    ("made+features.k=0", "features.k: must be greater than 0"),
    (
        "made+network.widths=8+network.module=kerhrm.networks.modules.small_cnn",
        "has widths of its own; leave network.widths out",
    ),
    ("erm+stepz=1", "did you mean 'steps'?"),
    ("erm+rho=0.1", "no option is called 'rho'"),  # of another learner
    ("ermm+steps=1", "did you mean 'erm'?"),
    ("ERM", "did you mean 'erm'?"),
    ("erm+steps=010", "write erm+steps=10"),
    ("erm+steps=0", "steps: must be greater than 0"),
    ("erm+select=orcale", "erm has no criterion 'orcale'; did you mean 'oracle'?"),
    ("erm+select=worst_inferred", "known are: pooled, oracle, none"),
    ("erm+select_on=maed", "no data set is called 'maed'; did you mean 'made'?"),
    ("kerhrm+select=oracle", "nothing is selected for kerhrm; leave select out"),
    ("kerhrm+select_on=made", "nothing is selected for kerhrm; leave select_on out"),
    ("kerhrm+k=6", f"{A} has 5 features; lower it, or name data with features.k=6"),
    ("kerhrm+method=erm", "no option is called 'method'"),
    ("kerhrm+selection=pooled", "no option is called 'selection'; it is stop_by now"),
]


def test_an_option_of_a_group_that_is_left_out_is_refused(load: Load) -> None:
    """Also two groups deep."""
    auxiliary = {"method": "kerhrm_auxiliary", "titles": {"linear": "Z"}}
    learners = ["z+training=none+training.pretest.level=0.1"]
    table = {"title": "T", "data": [A], "learners": learners}
    changes = {"learners": {"z": auxiliary}, "tables": {"new": table}}
    told = "training=none leaves training.pretest.level out"
    assert told in str(refused(load, changes))


def test_what_tables_call_an_option_is_told_its_name(load: Load) -> None:
    table = {"title": "T", "data": [A], "learners": ["kerhrm+K=3"]}
    changes = {"labels": {"n_environments": "K"}, "tables": {"new": table}}
    told = (
        "no option is called 'K'; tables call n_environments so: write n_environments="
    )
    assert told in str(refused(load, changes))


@pytest.mark.parametrize(("name", "told"), NAMES)
def test_a_bad_name_is_refused_in_one_line(load: Load, name: str, told: str) -> None:
    table: dict[str, Any] = {"title": "T", "data": [A], "learners": ["kerhrm"]}
    base, _, _ = name.casefold().partition("+")
    is_data = "made" in base or name.startswith("maed")
    kind = "data" if is_data else "learners"
    table[kind] = [name]
    error = refused(load, {"tables": {"new": table}})
    assert str(error).startswith(f"mine.yaml: tables.new.{kind}")
    assert told in str(error)
    config = load()
    cell = (name, "kerhrm") if kind == "data" else (A, name)
    with pytest.raises(KerhrmError) as asked:  # as a path on the command line
        config.learner(*cell)
    assert told in str(asked.value)


AS_IN = "numbers of a list are joined by _, as in"
COMMAS = [
    # a name, what is told, and the name that the hint ends with
    ("made+r2=0,7", "write", "made+r2=0.7"),
    ("made+r2=0,70", "write", "made+r2=0.7"),
    ("made+r2=0,7+d=3", "write", "made+r2=0.7+d=3"),
    ("made+r2=0,7+r_test=0,1_0,9", "write", "made+r2=0.7+r_test=0.1_0.9"),
    ("made+r_test=0,1", AS_IN, "made+r_test=0.0_1.0"),
    ("made+r_test=0.1,0.2", AS_IN, "made+r_test=0.1_0.2"),
    (
        "made+r2=0,7+r_test=0.1,0.2",
        AS_IN,
        "made+r2=0.7+r_test=0.1_0.2",
    ),
    ("kerhrm+alpha=0,1_1,0", "write", "kerhrm+alpha=0.1_1.0"),
    ("kerhrm+k=2,05", AS_IN, "kerhrm+k=2_5"),
    ("kerhrm+k=2,3_4", "write", "kerhrm+k=2_3_4"),
]


@pytest.mark.parametrize(("name", "told", "cured"), COMMAS)
def test_commas_are_decimal_or_of_a_list(
    load: Load, name: str, told: str, cured: str
) -> None:
    """And the hint's name is one."""
    kind = "data" if name.startswith("made") else "learners"
    table: dict[str, Any] = {"title": "T", "data": [A], "learners": ["kerhrm"]}
    error = refused(load, {"tables": {"new": table | {kind: [name]}}})
    assert str(error).endswith(f"'{name}' must be a name; {told} {cured}")
    assert load(tables={"new": table | {kind: [cured]}})


@pytest.mark.parametrize(
    ("data", "name", "cured"),
    [
        (f"{A}+features.k=3", "kerhrm", "kerhrm+k=3"),
        (f"{A}+features.k=3", "kerhrm+select=oracle", "kerhrm+k=3+select=oracle"),
        (f"{A}+features.n_landmarks=3", "kerhrm", "kerhrm+k=3"),
        ("line", "irm+select_on=made", "irm+loss=squared+select_on=made"),
    ],
)
def test_of_a_selected_option_the_name_is_corrected(
    load: Load, data: str, name: str, cured: str
) -> None:
    """Not the file, which says what was selected."""
    grid = {"grid": {"alpha": [1.0, 2.0]}}
    irm = {"method": "irm", "titles": {"model": "IRM"}}
    irm["grid"] = {"loss": ["squared", "logistic"]}
    line = {"title": "L", "generator": "regression", "seeds": 1}
    changes: dict[str, Any] = {
        "data/line.yaml": line,
        "learners.yaml": {"kerhrm": grid | {"options": {"k": 2}}, "irm": irm},
        "selected/made.yaml": {
            "kerhrm": {"worst_inferred": {"k": 4}, "oracle": {"k": 5}},
            "irm": {"worst_true": {"loss": "logistic"}},
        },
    }
    config = load(changes)
    with pytest.raises(KerhrmError) as error:
        config.learner(data, name)
    assert str(error.value).startswith(f"{data}/{name}: selected ")
    assert str(error.value.hint).startswith(f"name {cured}")
    config.learner(data, cured)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("tabels", "did you mean 'tables'?"),
        ("Tables", "did you mean 'tables'?"),
        ("dataset", "did you mean 'data'?"),
        ("tasks", "did you mean 'task'?"),
        ("select", "it is of a table: tables: {TABLE: {select: ...}}"),
    ],
)
def test_a_key_at_the_top_is_compared_with_all(load: Load, key: str, told: str) -> None:
    error = refused(load, {key: {}})
    assert str(error) == f"mine.yaml: {key}: no such key; {told}"


def test_a_kernel_that_no_machine_holds_is_one_of_the_name(load: Load) -> None:
    """Of the file, where the name has no options."""
    data = "made+n_train_per_environment=20000"
    landmarks = "features.n_landmarks=8000"
    hint = f"name data with {landmarks}"
    with refusal(f"^{re.escape(data)}: n=40000 training .*; {hint}"):
        load().learner(data, "kerhrm")
    load().learner(f"{data}+{landmarks}", "kerhrm")
    made = {"options": {"n_train_per_environment": 20000}}
    table = {"title": "T", "data": ["made"], "learners": ["kerhrm"]}
    tables = {"one": None, "other": None, "new": table}
    with refusal(r"made.yaml: features: n=40000 .*; set features: {n_landmarks: 8000}"):
        load({"data/made.yaml": made}, tables=tables, choices={"start": None})


def test_a_generator_that_no_file_makes_a_data_set_is_hinted_at(load: Load) -> None:
    table = {"title": "T", "data": ["houses"], "learners": ["erm"]}
    error = refused(load, {"tables": {"new": table}})
    assert "no data set is called 'houses'" in str(error)
    assert error.hint == "write config/data/houses.yaml, or data: {houses: ...}"


@pytest.mark.parametrize(
    ("file", "kind", "name"),
    [("data/made.yaml", "data", "made"), ("tables/one.yaml", "tables", "one")],
)
def test_a_file_of_one_entry_has_its_keys_at_the_top(
    load: Load, file: str, kind: str, name: str
) -> None:
    with pytest.raises(KerhrmError) as error:
        load(changes={file: {kind: {name: TREE[file]}}})
    assert str(error.value).startswith(f"config/{file}: {kind}: no such key")
    assert error.value.hint == f"write the keys of '{name}' without {kind}: above them"


@pytest.mark.parametrize(
    "condition",
    ["made/r2=0.7", "made/*", "made*", "made+r2=0.7*", "made+r3=1", "made+seeds=2"],
)
def test_a_condition_is_a_name_of_data(load: Load, condition: str) -> None:
    of_condition = {condition: {"options": {"steps": 1}}}
    content = {"learners": {"erm": {"at": of_condition}}}
    error = refused(load, content)
    assert str(error).startswith(f"mine.yaml: learners.erm.at.{condition}: ")
    if "*" in condition:
        assert error.hint == "write DATA+option=value, or DATA for all of its data"
    if condition == "made/r2=0.7":
        assert error.hint == "write made+r2=0.7"


def test_conditions_of_data_are_of_the_same_data(load: Load) -> None:
    other = TREE["data/made.yaml"] | {"at": {}, "tuning": None}
    made = {"at": {"other": {}}}
    content = {"data": {"other": other, "made": made}}
    error = refused(load, content)
    assert "data.made.at.other: these are other data; write made+..." in str(error)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("other", "no data set is called 'other'"),
        ("made+r3=1", "no option is called 'r3'"),
        (f"{A}/ermm", "did you mean 'erm'?"),
        (f"{A}/erm/x", "must be a name"),
        (f"{A}/", "must be a name"),
        (f"{A}+seeds=3", "seeds is no part of a key of seeds; leave it out"),
        (f"{A}+crossed=2/erm", "crossed is no part of a key of seeds"),
    ],
)
def test_seeds_are_of_cells_that_can_be(load: Load, place: str, told: str) -> None:
    seeds = {"made": 2, place: 4}
    changes = {"data/made.yaml": {"seeds": seeds}}
    with pytest.raises(KerhrmError) as error:
        load(changes)
    assert str(error.value).startswith(f"config/data/made.yaml: seeds.{place} = 4: ")
    assert told in str(error.value)


FEW = "made+n_train_per_environment=2"


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (
            f"{A}+features.k=3",
            "name kerhrm+k=3, or lower it in a file of yours, or name data with "
            "features.k=5",
        ),
        (
            f"{A}+features.n_landmarks=3",
            "name kerhrm+k=3, or lower it in a file of yours, or name data with "
            "features.n_landmarks=5 or more",
        ),
        (FEW, "name data with features.k=4 or less, or raise n_train_per_environment"),
        (
            f"{FEW}+features.k=4",
            "name kerhrm+k=4, or lower it in a file of yours, or raise "
            "n_train_per_environment",
        ),
    ],
)
def test_an_option_of_a_shipped_file_is_lowered_by_a_name(
    load: Load, data: str, hint: str
) -> None:
    config = load()
    with pytest.raises(KerhrmError) as error:
        config.learner(data, "kerhrm")
    assert error.value.hint == hint
    k = 4 if data.startswith(FEW) else 3
    cured = f"{FEW}+features.k=4" if data == FEW else data
    config.learner(cured, f"kerhrm+k={k}")
    lowered = {"kerhrm": {"options": {"k": k}}}
    load(learners=lowered).learner(cured, "kerhrm")


def test_an_option_of_the_users_is_lowered_where_it_stands(load: Load) -> None:
    learners = {"kerhrm": {"options": {"k": 6}}}
    with refusal("^--config: learners.kerhrm.options.k = 6: .*; lower it, or name"):
        load(learners=learners)
    with refusal("exceeds n=80 points; lower it, or raise n_train_per_environment$"):
        load().learner(A, "kerhrm+n_environments=81")


def test_the_option_of_rows_is_that_of_the_data(load: Load) -> None:
    line = {"title": "L", "generator": "regression", "seeds": 1}
    config = load({"data/line.yaml": line})
    few = "line+n_train=20_10+features.k=10"
    with refusal("exceeds n=30 points; lower it, or raise n_train$"):
        config.learner(few, "kerhrm+n_environments=31")
