"""References: least squares by another solver, ERM without colour, true
environments."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import refusal
from torch import Tensor
from torch.testing import assert_close

from kerhrm import KerHRMOptions, NetworkOptions, Problem, build
from kerhrm.algorithm.records import Memberships
from kerhrm.methods import references
from kerhrm.methods.erm import ERMOptions, train_erm
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.kerhrm import train_kerhrm
from kerhrm.methods.references import (
    GivenSplitOptions,
    LeastSquaresOptions,
    TrueEnvironmentsOptions,
    split_points,
    train_given_split,
    train_grayscale,
    train_least_squares,
    train_true_environments,
    without_colour,
)
from kerhrm.methods.registry import METHODS

Draw = Callable[..., Inputs]
PIXELS = 9


def least_squares(inputs: Inputs, x: Tensor) -> Tensor:
    """Outputs at some points."""
    fitted = train_least_squares(inputs, LeastSquaresOptions())
    return fitted.predict(x)["model"]


@pytest.mark.parametrize("n", [60, 4])  # more points than predictors, and fewer
def test_least_squares_by_another_solver(draw: Draw, n: int) -> None:
    inputs = draw("regression", n=n, d=6)
    inputs = replace(inputs, y=inputs.y + 3)
    x = inputs.x.double().numpy()
    y = inputs.y.double().numpy()
    mean_x = x.mean(0)
    mean_y = y.mean()
    centred_x = x - mean_x
    centred_y = y - mean_y
    slope, *_ = np.linalg.lstsq(centred_x, centred_y, rcond=1e-5)
    new_points = torch.randn(9, 6)
    for new in (inputs.x, new_points):
        deviations = new.double().numpy() - mean_x
        expected = mean_y + deviations @ slope
        outputs = least_squares(inputs, new)
        assert_allclose(outputs, expected, rtol=1e-6, atol=1e-6)


def test_least_squares_of_collinear_and_rescaled_predictors(draw: Draw) -> None:
    """Collinear but for the rounding to single precision, which must not be fitted."""
    inputs = draw("regression", n=200)
    scale = torch.tensor([1.0, 8.0, 0.5, -2.0])
    shift = torch.tensor([1.0, -4.0, 0.0, 16.0])

    def add(x: Tensor) -> Tensor:
        third = x[:, 1] / 3
        sum_of_two = x[:, 0].double() + third
        total = sum_of_two.float()[:, None]
        constant = torch.full_like(total, 7.0)
        return torch.cat([x, total, constant], dim=1)

    def rescale(x: Tensor) -> Tensor:
        return x * scale + shift

    new = 3 * torch.randn(50, 4)
    expected = least_squares(inputs, new)
    for change in (add, rescale):
        changed = replace(inputs, x=change(inputs.x))
        outputs = least_squares(changed, change(new))
        assert_close(outputs, expected, rtol=1e-5, atol=1e-5)


def coloured(channel: Tensor, gray: Tensor) -> Tensor:
    """Images (n, 2 p) that hold ``gray`` (n, p) in one of two channels."""
    channels = torch.stack([1 - channel, channel], dim=-1)
    places = channels[..., None]
    images = places * gray[:, None]
    return images.flatten(1)


def images(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Gray images, labels that their first pixel tells, and colours that tell them
    better."""
    y = torch.sign(torch.randn(n))
    gray = torch.rand(n, PIXELS)
    noise = 0.3 * torch.randn(n)
    brightness = 0.5 + 0.25 * y + noise
    gray[:, 0] = brightness.clamp(0, 1)
    agrees = torch.rand(n) < 0.95
    shown_label = torch.where(agrees, y, -y)
    colour = (shown_label > 0).float()
    return gray, y, colour


def test_grayscale_does_not_see_colour() -> None:
    """Neither in training, nor in the choice of a step, nor in predictions."""
    gray, y, channel = images(80)
    held_out, y_held_out, other = images(40)
    without = without_colour(coloured(channel, gray))
    twice = torch.cat([gray, gray], 1)
    assert torch.equal(without, twice / 2)
    options_of_network = NetworkOptions(widths=[16])
    network = build(options_of_network, 0, 2 * PIXELS)
    options = ERMOptions(steps=100, learning_rate=1e-2, evaluate_every=1)
    new, labels, _ = images(400)
    is_positive = labels > 0
    outputs = []
    swapped = (1 - channel, 1 - other)
    for train, validation in ((channel, other), swapped):
        inputs = Inputs(
            coloured(train, gray),
            y,
            coloured(validation, held_out),
            y_held_out,
            "classification",
            0,
            network,
        )
        fitted = train_grayscale(inputs, options)
        for channel_of_new in (is_positive, labels < 0):
            new_images = coloured(channel_of_new.float(), new)
            outputs.append(fitted.predict(new_images)["model"])
    for output in outputs:
        assert torch.equal(outputs[0], output)
    right = (outputs[0] > 0) == is_positive
    assert right.double().mean() > 0.6

    plain = train_erm(inputs, options)
    images_in_first = coloured(torch.zeros(400), new)
    in_first = plain.predict(images_in_first)["model"]
    images_in_second = coloured(torch.ones(400), new)
    in_second = plain.predict(images_in_second)["model"]
    difference = (in_first - in_second).abs()
    assert difference.mean() > 0.1


def test_the_penalty_evens_the_gradients_of_the_true_environments(draw: Draw) -> None:
    """By hand: M_p's objective has its minimum at the direction."""
    inputs = draw("regression", n=60, environments=3, equal=False, k=4)
    problem = inputs.require_problem()
    labels = inputs.environments
    psi = problem.psi_train
    target = problem.target

    def gradients(theta: Tensor) -> Tensor:
        """(environments, features)."""
        rows = []
        for e in range(3):
            inside = labels == e
            p = psi[inside]
            residuals = p @ theta - target[inside]
            total = p.mT @ residuals
            rows.append(2 * total / len(p))
        return torch.stack(rows)

    spread = []
    for alpha in (0.0, 1.0, 100.0):
        options = TrueEnvironmentsOptions(k=3, alpha=alpha)
        fitted = train_true_environments(inputs, options)
        theta = fitted.directions["model"]
        assert theta[3:].tolist() == [0.0]
        of_first_features = gradients(theta)[:, :3]
        variances = of_first_features.var(0, correction=0)
        spread.append(float(variances.sum()))

        free = theta.clone().requires_grad_()
        used = psi[:, :3]
        sum_of_squares = float((used**2).sum())
        unit = used.numel() / sum_of_squares
        risks = []
        for e in range(3):
            inside = labels == e
            residuals = psi[inside] @ free - target[inside]
            risks.append((residuals**2).mean())
        penalty = 1e-6 / unit * (free**2).sum()
        risk = torch.stack(risks).mean() + penalty
        of_environments = gradients(free)[:, :3]
        deviations = of_environments - of_environments.mean(0)
        variance = (deviations**2).sum() / 3
        total = risk + alpha * unit * variance
        (slope,) = torch.autograd.grad(total, free)
        zero = torch.zeros(3).double()
        assert_close(slope[:3], zero, rtol=0, atol=1e-7)
        assert fitted.chosen == {"k": 3, "alpha": alpha}
    assert spread == sorted(spread, reverse=True)
    assert spread[2] < 0.7 * spread[0]


def test_given_environments_are_those_of_m_c_with_its_own_split(draw: Draw) -> None:
    """Given the hard environments that M_c finds, everything after M_c is KerHRM."""
    inputs = draw("classification", n=120, environments=2, k=4)
    options = {
        "k": [4],
        "alpha": [1.0],
        "n_iterations": 1,
        "cosine_weight": [10.0],
        "steps": 5,
        "assignment": "hard",
        "max_label_information": 1.0,
    }
    own = train_kerhrm(inputs, KerHRMOptions(**options))
    assert own.environments is not None
    labels = own.environments.argmax(-1)
    n = len(inputs.y)
    given = replace(
        inputs,
        environments=labels[:n],
        environments_validation=labels[n:],
    )
    same = train_given_split(given, GivenSplitOptions(**options))
    expected = own.directions["linear"]
    assert_close(same.directions["linear"], expected)
    d = inputs.x.shape[1]
    x = torch.randn(9, d)
    outputs = same.networks["network"](x)
    expected = own.networks["network"](x)
    assert_close(outputs, expected)


def test_errors_split_by_the_sign_of_least_squares(draw: Draw) -> None:
    inputs = draw("classification", n=60)
    split, split_validation = split_points(inputs, "errors")
    for points, labels, part in (
        (inputs.x, inputs.y, split),
        (inputs.x_validation, inputs.y_validation, split_validation),
    ):
        outputs = least_squares(inputs, points)
        is_wrong = torch.sign(outputs) != labels
        assert torch.equal(part == 1, is_wrong)


def test_a_split_needs_environments_of_both_parts(draw: Draw) -> None:
    inputs = draw("classification", n=60, environments=2)
    half = replace(inputs, environments_validation=None)
    with refusal("environments of the validation points; pass Inputs"):
        split_points(half, "true_environments")


def test_environments_of_a_given_split_lie_where_the_problem_does(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device without data, in the place of a GPU."""
    inputs = draw(k=3)
    problem = inputs.require_problem()
    u = problem.u.to("meta")
    elsewhere = replace(inputs, problem=replace(problem, u=u))
    seen = []

    def learn(problem: Problem, given: list[Memberships], options: object) -> None:
        seen.extend(given)

    monkeypatch.setattr(references, "learn_directions", learn)
    monkeypatch.setattr(references, "finish", lambda *arguments: None)
    options = GivenSplitOptions(k=[2, 3], split="true_environments")
    train_given_split(elsewhere, options)
    (given,) = seen
    devices = {getattr(given, field.name).device.type for field in fields(given)}
    assert devices == {"meta"}


@pytest.mark.parametrize("name", ["true_environments", "kerhrm_given_split"])
def test_a_weight_of_two_is_a_point_twice(name: str, draw: Draw) -> None:
    """The features are those of the points, whatever their weights."""
    inputs = draw("regression", n=60, environments=2, k=4)
    problem = inputs.require_problem()
    twice = torch.arange(len(inputs.y)) % 3 == 0
    weights = 1.0 + twice.double()
    weighted = replace(problem, weights=weights / weights.mean())
    copies = torch.repeat_interleave(torch.arange(len(inputs.y)), 1 + twice.long())
    repeated = replace(
        problem,
        u=problem.u[copies],
        f0_train=problem.f0_train[copies],
        y=problem.y[copies],
    )
    given = inputs.require_environments()
    method = METHODS[name]
    # a penalty's unit goes by Psi, which has further rows then
    options: Any = {"k": 4, "alpha": 0.0}
    if name == "kerhrm_given_split":
        options = {"k": [4], "alpha": [0.0], "cosine_weight": [1.0], "steps": 1}
        options |= {"split": "true_environments", "pretest": None, "ridge": 0.0}
    read = method.options.parse(options)
    one = method.train(replace(inputs, problem=weighted), read)
    other_inputs = replace(
        inputs,
        x=inputs.x[copies],
        y=inputs.y[copies],
        environments=given[copies],
        problem=repeated,
    )
    other = method.train(other_inputs, read)
    for key, theta in one.directions.items():
        assert_close(theta, other.directions[key], rtol=1e-4, atol=1e-5)
