"""The authors' code: its clustering and M_p against autograd and other solvers, its
quirks."""

import logging
from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso
from torch import Tensor
from torch.nn.functional import one_hot
from torch.testing import assert_close

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.methods import released
from kerhrm.methods.numpy_adam import lasso_gradient
from kerhrm.methods.released import (
    TwoRisks,
    assign,
    fit_models,
    learn_theta,
    xavier,
)
from tests.unit.methods.released.settings import (
    SEED,
    K,
    N,
    members,
    options,
    with_ones,
)


def test_the_gradient_of_the_clusters_loss(points: tuple[Tensor, ...]) -> None:
    psi, _, y = points
    features = with_ones(psi)
    weights = members(2)
    draws = torch.randn(2, K + 1, dtype=torch.float64)
    w = draws.requires_grad_()
    losses = []
    for j in range(2):
        inside = weights[:, j] > 0
        outputs = features[inside] @ w[j]
        errors = (y[inside] - outputs) ** 2
        slope = w[j, :K]
        penalty = 0.7 * slope.abs().mean()
        losses.append(errors.mean() + penalty)
    total = torch.stack(losses).sum()
    (expected,) = torch.autograd.grad(total, w)
    risks = environment_risks(features, y, weights)
    second = risks.second.numpy()
    cross = risks.cross.numpy()
    of_slopes = [0.7 / K] * K
    l1 = np.array([*of_slopes, 0.0])
    coefficients = w.detach().numpy()
    gradient = lasso_gradient(coefficients, second, cross, l1)
    assert_allclose(gradient, expected)


def test_models_trained_long_are_the_lasso(
    points: tuple[Tensor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    psi, _, y = points
    monkeypatch.setattr(released, "CLUSTER_STEPS", 8_000)
    monkeypatch.setattr(released, "CLUSTER_RATE", 5e-4)
    monkeypatch.setattr(released, "CLUSTER_L1", 2.0)
    weights = members(2)
    features = with_ones(psi)
    models = fit_models(features, y, weights, SEED, ("t=1",))
    # half the squared error, and the sum instead of the mean of the weights
    alpha = 2.0 / (2 * K)
    zeros = 0
    for j in range(2):
        inside = weights[:, j].numpy() > 0
        oracle = Lasso(alpha=alpha, tol=1e-10)
        oracle.fit(psi[inside], y[inside])
        expected = np.append(oracle.coef_, oracle.intercept_)
        assert_allclose(models[j], expected, atol=3e-3)
        is_zero = oracle.coef_ == 0
        zeros += int(is_zero.sum())
    assert zeros > 0  # the penalty matters here


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_clustering_stops_when_few_points_move(
    share: float,
    points: tuple[Tensor, ...],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The alternation written out, without a rule to stop."""
    monkeypatch.setattr(released, "STOP_SHARE", share)
    psi, _, y = points
    features = with_ones(psi)
    states = [members(2)]
    for r in range(1, 5):
        stream = ("t=1", f"reassignment={r}")
        before = states[-1]
        models = fit_models(features, y, before, SEED, stream)
        nearest = []
        for point, target in zip(features, y, strict=True):
            residuals = [float(target - model @ point) for model in models]
            errors = np.abs(residuals)
            nearest.append(int(np.argmin(errors)))
        labels = torch.tensor(nearest)
        states.append(one_hot(labels, 2).double())

    most_moves = share * N / 2
    settled = None
    changes = enumerate(pairwise(states))
    for r, (before, after) in changes:
        has_moved = (before != after).any(1)
        n_moved = int(has_moved.sum())
        if n_moved <= most_moves:
            settled = r + 1
            break
    setting = options(max_reassignments=4)
    with caplog.at_level(logging.WARNING):
        weights = members(2)
        result = assign(psi, y, weights, SEED, 1, setting)
    expected = states[4 if settled is None else settled]
    assert torch.equal(result, expected)
    is_warned = "not settled after 4" in caplog.text
    assert is_warned == (settled is None)


def risk_and_penalty(
    theta: Tensor,
    psi: Tensor,
    f0: Tensor,
    y: Tensor,
    weights: Tensor,
    penalty: str,
) -> tuple[Tensor, Tensor]:
    """Point by point; derivatives inside the penalty by autograd."""
    risks = []
    gradients = []
    for inside in (weights > 0).T:
        if not inside.any():
            continue
        f0_inside = f0[inside]
        psi_inside = psi[inside]
        y_inside = y[inside]
        scale = torch.ones(()).to(theta.dtype).requires_grad_()
        f = scale * (f0_inside + psi_inside @ theta)
        risk = ((f - y_inside) ** 2).mean()
        by = scale if penalty == "scale_gradients" else theta
        (gradient,) = torch.autograd.grad(risk, by, create_graph=True)
        gradients.append(gradient)
        risks.append(risk)
    mean_risk = torch.stack(risks).mean()
    if len(gradients) < 2:
        return mean_risk, 0 * theta.sum()
    difference = gradients[0] - gradients[1]
    return mean_risk, (difference**2).mean()


PENALTIES = ["scale_gradients", "theta_gradients"]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("empty", [None, 0, 1])
@pytest.mark.parametrize("weight", [0.0, 0.8])
def test_gradients_of_risk_and_penalty(
    points: tuple[Tensor, ...], penalty: str, empty: int | None, weight: float
) -> None:
    draws = torch.randn(K, dtype=torch.float64)
    theta = draws.requires_grad_()
    weights = members(2, empty)
    risk, value = risk_and_penalty(theta, *points, weights, penalty)
    objective = risk + weight * value
    (expected,) = torch.autograd.grad(objective, theta)
    coefficients = theta.detach().numpy()
    u = np.append(coefficients, 1.0)
    risks = TwoRisks(*points, weights, penalty)
    result = risks.gradient(u, weight)
    assert result[-1] == 0  # the coefficient of f_0 does not move
    slope = result[:K]
    assert_allclose(slope, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_large_weight_removes_the_difference(
    points: tuple[Tensor, ...], penalty: str
) -> None:
    """The difference that each script penalises, next to training without it."""
    start = xavier(SEED, (K,), 0.1, "theta")
    weights = members(2)
    differences = []
    for weight in (0.0, 100.0):
        setting = options(
            steps=3000,
            learning_rate=3e-3,
            penalty=penalty,
            penalty_weight=weight,
            first_weight=weight,
        )
        theta = learn_theta(*points, weights, start, setting)
        theta.requires_grad_()
        _, difference = risk_and_penalty(theta, *points, weights, penalty)
        differences.append(float(difference.detach()))
    without_penalty, with_penalty = differences
    assert with_penalty < 0.2 * without_penalty


def test_the_weight_applies_after_the_anneal_step(
    points: tuple[Tensor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = xavier(SEED, (K,), 0.1, "theta")

    def run(steps: int, anneal: int, weight: float, first: float) -> Tensor:
        monkeypatch.setattr(released, "ANNEAL", anneal)
        setting = options(
            learning_rate=1e-2,
            steps=steps,
            penalty_weight=weight,
            first_weight=first,
        )
        return learn_theta(*points, members(2), start, setting)

    before_the_anneal_step = run(10, 10, 60.0, 1.0)
    of_first_weight = run(10, 0, 1.0, 1.0)
    assert torch.equal(before_the_anneal_step, of_first_weight)

    one_step_after = run(11, 10, 60.0, 1.0)
    of_first_weight = run(11, 0, 1.0, 1.0)
    assert not torch.equal(one_step_after, of_first_weight)

    of_penalty_weight = run(11, 0, 60.0, 1.0)
    of_equal_first_weight = run(11, 11, 1.0, 60.0)
    assert torch.equal(of_penalty_weight, of_equal_first_weight)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_theta_is_that_of_torch_on_the_risks(
    points: tuple[Tensor, ...], penalty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole of M_p: autograd and PyTorch's Adam, point by point."""
    monkeypatch.setattr(released, "ANNEAL", 15)
    start = xavier(SEED, (K,), 0.1, "theta")
    copy_of_start = torch.from_numpy(start.copy())
    theta = copy_of_start.requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=1e-2)
    weights = members(2)
    for step in range(1, 41):
        risk, value = risk_and_penalty(theta, *points, weights, penalty)
        weight = 0.6 if step <= 15 else 0.1
        loss = risk + weight * value
        (theta.grad,) = torch.autograd.grad(loss, theta)
        optimizer.step()
    setting = options(
        penalty=penalty,
        penalty_weight=0.1,
        first_weight=0.6,
        learning_rate=1e-2,
    )
    result = learn_theta(*points, weights, start, setting)
    expected = theta.detach()
    assert_close(result, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("intercept_start", ["zero", "layer"])
def test_models_are_those_of_torch_on_the_risks(
    points: tuple[Tensor, ...], intercept_start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clusters' models by PyTorch's Adam, from the start that no step leaves."""
    psi, _, y = points
    weights = members(2)
    features = with_ones(psi)
    given = (features, y, weights, SEED, ("t=1",), intercept_start)
    monkeypatch.setattr(released, "CLUSTER_STEPS", 0)
    start = fit_models(*given)
    as_a_layer = intercept_start == "layer"
    bound = 1 / K**0.5 if as_a_layer else 0.0
    intercepts = start[:, -1]
    assert (intercepts.abs() <= bound).all()
    assert intercepts.any() == as_a_layer

    w = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([w], lr=1e-2)
    for _ in range(30):
        losses = []
        is_inside = (weights > 0).T
        for inside, model in zip(is_inside, w, strict=True):
            slope = model[:K]
            f = psi[inside] @ slope + model[K]
            errors = y[inside] - f
            risk = (errors**2).mean()
            penalty = 0.01 * slope.abs().mean()
            losses.append(risk + penalty)
        total = torch.stack(losses).sum()
        (w.grad,) = torch.autograd.grad(total, w)
        optimizer.step()
    monkeypatch.setattr(released, "CLUSTER_STEPS", 30)
    result = fit_models(*given)
    expected = w.detach()
    assert_close(result, expected, rtol=1e-8, atol=1e-10)


def test_xavier_starts() -> None:
    draws = xavier(0, (20, 1000), 0.1, "theta")
    bound = 0.1 * (6 / 1001) ** 0.5
    largest = draws.max()
    smallest = draws.min()
    assert 0.99 * bound < largest <= bound
    assert -bound <= smallest < -0.99 * bound
    expected_variance = bound**2 / 3
    ratio = draws.var() / expected_variance
    assert abs(ratio - 1) < 0.05
