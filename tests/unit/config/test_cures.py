"""The cure in an error of a value that does not fit, and that it works."""

from typing import Any

import pytest
from refusals import refusal
from small_config import ERM, A, B, Load, options, refused

from kerhrm_paper.config.strict_yaml import parse

TABLE = {"title": "T", "data": [A], "learners": ["erm"]}


@pytest.mark.parametrize(
    ("value", "cure"),
    [
        (None, "write [{OPTION: VALUE}]"),
        ([], "write [{OPTION: VALUE}], or delete the line"),
        ({}, "write [{OPTION: VALUE}]"),
        ({"steps": 3}, "write [{steps: 3}]"),
        ({"steps": [3, 4]}, "write grid: {steps: [3, 4]}"),
    ],
)
@pytest.mark.parametrize("at", [False, True])
def test_candidates_are_a_list_of_options(
    load: Load, value: Any, cure: str, at: bool
) -> None:
    """An empty one tries nothing: it was taken without a word."""
    tried = {"candidates": value}
    error = refused(load, {"learners": {"erm": {"at": {B: tried}} if at else tried}})
    place = f"at.{B}.candidates" if at else "candidates"
    assert str(error).startswith(f"mine.yaml: learners.erm.{place}")
    assert error.hint == cure


@pytest.mark.parametrize(
    ("value", "cure"), [(5, "'5'"), (0.5, "'0.5'"), (True, "'true'"), (-3, "'-3'")]
)
def test_a_text_that_yaml_reads_as_another_value_is_quoted(
    load: Load, value: Any, cure: str
) -> None:
    error = refused(load, {"labels": {"r2": value}})
    assert str(error) == (
        f"mine.yaml: labels.r2 = {value!r}: must be a valid string; write {cure}"
    )
    assert load(labels={"r2": parse(cure)})


@pytest.mark.parametrize(
    ("key", "value", "cure"),
    [
        ("title", None, "write title: TEXT"),
        ("title", ["a"], "write title: TEXT"),
        ("learners", None, "write [NAME]"),
        ("learners", {"erm": {}, "kerhrm": {}}, "write [erm, kerhrm]"),
    ],
)
def test_other_values_have_a_cure(load: Load, key: str, value: Any, cure: str) -> None:
    error = refused(load, {"tables": {"new": TABLE | {key: value}}})
    assert str(error).startswith(f"mine.yaml: tables.new.{key}")
    assert error.hint == cure


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (TABLE, "title"),
        ({"data": [A], "learners": ["erm"]}, "data"),
        ({"learners": ["erm"]}, "learners"),
        ({"about": "x"}, "about"),
    ],
)
def test_the_keys_of_a_table_are_not_at_the_top(
    load: Load, content: dict[str, Any], key: str
) -> None:
    error = refused(load, content)
    assert str(error).startswith(f"mine.yaml: {key} = ")
    assert error.hint == f"it is of a table: tables: {{TABLE: {{{key}: ...}}}}"


@pytest.mark.parametrize(
    ("kind", "name", "change", "missing"),
    [
        ("tables", "other", {"seeds": 3}, "title"),
        ("learners", "erm", {"options": {"steps": 3}}, "method"),
    ],
)
def test_what_a_preset_leaves_out_is_not_changed(
    load: Load, kind: str, name: str, change: dict[str, Any], missing: str
) -> None:
    changes = {"presets/paper.yaml": {kind: {name: None}}}
    cure = f"delete the null there, or add {missing}: ..."
    with refusal(f"config/presets/paper.yaml leaves '{name}' out; {cure}"):
        load(changes, **{kind: {name: change}})
    load({"presets/paper.yaml": {}}, **{kind: {name: change}})


@pytest.mark.parametrize(
    "tried", [{"grid": {"steps": [15]}}, {"candidates": [{"steps": 15}]}]
)
@pytest.mark.parametrize("at", [False, True])
def test_a_single_candidate_is_the_option(
    load: Load, tried: dict[str, Any], at: bool
) -> None:
    """As a grid of one value is, over what was selected."""
    assert options(load(), "erm")["steps"] == 20
    given = {"at": {A: tried}} if at else tried
    assert options(load(learners={"erm": given}), "erm")["steps"] == 15
    new = {"new": ERM | given}
    assert options(load(learners=new), "new")["steps"] == 15
    assert options(load({"learners.yaml": new}), "new")["steps"] == 15
