"""One rule stops every method that trains a network: the weights of the best look at
the validation points are kept, by the worst of the environments that the method has.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs, errors
from kerhrm.methods.registry import METHODS
from kerhrm.networks.base import Network
from kerhrm.options import Task

EVERY, STEPS = 7, 40
LOOKS = [7, 14, 21, 28, 35, 40]  # the last step is looked at as well
QUICK = {
    "learning_rate": 0.03,
    "reference_steps": 15,
    "inference_steps": 100,
    "inference_rate": 0.05,
    "identification_steps": 15,
    "twin_steps": 15,
    "twin_rate": 0.03,
    "anneal": 3,
    "hidden": 4,
    "penalty_weight": 1.0,
}
GIVEN = ["irm", "iga", "group_dro"]  #: environments of the validation points
INFERRED = ["eiil", "jtt", "zin", "balancing", "xrm"]
ONE = ["erm", "dro"]  #: all points are alike


def options(name: str, **more: Any) -> Any:
    kind = METHODS[name].options
    known = {}
    for key, value in QUICK.items():
        if key in kind.model_fields:
            known[key] = value
    return kind(**known | more)


def score(fitted: Fitted, inputs: Inputs, groups: Tensor) -> float:
    """Lowest mean score in a group, a membership (m,) each, by a loop over points."""
    outputs = fitted.predict(inputs.x_validation)["model"]
    means = []
    for members in groups.T:
        total = weight = 0.0
        points = zip(members, outputs, inputs.y_validation, strict=True)
        for share, f, y in points:
            right = float((f > 0) == (y > 0))
            error = float(f - y) ** 2
            total += float(share) * (
                right if inputs.task == "classification" else -error
            )
            weight += float(share)
        if weight > 0:
            means.append(total / weight)
    return min(means)


def groups_of(name: str, fitted: Fitted, inputs: Inputs) -> Tensor:
    """Memberships (m, E) of the validation points in what the method works with."""
    m = len(inputs.y_validation)
    if name in INFERRED:
        assert fitted.environments is not None
        return fitted.environments[-m:]
    if name in GIVEN:
        labels = inputs.environments_validation
        assert labels is not None
        in_each = [labels == number for number in range(3)]
        return torch.stack(in_each, -1).double()
    return torch.ones(m, 1)


CASES = [
    (name, task) for name in [*ONE, *GIVEN, *INFERRED] for task in METHODS[name].tasks
]


@pytest.mark.parametrize(("name", "task"), CASES)
def test_the_best_look_in_the_worst_environment_is_kept(
    name: str, task: Task, draw: Callable[..., Inputs]
) -> None:
    more: dict[str, Any] = {}
    if task == "regression" and name in ("eiil", "iga"):
        more["loss"] = "squared"
    inputs = draw(task, n=30, noise=1.5, widths=(32,), environments=3)
    train = METHODS[name].train
    fits = {}
    for steps in LOOKS:
        # a single look, at the last step, is the network of the last step
        given = options(name, steps=steps, evaluate_every=steps, **more)
        fits[steps] = train(inputs, given)
    groups = groups_of(name, fits[STEPS], inputs)
    # the first one among equals
    scores = [score(fits[steps], inputs, groups) for steps in LOOKS]
    best = LOOKS[scores.index(max(scores))]
    chosen = options(name, steps=STEPS, evaluate_every=EVERY, **more)
    stopped = train(inputs, chosen)
    outputs = stopped.predict(inputs.x)["model"]
    expected = fits[best].predict(inputs.x)["model"]
    torch.testing.assert_close(outputs, expected)


@pytest.mark.parametrize("name", ["dro", *GIVEN, *INFERRED])
def test_without_looks_the_last_step_predicts(
    name: str, draw: Callable[..., Inputs]
) -> None:
    inputs = draw("classification", n=30, environments=3)
    train = METHODS[name].train
    without_looks = options(name, steps=9, evaluate_every=None)
    at_the_end = options(name, steps=9, evaluate_every=9)
    last = train(inputs, without_looks)
    looked = train(inputs, at_the_end)
    outputs = looked.predict(inputs.x)["model"]
    expected = last.predict(inputs.x)["model"]
    assert torch.equal(outputs, expected)


def test_validation_points_of_no_environment_count_alike(
    draw: Callable[..., Inputs],
) -> None:
    inputs = draw("classification", n=30, noise=1.5, environments=3)
    unknown = replace(inputs, environments_validation=None)
    assert unknown.validation_memberships() is None
    train = METHODS["irm"].train
    given = options("irm", steps=STEPS, evaluate_every=EVERY)
    fits = []
    for steps in LOOKS:
        at_its_end = options("irm", steps=steps, evaluate_every=steps)
        fits.append(train(unknown, at_its_end))
    everyone = torch.ones(len(inputs.y_validation), 1)
    scores = [score(fitted, inputs, everyone) for fitted in fits]
    best = fits[scores.index(max(scores))]
    stopped = train(unknown, given)
    outputs = stopped.predict(inputs.x)["model"]
    expected = best.predict(inputs.x)["model"]
    torch.testing.assert_close(outputs, expected)


def test_irm_is_looked_at_once_its_penalty_counts(
    draw: Callable[..., Inputs],
) -> None:
    """Before its anneal step it is ERM, whose looks are none of IRM's."""
    inputs = draw("classification", n=30, noise=1.5, environments=3)
    train = METHODS["irm"].train
    every_five = options("irm", steps=STEPS, evaluate_every=5, anneal=25)
    stopped = train(inputs, every_five)
    looks = [30, 35, 40]
    fits = []
    for steps in looks:
        given = options("irm", steps=steps, evaluate_every=steps, anneal=25)
        fits.append(train(inputs, given))
    groups = groups_of("irm", stopped, inputs)
    scores = [score(fitted, inputs, groups) for fitted in fits]
    best = fits[scores.index(max(scores))]
    outputs = stopped.predict(inputs.x)["model"]
    expected = best.predict(inputs.x)["model"]
    torch.testing.assert_close(outputs, expected)


def test_every_method_is_stopped_by_default() -> None:
    """One number of steps between looks for all; the paper's version has none."""
    every = {}
    for name, method in METHODS.items():
        if "evaluate_every" in method.options.model_fields:
            every[name] = method.options().evaluate_every
    assert set(every.values()) == {25}
    with_looks = {*ONE, *GIVEN, *INFERRED, "afr", "evals", "ednil"}
    assert with_looks <= set(every)


def train_into_nan(inputs: Inputs, last_number: int) -> Network:
    """ERM whose loss is NaN after a step, looked at in every second one."""

    def loss(f: Tensor, network: Network, step: int) -> Tensor:
        risk = ((f - inputs.y) ** 2).mean()
        return risk if step < last_number else risk * torch.nan

    given = options("erm", steps=20, evaluate_every=2)
    return inputs.train_model(loss, given)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_weights_that_are_no_numbers_are_never_the_best(
    task: Task, draw: Callable[..., Inputs]
) -> None:
    inputs = draw(task, n=30, noise=1.5)
    # labels that NaN outputs would all hit if NaN were the label -1
    y = torch.full_like(inputs.y_validation, -1.0)
    inputs = replace(inputs, y_validation=y)
    model = train_into_nan(inputs, last_number=9)
    outputs = model(inputs.x)
    assert outputs.isfinite().all()
    assert not torch.equal(outputs, inputs.network(inputs.x))
    # without any look that has a score the outputs show it
    model = train_into_nan(inputs, last_number=1)
    assert model(inputs.x).isnan().all()


def test_an_output_that_is_no_number_is_an_error() -> None:
    outputs = torch.tensor([torch.nan, torch.nan, 2.0, -2.0])
    y = torch.tensor([-1.0, 1.0, 1.0, 1.0])
    wrong = errors(lambda x: x, outputs, y)
    assert wrong.tolist() == [1, 1, 0, 1]
    assert wrong.dtype == torch.int64
