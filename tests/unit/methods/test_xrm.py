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

    def changed(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs with the column, and which points it misleads."""
        draws = torch.from_numpy(rng.random(len(y)))
        flip = draws < share
        x = x.clone()
        copied_label = torch.where(flip, -y, y)
        x[:, 1] = 3 * copied_label
        return x, flip

    x, hidden = changed(inputs.x, inputs.y)
    x_validation, hidden_validation = changed(inputs.x_validation, inputs.y_validation)
    changed_inputs = replace(inputs, x=x, x_validation=x_validation)
    hidden_of_all = torch.cat([hidden, hidden_validation])
    return changed_inputs, hidden_of_all.long()


def total_of_means(losses: Tensor, labels: Tensor) -> Tensor:
    """Sum over the classes of their mean loss."""
    means = []
    for label in labels.unique():
        is_label = labels == label
        means.append(losses[is_label].mean())
    return sum(means)


@pytest.mark.parametrize(
    ("n", "widths"),
    [
        pytest.param(40, (8,), id="few"),
        pytest.param(200, (16,), id="many"),
        pytest.param(90, (8, 6), id="two layers"),
    ],
)
def test_two_networks_by_a_softmax_of_pytorch(
    draw: Draw, n: int, widths: tuple[int, ...]
) -> None:
    """Outputs (0, f), cross entropy, and labels flipped by the largest probability."""
    inputs = draw(n=n, noise=1.5, widths=widths)
    options = XRMOptions(twin_steps=15, twin_rate=2e-2)
    twins = train_twins(inputs, options)

    random = stream(inputs.seed, "xrm")
    draws = torch.from_numpy(random.random(n))
    in_a = draws.float() < 0.5
    assert torch.equal(twins.of_a, in_a)
    networks = [inputs.network.trainable() for _ in range(2)]
    optimisers = []
    for network in networks:
        weights = list(network.weights.values())
        optimiser = torch.optim.Adam(weights, lr=2e-2)
        optimisers.append(optimiser)
    is_positive = inputs.y > 0
    labels = is_positive.long()
    is_in_a = in_a[:, None]
    for _ in range(15):
        logits = []
        for network in networks:
            x = inputs.x.clone().requires_grad_()
            f = network.forward(network.weights, x)
            zeros = torch.zeros_like(f)
            both = torch.stack([zeros, f], 1)
            logits.append(both)
        of_a, of_b = logits
        own = torch.where(is_in_a, of_a, of_b)
        other = torch.where(is_in_a, of_b, of_a).detach()
        losses = nn.functional.cross_entropy(own, labels, reduction="none")
        for optimiser in optimisers:
            optimiser.zero_grad()
        total_of_means(losses, labels).backward()
        for optimiser in optimisers:
            optimiser.step()

        largest, predicted = other.softmax(1).max(1)
        chance = (largest - 1 / 2) * 2 / (2 - 1)
        draws = torch.from_numpy(random.random(n)).float()
        labels = torch.where(draws < chance, predicted, labels)

    def mistakes(x: Tensor, y: Tensor) -> Tensor:
        """1 where one of the two networks is wrong."""
        is_wrong = torch.zeros(len(y), dtype=torch.bool)
        for network in networks:
            outputs = network(x).detach()
            is_wrong |= torch.sign(outputs) != y
        return is_wrong.long()

    assert torch.equal(twins.labels, 2.0 * labels - 1)
    is_flipped = labels != is_positive
    share_flipped = float(is_flipped.double().mean())
    assert share_flipped > 0
    assert twins.flipped == share_flipped

    is_mistaken = mistakes(inputs.x, inputs.y)
    assert 0 < int(is_mistaken.sum()) < n
    found_mistakes = twins.mistakes(inputs.x, inputs.y)
    assert torch.equal(found_mistakes, is_mistaken)
    held_out = (inputs.x_validation, inputs.y_validation)
    is_mistaken_held_out = mistakes(*held_out)
    assert torch.equal(twins.mistakes(*held_out), is_mistaken_held_out)


def test_the_second_step_is_group_dro_on_labels_and_environments(draw: Draw) -> None:
    inputs = draw(n=80, noise=1.5)
    shared = {
        "steps": 20,
        "learning_rate": 1e-2,
        "loss": "logistic",
        "eta": 0.7,
    }
    options = XRMOptions(
        twin_steps=15,
        twin_rate=2e-2,
        weight_decay=1e-3,
        **shared,
    )
    fitted = train_xrm(inputs, options)
    assert fitted.environments is not None
    environments = fitted.environments.argmax(1)[:80]
    names = []
    for e, y in zip(environments, inputs.y, strict=True):
        names.append((int(e), float(y)))
    distinct = sorted(set(names))
    numbers = [distinct.index(name) for name in names]
    groups = torch.tensor(numbers)
    assert groups.max() == 3
    given = replace(inputs, environments=groups)
    options_of_dro = GroupDROOptions(weight_decay=1e-3, **shared)
    other = train_group_dro(given, options_of_dro)
    d = inputs.x.shape[1]
    new = torch.randn(9, d)
    expected = other.predict(new)
    for name, outputs in fitted.predict(new).items():
        assert_close(outputs, expected[name])


def test_a_minority_is_found_from_its_mistakes(draw: Draw) -> None:
    """In training and validation points, and the seed hardly matters."""
    drawn = draw(n=400, m=100, noise=2.0)
    inputs, hidden = flipped_column(drawn, 0.15)
    options = XRMOptions(twin_steps=150, twin_rate=1e-2, steps=5)
    parts = (slice(0, 400), slice(400, 500))
    for seed in (0, 1):
        seeded = replace(inputs, seed=seed)
        fitted = train_xrm(seeded, options)
        assert fitted.environments is not None
        environments = fitted.environments.argmax(1)
        for part in parts:
            agreement = adjusted_rand_score(hidden[part], environments[part])
            assert agreement > 0.8
        assert 0.05 < fitted.chosen["flipped"] < 0.25


def test_labels_that_nobody_contradicts_stay(draw: Draw) -> None:
    drawn = draw(n=100, m=30)
    inputs, _ = flipped_column(drawn, 0.0)
    options = XRMOptions(twin_steps=100, twin_rate=1e-2)
    twins = train_twins(inputs, options)
    assert twins.flipped == 0
    mistakes = twins.mistakes(inputs.x, inputs.y)
    assert int(mistakes.sum()) == 0


def test_networks_start_alike_and_learn_different_points(draw: Draw) -> None:
    """A point of the other network moves only that one, but for its flips."""
    inputs = draw(n=60)

    def first_step(changed: Tensor | None) -> list[Network]:
        x = inputs.x.clone()
        if changed is not None:
            x[changed] += 1
        changed_inputs = replace(inputs, x=x)
        twins = train_twins(changed_inputs, options)
        return [twins.a, twins.b]

    options = XRMOptions(twin_steps=1)
    a_before, b_before = first_step(None)
    of_b = ~train_twins(inputs, options).of_a
    assert 15 < int(of_b.sum()) < 45
    points_of_b = torch.nonzero(of_b).flatten()
    first_of_b = points_of_b[:1]
    a_after, b_after = first_step(first_of_b)
    d = inputs.x.shape[1]
    new = torch.randn(5, d)
    assert_close(a_after(new), a_before(new))
    difference = b_after(new) - b_before(new)
    assert difference.abs().max() > 1e-6
