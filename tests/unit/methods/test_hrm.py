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

from kerhrm.methods.hrm import least_squares, selected_features, train_hrm
from kerhrm.methods.hrm_clusters import cluster, cluster_moments, fit_models
from kerhrm.methods.hrm_gates import (
    cost_gradient,
    gate_gradients,
    gate_probability,
    gradient_rows,
    learn_gates,
)
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.numpy_adam import adam
from kerhrm.methods.options import HRMOptions

N = 60
D = 4
QUICK = {
    "cluster_steps": 60,
    "cluster_rounds": 3,
    "gate_steps": 80,
    "gate_rate": 1e-2,
}


def points(k: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """x, y and labels of k environments of unequal sizes; float64."""
    rng = np.random.default_rng(k)
    scale = [1.0, 2.0, 0.5, 1.0]
    normal = rng.standard_normal((N, D))
    x = normal * scale
    signal = x @ [1.0, -0.5, 1.0, 0.0]
    noise = rng.standard_normal(N)
    y = signal + noise
    sizes = np.arange(1, k + 1)
    shares = sizes / sizes.sum()
    labels = rng.choice(k, N, p=shares)
    environments = torch.from_numpy(labels)
    points_and_labels = torch.from_numpy(x), torch.from_numpy(y)
    return *points_and_labels, environments


def all_features() -> Tensor:
    """A mask that selects every feature."""
    return torch.ones(D, dtype=torch.bool)


def test_adam_is_that_of_torch() -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal((5, 3))
    scale = np.logspace(-3, 2, 3)

    def gradient(step: int, w: np.ndarray) -> np.ndarray:
        return scale * w + 1.0 / step

    result = adam(start, gradient, steps=60, learning_rate=0.02)
    copy_of_start = torch.from_numpy(start).clone()
    w = copy_of_start.requires_grad_(True)
    optimiser = torch.optim.Adam([w], lr=0.02)
    for step in range(1, 61):
        slope = torch.from_numpy(scale)
        decayed = slope * w.detach()
        w.grad = decayed + 1.0 / step
        optimiser.step()
    expected = w.detach()
    assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    start_in_single = start.astype("f4")

    def decay(step: int, w: np.ndarray) -> np.ndarray:
        return w

    single = adam(start_in_single, decay, steps=3, learning_rate=0.1)
    assert single.dtype == np.float32


def risk_and_penalty(
    x: Tensor, y: Tensor, labels: Tensor, w: Tensor, gate: Tensor
) -> tuple[Tensor, Tensor]:
    """By their definitions."""
    risks = []
    slopes = []
    for e in labels.unique():
        inside = labels == e
        gated = gate * w
        outputs = x[inside] @ gated
        residuals = outputs - y[inside]
        risk = (residuals**2).mean()
        (slope,) = torch.autograd.grad(risk, w, create_graph=True)
        risks.append(risk)
        slopes.append(slope)
    slopes_of_risks = torch.stack(slopes)
    variances = slopes_of_risks.var(0, correction=0)
    penalty = (gate * variances).sum()
    mean_risk = torch.stack(risks).mean()
    return mean_risk, penalty


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_gate_gradients_by_autograd(k: int, empty: bool, alpha: float) -> None:
    """An environment without points does not count."""
    x, y, labels = points(k)
    if empty:
        labels = 2 * labels + 1
    draws = torch.randn(D, dtype=torch.float64)
    w = draws.requires_grad_()
    start = torch.tensor([0.5, 0.2, 1.3, -0.4], dtype=torch.float64)
    centre = start.requires_grad_()
    normal = torch.randn(D, dtype=torch.float64)
    noise = 0.1 * normal
    gate = centre + noise
    gate = gate.clamp(0, 1)
    risk, penalty = risk_and_penalty(x, y, labels, w, gate)
    objective = risk + alpha * penalty
    by_w, by_centre = torch.autograd.grad(objective, (w, centre))
    rows = gradient_rows(x, y, labels)
    tensors = (w, centre, noise)
    arrays = [tensor.detach().numpy() for tensor in tensors]
    got_by_w, got_by_centre = gate_gradients(*arrays, rows, alpha)
    assert_allclose(got_by_w, by_w, rtol=1e-9, atol=1e-12)
    assert_allclose(got_by_centre, by_centre, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("goal", ["few", "all"])
def test_cost_gradient_by_autograd(goal: Any) -> None:
    options = HRMOptions(gate_goal=goal, gate_noise=0.3)
    centres = torch.linspace(-0.5, 0.8, D, dtype=torch.float64)
    centre = centres.requires_grad_()
    distance = centre / 0.3 / 2**0.5
    is_open = 0.5 * (1 + torch.erf(distance))
    n_open = is_open.sum()
    n_closed = D - n_open
    cost = n_open if goal == "few" else n_closed**2
    (expected,) = torch.autograd.grad(cost, centre)
    at_centre = centre.detach()
    at = at_centre.numpy()
    gradient = cost_gradient(at, options)
    assert_allclose(gradient, expected)


@given(centre=st.floats(-0.5, 0.8), sigma=st.floats(0.05, 1.0))
@settings(max_examples=20, deadline=None)
def test_gate_probability_by_monte_carlo(centre: float, sigma: float) -> None:
    rng = np.random.default_rng(0)
    draws = rng.standard_normal(40_000)
    values = centre + sigma * draws
    gates = np.clip(values, 0, 1)
    frequency = (gates > 0).mean()
    centres = np.array([centre])
    (probability,) = gate_probability(centres, sigma)
    assert probability == pytest.approx(frequency, abs=0.015)


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_models_are_the_lasso_of_every_cluster(l1: float) -> None:
    x, y, labels = points()
    moments = cluster_moments(x, y, labels, 3)
    start = np.zeros((3, D))
    penalty = np.full(D, l1)
    models = fit_models(start, *moments, penalty, 3000, 2e-3)
    for e in range(3):
        inside = labels == e
        x_inside = x[inside]
        y_inside = y[inside]
        if l1:
            lasso = Lasso(alpha=l1 / 2, fit_intercept=False)
            lasso.fit(x_inside, y_inside)
            expected = lasso.coef_
        else:
            least_squares_inside = torch.linalg.lstsq(x_inside, y_inside)
            expected = least_squares_inside.solution.numpy()
        assert_allclose(models[e], expected, atol=1e-2)


def two_slopes() -> tuple[Tensor, Tensor, np.ndarray]:
    """Points on two lines in the last feature, and which is whose."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, D))
    which = rng.random(400) < 0.4
    slope = np.where(which, 1.5, -1.5)
    noise = 0.1 * rng.standard_normal(400)
    y = slope * x[:, -1] + noise
    inputs = torch.from_numpy(x).float()
    labels = torch.from_numpy(y).float()
    return inputs, labels, which


def test_clusters_are_planted_lines() -> None:
    x, y, which = two_slopes()
    options = HRMOptions(n_environments=2, cluster_steps=1000, cluster_rate=1e-2)
    nothing_selected = torch.zeros(D)
    split, _ = cluster(x, y, nothing_selected, 0, options, "0")
    in_second = split.numpy() == 1
    is_right = in_second == which
    agreement = is_right.mean()
    assert max(agreement, 1 - agreement) > 0.9


def test_clusters_do_not_see_selected_features() -> None:
    x, y, _ = two_slopes()
    options = HRMOptions(cluster_steps=100, cluster_rounds=4, cluster_rate=1e-2)
    p = torch.tensor([0.3, 0.0, 0.0, 1.0])
    hidden, _ = cluster(x, y, p, 0, options, "0")
    other_values = torch.randn(400)
    x[:, -1] = 7 * other_values
    of_other_values, _ = cluster(x, y, p, 0, options, "0")
    without = 0 * p
    without_selection, _ = cluster(x, y, without, 0, options, "0")
    assert torch.equal(hidden, of_other_values)
    assert not torch.equal(hidden, without_selection)


def test_gates_select_causes_and_drop_effects() -> None:
    """Two causes of y, and two effects that follow it by the
    environment's own factor."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=500)
    s = rng.standard_normal((500, 2))
    noise = 0.5 * rng.standard_normal(500)
    target = s @ [1.0, -1.0] + noise
    factor = np.where(labels, 0.3, 1.5)
    turned = factor * target
    effect = turned[:, None]
    noise_of_effects = 0.5 * rng.standard_normal((500, 2))
    effects = effect + noise_of_effects
    columns = np.hstack([s, effects])
    x = torch.from_numpy(columns)
    x = x.float()
    y = torch.from_numpy(target)
    y = y.float()
    options = HRMOptions(
        gate_steps=1500,
        gate_rate=4e-3,
        penalty_weight=10.0,
        gate_cost=0.1,
    )
    coefficients = least_squares(x, y, all_features())
    start = 2 * coefficients.numpy()

    def selected(environments: Tensor) -> list[bool]:
        """Whether the gate of each feature is open."""
        rows = gradient_rows(x, y, environments)
        centre, _ = learn_gates(rows, start, 0, options, "0")
        is_selected = selected_features(centre, options)
        return is_selected.tolist()

    environments = torch.from_numpy(labels)
    with_environments = selected(environments)
    assert with_environments == [True, True, False, False]
    # with one environment nothing varies: the effects are what predicts
    one_environment = torch.zeros(500, dtype=torch.int64)
    _, _, *effects_are_selected = selected(one_environment)
    assert all(effects_are_selected)


def test_without_penalty_and_cost_gates_times_w_are_least_squares() -> None:
    x, y, _ = points(2)
    options = HRMOptions(
        penalty_weight=0,
        gate_cost=0,
        gate_noise=1e-6,
        gate_steps=3000,
        gate_rate=5e-3,
    )
    least = torch.linalg.lstsq(x, y)
    solution = least.solution
    expected = solution.numpy()
    # of the right sign: else a gate may close before its w has turned
    halves = torch.arange(N) % 2  # of equal size
    rows = gradient_rows(x, y, halves)
    start = 3 * expected
    centre, w = learn_gates(rows, start, 0, options, "0")
    product = centre.clip(0, 1)
    assert_allclose(product * w, expected, atol=1e-3)


@pytest.mark.parametrize("turns", [1, 2])
def test_environments_are_those_of_the_nearest_line(
    draw: Callable[..., Inputs], turns: int
) -> None:
    """Point by point, with the gates that the turn before has left."""
    n = 80
    inputs = draw(n=n)
    options = HRMOptions(n_iterations=turns, **QUICK)
    fitted = train_hrm(inputs, options)
    x = inputs.x
    y = inputs.y
    p = torch.zeros(D)
    if turns == 2:
        seed = inputs.seed
        split, _ = cluster(x, y, p, seed, options, "0")
        coefficients = least_squares(x, y, all_features())
        start = 2 * coefficients.numpy()
        rows = gradient_rows(x, y, split)
        centre, _ = learn_gates(rows, start, seed, options, "0")
        centres = torch.from_numpy(centre)
        scaled = centres / options.gate_noise
        within = torch.erf(scaled / 2**0.5)
        p = 0.5 * (1 + within)
    name_of_turn = str(turns - 1)
    split, models = cluster(x, y, p, inputs.seed, options, name_of_turn)
    assert fitted.environments is not None
    trained = fitted.environments[:n]
    environments = trained.argmax(1)
    assert torch.equal(environments, split)
    held_out = fitted.environments[n:]
    rows = zip(
        inputs.x_validation,
        inputs.y_validation,
        held_out,
        strict=True,
    )
    for x_i, y_i, members in rows:
        visible = (1 - p) * x_i
        outputs = [model @ visible for model in models]
        residuals = [float(output - y_i) for output in outputs]
        errors = np.square(residuals)
        environment = int(members.argmax())
        least = errors.min()
        assert errors[environment] == pytest.approx(least, abs=1e-5)
    is_used = held_out.sum(0) > 0
    assert is_used.sum() >= 2  # or this would not tell


def test_more_environments_than_points(draw: Callable[..., Inputs]) -> None:
    inputs = draw(n=2)
    options = HRMOptions(n_environments=5, n_iterations=2, **QUICK)
    fitted = train_hrm(inputs, options)
    predicted = fitted.predict(inputs.x)
    outputs = predicted["model"]
    assert outputs.isfinite().all()


def test_growth_multiplies_penalty_and_cost() -> None:
    rows = gradient_rows(*points())
    start = np.ones(D)
    few = HRMOptions(
        penalty_weight=2.0,
        gate_cost=0.1,
        gate_steps=50,
        gate_rate=1e-2,
    )
    larger = {"penalty_weight": 6.0, "gate_cost": 0.3}
    more = few.model_copy(update=larger)
    grown = learn_gates(rows, start, 0, few, "0", growth=3.0)
    with_larger_weights = learn_gates(rows, start, 0, more, "0")
    without_growth = learn_gates(rows, start, 0, few, "0")
    assert_allclose(grown, with_larger_weights)
    assert not np.allclose(grown, without_growth)
