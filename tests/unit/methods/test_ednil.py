"""EDNIL's losses against torch's and loops over points; its rounds in plain PyTorch."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from torch import Tensor, nn
from torch.testing import assert_close

from kerhrm import KerhrmError
from kerhrm.methods.ednil import (
    EDNILOptions,
    diversity_loss,
    environment_weights,
    label_information,
    loss_variance,
    train_ednil,
    with_heads,
)
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.modules import init_module

Draw = Callable[..., Inputs]


def drawn(n: int, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Probabilities (n, count) and labels."""
    rng = np.random.default_rng(seed)
    p = torch.from_numpy(rng.dirichlet(np.full(count, 0.5), n))
    return p.clamp_min(1e-12), torch.from_numpy(rng.choice([-1.0, 1.0], n))


counts = st.integers(1, 5), st.integers(0, 99)


@given(*counts)
def test_labels_that_environments_tell_by_the_divergence_of_torch(
    count: int, seed: int
) -> None:
    p, y = drawn(30, count, seed)
    divergences = []
    for e in range(count):
        shares = torch.stack([p[y == label, e].sum() for label in (-1, 1)])
        categories = torch.distributions.Categorical(probs=shares / shares.sum())
        uniform = torch.distributions.Categorical(probs=torch.full((2,), 0.5).double())
        divergences.append(torch.distributions.kl_divergence(categories, uniform))
    assert_close(label_information(p, y), sum(divergences) / count)


def test_environments_that_copy_the_label_have_all_of_its_information() -> None:
    y = torch.tensor([1.0, -1.0, 1.0, -1.0])
    copies = torch.stack([(y > 0).double(), (y < 0).double()], 1)
    assert float(label_information(copies, y)) == pytest.approx(np.log(2))
    assert float(label_information(torch.full((4, 2), 0.5), y)) == 0.0


@given(*counts)
def test_the_other_losses_by_loops_over_points(count: int, seed: int) -> None:
    p, _ = drawn(30, count, seed)
    likeliest = [int(row.argmax()) for row in p]
    sizes = [likeliest.count(e) for e in range(count)]
    for limit in (1.0, 2.0, 1e9):
        u = [min(max(sizes) / sizes[e], limit) for e in likeliest]
        total = -sum(
            w * float(row[e].log()) for w, row, e in zip(u, p, likeliest, strict=True)
        )
        assert float(diversity_loss(p, limit)) == pytest.approx(total / sum(u))
    losses = torch.rand(30).double()
    means = [np.average(losses, weights=p[:, e]) for e in range(count)]
    assert float(loss_variance(p, losses)) == pytest.approx(float(np.var(means)))


@given(*counts)
def test_environments_have_no_names(count: int, seed: int) -> None:
    p, y = drawn(30, count, seed)
    losses = torch.rand(30).double()
    order = torch.from_numpy(np.random.default_rng(seed).permutation(count))
    for loss in (
        lambda q: diversity_loss(q, 2.0),
        lambda q: label_information(q, y),
        lambda q: loss_variance(q, losses),
    ):
        assert_close(loss(p[:, order]), loss(p))


def test_environments_without_points_are_left_out() -> None:
    chosen = torch.tensor([[0.9, 0.0, 0.0], [0.7, 0.0, 0.0], [0.0, 0.0, 0.4]])
    weights, means = environment_weights(chosen)
    assert_close(weights, torch.tensor([0.8, 0.4]) / 1.2)
    assert_close(means, torch.tensor([[0.5, 0.5, 0], [0, 0, 1.0]]))


@pytest.mark.parametrize("penalty", [0.5, 50.0])
def test_the_rounds_by_modules_of_pytorch(draw: Draw, penalty: float) -> None:
    """Two ``nn.Sequential``, ``torch.optim.Adam``, autograd for IRMv1's slope."""
    inputs = draw(n=40, noise=1.5, widths=(8,))
    options: Any = {
        "n_environments": 3,
        "rounds": 3,
        "reference_steps": 10,
        "inference_steps": 6,
        "steps": 7,
        "learning_rate": 1e-2,
        "weight_decay": 1e-2,
        "penalty_weight": penalty,
    }
    x = inputs.x
    y = (inputs.y > 0).float()

    def module(weights: dict[str, Tensor]) -> nn.Sequential:
        shapes = [weights[f"weight_{i}"].shape for i in (0, 1)]
        layers = [nn.Linear(shape[1], shape[0]) for shape in shapes]
        for i, layer in enumerate(layers):
            layer.weight.data = weights[f"weight_{i}"].clone()
            layer.bias.data = weights[f"bias_{i}"].clone()
        return nn.Sequential(layers[0], nn.ReLU(), layers[1])

    infer = module(with_heads(inputs.network, 3, inputs.seed).weights)
    learn = module(inputs.network.weights)
    bce = nn.functional.binary_cross_entropy_with_logits

    def of_heads() -> Tensor:
        return bce(infer(x), y[:, None].expand(-1, 3), reduction="none")

    def step(optimiser: torch.optim.Optimizer, net: nn.Module, loss: Tensor) -> None:
        optimiser.zero_grad()
        (loss + 1e-2 * sum(w.norm() ** 2 for w in net.parameters())).backward()
        optimiser.step()

    first = torch.optim.Adam(infer.parameters(), lr=1e-2)
    for _ in range(10):
        step(first, infer, of_heads()[:, 0].mean())
    of_infer = torch.optim.Adam(infer.parameters(), lr=1e-2)
    of_learn = torch.optim.Adam(learn.parameters(), lr=1e-2)
    for number in range(3):
        fixed = bce(learn(x)[:, 0], y, reduction="none").detach()
        for _ in range(6):
            p = (-of_heads() / 0.2).softmax(1)
            total = diversity_loss(p, 2.0) + 3.0 * label_information(p, y - 0.5)
            step(of_infer, infer, total + 5.0 * number / 2 * loss_variance(p, fixed))
        p = (-of_heads() / 0.2).softmax(1).detach()
        environment = p.argmax(1)
        weight = penalty if number else min(1.0, penalty)
        names = environment.unique()
        assert len(names) > 1
        confidence = torch.stack([p[environment == e, e].mean() for e in names])
        for _ in range(7):
            terms = []
            for e in names:
                part = environment == e
                scale = torch.ones((), requires_grad=True)
                risk = bce(scale * learn(x[part])[:, 0], y[part])
                (slope,) = torch.autograd.grad(risk, scale, create_graph=True)
                terms.append(risk + weight * slope**2)
            mean = (confidence * torch.stack(terms)).sum() / confidence.sum()
            largest = max(weight, 1.0)
            of_learn.zero_grad()
            decay = 1e-2 * sum(w.norm() ** 2 for w in learn.parameters())
            ((mean + decay) / largest).backward()
            of_learn.step()
    fitted = train_ednil(inputs, EDNILOptions(**options))
    assert_close(
        fitted.predict(x)["model"], learn(x)[:, 0].detach(), rtol=1e-3, atol=1e-3
    )
    assert fitted.environments is not None
    assert torch.equal(fitted.environments.argmax(1)[:40], environment)


def test_a_minority_is_found_and_left_behind(draw: Draw) -> None:
    """A column says the label in 85 % of the points, and the opposite in the others."""
    inputs = draw(n=400, m=100, noise=0.3)
    rng = np.random.default_rng(0)
    hidden = torch.from_numpy(rng.random(400) < 0.15)
    x = inputs.x.clone()
    x[:, 3] = 3 * torch.where(hidden, -inputs.y, inputs.y)
    inputs = replace(inputs, x=x)
    options = EDNILOptions(n_environments=2, learning_rate=1e-2)
    fitted = train_ednil(inputs, options)
    assert fitted.environments is not None
    found = fitted.environments.argmax(1)[:400]
    assert adjusted_rand_score(hidden, found) > 0.6
    flipped = torch.cat([x[:, :3], -3 * inputs.y[:, None]], 1)
    right = torch.sign(fitted.predict(flipped)["model"]) == inputs.y
    assert float(right.double().mean()) > 0.7


def test_more_weight_on_labels_leaves_them_less_information(draw: Draw) -> None:
    inputs = draw(n=200, noise=1.0)
    told = []
    for weight in (0.0, 3.0, 100.0):
        options = EDNILOptions(
            n_environments=2, label_weight=weight, learning_rate=1e-2
        )
        environments = train_ednil(inputs, options).environments
        assert environments is not None
        told.append(float(label_information(environments[:200].double(), inputs.y)))
    assert all(more >= less - 1e-3 for more, less in pairwise(told))
    assert told[2] < 0.1


def test_the_best_look_of_the_last_round_is_kept(draw: Draw) -> None:
    """A run of fewer steps in one round is the start of the longer one."""
    inputs = draw(n=60, m=30, noise=1.5)
    quick: Any = {"n_environments": 2, "rounds": 1, "learning_rate": 3e-2}
    quick |= {"reference_steps": 20, "inference_steps": 20}
    scores = {}
    fits = {}
    for steps in (7, 14, 20):
        fits[steps] = train_ednil(inputs, EDNILOptions(steps=steps, **quick))
        environments = fits[steps].environments
        assert environments is not None
        environment = environments[60:].argmax(1)
        outputs = fits[steps].predict(inputs.x_validation)["model"]
        right = torch.sign(outputs) == inputs.y_validation
        shares = [right[environment == e].double().mean() for e in (0, 1)]
        scores[steps] = min(float(share) for share in shares if not share.isnan())
    best = max(scores, key=lambda steps: scores[steps])
    options = EDNILOptions(steps=20, evaluate_every=7, **quick)
    new = torch.randn(9, inputs.x.shape[1])
    outputs = train_ednil(inputs, options).predict(new)["model"]
    assert_close(outputs, fits[best].predict(new)["model"])


def test_networks_and_limits_that_do_not_fit_are_refused(draw: Draw) -> None:
    module = init_module("kerhrm.networks.modules:small_cnn", 0, 2 * 14 * 14)
    with pytest.raises(KerhrmError, match="last layer of a perceptron"):
        train_ednil(replace(draw(n=10), network=module), EDNILOptions())
    for bad in ({"balance_limit": 0.5}, {"temperature": 0.0}, {"n_environments": 0}):
        with pytest.raises(KerhrmError) as error:
            EDNILOptions.parse(bad)
        assert "\n" not in str(error.value)
