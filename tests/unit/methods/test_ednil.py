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
from refusals import refusal
from sklearn.metrics import adjusted_rand_score
from torch import Tensor, nn
from torch.distributions import Categorical, kl_divergence
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.testing import assert_close

from kerhrm import KerhrmError
from kerhrm.methods.ednil import (
    EDNILOptions,
    diversity_loss,
    environment_weights,
    label_divergence,
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
    concentration = np.full(count, 0.5)
    shares = rng.dirichlet(concentration, n)
    labels = rng.choice([-1.0, 1.0], n)
    p = torch.from_numpy(shares).clamp_min(1e-12)
    return p, torch.from_numpy(labels)


counts = (st.integers(1, 5), st.integers(0, 99))


@given(*counts)
def test_labels_that_environments_tell_by_the_divergence_of_torch(
    count: int, seed: int
) -> None:
    p, y = drawn(30, count, seed)
    halves = torch.full((2,), 0.5).double()
    uniform = Categorical(probs=halves)
    divergences = []
    for e in range(count):
        of_environment = p[:, e]
        sizes = []
        for label in (-1, 1):
            of_label = of_environment[y == label]
            sizes.append(of_label.sum())
        shares = torch.stack(sizes)
        categories = Categorical(probs=shares / shares.sum())
        divergences.append(kl_divergence(categories, uniform))
    expected = sum(divergences) / count
    assert_close(label_divergence(p, y), expected)


def test_environments_that_copy_the_label_have_all_of_its_information() -> None:
    y = torch.tensor([1.0, -1.0, 1.0, -1.0])
    is_positive = (y > 0).double()
    copies = torch.stack([is_positive, 1 - is_positive], 1)
    of_copies = float(label_divergence(copies, y))
    expected = np.log(2)
    assert of_copies == pytest.approx(expected)
    halves = torch.full((4, 2), 0.5)
    assert label_divergence(halves, y) == 0.0


@given(*counts)
def test_the_other_losses_by_loops_over_points(count: int, seed: int) -> None:
    p, _ = drawn(30, count, seed)
    likeliest = [int(row.argmax()) for row in p]
    sizes = [likeliest.count(e) for e in range(count)]
    largest = max(sizes)
    for limit in (1.0, 2.0, 1e9):
        total = 0.0
        total_weight = 0.0
        for row, e in zip(p, likeliest, strict=True):
            weight = min(largest / sizes[e], limit)
            log_probability = float(row[e].log())
            total -= weight * log_probability
            total_weight += weight
        loss = float(diversity_loss(p, limit))
        assert loss == pytest.approx(total / total_weight)
    losses = torch.rand(30).double()
    means = []
    for e in range(count):
        weights = p[:, e]
        mean = np.average(losses, weights=weights)
        means.append(mean)
    variance = float(loss_variance(p, losses))
    expected = np.var(means)
    assert variance == pytest.approx(expected)


@given(*counts)
def test_environments_have_no_names(count: int, seed: int) -> None:
    p, y = drawn(30, count, seed)
    losses = torch.rand(30).double()
    rng = np.random.default_rng(seed)
    order = torch.from_numpy(rng.permutation(count))
    renamed = p[:, order]
    expected = diversity_loss(p, 2.0)
    assert_close(diversity_loss(renamed, 2.0), expected)
    expected = label_divergence(p, y)
    assert_close(label_divergence(renamed, y), expected)
    expected = loss_variance(p, losses)
    assert_close(loss_variance(renamed, losses), expected)


def test_environments_without_points_are_left_out() -> None:
    chosen = torch.tensor(
        [
            [0.9, 0.0, 0.0],
            [0.7, 0.0, 0.0],
            [0.0, 0.0, 0.4],
        ]
    )
    weights, means = environment_weights(chosen)
    expected_weights = torch.tensor([0.8, 0.4]) / 1.2
    expected_means = torch.tensor([[0.5, 0.5, 0], [0, 0, 1.0]])
    assert_close(weights, expected_weights)
    assert_close(means, expected_means)


def perceptron(weights: dict[str, Tensor]) -> nn.Sequential:
    """Two layers with copies of these weights."""
    layers = []
    for i in (0, 1):
        weight = weights[f"weight_{i}"]
        n_outputs, n_inputs = weight.shape
        layer = nn.Linear(n_inputs, n_outputs)
        layer.weight.data = weight.clone()
        layer.bias.data = weights[f"bias_{i}"].clone()
        layers.append(layer)
    first, last = layers
    return nn.Sequential(first, nn.ReLU(), last)


def decay(network: nn.Module) -> Tensor:
    """Squared size of all weights, times 1e-2."""
    squares = [weight.norm() ** 2 for weight in network.parameters()]
    return 1e-2 * sum(squares)


class InModules:
    """The rounds with two ``nn.Sequential``, ``torch.optim.Adam`` and autograd."""

    def __init__(self, inputs: Inputs, penalty: float) -> None:
        self.x = inputs.x
        self.y = (inputs.y > 0).float()
        self.penalty = penalty
        with_three_heads = with_heads(inputs.network, 3, inputs.seed)
        self.infer = perceptron(with_three_heads.weights)
        self.learn = perceptron(inputs.network.weights)

    def optimiser(self, network: nn.Module) -> torch.optim.Optimizer:
        weights = network.parameters()
        return torch.optim.Adam(weights, lr=1e-2)

    def losses_of_heads(self) -> Tensor:
        """Cross entropies (n, 3)."""
        labels = self.y[:, None].expand(-1, 3)
        outputs = self.infer(self.x)
        return cross_entropy(outputs, labels, reduction="none")

    def memberships(self) -> Tensor:
        losses = self.losses_of_heads()
        return (-losses / 0.2).softmax(1)

    def start(self) -> None:
        """The first head learns to predict."""
        optimiser = self.optimiser(self.infer)
        for _ in range(10):
            of_first_head = self.losses_of_heads()[:, 0]
            objective = of_first_head.mean() + decay(self.infer)
            optimiser.zero_grad()
            objective.backward()
            optimiser.step()

    def infer_environments(self, optimiser: torch.optim.Optimizer, number: int) -> None:
        """Steps of the network of environments in one round."""
        outputs = self.learn(self.x)[:, 0]
        losses = cross_entropy(outputs, self.y, reduction="none")
        fixed = losses.detach()
        rising = 5.0 * number / 2
        for _ in range(6):
            p = self.memberships()
            diversity = diversity_loss(p, 2.0)
            information = label_divergence(p, self.y - 0.5)
            variance = loss_variance(p, fixed)
            objective = diversity + 3.0 * information + rising * variance
            objective = objective + decay(self.infer)
            optimiser.zero_grad()
            objective.backward()
            optimiser.step()

    def penalised_risk(self, part: Tensor, weight: float) -> Tensor:
        """Risk of some points, and IRMv1's penalty of it."""
        scale = torch.ones((), requires_grad=True)
        x = self.x[part]
        y = self.y[part]
        outputs = self.learn(x)[:, 0]
        risk = cross_entropy(scale * outputs, y)
        (slope,) = torch.autograd.grad(risk, scale, create_graph=True)
        return risk + weight * slope**2

    def learn_invariant(self, optimiser: torch.optim.Optimizer, number: int) -> Tensor:
        """Steps of the predictor in one round; the environments that it sees."""
        p = self.memberships().detach()
        environment = p.argmax(1)
        names = environment.unique()
        assert len(names) > 1
        means = []
        for e in names:
            of_environment = p[environment == e, e]
            means.append(of_environment.mean())
        confidence = torch.stack(means)
        weight = self.penalty
        if number == 0:
            weight = min(1.0, self.penalty)
        for _ in range(7):
            risks = []
            for e in names:
                inside = environment == e
                risks.append(self.penalised_risk(inside, weight))
            weighted = confidence * torch.stack(risks)
            mean = weighted.sum() / confidence.sum()
            with_decay = mean + decay(self.learn)
            objective = with_decay / max(weight, 1.0)
            optimiser.zero_grad()
            objective.backward()
            optimiser.step()
        return environment


@pytest.mark.parametrize("penalty", [0.5, 50.0])
def test_the_rounds_by_modules_of_pytorch(draw: Draw, penalty: float) -> None:
    """Two ``nn.Sequential``, ``torch.optim.Adam``, autograd for IRMv1's slope."""
    inputs = draw(n=40, noise=1.5, widths=(8,))
    options = EDNILOptions(
        n_environments=3,
        rounds=3,
        reference_steps=10,
        inference_steps=6,
        steps=7,
        learning_rate=1e-2,
        weight_decay=1e-2,
        penalty_weight=penalty,
    )
    expected = InModules(inputs, penalty)
    expected.start()
    of_infer = expected.optimiser(expected.infer)
    of_learn = expected.optimiser(expected.learn)
    for number in range(3):
        expected.infer_environments(of_infer, number)
        environment = expected.learn_invariant(of_learn, number)

    fitted = train_ednil(inputs, options)
    outputs = fitted.predict(inputs.x)["model"]
    logits = expected.learn(inputs.x)
    expected_outputs = logits[:, 0].detach()
    assert_close(outputs, expected_outputs, rtol=1e-3, atol=1e-3)
    assert fitted.environments is not None
    environment_of_fit = fitted.environments.argmax(1)[:40]
    assert torch.equal(environment_of_fit, environment)


def test_a_minority_is_found_and_left_behind(draw: Draw) -> None:
    """A column says the label in 85 % of the points, and the opposite in the others."""
    inputs = draw(n=400, m=100, noise=0.3)
    rng = np.random.default_rng(0)
    draws = rng.random(400)
    hidden = torch.from_numpy(draws < 0.15)
    x = inputs.x.clone()
    y = inputs.y
    copied_label = torch.where(hidden, -y, y)
    x[:, 3] = 3 * copied_label
    inputs = replace(inputs, x=x)
    options = EDNILOptions(n_environments=2, learning_rate=1e-2)
    fitted = train_ednil(inputs, options)
    assert fitted.environments is not None
    environments = fitted.environments.argmax(1)[:400]
    assert adjusted_rand_score(hidden, environments) > 0.6
    opposite_label = -3 * inputs.y[:, None]
    other_columns = x[:, :3]
    flipped = torch.cat([other_columns, opposite_label], 1)
    outputs = fitted.predict(flipped)["model"]
    right = torch.sign(outputs) == inputs.y
    assert right.double().mean() > 0.7


def test_more_weight_on_labels_leaves_them_less_information(draw: Draw) -> None:
    inputs = draw(n=200, noise=1.0)
    information = []
    for weight in (0.0, 3.0, 100.0):
        options = EDNILOptions(
            n_environments=2, label_weight=weight, learning_rate=1e-2
        )
        environments = train_ednil(inputs, options).environments
        assert environments is not None
        memberships = environments[:200].double()
        of_labels = label_divergence(memberships, inputs.y)
        information.append(float(of_labels))
    for before, after in pairwise(information):
        assert before >= after - 1e-3
    assert information[0] > 0.03
    assert information[-1] < 0.01


def test_the_best_look_of_the_last_round_is_kept(draw: Draw) -> None:
    """A run of fewer steps in one round is the start of the longer one."""
    inputs = draw(n=60, m=30, noise=1.5)
    quick: Any = {
        "n_environments": 2,
        "rounds": 1,
        "learning_rate": 3e-2,
        "reference_steps": 20,
        "inference_steps": 20,
    }
    scores = {}
    fits = {}
    for steps in (7, 14, 20):
        options = EDNILOptions(steps=steps, **quick)
        fitted = train_ednil(inputs, options)
        assert fitted.environments is not None
        environment = fitted.environments[60:].argmax(1)
        outputs = fitted.predict(inputs.x_validation)["model"]
        right = torch.sign(outputs) == inputs.y_validation
        shares = []
        for e in environment.unique():
            inside = environment == e
            share = right[inside].double().mean()
            shares.append(float(share))
        fits[steps] = fitted
        scores[steps] = min(shares)
    best = max(scores, key=scores.__getitem__)
    options = EDNILOptions(steps=20, evaluate_every=7, **quick)
    d = inputs.x.shape[1]
    new = torch.randn(9, d)
    fitted = train_ednil(inputs, options)
    outputs = fitted.predict(new)["model"]
    expected = fits[best].predict(new)["model"]
    assert_close(outputs, expected)


def test_networks_and_limits_that_do_not_fit_are_refused(draw: Draw) -> None:
    module = init_module("kerhrm.networks.modules:small_cnn", 0, 2 * 14 * 14)
    inputs = replace(draw(n=10), network=module)
    with refusal("last layer of a perceptron"):
        train_ednil(inputs, EDNILOptions())
    refused = ({"balance_limit": 0.5}, {"temperature": 0.0}, {"n_environments": 0})
    for bad in refused:
        with pytest.raises(KerhrmError) as error:
            EDNILOptions.parse(bad)
        assert "\n" not in str(error.value)
