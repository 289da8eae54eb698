"""Names, rules and order of the tables' rows."""

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.reporting.methods import METHODS, ORACLE, is_headline, method_named, position


def test_names_are_unique_and_references_are_called_so() -> None:
    names = [method.name for method in METHODS.values()]
    assert len(set(names)) == len(names)
    for method in METHODS.values():
        assert method.name.startswith("ref: ") == (method.track == "reference")
        assert method_named(method.name) is method


@pytest.mark.parametrize(
    ("name", "rule"),
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
def test_a_headline_row_is_chosen_by_the_methods_own_rule(name: str, rule: str) -> None:
    assert is_headline(name, rule)
    rules = {method.rule for method in METHODS.values()} | {ORACLE}
    assert [r for r in rules if is_headline(name, r)] == [rule]


def test_no_methods_own_rule_looks_at_test_data() -> None:
    assert not any(is_headline(method.name, ORACLE) for method in METHODS.values())


def test_the_papers_methods_come_first_and_the_released_last() -> None:
    tracks = [m.track for m in sorted(METHODS.values(), key=lambda m: position(m.name))]
    changes = [t for i, t in enumerate(tracks) if i == 0 or t != tracks[i - 1]]
    assert changes == ["described", "reference", "released"]
    assert position("ERM") < position("IRM") < position("KerHRM (NTF)")


def test_an_unknown_method_is_told() -> None:
    with pytest.raises(KerhrmError, match="no method is called 'EMR'; known are: ERM, DRO"):
        method_named("EMR")
