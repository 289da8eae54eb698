"""What every method of the registry promises to its callers, whatever it optimises."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

import pytest
import torch
from quick_methods import K, quick_options
from refusals import refusal
from torch import Tensor
from torch.testing import assert_close

from kerhrm import NTFMap
from kerhrm.methods.base import Method
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.irm import point_loss
from kerhrm.methods.registry import METHODS
from kerhrm.networks.training import train
from kerhrm.options import Options, Task

D = 4


class Case(NamedTuple):
    method: Method
    options: Options
    task: Task

    def inputs(self, draw: Callable[..., Inputs], seed: int = 7, **how: Any) -> Inputs:
        """Only what the method may see."""
        defaults = {
            "n": 60,
            "d": D,
            "environments": 3,
            "equal": False,
            "noise": 0.5,
            "k": K,
        }
        chosen = defaults | how
        inputs = draw(self.task, seed, **chosen)
        if not self.method.needs_environments:
            inputs = replace(inputs, environments=None, environments_validation=None)
        if not self.method.needs_features:
            inputs = replace(inputs, problem=None)
        return inputs

    def train(self, inputs: Inputs) -> Fitted:
        return self.method.train(inputs, self.options)


def cases() -> Iterator[Any]:
    """Every method with every loss and every task it has."""
    for name, method in METHODS.items():
        known = method.options.model_fields
        quick = quick_options(method)
        losses = ("squared", "logistic") if "loss" in known else ("",)
        for loss in losses:
            given = {"loss": loss} if loss else {}
            options = method.options(**quick, **given)
            n_tasks = 1 if loss == "logistic" else 2
            for task in method.tasks[:n_tasks]:
                case = Case(method, options, task)
                yield pytest.param(case, id=f"{name}-{loss}-{task}")


each_case = pytest.mark.parametrize("case", list(cases()))
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
Draw = Callable[..., Inputs]


def predict(fitted: Fitted, inputs: Inputs, x: Tensor) -> dict[str, Tensor]:
    """Outputs at some points, by name."""
    features = NTFMap.fit(inputs.network, inputs.x, K)
    psi, f0 = features.transform(x)
    return fitted.predict(x, psi, f0)


def new_points(count: int = 17) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(count, D, generator=generator)


@each_case
def test_outputs(case: Case, draw: Draw) -> None:
    """One finite output a point, which follows the labels and does not notice other
    points."""
    inputs = case.inputs(draw)
    fitted = case.train(inputs)
    several_points = new_points()
    one_point = new_points(1)
    for x in (inputs.x, several_points, one_point):
        outputs = predict(fitted, inputs, x)
        assert tuple(outputs) == case.method.outputs
        for output in outputs.values():
            assert output.shape == (len(x),)
            assert not output.requires_grad
            assert output.isfinite().all()
    outputs = predict(fitted, inputs, inputs.x)
    x = new_points()
    several = predict(fitted, inputs, x)
    some = slice(3, 8)
    few = predict(fitted, inputs, x[some])
    for name in outputs:
        output = outputs[name]
        similarity = torch.cosine_similarity(output, inputs.y, dim=-1)
        assert similarity > 0.4
        expected = several[name][some]
        few_outputs = few[name]
        assert_close(few_outputs, expected, rtol=1e-5, atol=1e-6)
    environments = fitted.environments
    assert (environments is not None) == case.method.infers
    if environments is not None:
        n_points = len(inputs.x) + len(inputs.x_validation)
        assert len(environments) == n_points
        assert environments.dtype == torch.float32
        assert environments.min() >= 0
        assert environments.max() <= 1 + 1e-6


@each_case
def test_training_repeats_and_changes_nothing(case: Case, draw: Draw) -> None:
    """To the last bit, and by the inputs' own seed."""
    inputs = case.inputs(draw)
    x = new_points()
    tensors = list(inputs.network.weights.values())
    for field in fields(Inputs):
        value = getattr(inputs, field.name)
        if isinstance(value, Tensor):
            tensors.append(value)
    before = [t.clone() for t in tensors]
    options = case.options.model_dump()
    trained = case.train(inputs)
    first = predict(trained, inputs, x)
    for t, old in zip(tensors, before, strict=True):
        assert torch.equal(t, old)
        assert not t.requires_grad
    assert case.options.model_dump() == options
    torch.manual_seed(1)  # no method draws from the global generator
    other = case.inputs(draw)
    trained = case.train(other)
    again = predict(trained, other, x)
    for name, outputs in first.items():
        assert torch.equal(again[name], outputs)


@each_case
def test_environments_have_no_names(case: Case, draw: Draw) -> None:
    if not case.method.needs_environments:
        return
    inputs = case.inputs(draw)
    x = new_points()
    assert inputs.environments is not None

    def outputs(environments: Tensor) -> Tensor:
        changed = replace(inputs, environments=environments)
        trained = case.train(changed)
        outputs = predict(trained, inputs, x)
        last = case.method.outputs[-1]
        return outputs[last]

    labels = inputs.environments
    new_names = torch.tensor([2, 0, 1])
    expected = outputs(labels)
    renamed = outputs(new_names[labels])
    assert_close(renamed, expected, rtol=0, atol=1e-5)
    # but which points are together matters
    regrouped = outputs(labels.roll(1))
    difference = regrouped - expected
    assert difference.abs().max() > 1e-2


@each_method
def test_missing_inputs_and_tasks_are_refused(method: Method, draw: Draw) -> None:
    options = method.options()
    inputs = draw()
    bare = replace(inputs, environments=None, problem=None)
    if method.needs_features or method.needs_environments:
        with refusal("the method needs"):
            method.train(bare, options)
    for task in method.tasks:
        method.check(options, task)
    if "loss" in method.options.model_fields:
        logistic = method.options(loss="logistic")
        method.check(logistic, "classification")
        refused = "loss='logistic'" if "regression" in method.tasks else "cannot learn"
        with refusal(refused):
            method.check(logistic, "regression")
    classifier = replace(method, tasks=("classification",))
    with refusal("cannot learn"):
        classifier.check(options, "regression")


LIMITS = [
    ("irm", {"penalty_weight": 0.0, "anneal": 0}, "squared"),
    ("irm", {"penalty_weight": 0.0, "anneal": 7}, "logistic"),
    ("iga", {"penalty_weight": 0.0}, "squared"),
    ("iga", {"penalty_weight": 0.0}, "logistic"),
    ("iga one environment", {"penalty_weight": 100.0}, "squared"),
    ("group_dro", {"eta": 0.0}, "logistic"),
    ("group_dro one environment", {"eta": 10.0}, "squared"),
    ("dro", {"rho": 1e-8}, "squared"),
]


@pytest.mark.parametrize(("name", "options", "loss"), LIMITS)
def test_without_its_penalty_a_method_is_erm(
    name: str, options: dict[str, float], loss: Any, draw: Draw
) -> None:
    """Environments are of equal size."""
    inputs = draw(n=40)
    method_name, *_ = name.split()
    method = METHODS[method_name]
    if "one" in name:
        one_environment = torch.zeros(40, dtype=torch.int64)
        inputs = replace(inputs, environments=one_environment)
    given = {}
    if "loss" in method.options.model_fields:
        given = {"loss": loss}
    quick = {"steps": 25, "learning_rate": 1e-2}
    chosen = method.options(**quick | given | options)
    fitted = method.train(inputs, chosen)
    outputs = fitted.predict(inputs.x)["model"]

    def mean_loss(f: Tensor, *_: Any) -> Tensor:
        return point_loss(f, inputs.y, loss).mean()

    erm = train(
        inputs.network,
        inputs.x,
        mean_loss,
        steps=25,
        learning_rate=1e-2,
    )
    expected = erm(inputs.x)
    assert_close(outputs, expected, rtol=1e-2, atol=1e-3)
