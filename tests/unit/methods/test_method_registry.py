"""Names, rules and order of the tables' rows."""

import math
import subprocess
import sys

import pytest

from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import (
    METHODS,
    ORACLE,
    POOLED,
    ROWS,
    TRACKS,
    WORST_LEARNED,
    WORST_VALIDATION,
    is_headline,
    position,
    row_titled,
    tunable,
)
from kerhrm.scoring.rules import RULES


def test_rows_are_unique_and_references_are_called_so() -> None:
    rows = [row for method in METHODS.values() for row in method.rows]
    for of in (rows, list(ROWS.values())):
        assert len({row.stem for row in of}) == len(of)
        titles = [row.title for row in of if row.chosen]
        assert len(set(titles)) == len(titles)
    for stem, row in ROWS.items():
        assert stem == row.stem
        assert row.track in TRACKS
        assert row.title.startswith("ref: ") == (row.track == "reference")
        assert (row_titled(row.title) is row) == row.chosen


def test_a_file_of_other_rules_choices_alone_goes_with_the_own_ones() -> None:
    """Of the same title, track and rule, so that a table shows the rules side by side."""
    others = [row for row in ROWS.values() if not row.chosen]
    assert {row.stem for row in others} == {"kerhrm_grid", "kerhrm_grid-ntf"}
    for row in others:
        own = row_titled(row.title)
        assert own.chosen
        assert (own.track, own.rule) == (row.track, row.rule)
    assert {row_titled(row.title).stem for row in others} == {"kerhrm-network", "kerhrm-ntf"}


def test_a_methods_file_has_its_name() -> None:
    for name, method in METHODS.items():
        assert method.name == name
        if method.reads != "kerhrm":
            stems = [name, f"{name}-ntf"] if method.reads == "whole" else [name]
            assert [row.stem for row in method.rows] == stems


def test_what_is_tuned_has_a_rule_that_sees_no_test_data() -> None:
    assert tunable() == [
        "erm", "dro", "eiil", "hrm", "irm", "kerhrm_grid", "iga", "true_environments", "grayscale"
    ]  # fmt: skip
    for name in tunable():
        rule = RULES[METHODS[name].rule]
        assert "test" not in rule.samples
        assert METHODS[name].labels == (rule.environments == "true")


def test_a_method_has_the_rules_that_it_can_have() -> None:
    """Pooled validation always, others where their environments are known; never test data."""
    for method in METHODS.values():
        first, *others = method.rules
        assert first == method.rule
        assert ORACLE not in method.rules
        assert POOLED in method.rules
        assert (WORST_VALIDATION in method.rules) == method.labels
        if method.grid:
            assert (WORST_LEARNED in method.rules) == method.infers
            assert set(method.rules) <= set(RULES)
        assert first not in others
    infer = [name for name, method in METHODS.items() if method.infers]
    assert infer == ["eiil", "hrm", "kerhrm_grid"]


def test_every_method_gets_as_many_option_sets() -> None:
    """Eight: a grid, or a draw from one that is larger; steps on a path are among them."""
    for name in tunable():
        method = METHODS[name]
        combinations = math.prod(map(len, method.grid.values()))
        assert combinations >= 8, name
        if method.path:
            assert method.path in load(method.choice or method.options).model_fields
        for values in method.grid.values():
            assert len(set(values)) == len(values) > 1


def test_a_choice_is_laid_over_kerhrms_options() -> None:
    for method in METHODS.values():
        if method.choice:
            assert method.grid
            assert method.options == METHODS["kerhrm"].options
            assert load(method.choice)().of(load(method.options)()).k == [15]


def test_a_method_needs_only_what_is_there() -> None:
    for method in METHODS.values():
        assert not method.needs or method.needs in METHODS
        assert method.section in METHODS


def test_the_registry_is_light() -> None:
    """The schema imports it, and with it the options of all methods."""
    code = (
        "import sys; from kerhrm.entries import load; from kerhrm.methods.registry import METHODS;"
        "[load(entry) for m in METHODS.values() for entry in (m.options, m.choice) if entry];"
        "sys.exit(', '.join({'torch', 'numpy', 'pandas', 'scipy'} & sys.modules.keys()) or None)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("title", "rule"),
    [
        ("ERM", "pooled validation"),
        ("HRM", "pooled validation"),
        ("IRM", "worst validation environment"),
        ("KerHRM (NTF)", "worst learned environment"),
        ("KerHRM (released)", "as released"),
        ("ref: KerHRM with true environments", "worst validation environment"),
        ("ref: Bayes pooled", "none"),
    ],
)
def test_a_headline_row_is_chosen_by_the_methods_own_rule(title: str, rule: str) -> None:
    assert is_headline(title, rule)
    rules = {row.rule for row in ROWS.values()} | {ORACLE}
    assert [r for r in rules if is_headline(title, r)] == [rule]


def test_no_methods_own_rule_looks_at_test_data() -> None:
    assert not any(is_headline(row.title, ORACLE) for row in ROWS.values())


def test_the_papers_methods_come_first_and_the_released_last() -> None:
    tracks = [r.track for r in sorted(ROWS.values(), key=lambda r: position(r.title))]
    changes = [t for i, t in enumerate(tracks) if i == 0 or t != tracks[i - 1]]
    assert changes == ["described", "reference", "released"]
    assert position("ERM") < position("IRM") < position("KerHRM (NTF)")
    last = ("perfect invariant model", "majority", "predict the mean", "least squares")
    assert sorted(last, key=lambda title: position(f"ref: {title}")) == list(last)


def test_an_unknown_method_is_told() -> None:
    with pytest.raises(KerhrmError, match="no method is called 'EMR'; known are: ERM, DRO"):
        row_titled("EMR")
