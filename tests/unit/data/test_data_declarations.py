"""Declarations of other packages' data sets: refused where no job could use them."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from refusals import refusal

from kerhrm.errors import KerhrmError
from kerhrm.options import Count, Options, option
from kerhrm_paper.data.generator import Generator
from kerhrm_paper.data.registry import DATA_SETS


class Points(Options):
    """Some points."""

    n: Count = option(5, "points")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return self.n


class NoPoints(Options):
    """Nothing says how many points train."""


class NoPoint(Options):
    """None trains."""

    n_points: int = 0


class OutOfBounds(Points):
    """A default that its own bounds refuse."""

    n: Count = option(0, "points")


def generate(options: Points, seeds: Sequence[int]) -> Any:
    return None


def of_one_argument(options: Points) -> Any:
    return None


GOOD = Generator(Points, generate, "regression")
NAMED = "generate must be what a module calls by its name"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no function": ({"generate": None}, "generate must be a function or class"),
    "partial": ({"generate": partial(generate, Points())}, NAMED),
    "lambda": ({"generate": lambda options, seeds: None}, NAMED),
    "instance of options": ({"options": Points()}, "options must be a subclass of"),
    "dict": ({"options": {"n": 5}}, "options must be a subclass of Options; got {"),
    "default": ({"options": OutOfBounds}, "default of OutOfBounds.n=0: "),
    "no points": ({"options": NoPoints}, "need n_points, a positive number; got None"),
    "no point": ({"options": NoPoint}, "need n_points, a positive number; got 0"),
    "task": ({"task": "ranking"}, "task must be classification or regression"),
    "raw": (
        {"raw": "faces"},
        "raw must be None or of mnist, houses, adult; got 'faces'",
    ),
    "attribute": ({"attribute": "colour"}, "attribute must be a function"),
    "a text for references": (
        {"references": "ERM"},
        "references must be a tuple of different names; got 'ERM'; "
        "write references=('ref: the best',)",
    ),
    "numbers for references": ({"references": (1,)}, "references must be a tuple of"),
    "blank reference": ({"references": (" ",)}, "references must be a tuple of"),
    "arguments": (
        {"generate": of_one_argument},
        "generate must take (options, seeds); it takes (options: ",
    ),
    "arguments with raw data": (
        {"raw": "houses"},
        "generate must take (options, seeds, raw); it takes (options: ",
    ),
}


@pytest.mark.parametrize(("changes", "problem"), WRONG.values(), ids=WRONG)
def test_a_declaration_that_no_job_could_use_is_refused(
    changes: dict[str, Any], problem: str
) -> None:
    assert DATA_SETS._check is not None
    with pytest.raises(KerhrmError) as error:
        DATA_SETS._check("mine", replace(GOOD, **changes))
    assert problem in str(error.value)
    assert error.value.hint
    assert "\n" not in str(error.value)


class Shrinking(Options):
    """Where n is small none trains."""

    n: int = option(5, "points")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 100 // (self.n - 3) - 20


@pytest.mark.parametrize(
    ("n", "problem"),
    [
        (13, "its options need n_points, a positive number; got -10; declare"),
        (3, "n_points of its options raises ZeroDivisionError: "),
    ],
)
def test_a_number_of_points_that_some_options_make_wrong(n: int, problem: str) -> None:
    shrinking = replace(GOOD, options=Shrinking)
    assert shrinking.n_points(Shrinking()) == 30
    with refusal(re.escape(problem)):
        shrinking.n_points(Shrinking(n=n))


@pytest.mark.parametrize("data", [GOOD, *DATA_SETS.values()])
def test_what_a_job_can_use_passes(data: Generator) -> None:
    assert DATA_SETS._check is not None
    DATA_SETS._check("mine", data)
