"""Options of any size: trained with, or refused in one line."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import torch
from refusals import refusal

from kerhrm.errors import KerhrmError
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.options import HRMOptions
from kerhrm.methods.registry import METHODS
from kerhrm.options import LARGEST

Draw = Callable[..., Inputs]

#: few steps, so that a hundred trainings take seconds
QUICK = {
    "steps": 5,
    "reference_steps": 5,
    "inference_steps": 5,
    "identification_steps": 5,
    "twin_steps": 5,
    "rounds": 2,
    "cluster_steps": 20,
    "cluster_rounds": 2,
    "gate_steps": 20,
    "n_iterations": 2,
    "n_init": 2,
    "k": 3,
    "n_permutations": None,
    "pretest": None,
}


def options_of(name: str) -> dict[str, Any]:
    """Those of a method for a quick run."""
    known = METHODS[name].options.model_fields
    options = {key: value for key, value in QUICK.items() if key in known}
    if "k" in known and isinstance(known["k"].default, list):
        options["k"] = [3]
    return options


def numbers() -> Iterator[Any]:
    """Every option of a method whose default is a number, or a list of numbers."""
    for name, method in METHODS.items():
        for key, field in method.options.model_fields.items():
            default = field.default
            first = default[0] if isinstance(default, list) and default else default
            if isinstance(first, float):
                yield pytest.param(name, key, id=f"{name}-{key}")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("value", [LARGEST, 1e-300])
@pytest.mark.parametrize(("name", "key"), list(numbers()))
def test_a_number_of_any_size_raises_no_raw_error(
    name: str, key: str, value: float, draw: Draw
) -> None:
    method = METHODS[name]
    inputs = draw(method.tasks[0], k=4)
    default = method.options.model_fields[key].default
    given = [value] if isinstance(default, list) else value
    quick = options_of(name)
    with suppress(KerhrmError):
        options = method.options(**quick | {key: given})
        fitted = method.train(inputs, options)
        assert fitted.networks or fitted.directions


@pytest.mark.parametrize(("name", "key"), list(numbers()))
def test_a_number_beyond_single_precision_is_refused(name: str, key: str) -> None:
    method = METHODS[name]
    default = method.options.model_fields[key].default
    given = [1e300] if isinstance(default, list) else 1e300
    with refusal(rf"{key}.*=1e\+300: must "):
        method.options(**{key: given})


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("erm", "learning_rate"),
        ("evals", "learning_rate"),
        ("afr", "learning_rate"),
        ("hrm", "gate_rate"),
    ],
)
def test_a_training_that_diverges_has_no_finite_outputs(
    name: str, rate: str, draw: Draw
) -> None:
    """Of which estimators warn; no method hides them, or fails on them."""
    method = METHODS[name]
    inputs = draw("classification", d=3)
    options = method.options(**options_of(name) | {rate: LARGEST})
    fitted = method.train(inputs, options)
    outputs = fitted.predict(inputs.x)["model"]
    assert not torch.isfinite(outputs).any()


def test_weights_that_grow_beyond_all_numbers_are_refused() -> None:
    with refusal("growth: 1e.09 to the power of 4 is beyond 1e.30; lower growth or"):
        HRMOptions(growth=1e9)
    HRMOptions(growth=1e9, n_iterations=4)
