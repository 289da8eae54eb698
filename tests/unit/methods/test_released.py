"""The authors' code: its clustering and M_p against autograd and other solvers, its
quirks."""

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso
from torch import Tensor
from torch.nn.functional import one_hot
from torch.testing import assert_close

from kerhrm import KerhrmError, Problem
from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.mixture import orthogonal_update, random_starts
from kerhrm.methods import released
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.released import (
    ReleasedOptions,
    TwoRisks,
    assign,
    fit_models,
    lasso_gradient,
    learn_theta,
    train_released,
    xavier,
)

N = 80
K_MAX = 6
K = 4
SEED = 11
Draw = Callable[..., Inputs]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released, "CLUSTER_STEPS", 150)
    monkeypatch.setattr(released, "CLUSTER_RATE", 1e-2)


def options(**changes: Any) -> ReleasedOptions:
    return ReleasedOptions(**{"k": K, "n_iterations": 2, "steps": 40} | changes)


@pytest.fixture
def inputs(draw: Draw) -> Inputs:
    """Two linear rules over features of unequal scale, labels -1 and
    +1, an offset f_0."""
    rng = np.random.default_rng(0)
    psi = rng.standard_normal((N, K_MAX)) * np.geomspace(2, 0.5, K_MAX)
    f0 = 0.3 * rng.standard_normal(N)
    rule = np.where(rng.random(N) < 0.6, psi[:, 1], -psi[:, 1])
    y = np.sign(psi[:, 0] + rule + 0.1 * rng.standard_normal(N))
    arrays = (psi, np.ones(K_MAX), psi[:8], f0, f0[:8], y, y[:8])
    problem = Problem(*map(torch.from_numpy, arrays), "classification", SEED)
    return replace(draw(), problem=problem)


@pytest.fixture
def points(inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
    problem = inputs.require_problem()
    return problem.psi_train[:, :K], problem.f0_train, problem.y


def members(n_clusters: int, empty: int | None = None) -> Tensor:
    """Hard memberships (N, K); one cluster may have no points."""
    labels = torch.from_numpy(np.random.default_rng(1).integers(n_clusters, size=N))
    if empty is not None:
        labels[labels == empty] = (empty + 1) % n_clusters
    return one_hot(labels, n_clusters).double()


def with_ones(psi: Tensor) -> Tensor:
    return torch.cat([psi, torch.ones_like(psi[:, :1])], 1)


def test_the_gradient_of_the_clusters_loss(points: tuple[Tensor, ...]) -> None:
    psi, _, y = points
    features = with_ones(psi)
    weights = members(2)
    w = torch.randn(2, K + 1, dtype=torch.float64, requires_grad=True)
    losses = []
    for j in range(2):
        inside = weights[:, j] > 0
        errors = (y[inside] - features[inside] @ w[j]) ** 2
        losses.append(errors.mean() + 0.7 * w[j, :K].abs().mean())
    (expected,) = torch.autograd.grad(torch.stack(losses).sum(), w)
    risks = environment_risks(features, y, weights)
    given = w.detach().numpy(), risks.second.numpy(), risks.cross.numpy()
    l1 = np.array([0.7 / K] * K + [0.0])
    assert_allclose(lasso_gradient(*given, l1), expected)


def test_models_trained_long_are_the_lasso(
    points: tuple[Tensor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    psi, _, y = points
    for name, value in (("STEPS", 8_000), ("RATE", 5e-4), ("L1", 2.0)):
        monkeypatch.setattr(released, f"CLUSTER_{name}", value)
    models = fit_models(with_ones(psi), y, members(2), SEED, ("t=1",))
    zeros = 0
    for j in range(2):
        inside = members(2)[:, j].numpy() > 0
        # half the squared error, and the sum instead of the mean of the weights
        oracle = Lasso(alpha=2.0 / (2 * K), tol=1e-10).fit(psi[inside], y[inside])
        expected = np.append(oracle.coef_, oracle.intercept_)
        assert_allclose(models[j], expected, atol=3e-3)
        zeros += int((oracle.coef_ == 0).sum())
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
    states = [members(2)]
    for r in range(1, 5):
        models = fit_models(
            with_ones(psi), y, states[-1], SEED, ("t=1", f"reassignment={r}")
        )
        nearest = [
            int(np.argmin([abs(float(target - w @ point)) for w in models]))
            for point, target in zip(with_ones(psi), y, strict=True)
        ]
        states.append(one_hot(torch.tensor(nearest), 2).double())
    moved = [int((a != b).any(1).sum()) for a, b in pairwise(states)]
    settled = [r + 1 for r, m in enumerate(moved) if m <= share * N / 2]
    with caplog.at_level(logging.WARNING):
        result = assign(psi, y, members(2), SEED, 1, options(max_reassignments=4))
    assert torch.equal(result, states[settled[0] if settled else 4])
    assert ("not settled after 4" in caplog.text) == (not settled)


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
        if bool(inside.any()):
            scale = torch.ones((), dtype=theta.dtype, requires_grad=True)
            f = scale * (f0[inside] + psi[inside] @ theta)
            risk = ((f - y[inside]) ** 2).mean()
            by = scale if penalty == "scale_gradients" else theta
            gradients.append(torch.autograd.grad(risk, by, create_graph=True)[0])
            risks.append(risk)
    if len(gradients) < 2:
        return torch.stack(risks).mean(), 0 * theta.sum()
    difference = gradients[0] - gradients[1]
    return torch.stack(risks).mean(), (difference**2).mean()


PENALTIES = ["scale_gradients", "theta_gradients"]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("empty", [None, 0, 1])
@pytest.mark.parametrize("weight", [0.0, 0.8])
def test_gradients_of_risk_and_penalty(
    points: tuple[Tensor, ...], penalty: str, empty: int | None, weight: float
) -> None:
    theta = torch.randn(K, dtype=torch.float64, requires_grad=True)
    risk, value = risk_and_penalty(theta, *points, members(2, empty), penalty)
    (expected,) = torch.autograd.grad(risk + weight * value, theta)
    u = np.append(theta.detach().numpy(), 1.0)
    result = TwoRisks(*points, members(2, empty), penalty).gradient(u, weight)
    assert result[-1] == 0  # the coefficient of f_0 does not move
    assert_allclose(result[:K], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_large_weight_removes_the_difference(
    points: tuple[Tensor, ...], penalty: str
) -> None:
    """The difference that each script penalises, next to training without it."""
    start = xavier(SEED, (K,), 0.1, "theta")
    differences = []
    for weight in (0.0, 100.0):
        changes = {"penalty": penalty, "penalty_weight": weight, "first_weight": weight}
        setting = options(steps=3000, learning_rate=3e-3, **changes)
        theta = learn_theta(*points, members(2), start, setting).requires_grad_()
        differences.append(
            float(risk_and_penalty(theta, *points, members(2), penalty)[1].detach())
        )
    assert differences[1] < 0.2 * differences[0]


def test_the_weight_applies_after_the_anneal_step(
    points: tuple[Tensor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = xavier(SEED, (K,), 0.1, "theta")

    def run(steps: int, anneal: int, weight: float, first: float) -> Tensor:
        monkeypatch.setattr(released, "ANNEAL", anneal)
        changes = {"steps": steps, "penalty_weight": weight, "first_weight": first}
        return learn_theta(
            *points, members(2), start, options(learning_rate=1e-2, **changes)
        )

    assert torch.equal(run(10, 10, 60.0, 1.0), run(10, 0, 1.0, 1.0))
    assert not torch.equal(run(11, 10, 60.0, 1.0), run(11, 0, 1.0, 1.0))
    assert torch.equal(run(11, 0, 60.0, 1.0), run(11, 11, 1.0, 60.0))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_theta_is_that_of_torch_on_the_risks(
    points: tuple[Tensor, ...], penalty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole of M_p: autograd and PyTorch's Adam, point by point."""
    monkeypatch.setattr(released, "ANNEAL", 15)
    start = xavier(SEED, (K,), 0.1, "theta")
    theta = torch.from_numpy(start.copy()).requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=1e-2)
    for step in range(1, 41):
        risk, value = risk_and_penalty(theta, *points, members(2), penalty)
        loss = risk + (0.6 if step <= 15 else 0.1) * value
        (theta.grad,) = torch.autograd.grad(loss, theta)
        optimizer.step()
    setting = options(
        penalty=penalty, penalty_weight=0.1, first_weight=0.6, learning_rate=1e-2
    )
    result = learn_theta(*points, members(2), start, setting)
    assert_close(result, theta.detach(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("intercept_start", ["zero", "layer"])
def test_models_are_those_of_torch_on_the_risks(
    points: tuple[Tensor, ...], intercept_start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clusters' models by PyTorch's Adam, from the start that no step leaves."""
    psi, _, y = points
    given = with_ones(psi), y, members(2), SEED, ("t=1",), intercept_start
    monkeypatch.setattr(released, "CLUSTER_STEPS", 0)
    start = fit_models(*given)
    bound = 1 / K**0.5 if intercept_start == "layer" else 0.0
    assert (start[:, -1].abs() <= bound).all()
    assert bool(start[:, -1].any()) == (intercept_start == "layer")

    w = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([w], lr=1e-2)
    for _ in range(30):
        losses = []
        for inside, model in zip((members(2) > 0).T, w, strict=True):
            f = psi[inside] @ model[:K] + model[K]
            risk = ((y[inside] - f) ** 2).mean()
            losses.append(risk + 0.01 * model[:K].abs().mean())
        (w.grad,) = torch.autograd.grad(torch.stack(losses).sum(), w)
        optimizer.step()
    monkeypatch.setattr(released, "CLUSTER_STEPS", 30)
    assert_close(fit_models(*given), w.detach(), rtol=1e-8, atol=1e-10)


class Spy:
    """In place of M_c: returns fixed memberships."""

    def __init__(self, answer: Tensor) -> None:
        self.answer = answer
        self.given: list[tuple[Tensor, Tensor, Tensor]] = []

    def __call__(self, psi: Tensor, y: Tensor, start: Tensor, *_: Any) -> Tensor:
        self.given.append((psi, y, start))
        return self.answer


def theta_of(inputs: Inputs, **changes: Any) -> Tensor:
    return train_released(inputs, options(**changes)).directions["model"]


def test_what_the_clustering_is_given(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = inputs.require_problem()
    spy = Spy(members(2))
    monkeypatch.setattr(released, "assign", spy)
    thetas = [theta_of(inputs, n_iterations=t)[:K] for t in (1, 2)]
    spy.given.clear()
    theta_of(inputs, n_iterations=3)
    psi = problem.psi_train[:, :K]
    expected = [psi, *(orthogonal_update(psi, theta) for theta in thetas)]
    starts = [
        random_starts(SEED, 1, N, 2, "released", "t=1")[0],
        spy.answer,
        spy.answer,
    ]
    for (variant, y, start), psi_v, memberships in zip(
        spy.given, expected, starts, strict=True
    ):
        assert torch.equal(variant, psi_v)
        assert torch.equal(y, problem.target)
        assert torch.equal(start, memberships)


@pytest.mark.parametrize("target", ["residual", "label"])
def test_clusters_explain_the_label_or_the_residual(
    inputs: Inputs, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = inputs.require_problem()
    spy = Spy(members(2))
    monkeypatch.setattr(released, "assign", spy)
    theta_of(inputs, n_iterations=1, clustering_target=target)
    offset = problem.f0_train if target == "residual" else 0
    ((_, given, _),) = spy.given
    assert_close(given, problem.y - offset)


def test_clusters_beyond_the_second_are_dropped(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = inputs.require_problem()
    for cluster in (2, 1):
        monkeypatch.setattr(released, "assign", Spy(members(3)))
        y = torch.where(members(3)[:, cluster] > 0, -problem.y, problem.y)
        flipped = replace(inputs, problem=replace(problem, y=y))
        results = [theta_of(i, n_environments=3) for i in (inputs, flipped)]
        assert torch.equal(*results) == (cluster == 2)


def test_only_the_first_columns_and_the_seed_count(inputs: Inputs) -> None:
    problem = inputs.require_problem()
    expected = theta_of(inputs)
    assert expected.shape == (K_MAX,)
    assert expected[:K].any()
    assert not expected[K:].any()
    u = problem.u.clone()
    u[:, K:] = 100.0
    assert torch.equal(
        theta_of(replace(inputs, problem=replace(problem, u=u))), expected
    )
    other = replace(inputs, problem=replace(problem, seed=5))
    assert not torch.equal(theta_of(other), expected)


def test_errors(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    for changes, message in (
        ({"k": 7}, "got 7"),
        ({"k": 1}, "got 1"),
        ({"n_environments": 81}, "exceeds n=80"),
    ):
        with pytest.raises(KerhrmError, match=message):
            theta_of(inputs, **changes)
    monkeypatch.setattr(
        released, "assign", Spy(one_hot(torch.full((N,), 2), 3).double())
    )
    with pytest.raises(KerhrmError, match="have no points"):
        theta_of(inputs, n_environments=3)


def test_xavier_starts() -> None:
    draws = xavier(0, (20, 1000), 0.1, "theta")
    bound = 0.1 * (6 / 1001) ** 0.5
    assert 0.99 * bound < draws.max() <= bound
    assert -bound <= draws.min() < -0.99 * bound
    assert abs(draws.var() / (bound**2 / 3) - 1) < 0.05
