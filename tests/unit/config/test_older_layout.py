"""Keys of the older layout are refused with their new text."""

from typing import Any

import pytest
from small_config import A, Load, refused

ALTERNATIVE = {"to": "x", "where": ["made"], "learner": "kerhrm+n_init=1"}


ENDED: list[tuple[dict[str, Any], str]] = [
    ({"learners": {"new": {"like": "erm"}}}, "LEARNER+option=value in a table"),
    ({"learners": {"erm": {"mark": "M"}}}, "labels: {option: SYMBOL}"),
    ({"learners": {"erm": {"criteria": "own"}}}, "write select: [own,"),
    ({"learners": {"erm": {"selected": "x"}}}, "LEARNER+select=none, or LEARNER+"),
    ({"learners": {"kerhrm": {"steps": True}}}, "write checkpoint_iterations: true"),
    ({"data": {"made": {"settings": {"a": {}}}}}, "DATA+option=value"),
    ({"data": {"made": {"more_seeds": {"seeds": 5}}}}, "write seeds: {DATA: 5,"),
    ({"data": {"made": {"selected_from": "x"}}}, "write select_on: DATA"),
    ({"data": {"made": {"criteria": "own"}}}, "write select: [own,"),
    ({"data": {"made": {"candidates": []}}}, "write it in learners.yaml"),
    ({"data": {"made": {"seeds": [0, 1]}}}, "write seeds: NUMBER"),
    ({"data": {"made": {"tuning": {"settings": ["a"]}}}}, "DATA+option=value"),
    ({"data": {"made": {"tuning": {"n_seeds": 2}}}}, "write seeds: NUMBER"),
    ({"tables": {"one": {"settings": ["made/a"]}}}, "DATA+option=value"),
    ({"tables": {"one": {"marks": {"erm": "M"}}}}, "labels: {option: SYMBOL}"),
    ({"tables": {"one": {"criteria": "own"}}}, "write select: [own,"),
    ({"tables": {"one": {"candidates": []}}}, "write it in learners.yaml"),
    ({"tables": {"one": {"data": {A: {"mark": "M"}}}}}, "labels: {option: SYMBOL}"),
    (
        {"tables": {"one": {"outputs": {"kerhrm*": ["linear"]}}}},
        "write LEARNER for all names that begin with it",
    ),
    (
        {"tables": {"new": {"title": "T", "settings": ["made/a"]}}},
        "DATA+option=value",
    ),
    ({"settings": ["made/a"]}, "DATA+option=value"),
    ({"like": "erm"}, "LEARNER+option=value in a table"),
    ({"marks": {}}, "labels: {option: SYMBOL}"),
    ({"criteria": "own"}, "write select: [own,"),
]


@pytest.mark.parametrize(("content", "told"), ENDED)
def test_a_key_of_the_older_layout_is_refused_with_its_new_text(
    load: Load, content: dict[str, Any], told: str
) -> None:
    error = refused(load, content)
    assert str(error).startswith("mine.yaml: ")
    assert told in (error.hint or "")


def test_options_of_a_learner_are_not_taken_for_older_keys(load: Load) -> None:
    """As a grid's `steps`, which ERM has and KerHRM has under no such name."""
    for options, told in (
        ({"selection": "pooled"}, "KerHRM's selection is stop_by now"),
        ({"set": 1}, None),
        ({"mark": 1}, None),
    ):
        learners = {"kerhrm": {"options": options}}
        error = refused(load, {"learners": learners})
        if told:
            assert error.hint == told
        else:
            assert "learner: LEARNER" not in (error.hint or "")
            assert "labels:" not in (error.hint or "")


@pytest.mark.parametrize("key", ["mark", "set", "selection"])
def test_an_alternative_of_the_older_layout_is_refused(load: Load, key: str) -> None:
    alternatives = [{**ALTERNATIVE, key: 1}]
    choice = {"alternatives": alternatives}
    content = {"choices": {"start": choice}}
    error = refused(load, content)
    place = f"choices.start.alternatives.0.{key}"
    assert str(error).startswith(f"mine.yaml: {place} = 1: ")
    assert error.hint


def test_criteria_have_names_of_one_word(load: Load) -> None:
    criteria = {"pooled validation": {"steps": 20}}
    content = {"selected": {"made": {"erm": criteria}}}
    error = refused(load, content)
    place = "selected.made.erm.pooled validation"
    assert f"{place}: must be 'own', 'pooled'" in str(error)
