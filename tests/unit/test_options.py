"""Options are refused in one line that names the key."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError, field_validator
from refusals import refusal

from kerhrm.errors import suggest
from kerhrm.options import (
    Count,
    Entry,
    Options,
    Some,
    check_declared,
    option,
)
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Sources
from kerhrm_paper.config.options import check_named, dump


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


class Validated(Options):
    """Validators that raise what they like."""

    w: int = option(1, "a number")

    @field_validator("w")
    @classmethod
    def _raise(cls, value: int) -> int:
        if value == 3:
            raise TypeError("no\nway")
        if value == 4:
            raise ValueError("no\nway; lower\nit")
        return value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            3,
            "Validated={'w': 3}: their validator raised TypeError: no way; "
            "give another value, or correct the validator",
        ),
        (4, "Validated: w=4: no way; lower it"),
    ],
)
def test_whatever_a_validator_raises_is_one_line(value: int, told: str) -> None:
    with refusal(f"^{re.escape(told)}$"):
        Validated(w=value)


def with_default(default: Any, kind: Any = Any) -> type[Options]:
    """Options with a default, which a job can import."""
    fields = {"__module__": __name__, "__qualname__": "WithDefault"}
    annotated = {"__annotations__": {"w": kind}, "w": option(default, "anything")}
    return type("WithDefault", (Options,), fields | annotated)


@pytest.mark.parametrize(
    ("kind", "default", "told"),
    [
        (Any, np.ones(3), ": JSON cannot hold array([1., 1., 1.]); name it by text"),
        (Any, len, ": JSON cannot hold <built-in function len>; name it by text"),
        (Callable, math.sqrt, ": JSON cannot hold <built-in function sqrt>"),
        (bytes, b"\xff", r": JSON cannot hold b'\xff'; name it by text"),
        (Any, (1, 2), "=(1, 2): jobs would have [1, 2]; write that, or give"),
        (Any, [(1, 2)], "=[(1, 2)]: jobs would have [[1, 2]]; write that"),
        (Any, {1}, "={1}: jobs would have [1]; write that"),
        (Any, {1: 2}, "={1: 2}: jobs would have {'1': 2}; write that"),
    ],
)
def test_a_default_that_jobs_would_not_have_is_refused(
    kind: Any, default: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = with_default(default, kind)
    monkeypatch.setitem(globals(), "WithDefault", options)  # imported by name
    with refusal(re.escape(f"default of WithDefault.w{told}")):
        check_declared(options)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (Any, {"a": [1, 0.5, None]}),
        (tuple[int, ...], (1, 2)),
        (set[int], {1, 1000, 7}),
        (dict[int, float], {1: 2}),
        (float, 1),
        (Any, np.float64(0.5)),
        (float, math.nan),
        (Path, Path("x")),
    ],
)
def test_a_default_that_json_gives_back_passes(
    kind: Any, default: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = with_default(default, kind)
    monkeypatch.setitem(globals(), "WithDefault", options)  # imported by name
    check_declared(options)


class LookedUp(Options):
    """A validator makes a function of a text."""

    act: Any = option(None, "name of a function")

    @field_validator("act")
    @classmethod
    def _function(cls, value: str | None) -> Any:
        return value and getattr(math, value)


def test_a_value_of_a_name_that_json_does_not_hold_is_refused() -> None:
    check_declared(LookedUp)
    told = "mm+act=sqrt: act: JSON cannot hold <built-in function sqrt>; name it by"
    with refusal(f"^{re.escape(told)}"):
        check_named(LookedUp, "mm+act=sqrt", {"act": "sqrt"})


def test_what_a_validator_raises_for_a_name_is_one_line() -> None:
    told = "mm+w=3: options: their validator raised TypeError: no way; give"
    with refusal(f"^{re.escape(told)}"):
        dump(Sources([]), Validated, [("mm+w=3", {"w": 3})])


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
