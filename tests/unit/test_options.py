"""Options are refused in one line that names the key."""

import re
from typing import Any

import pytest
from pydantic import ValidationError
from refusals import refusal

from kerhrm.errors import suggest
from kerhrm.options import (
    Count,
    Entry,
    Options,
    Some,
    option,
)
from kerhrm_paper.config.fields import nearest


class Example(Options):
    """Options of a method."""

    steps: Count = option(1, "of training")
    alpha: Some[float] = option([1.0], "weights")
    module: Entry | None = option(None, "a function")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"steps": 0}, "a.yaml: erm.steps=0: must be greater than 0"),
        ({"steps": True}, "a.yaml: erm.steps=True: write a number"),
        ({"alpha": []}, r"a.yaml: erm.alpha=\[\]: "),
        ({"alpha": [1, "x"]}, "a.yaml: erm.alpha.1='x': must be a valid number"),
        ({"step": 3}, r"a.yaml: erm.step: no such key; did you mean 'steps'\?"),
        ({"module": "nowhere:f"}, "a.yaml: erm.module='nowhere:f': cannot load"),
    ],
)
def test_errors_are_one_line_with_the_key(values: dict[str, Any], message: str) -> None:
    with refusal(message) as caught:
        Example.parse(values, "a.yaml: erm.")
    assert "\n" not in str(caught.value)


class Outer(Options):
    """Options with options inside."""

    inner: Example = option(Example(), "of a method")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"steps": 0}, "Example: steps=0: must be greater than 0; the default is 1"),
        ({"alpha": [1, "x"]}, "Example: alpha.1='x': must be a valid number, unable"),
        ({"step": 3}, "Example: step: no such key; did you mean 'steps'?"),
        ({"x" * 300: 3}, f"Example: {'x' * 57}...: no such key; known are: steps, alp"),
        ({"module": "x" * 300}, "... is not an entry point; write"),
    ],
)
def test_an_object_is_refused_in_one_line(values: dict[str, Any], message: str) -> None:
    with refusal(re.escape(message)) as caught:
        Example(**values)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_options_inside_options_are_refused_with_the_whole_path() -> None:
    with refusal(r"^Outer: inner\.steps=0: must be greater"):
        Outer(inner={"steps": 0})  # type: ignore[arg-type]
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"inner": {"steps": 0}})
    assert caught.value.errors()[0]["loc"] == ("inner", "steps")


def test_good_values_pass_and_stay() -> None:
    options = Example.parse({"steps": 5, "module": "math:sqrt"})
    assert options.steps == 5
    assert options.alpha == [1.0]
    assert options.module == "math:sqrt"
    with refusal(r"^steps: options are frozen; build others"):
        options.steps = 6  # type: ignore[misc]
    assert options.steps == 5


def test_of_many_known_names_the_first_are_shown() -> None:
    names = [f"name{number}" for number in range(20)]
    hint = suggest("x", names)
    assert hint.endswith("name10, name11 and 8 more")
    assert suggest("x", names[:12]).endswith("name10, name11")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("ERM", "did you mean 'erm'?"),
        ("KerHRM", "did you mean 'kerhrm'?"),
        ("kerhm", "did you mean 'kerhrm'?"),
        ("x", "known are: erm, kerhrm"),
    ],
)
def test_the_nearest_name_has_any_case_and_is_near(word: str, told: str) -> None:
    assert suggest(word, ["erm", "kerhrm"]) == told
    assert nearest(word, ["erm", "kerhrm"]) == told


def test_of_many_names_that_are_not_near_some_are_shown() -> None:
    names = [f"name{number}" for number in range(20)]
    assert nearest("x", names).endswith("name11 and 8 more")
