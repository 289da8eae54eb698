"""Declarations of other packages' methods: refused where no job could use them."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.methods.base import WORST_INFERRED, Method
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.registry import METHODS
from kerhrm.options import Options, Probability, option


class Small(Options):
    """One option."""

    share: Probability = option(0.5, "of the points")


class OutOfBounds(Options):
    """A default that its own bounds refuse."""

    share: Probability = option(2.0, "of the points")


class WithoutDefault(Options):
    """No default."""

    share: Probability


@dataclass
class Plain:
    """No pydantic model."""

    share: float = 0.5


def train(inputs: Inputs, options: Small) -> Fitted:
    return Fitted()


def of_one_argument(inputs: Inputs) -> Fitted:
    return Fitted()


def of_three_arguments(inputs: Inputs, options: Small, more: int) -> Fitted:
    return Fitted()


class Trainer:
    """A callable instance is no function of a module."""

    def __call__(self, inputs: Inputs, options: Small) -> Fitted:
        return Fitted()

    def method(self, inputs: Inputs, options: Small) -> Fitted:
        return Fitted()


def closure() -> Any:
    def inner(inputs: Inputs, options: Small) -> Fitted:
        return Fitted()

    return inner


GOOD = Method("mine", Small, train)
NAMED = "train must be what a module calls by its name"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no function": ({"train": None}, "train must be a function or class; got None"),
    "partial": ({"train": partial(train, options=Small())}, NAMED),
    "instance": ({"train": Trainer()}, NAMED),
    "bound method": ({"train": Trainer().method}, NAMED),
    "lambda": ({"train": lambda inputs, options: Fitted()}, NAMED),
    "closure": ({"train": closure()}, NAMED),
    "one argument": (
        {"train": of_one_argument},
        "train must take (inputs, options); it takes (inputs: ",
    ),
    "three arguments": (
        {"train": of_three_arguments},
        "train must take (inputs, options); it takes (inputs: ",
    ),
    "dataclass": ({"options": Plain}, "options must be a subclass of Options"),
    "instance of options": ({"options": Small()}, "options must be a subclass of"),
    "no options": (
        {"options": None},
        "options must be a subclass of Options; got None",
    ),
    "default": (
        {"options": OutOfBounds},
        "default of OutOfBounds.share=2.0: must be less than or equal to 1",
    ),
    "no default": (
        {"options": WithoutDefault},
        "option share of WithoutDefault has no",
    ),
    "text": ({"outputs": "model"}, "outputs must be a tuple of different names"),
    "list": ({"outputs": ["model"]}, "write outputs=('model',)"),
    "no outputs": ({"outputs": ()}, "outputs must be a tuple of different names"),
    "twice": ({"outputs": ("a", "a")}, "outputs must be a tuple of different names"),
    "tasks": ({"tasks": ("ranking",)}, "tasks must be of classification, regression"),
    "task": ({"tasks": "regression"}, "write tasks=('classification',)"),
    "criterion": ({"criterion": "best"}, "criterion must be of pooled validation, "),
    "no text": ({"criterion": ["best"]}, "criterion must be of pooled validation, "),
    "inferred": (
        {"criterion": WORST_INFERRED},
        "criterion 'worst inferred environment' needs infers=True; declare infers=True",
    ),
    "switches": (
        {"switches": ["model"]},
        "switches must be a mapping; got ['model']; write switches={OUTPUT: OPTION}",
    ),
    "switched output": (
        {"switches": {"linear": "share"}},
        "switches has 'linear', which is no output; outputs are model",
    ),
    "switch": (
        {"switches": {"model": "nope"}},
        "switches has 'nope' for the output model, which is no option of Small",
    ),
    "flag": (
        {"needs_features": "no"},
        "needs_features must be True or False; got 'no'",
    ),
}


@pytest.mark.parametrize(("changes", "problem"), WRONG.values(), ids=WRONG)
def test_a_declaration_that_no_job_could_use_is_refused(
    changes: dict[str, Any], problem: str
) -> None:
    assert METHODS._check is not None
    with pytest.raises(KerhrmError) as error:
        METHODS._check("mine", replace(GOOD, **changes))
    assert problem in str(error.value)
    assert error.value.hint
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("method", [GOOD, *METHODS.values()], ids=lambda m: m.name)
def test_what_a_job_can_use_passes(method: Method) -> None:
    assert METHODS._check is not None
    METHODS._check(method.name, method)
