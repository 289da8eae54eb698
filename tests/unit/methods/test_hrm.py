"""HRM: gradients against autograd and other solvers, the two steps, the limits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso
from torch import Tensor

from kerhrm.methods.descent import adam
from kerhrm.methods.hrm import (
    HRMOptions,
    cluster,
    cluster_moments,
    cost_gradient,
    fit_models,
    gate_gradients,
    gate_probability,
    gradient_rows,
    learn_gates,
    least_squares,
    selected_features,
    train_hrm,
)
from kerhrm.methods.inputs import Inputs

N = 60
D = 4
QUICK = {"cluster_steps": 60, "cluster_rounds": 3, "gate_steps": 80, "gate_rate": 1e-2}


def points(k: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """x, y and labels of k environments of unequal sizes; float64."""
    rng = np.random.default_rng(k)
    x = rng.standard_normal((N, D)) * [1.0, 2.0, 0.5, 1.0]
    y = x @ [1.0, -0.5, 1.0, 0.0] + rng.standard_normal(N)
    share = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    return (
        torch.from_numpy(x),
        torch.from_numpy(y),
        torch.from_numpy(rng.choice(k, N, p=share)),
    )


def test_adam_is_that_of_torch() -> None:
    start = np.random.default_rng(0).standard_normal((5, 3))
    scale = np.logspace(-3, 2, 3)
    result = adam(
        start, lambda step, w: scale * w + 1.0 / step, steps=60, learning_rate=0.02
    )
    w = torch.from_numpy(start).clone().requires_grad_(True)
    optimiser = torch.optim.Adam([w], lr=0.02)
    for step in range(1, 61):
        w.grad = torch.from_numpy(scale) * w.detach() + 1.0 / step
        optimiser.step()
    assert_allclose(result, w.detach(), rtol=1e-12, atol=1e-12)
    single = adam(start.astype("f4"), lambda _, w: w, steps=3, learning_rate=0.1)
    assert single.dtype == np.float32


def risk_and_penalty(
    x: Tensor, y: Tensor, labels: Tensor, w: Tensor, gate: Tensor
) -> tuple[Tensor, Tensor]:
    """By their definitions."""
    risks = [
        ((x[labels == e] @ (gate * w) - y[labels == e]) ** 2).mean()
        for e in labels.unique()
    ]
    slopes = torch.stack(
        [torch.autograd.grad(r, w, create_graph=True)[0] for r in risks]
    )
    return torch.stack(risks).mean(), (gate * slopes.var(0, correction=0)).sum()


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_gate_gradients_by_autograd(k: int, empty: bool, alpha: float) -> None:
    """An environment without points does not count."""
    x, y, labels = points(k)
    labels = 2 * labels + 1 if empty else labels
    w = torch.randn(D, dtype=torch.float64, requires_grad=True)
    centre = torch.tensor([0.5, 0.2, 1.3, -0.4], dtype=torch.float64).requires_grad_()
    noise = 0.1 * torch.randn(D, dtype=torch.float64)
    risk, penalty = risk_and_penalty(x, y, labels, w, (centre + noise).clamp(0, 1))
    expected = torch.autograd.grad(risk + alpha * penalty, (w, centre))
    arrays = (t.detach().numpy() for t in (w, centre, noise))
    result = gate_gradients(*arrays, gradient_rows(x, y, labels), alpha)
    for a, b in zip(result, expected, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("goal", ["few", "all"])
def test_cost_gradient_by_autograd(goal: Any) -> None:
    options = HRMOptions(gate_goal=goal, gate_noise=0.3)
    centre = torch.linspace(-0.5, 0.8, D, dtype=torch.float64).requires_grad_()
    opened = (0.5 * (1 + torch.erf(centre / 0.3 / 2**0.5))).sum()
    cost = opened if goal == "few" else (D - opened) ** 2
    (expected,) = torch.autograd.grad(cost, centre)
    assert_allclose(cost_gradient(centre.detach().numpy(), options), expected)


@given(centre=st.floats(-0.5, 0.8), sigma=st.floats(0.05, 1.0))
@settings(max_examples=20, deadline=None)
def test_gate_probability_by_monte_carlo(centre: float, sigma: float) -> None:
    draws = np.random.default_rng(0).standard_normal(40_000)
    frequency = (np.clip(centre + sigma * draws, 0, 1) > 0).mean()
    assert gate_probability(np.array([centre]), sigma)[0] == pytest.approx(
        frequency, abs=0.015
    )


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_models_are_the_lasso_of_every_cluster(l1: float) -> None:
    x, y, labels = points()
    moments = cluster_moments(x, y, labels, 3)
    start = np.zeros((3, D))
    models = fit_models(start, *moments, np.full(D, l1), 3000, 2e-3)
    for e in range(3):
        part = x[labels == e], y[labels == e]
        if l1:
            expected = Lasso(alpha=l1 / 2, fit_intercept=False).fit(*part).coef_
        else:
            expected = torch.linalg.lstsq(*part).solution.numpy()
        assert_allclose(models[e], expected, atol=1e-2)


def two_slopes() -> tuple[Tensor, Tensor, np.ndarray]:
    """Points on two lines in the last feature, and which is whose."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, D))
    which = rng.random(400) < 0.4
    y = np.where(which, 1.5, -1.5) * x[:, -1] + 0.1 * rng.standard_normal(400)
    return torch.from_numpy(x).float(), torch.from_numpy(y).float(), which


def test_clusters_are_planted_lines() -> None:
    x, y, which = two_slopes()
    options = HRMOptions(n_environments=2, cluster_steps=1000, cluster_rate=1e-2)
    split, _ = cluster(x, y, torch.zeros(D), 0, options, "0")
    agreement = ((split.numpy() == 1) == which).mean()
    assert max(agreement, 1 - agreement) > 0.9


def test_clusters_do_not_see_selected_features() -> None:
    x, y, _ = two_slopes()
    options = HRMOptions(cluster_steps=100, cluster_rounds=4, cluster_rate=1e-2)
    p = torch.tensor([0.3, 0.0, 0.0, 1.0])
    hidden, _ = cluster(x, y, p, 0, options, "0")
    x[:, -1] = 7 * torch.randn(400)
    assert torch.equal(hidden, cluster(x, y, p, 0, options, "0")[0])
    assert not torch.equal(hidden, cluster(x, y, 0 * p, 0, options, "0")[0])


def test_gates_select_causes_and_drop_effects() -> None:
    """Two causes of y, and two effects that follow it by the
    environment's own factor."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=500)
    s = rng.standard_normal((500, 2))
    target = s @ [1.0, -1.0] + 0.5 * rng.standard_normal(500)
    effects = np.where(labels, 0.3, 1.5)[:, None] * target[:, None]
    effects = effects + 0.5 * rng.standard_normal((500, 2))
    x = torch.from_numpy(np.hstack([s, effects])).float()
    y = torch.from_numpy(target).float()
    options = HRMOptions(
        gate_steps=1500, gate_rate=4e-3, penalty_weight=10.0, gate_cost=0.1
    )
    start = 2 * least_squares(x, y, torch.ones(D, dtype=torch.bool)).numpy()
    for environments, expected in (
        (torch.from_numpy(labels), [True, True, False, False]),
        # with one environment nothing varies: the effects are what predicts
        (torch.zeros(500, dtype=torch.int64), None),
    ):
        centre, _ = learn_gates(
            gradient_rows(x, y, environments), start, 0, options, "0"
        )
        selected = selected_features(centre, options).tolist()
        assert selected == expected if expected else all(selected[2:])


def test_without_penalty_and_cost_gates_times_w_are_least_squares() -> None:
    x, y, _ = points(2)
    options = HRMOptions(
        penalty_weight=0, gate_cost=0, gate_noise=1e-6, gate_steps=3000, gate_rate=5e-3
    )
    expected = torch.linalg.lstsq(x, y).solution.numpy()
    # of the right sign: else a gate may close before its w has turned
    rows = gradient_rows(x, y, torch.arange(N) % 2)  # of equal size
    centre, w = learn_gates(rows, 3 * expected, 0, options, "0")
    assert_allclose(centre.clip(0, 1) * w, expected, atol=1e-3)


@pytest.mark.parametrize("turns", [1, 2])
def test_environments_are_those_of_the_nearest_line(
    draw: Callable[..., Inputs], turns: int
) -> None:
    """Point by point, with the gates that the turn before has left."""
    inputs = draw(n=80)
    n = 80
    options = HRMOptions(n_iterations=turns, **QUICK)
    fitted = train_hrm(inputs, options)
    x = inputs.x
    y = inputs.y
    p = torch.zeros(D)
    if turns == 2:
        split, _ = cluster(x, y, p, inputs.seed, options, "0")
        start = 2 * least_squares(x, y, torch.ones(D, dtype=torch.bool)).numpy()
        centre, _ = learn_gates(
            gradient_rows(x, y, split), start, inputs.seed, options, "0"
        )
        p = 0.5 * (
            1 + torch.erf(torch.from_numpy(centre) / options.gate_noise / 2**0.5)
        )
    split, models = cluster(x, y, p, inputs.seed, options, str(turns - 1))
    assert fitted.environments is not None
    assert torch.equal(fitted.environments[:n].argmax(1), split)
    held_out = fitted.environments[n:]
    for x_i, y_i, members in zip(
        inputs.x_validation, inputs.y_validation, held_out, strict=True
    ):
        errors = [float((w @ ((1 - p) * x_i) - y_i) ** 2) for w in models]
        assert errors[int(members.argmax())] == pytest.approx(min(errors), abs=1e-5)
    assert int((held_out.sum(0) > 0).sum()) >= 2  # or this would not tell


def test_more_environments_than_points(draw: Callable[..., Inputs]) -> None:
    inputs = draw(n=2)
    fitted = train_hrm(inputs, HRMOptions(n_environments=5, n_iterations=2, **QUICK))
    assert fitted.predict(inputs.x)["model"].isfinite().all()


def test_growth_multiplies_penalty_and_cost() -> None:
    rows = gradient_rows(*points())
    start = np.ones(D)
    few = HRMOptions(penalty_weight=2.0, gate_cost=0.1, gate_steps=50, gate_rate=1e-2)
    more = few.model_copy(update={"penalty_weight": 6.0, "gate_cost": 0.3})
    grown = learn_gates(rows, start, 0, few, "0", growth=3.0)
    assert_allclose(grown, learn_gates(rows, start, 0, more, "0"))
    assert not np.allclose(grown, learn_gates(rows, start, 0, few, "0"))
