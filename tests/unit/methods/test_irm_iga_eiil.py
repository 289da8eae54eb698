"""Penalties of IRM, IGA and EIIL against autograd, their training
against plain loops."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

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
    return nn.functional.binary_cross_entropy_with_logits(f, (y > 0).to(f))


def scale_penalty(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Squared gradient of the risk with respect to a dummy scale."""
    scale = torch.ones((), dtype=f.dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(
        mean_loss(scale * f, y, loss), scale, create_graph=True
    )
    return gradient**2


def outputs(n: int = N) -> tuple[Tensor, Tensor, Tensor]:
    """f, y and labels of three environments of unequal sizes."""
    rng = np.random.default_rng(0)
    f = 2 * rng.standard_normal(n)
    y = rng.choice([-1.0, 1.0], n)
    labels = rng.choice(3, n, p=[0.2, 0.3, 0.5])
    return torch.from_numpy(f), torch.from_numpy(y), torch.from_numpy(labels)


@each_loss
def test_large_outputs_have_finite_losses(loss: PointLoss) -> None:
    f = torch.tensor([-1e4, 1e4])
    y = torch.ones(2)
    assert point_loss(f, y, loss).isfinite().all()
    assert scale_gradient(f, y, loss).isfinite().all()


@pytest.mark.parametrize("anneal", [0, 10])
@pytest.mark.parametrize(("weight", "decay"), [(0.3, 0.0), (3.0, 0.02), (500.0, 0.5)])
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
        total = decay * sum(w.norm() ** 2 for w in weights)
        now = min(weight, 1.0) if step < anneal else weight
        for e in range(2):
            part = f[inputs.environments == e], inputs.y[inputs.environments == e]
            total = (
                total
                + mean_loss(*part, loss) / 2
                + now * scale_penalty(*part, loss) / 2
            )
        optimiser.zero_grad()
        (total / max(now, 1.0)).backward()
        optimiser.step()
    result = train_irm(inputs, options).predict(inputs.x)["model"]
    assert_close(result, network(inputs.x).detach(), rtol=1e-3, atol=1e-3)


def variance_by_hand(
    network: Network, x: Tensor, y: Tensor, labels: Tensor, loss: PointLoss
) -> Tensor:
    """Sum over environments of |grad L^e - mean grad|^2."""
    gradients = []
    for e in labels.unique():
        risk = point_loss(network(x), y, loss)[labels == e].mean()
        parts = torch.autograd.grad(
            risk, list(network.weights.values()), create_graph=True
        )
        gradients.append(torch.cat([part.flatten() for part in parts]))
    stacked = torch.stack(gradients)
    return ((stacked - stacked.mean(0)) ** 2).sum()


@pytest.mark.parametrize("weight", [0.5, 20.0])
def test_iga_by_a_torch_loop(draw: Draw, weight: float) -> None:
    inputs = draw(n=36, widths=(8, 6), environments=3)
    assert inputs.environments is not None
    x = inputs.x
    y = inputs.y
    labels = inputs.environments
    network = inputs.network.trainable()
    optimiser = torch.optim.Adam(list(network.weights.values()), lr=1e-2)
    for _ in range(20):
        optimiser.zero_grad()
        f = network(x)
        total = torch.stack(
            [((f - y) ** 2)[labels == e].mean() for e in range(3)]
        ).mean()
        (total + weight * variance_by_hand(network, x, y, labels, "squared")).backward()
        optimiser.step()
    options = IGAOptions(penalty_weight=weight, steps=20, learning_rate=1e-2)
    trained = train_iga(inputs, options)
    assert_close(trained.predict(x)["model"], network(x).detach(), rtol=1e-3, atol=1e-3)


@each_loss
def test_the_inferences_objective_by_a_dummy_scale(loss: PointLoss) -> None:
    f, y, _ = outputs(30)
    w = torch.randn(30, dtype=torch.float64, requires_grad=True)
    value = soft_penalty(w, scale_gradient(f, y, loss))
    (gradient,) = torch.autograd.grad(value, w)
    scale = torch.ones((), dtype=torch.float64, requires_grad=True)
    losses = point_loss(scale * f, y, loss)
    q = torch.sigmoid(w)
    slopes = [
        torch.autograd.grad((share * losses).mean(), scale, create_graph=True)[0]
        for share in (q, 1 - q)
    ]
    expected = (slopes[0] ** 2 + slopes[1] ** 2) / 2
    assert_close(value, expected)
    assert_close(gradient, torch.autograd.grad(expected, w)[0])


@pytest.mark.parametrize(("steps", "rate"), [(3_000, 3e-3), (1_000, 1e-2)])
def test_the_split_is_the_best_of_all(steps: int, rate: float) -> None:
    f, y, _ = outputs(9)
    gradient = scale_gradient(f, y, "squared").float()
    # 2^n hard splits, by assignments that saturate the sigmoid
    corners = torch.tensor(list(product([-50.0, 50.0], repeat=9)))
    values = soft_penalty(corners, gradient.expand_as(corners))
    for seed in range(3):
        split = infer_environments(gradient, seed, steps=steps, rate=rate)
        result = soft_penalty(100 * (0.5 - split.float()), gradient)
        assert_close(result, values.max())


@pytest.mark.parametrize(
    ("weight", "anneal", "decay"), [(1.0, 0, 0.0), (200.0, 10, 0.3)]
)
@each_loss
def test_eiil_is_a_reference_its_splits_and_irm(
    draw: Draw, loss: PointLoss, weight: float, anneal: int, decay: float
) -> None:
    """Splits lie at a corner of the objective, where all g_i of an
    environment agree."""
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
        risk = point_loss(reference(inputs.x), inputs.y, loss).mean()
        (risk + decay * sum(w.norm() ** 2 for w in weights)).backward()
        optimiser.step()
    reference = reference.detached()
    assert fitted.environments is not None
    assert torch.equal(fitted.environments.sum(1), torch.ones(110))
    parts = (inputs.x, inputs.y), (inputs.x_validation, inputs.y_validation)
    for (x, y), members in zip(parts, fitted.environments.split([60, 50]), strict=True):
        gradient = scale_gradient(reference(x), y, loss)
        clear = gradient.abs() > 0.05 * gradient.abs().max()
        up = gradient[clear] > 0
        assert 0 < int(up.sum()) < len(up)
        assert any(torch.equal(members[clear, e] == 1, up) for e in range(2))
    labels = fitted.environments[:60].argmax(1)
    expected = train_irm(replace(inputs, environments=labels), IRMOptions(**shared))
    results = (f.predict(inputs.x)["model"] for f in (fitted, expected))
    assert_close(*results, rtol=1e-3, atol=1e-3)


def spurious(rates: tuple[float, ...], n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points (n each) of a noisy cause of y and a precise attribute that agrees at the
    rates."""
    y = torch.sign(torch.randn(len(rates), n))
    agrees = torch.rand(len(rates), n) < torch.tensor(rates)[:, None]
    x = torch.stack(
        [y + 1.5 * torch.randn(y.shape), torch.where(agrees, y, -y)], dim=-1
    )
    labels = torch.arange(len(rates))[:, None].expand(y.shape)
    return x.flatten(0, 1), y.flatten(), labels.flatten()


@pytest.mark.parametrize("name", ["irm squared", "irm logistic", "eiil logistic"])
def test_invariance_turns_away_from_the_spurious_attribute(name: str) -> None:
    (x, y, labels), (x_test, y_test, _) = (
        spurious((0.95, 0.7), 400),
        spurious((0.1,), 500),
    )
    network = build(NetworkOptions(widths=[32]), 0, 2)
    inputs = Inputs(x, y, x, y, "classification", 0, network, labels)
    shared = {
        "loss": name.split()[1],
        "penalty_weight": 1e3,
        "anneal": 30,
        "steps": 200,
        "learning_rate": 1e-2,
    }
    if name.startswith("irm"):
        fitted = train_irm(inputs, IRMOptions(**shared))
    else:
        extra = {"reference_steps": 60, "inference_steps": 500, "inference_rate": 0.02}
        fitted = train_eiil(
            replace(inputs, environments=None), EIILOptions(**shared, **extra)
        )
    loss: PointLoss = "squared" if "squared" in name else "logistic"
    erm = train(
        network,
        x,
        lambda f, *_: point_loss(f, y, loss).mean(),
        steps=200,
        learning_rate=1e-2,
    )
    models = erm, lambda points: fitted.predict(points)["model"]
    hits = [float(((f(x_test) > 0) == (y_test > 0)).double().mean()) for f in models]
    assert hits[1] > hits[0] + 0.1


def test_the_default_loss_follows_the_task(draw: Draw) -> None:
    for task, loss in (("classification", "logistic"), ("regression", "squared")):
        inputs = draw(task)
        default = train_irm(inputs, IRMOptions(steps=5, loss=None)).predict(inputs.x)[
            "model"
        ]
        explicit = train_irm(inputs, IRMOptions(steps=5, loss=loss)).predict(inputs.x)[
            "model"
        ]
        assert torch.equal(default, explicit)
