"""Penalties of IRM, IGA and EIIL against autograd, their training
against plain loops."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from kerhrm import NetworkOptions, build
from kerhrm.methods.eiil import (
    EIILOptions,
    infer_environments,
    soft_penalty,
    train_eiil,
)
from kerhrm.methods.iga import IGAOptions, train_iga
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.irm import (
    IRMOptions,
    PointLoss,
    point_loss,
    scale_gradient,
    train_irm,
)
from kerhrm.networks.base import Network
from kerhrm.networks.training import train

N = 40
Draw = Callable[..., Inputs]
each_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])


def mean_loss(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """By torch."""
    if loss == "squared":
        return nn.functional.mse_loss(f, y)
    positive = (y > 0).to(f)
    return nn.functional.binary_cross_entropy_with_logits(f, positive)


def scale_penalty(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Squared gradient of the risk with respect to a dummy scale."""
    scale = torch.ones(()).to(f.dtype).requires_grad_()
    risk = mean_loss(scale * f, y, loss)
    (gradient,) = torch.autograd.grad(risk, scale, create_graph=True)
    return gradient**2


def outputs(n: int = N) -> tuple[Tensor, Tensor, Tensor]:
    """f, y and labels of three environments of unequal sizes."""
    rng = np.random.default_rng(0)
    f = 2 * rng.standard_normal(n)
    y = rng.choice([-1.0, 1.0], n)
    shares = [0.2, 0.3, 0.5]
    labels = rng.choice(3, n, p=shares)
    arrays = (f, y, labels)
    f_of_points, y_of_points, of_points = map(torch.from_numpy, arrays)
    return f_of_points, y_of_points, of_points


@each_loss
def test_large_outputs_have_finite_losses(loss: PointLoss) -> None:
    f = torch.tensor([-1e4, 1e4])
    y = torch.ones(2)
    losses = point_loss(f, y, loss)
    gradient = scale_gradient(f, y, loss)
    assert losses.isfinite().all()
    assert gradient.isfinite().all()


def decay_of(weights: list[Tensor]) -> Tensor:
    """Squared size of all weights."""
    return sum(w.norm() ** 2 for w in weights)


@pytest.mark.parametrize("anneal", [0, 10])
@pytest.mark.parametrize(
    ("weight", "decay"),
    [(0.3, 0.0), (3.0, 0.02), (500.0, 0.5)],
)
@each_loss
def test_irm_by_a_torch_loop(
    draw: Draw, loss: PointLoss, weight: float, decay: float, anneal: int
) -> None:
    inputs = draw(n=N)
    steps = 25
    options = IRMOptions(
        loss=loss,
        penalty_weight=weight,
        anneal=anneal,
        steps=steps,
        learning_rate=1e-2,
        weight_decay=decay,
    )
    network = inputs.network.trainable()
    weights = list(network.weights.values())
    optimiser = torch.optim.Adam(weights, lr=1e-2)
    for step in range(steps):
        f = network(inputs.x)
        total = decay * decay_of(weights)
        now = min(weight, 1.0) if step < anneal else weight
        for e in range(2):
            inside = inputs.environments == e
            f_inside = f[inside]
            y_inside = inputs.y[inside]
            risk = mean_loss(f_inside, y_inside, loss)
            penalty = scale_penalty(f_inside, y_inside, loss)
            total = total + (risk + now * penalty) / 2
        objective = total / max(now, 1.0)
        optimiser.zero_grad()
        objective.backward()
        optimiser.step()
    trained = train_irm(inputs, options)
    result = trained.predict(inputs.x)["model"]
    expected = network(inputs.x).detach()
    assert_close(result, expected, rtol=1e-3, atol=1e-3)


def variance_by_hand(
    network: Network, x: Tensor, y: Tensor, labels: Tensor, loss: PointLoss
) -> Tensor:
    """Sum over environments of |grad L^e - mean grad|^2."""
    weights = list(network.weights.values())
    gradients = []
    for e in labels.unique():
        losses = point_loss(network(x), y, loss)
        inside = labels == e
        risk = losses[inside].mean()
        parts = torch.autograd.grad(risk, weights, create_graph=True)
        flat = [part.flatten() for part in parts]
        gradients.append(torch.cat(flat))
    stacked = torch.stack(gradients)
    deviations = stacked - stacked.mean(0)
    return (deviations**2).sum()


@pytest.mark.parametrize("weight", [0.5, 20.0])
def test_iga_by_a_torch_loop(draw: Draw, weight: float) -> None:
    inputs = draw(n=36, widths=(8, 6), environments=3)
    assert inputs.environments is not None
    x = inputs.x
    y = inputs.y
    labels = inputs.environments
    network = inputs.network.trainable()
    weights = list(network.weights.values())
    optimiser = torch.optim.Adam(weights, lr=1e-2)
    for _ in range(20):
        optimiser.zero_grad()
        f = network(x)
        squares = (f - y) ** 2
        means = []
        for e in range(3):
            inside = labels == e
            means.append(squares[inside].mean())
        risk = torch.stack(means).mean()
        variance = variance_by_hand(network, x, y, labels, "squared")
        objective = risk + weight * variance
        objective.backward()
        optimiser.step()
    options = IGAOptions(penalty_weight=weight, steps=20, learning_rate=1e-2)
    trained = train_iga(inputs, options)
    outputs = trained.predict(x)["model"]
    expected = network(x).detach()
    assert_close(outputs, expected, rtol=1e-3, atol=1e-3)


@each_loss
def test_the_inferences_objective_by_a_dummy_scale(loss: PointLoss) -> None:
    f, y, _ = outputs(30)
    draws = torch.randn(30, dtype=torch.float64)
    w = draws.requires_grad_()
    slopes_of_points = scale_gradient(f, y, loss)
    value = soft_penalty(w, slopes_of_points)
    (gradient,) = torch.autograd.grad(value, w)
    scale = torch.ones(()).double().requires_grad_()
    losses = point_loss(scale * f, y, loss)
    q = torch.sigmoid(w)
    squares = []
    for share in (q, 1 - q):
        risk = (share * losses).mean()
        (slope,) = torch.autograd.grad(risk, scale, create_graph=True)
        squares.append(slope**2)
    expected = sum(squares) / 2
    (expected_gradient,) = torch.autograd.grad(expected, w)
    assert_close(value, expected)
    assert_close(gradient, expected_gradient)


@pytest.mark.parametrize(("steps", "rate"), [(3_000, 3e-3), (1_000, 1e-2)])
def test_the_split_is_the_best_of_all(steps: int, rate: float) -> None:
    f, y, _ = outputs(9)
    gradient = scale_gradient(f, y, "squared").float()
    # 2^n hard splits, by assignments that saturate the sigmoid
    corner = [-50.0, 50.0]
    signs = list(product(corner, repeat=9))
    corners = torch.tensor(signs)
    slopes = gradient.expand_as(corners)
    values = soft_penalty(corners, slopes)
    for seed in range(3):
        split = infer_environments(gradient, seed, steps=steps, rate=rate)
        saturated = 100 * (0.5 - split.float())
        result = soft_penalty(saturated, gradient)
        assert_close(result, values.max())


@pytest.mark.parametrize(
    ("weight", "anneal", "decay"), [(1.0, 0, 0.0), (200.0, 10, 0.3)]
)
@each_loss
def test_eiil_is_a_reference_its_splits_and_irm(
    draw: Draw, loss: PointLoss, weight: float, anneal: int, decay: float
) -> None:
    """Splits lie at a corner of the objective, where all g_i of an
    environment agree: 1 has the positive ones, in both parts."""
    inputs = draw(n=60, m=50)
    shared = {
        "loss": loss,
        "penalty_weight": weight,
        "anneal": anneal,
        "steps": 30,
        "learning_rate": 1e-2,
        "weight_decay": decay,
    }
    options = EIILOptions(
        **shared, reference_steps=15, inference_steps=2000, inference_rate=0.05
    )
    fitted = train_eiil(inputs, options)
    reference = inputs.network.trainable()
    weights = list(reference.weights.values())
    optimiser = torch.optim.Adam(weights, lr=1e-2)
    for _ in range(15):
        optimiser.zero_grad()
        outputs_of_reference = reference(inputs.x)
        losses = point_loss(outputs_of_reference, inputs.y, loss)
        risk = losses.mean()
        objective = risk + decay * decay_of(weights)
        objective.backward()
        optimiser.step()
    reference = reference.detached()
    assert fitted.environments is not None
    total = fitted.environments.sum(1)
    assert torch.equal(total, torch.ones(110))
    train, validation = fitted.environments.split([60, 50])
    for x, y, members in (
        (inputs.x, inputs.y, train),
        (inputs.x_validation, inputs.y_validation, validation),
    ):
        gradient = scale_gradient(reference(x), y, loss)
        size = gradient.abs()
        clear = size > 0.05 * size.max()
        up = gradient[clear] > 0
        n_up = int(up.sum())
        assert 0 < n_up < len(up)
        in_second = members[clear, 1] == 1
        assert torch.equal(in_second, up)
    environments = train.argmax(1)
    labelled = replace(inputs, environments=environments)
    expected = train_irm(labelled, IRMOptions(**shared))
    outputs = fitted.predict(inputs.x)["model"]
    expected_outputs = expected.predict(inputs.x)["model"]
    assert_close(outputs, expected_outputs, rtol=1e-3, atol=1e-3)


def spurious(rates: tuple[float, ...], n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points (n each) of a noisy cause of y and a precise attribute that agrees at the
    rates."""
    n_rates = len(rates)
    y = torch.sign(torch.randn(n_rates, n))
    share = torch.tensor(rates)[:, None]
    agrees = torch.rand(n_rates, n) < share
    cause = y + 1.5 * torch.randn(y.shape)
    attribute = torch.where(agrees, y, -y)
    x = torch.stack([cause, attribute], dim=-1)
    numbers = torch.arange(n_rates)[:, None]
    labels = numbers.expand(y.shape)
    return x.flatten(0, 1), y.flatten(), labels.flatten()


@pytest.mark.parametrize("name", ["irm squared", "irm logistic", "eiil logistic"])
def test_invariance_turns_away_from_the_spurious_attribute(name: str) -> None:
    x, y, labels = spurious((0.95, 0.7), 400)
    x_test, y_test, _ = spurious((0.1,), 500)
    options_of_network = NetworkOptions(widths=[32])
    network = build(options_of_network, 0, 2)
    inputs = Inputs(x, y, x, y, "classification", 0, network, labels)
    shared = {
        "loss": name.split()[1],
        "penalty_weight": 1e3,
        "anneal": 30,
        "steps": 200,
        "learning_rate": 1e-2,
        # the objective's own end: the validation points here have no other bias
        "evaluate_every": None,
    }
    if name.startswith("irm"):
        fitted = train_irm(inputs, IRMOptions(**shared))
    else:
        extra = {
            "reference_steps": 60,
            "inference_steps": 500,
            "inference_rate": 0.02,
        }
        unlabelled = replace(inputs, environments=None)
        options = EIILOptions(**shared, **extra)
        fitted = train_eiil(unlabelled, options)
    loss: PointLoss = "squared" if "squared" in name else "logistic"

    def mean_point_loss(f: Tensor, *_: Any) -> Tensor:
        return point_loss(f, y, loss).mean()

    erm = train(
        network,
        x,
        mean_point_loss,
        steps=200,
        learning_rate=1e-2,
    )
    is_positive = y_test > 0
    outputs = fitted.predict(x_test)["model"]
    right = (outputs > 0) == is_positive
    accuracy = (right).double().mean()
    right = (erm(x_test) > 0) == is_positive
    accuracy_of_erm = (right).double().mean()
    assert accuracy > accuracy_of_erm + 0.1


def test_the_default_loss_follows_the_task(draw: Draw) -> None:
    defaults = {"classification": "logistic", "regression": "squared"}
    for task, loss in defaults.items():
        inputs = draw(task)
        by_default = IRMOptions(steps=5, loss=None)
        by_name = IRMOptions(steps=5, loss=loss)
        default = train_irm(inputs, by_default)
        explicit = train_irm(inputs, by_name)
        outputs = default.predict(inputs.x)["model"]
        expected = explicit.predict(inputs.x)["model"]
        assert torch.equal(outputs, expected)
