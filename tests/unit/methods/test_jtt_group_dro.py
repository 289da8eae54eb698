"""JTT against repeated points and another solver; GroupDRO against its algorithm in
plain torch."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import Tensor
from torch.testing import assert_close

from kerhrm.methods.group_dro import GroupDROOptions, train_group_dro
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.irm import PointLoss, point_loss
from kerhrm.methods.jtt import (
    ClosedFormOptions,
    JTTOptions,
    train_closed_form,
    train_jtt,
)
from kerhrm.methods.references import LeastSquaresOptions, train_least_squares
from kerhrm.networks.base import Network
from kerhrm.networks.training import train

Draw = Callable[..., Inputs]
each_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])


def erm(network: Network, x: Tensor, y: Tensor, loss: PointLoss, steps: int) -> Network:
    def mean_loss(f: Tensor, *_: Any) -> Tensor:
        return point_loss(f, y, loss).mean()

    return train(
        network,
        x,
        mean_loss,
        steps=steps,
        learning_rate=1e-2,
    )


@each_loss
def test_upweighted_points_are_points_repeated(draw: Draw, loss: PointLoss) -> None:
    inputs = draw(n=60, m=30)
    x = inputs.x
    y = inputs.y
    network = inputs.network
    first = erm(network, x, y, loss, 10)
    wrong = torch.sign(first(x)) != y
    assert 0 < int(wrong.sum()) < 30
    thrice = x[wrong].repeat_interleave(3, 0)
    x_repeated = torch.cat([x, thrice])
    thrice = y[wrong].repeat_interleave(3, 0)
    y_repeated = torch.cat([y, thrice])
    expected = erm(network, x_repeated, y_repeated, loss, 25)
    given = {
        "identification_steps": 10,
        "steps": 25,
        "learning_rate": 1e-2,
        "loss": loss,
    }
    options = JTTOptions(upweight=4.0, **given)
    fitted = train_jtt(inputs, options)
    outputs = fitted.predict(x)["model"]
    outputs_of_erm = expected(x)
    assert_close(outputs, outputs_of_erm, rtol=1e-3, atol=1e-4)

    outputs_held_out = first(inputs.x_validation)
    wrong_held_out = torch.sign(outputs_held_out) != inputs.y_validation
    is_wrong = torch.cat([wrong, wrong_held_out])
    assert fitted.environments is not None
    environments = fitted.environments.argmax(1)
    assert torch.equal(environments, is_wrong.long())

    without_weight = JTTOptions(upweight=1.0, **given)
    alike = train_jtt(inputs, without_weight)
    plain = erm(network, x, y, loss, 25)
    outputs = alike.predict(x)["model"]
    assert torch.equal(outputs, plain(x))


def test_without_errors_jtt_is_erm(draw: Draw) -> None:
    """The inputs hold a copy of the label, so that the first model makes no error."""
    inputs = draw(n=40, m=20)
    x = inputs.x.clone()
    held_out = inputs.x_validation.clone()
    x[:, 1] = 10 * inputs.y
    held_out[:, 1] = 10 * inputs.y_validation
    inputs = replace(inputs, x=x, x_validation=held_out)
    options = JTTOptions(
        identification_steps=30,
        upweight=50.0,
        steps=25,
        learning_rate=1e-2,
    )
    fitted = train_jtt(inputs, options)
    assert fitted.environments is not None
    sizes = fitted.environments.sum(0)
    assert sizes.tolist() == [60.0, 0.0]
    expected = erm(inputs.network, x, inputs.y, "logistic", 25)
    outputs = fitted.predict(x)["model"]
    assert torch.equal(outputs, expected(x))

    weighted_twice = train_closed_form(inputs, ClosedFormOptions())
    once = train_least_squares(inputs, LeastSquaresOptions())
    outputs = weighted_twice.predict(x)["model"]
    assert_close(outputs, once.predict(x)["model"])


def test_the_closed_form_by_another_solver(draw: Draw) -> None:
    inputs = draw(n=80, d=5)
    inputs = replace(inputs, x=inputs.x + 2)
    x = inputs.x.double().numpy()
    y = inputs.y.double().numpy()
    constant = np.ones(80)
    design = np.column_stack([x, constant])
    first, *_ = np.linalg.lstsq(design, y, rcond=None)
    right = np.sign(design @ first) == y
    assert 0 < right.sum() < 80
    accuracy = right.mean()
    share = np.where(right, accuracy, 1 - accuracy)
    root = np.sqrt(1 / share)
    weighted = root[:, None] * design
    slope, *_ = np.linalg.lstsq(weighted, root * y, rcond=None)
    fitted = train_closed_form(inputs, ClosedFormOptions())
    outputs = fitted.predict(inputs.x)["model"]
    outputs = outputs.numpy()
    expected = design @ slope
    assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("eta", "decay"),
    [(0.0, 0.0), (0.3, 0.02), (5.0, 0.0)],
)
@each_loss
def test_group_dro_by_a_torch_loop(
    draw: Draw, loss: PointLoss, eta: float, decay: float
) -> None:
    """With eta = 0 it is the ERM of environments that weigh equally, whatever their
    sizes."""
    inputs = draw(n=45, environments=3, equal=False)
    x = inputs.x
    y = inputs.y
    labels = inputs.environments
    network = inputs.network.trainable()
    weights = list(network.weights.values())
    optimiser = torch.optim.Adam(weights, lr=1e-2)
    q = torch.full((3,), 1 / 3)
    for _ in range(25):
        losses = point_loss(network(x), y, loss)
        means = []
        for e in range(3):
            inside = labels == e
            means.append(losses[inside].mean())
        risks = torch.stack(means)
        growth = torch.exp(eta * risks.detach())
        q = q * growth
        q = q / q.sum()
        squares = [w.norm() ** 2 for w in weights]
        weighted_risk = (q * risks).sum()
        objective = weighted_risk + decay * sum(squares)
        optimiser.zero_grad()
        objective.backward()
        optimiser.step()
    options = GroupDROOptions(
        loss=loss,
        eta=eta,
        weight_decay=decay,
        steps=25,
        learning_rate=1e-2,
    )
    trained = train_group_dro(inputs, options)
    result = trained.predict(x)["model"]
    expected = network(x).detach()
    assert_close(result, expected, rtol=1e-3, atol=1e-3)


def test_a_larger_step_size_serves_the_worst_environment(draw: Draw) -> None:
    # too few units to fit all
    inputs = draw("regression", n=200, environments=2, widths=(4,))
    worst = []
    for eta in (0.0, 0.3, 3.0):
        options = GroupDROOptions(eta=eta, steps=300, learning_rate=1e-2)
        fitted = train_group_dro(inputs, options)
        outputs = fitted.predict(inputs.x)["model"]
        losses = (outputs - inputs.y) ** 2
        means = []
        for e in range(2):
            inside = inputs.environments == e
            mean = losses[inside].mean()
            means.append(float(mean))
        worst.append(max(means))
    assert worst == sorted(worst, reverse=True)
    assert worst[2] < 0.97 * worst[0]
