"""Names, rules and order of the tables' rows."""

import subprocess
import sys

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import (
    METHODS,
    ORACLE,
    ROWS,
    TRACKS,
    is_headline,
    position,
    row_titled,
    tunable,
)
from kerhrm.scoring.rules import RULES


def test_rows_are_unique_and_references_are_called_so() -> None:
    rows = [row for method in METHODS.values() for row in method.rows]
    for of in (rows, ROWS.values()):
        for attribute in ("stem", "title"):
            names = [getattr(row, attribute) for row in of]
            assert len(set(names)) == len(names)
    for stem, row in ROWS.items():
        assert stem == row.stem
        assert row.track in TRACKS
        assert row.title.startswith("ref: ") == (row.track == "reference")
        assert row_titled(row.title) is row


def test_a_methods_file_has_its_name() -> None:
    for name, method in METHODS.items():
        assert method.name == name
        if method.reads != "kerhrm":
            stems = [name, f"{name}-ntf"] if method.reads == "whole" else [name]
            assert [row.stem for row in method.rows] == stems


def test_what_is_tuned_has_a_rule_that_sees_no_test_data() -> None:
    assert tunable() == ["dro", "eiil", "hrm", "irm", "iga"]
    for name in tunable():
        rule = RULES[METHODS[name].rule]
        assert rule.sample == "validation"
        assert METHODS[name].labels == (rule.name == "worst validation environment")


def test_a_method_needs_only_what_is_there() -> None:
    for method in METHODS.values():
        assert not method.needs or method.needs in METHODS
        assert method.section in METHODS


def test_the_registry_is_light() -> None:
    """The schema imports it, and with it the options of all methods."""
    code = (
        "import sys; from kerhrm.entries import load; from kerhrm.methods.registry import METHODS;"
        "[load(m.options) for m in METHODS.values()];"
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
