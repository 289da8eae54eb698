"""XRM's two networks against a loop of PyTorch with a softmax, and its limits."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from torch import Tensor, nn
from torch.testing import assert_close

from kerhrm.methods.group_dro import GroupDROOptions, train_group_dro
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.xrm import XRMOptions, train_twins, train_xrm
from kerhrm.networks.base import Network
from kerhrm.randomness import stream

Draw = Callable[..., Inputs]


def flipped_column(inputs: Inputs, share: float) -> tuple[Inputs, Tensor]:
    """A column that says the label, but in a share of the points the other one."""
    rng = np.random.default_rng(0)
    parts = []
    hidden = []
    for x, y in (
        (inputs.x, inputs.y),
        (inputs.x_validation, inputs.y_validation),
    ):
        flip = torch.from_numpy(rng.random(len(y)) < share)
        changed = x.clone()
        changed[:, 1] = 3 * torch.where(flip, -y, y)
        parts.append(changed)
        hidden.append(flip)
    changed_inputs = replace(inputs, x=parts[0], x_validation=parts[1])
    return changed_inputs, torch.cat(hidden).long()


@pytest.mark.parametrize(("n", "widths"), [(40, (8,)), (200, (16,)), (90, (8, 6))])
def test_two_networks_by_a_softmax_of_pytorch(
    draw: Draw, n: int, widths: tuple[int, ...]
) -> None:
    """Outputs (0, f), cross entropy, and labels flipped by the largest probability."""
    inputs = draw(n=n, noise=1.5, widths=widths)
    options = XRMOptions(twin_steps=15, twin_rate=2e-2)
    twins = train_twins(inputs, options)

    random = stream(inputs.seed, "xrm")
    in_a = torch.from_numpy(random.random(n)).float() < 0.5
    assert torch.equal(twins.of_a, in_a)
    networks = [inputs.network.trainable() for _ in range(2)]
    optimisers = [
        torch.optim.Adam(list(network.weights.values()), lr=2e-2)
        for network in networks
    ]
    labels = (inputs.y > 0).long()
    for _ in range(15):
        logits = []
        for network in networks:
            f = network.forward(network.weights, inputs.x.clone().requires_grad_())
            logits.append(torch.stack([torch.zeros_like(f), f], 1))
        own = torch.where(in_a[:, None], *logits)
        other = torch.where(in_a[:, None], *logits[::-1]).detach()
        losses = nn.functional.cross_entropy(own, labels, reduction="none")
        for optimiser in optimisers:
            optimiser.zero_grad()
        sum(losses[labels == c].mean() for c in labels.unique()).backward()
        for optimiser in optimisers:
            optimiser.step()
        largest, predicted = other.softmax(1).max(1)
        chance = (largest - 1 / 2) * 2 / (2 - 1)
        flips = torch.from_numpy(random.random(n)).float() < chance
        labels = torch.where(flips, predicted, labels)

    def mistakes(x: Tensor, y: Tensor) -> Tensor:
        wrong = [torch.sign(network(x).detach()) != y for network in networks]
        return (wrong[0] | wrong[1]).long()

    assert torch.equal(twins.labels, 2.0 * labels - 1)
    assert 0 < twins.flipped == float((labels != (inputs.y > 0)).double().mean())
    for x, y in (
        (inputs.x, inputs.y),
        (inputs.x_validation, inputs.y_validation),
    ):
        assert torch.equal(twins.mistakes(x, y), mistakes(x, y))
    assert 0 < int(mistakes(inputs.x, inputs.y).sum()) < n


def test_the_second_step_is_group_dro_on_labels_and_environments(draw: Draw) -> None:
    inputs = draw(n=80, noise=1.5)
    shared = {"steps": 20, "learning_rate": 1e-2, "loss": "logistic", "eta": 0.7}
    options = XRMOptions(twin_steps=15, twin_rate=2e-2, weight_decay=1e-3, **shared)
    fitted = train_xrm(inputs, options)
    assert fitted.environments is not None
    found = fitted.environments.argmax(1)[:80]
    names = [(int(e), float(y)) for e, y in zip(found, inputs.y, strict=True)]
    groups = torch.tensor([sorted({*names}).index(name) for name in names])
    assert int(groups.max()) == 3
    given = replace(inputs, environments=groups)
    other = train_group_dro(given, GroupDROOptions(weight_decay=1e-3, **shared))
    new = torch.randn(9, inputs.x.shape[1])
    for name, outputs in fitted.predict(new).items():
        assert_close(outputs, other.predict(new)[name])


def test_a_minority_is_found_from_its_mistakes(draw: Draw) -> None:
    """In training and validation points, and the seed hardly matters."""
    drawn = draw(n=400, m=100, noise=2.0)
    inputs, hidden = flipped_column(drawn, 0.15)
    options = XRMOptions(twin_steps=150, twin_rate=1e-2, steps=5)
    for seed in (0, 1):
        fitted = train_xrm(replace(inputs, seed=seed), options)
        assert fitted.environments is not None
        found = fitted.environments.argmax(1)
        for part in (slice(0, 400), slice(400, 500)):
            assert adjusted_rand_score(hidden[part], found[part]) > 0.8
        assert 0.05 < fitted.chosen["flipped"] < 0.25


def test_labels_that_nobody_contradicts_stay(draw: Draw) -> None:
    inputs, _ = flipped_column(draw(n=100, m=30), 0.0)
    twins = train_twins(inputs, XRMOptions(twin_steps=100, twin_rate=1e-2))
    assert twins.flipped == 0
    assert int(twins.mistakes(inputs.x, inputs.y).sum()) == 0


def test_networks_start_alike_and_learn_different_points(draw: Draw) -> None:
    """A point of the other network moves only that one, but for its flips."""
    inputs = draw(n=60)

    def first_step(changed: Tensor | None) -> list[Network]:
        x = inputs.x.clone()
        if changed is not None:
            x[changed] += 1
        twins = train_twins(replace(inputs, x=x), XRMOptions(twin_steps=1))
        return [twins.a, twins.b]

    before = first_step(None)
    of_b = ~train_twins(inputs, XRMOptions(twin_steps=1)).of_a
    assert 15 < int(of_b.sum()) < 45
    after = first_step(torch.nonzero(of_b).flatten()[:1])
    new = torch.randn(5, inputs.x.shape[1])
    assert_close(after[0](new), before[0](new))
    assert float((after[1](new) - before[1](new)).abs().max()) > 1e-6
