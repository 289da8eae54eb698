"""HRM: moments and gradients against raw data and autograd, the two modules, the limits."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso
from torch import Tensor

from kerhrm.algorithm.invariant import environment_risks
from kerhrm.data.samples import Samples
from kerhrm.methods.hrm.options import HRM
from kerhrm.methods.hrm.train import (
    SMALL,
    cluster,
    cost_gradient,
    fit_centres,
    gate_gradients,
    gate_probability,
    gradient_rows,
    kept_features,
    learn_gates,
    least_squares,
    moments,
    train_hrm,
)
from kerhrm.networks.mlp import init_mlp

B, N, D = 3, 60, 4
QUICK = HRM(iterations=2, cluster_steps=60, cluster_rounds=3, gate_steps=80, gate_rate=1e-2)


def problem(k: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """x, y and labels of k environments of unequal sizes, which differ between seeds."""
    rng = np.random.default_rng(k)
    x = rng.standard_normal((B, N, D)) * [1.0, 2.0, 0.5, 1.0]
    y = x @ [1.0, -0.5, 1.0, 0.0] + rng.standard_normal((B, N))
    share = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    environment = rng.choice(k, (B, N), p=share)
    return torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(environment)


def test_moments_are_those_of_one_hot_weights() -> None:
    x, y, environment = problem()
    got = moments(x, y, environment, 3)
    second, cross = environment_risks(x, y, torch.nn.functional.one_hot(environment, 3).double())
    torch.testing.assert_close((got.gram, got.cross), (second, cross))
    assert bool(got.occupied.all())


def literal(x: Tensor, y: Tensor, environment: Tensor, w: Tensor, gate: Tensor) -> list[Tensor]:
    """Risk and penalty of one seed, by their definitions."""
    risks = [
        ((x[environment == e] @ (gate * w) - y[environment == e]) ** 2).mean()
        for e in environment.unique()
    ]
    slopes = torch.stack([torch.autograd.grad(r, w, create_graph=True)[0] for r in risks])
    return [torch.stack(risks).mean(), (gate * slopes.var(0, correction=0)).sum()]


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("empty", [None, 0, 1])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_gate_gradients_by_autograd(k: int, empty: int | None, alpha: float) -> None:
    x, y, environment = problem(k)
    if empty is not None:  # in the first seed alone
        environment[0] += environment[0] == empty
    environments = moments(x, y, environment, k + (empty is not None))
    w = torch.randn(B, D, dtype=torch.float64, requires_grad=True)
    centre = torch.tensor([[0.5, 0.2, 0.9, -0.4], [0.0, 0.7, 1.3, 0.1], [0.3, 0.6, 0.1, 0.8]])
    centre = centre.double().requires_grad_()
    noise = 0.1 * torch.randn(B, D, dtype=torch.float64)
    gate = (centre + noise).clamp(0, 1)
    seeds = zip(x, y, environment, w, gate, strict=True)
    parts = [literal(*seed) for seed in seeds]
    total = sum(risk + alpha * penalty for risk, penalty in parts)
    expected = torch.autograd.grad(total, (w, centre))
    with torch.no_grad():
        got = gate_gradients(w, centre, noise, *gradient_rows(environments), alpha)
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("goal", ["few", "all"])
def test_cost_gradient_by_autograd(goal: str) -> None:
    options = HRM(gate_goal=goal, gate_noise=0.3)
    centre = torch.linspace(-0.5, 0.8, B * D, dtype=torch.float64).view(B, D).requires_grad_()
    opened = (0.5 * (1 + torch.erf(centre / 0.3 / 2**0.5))).sum(-1)
    cost = opened if goal == "few" else (D - opened) ** 2
    (expected,) = torch.autograd.grad(cost.sum(), centre)
    torch.testing.assert_close(cost_gradient(centre.detach(), options), expected)


@given(centre=st.floats(-0.5, 0.8), sigma=st.floats(0.05, 1.0))
@settings(max_examples=25, deadline=None)
def test_gate_probability_by_monte_carlo(centre: float, sigma: float) -> None:
    draws = np.random.default_rng(0).standard_normal(40_000)
    frequency = (np.clip(centre + sigma * draws, 0, 1) > 0).mean()
    assert float(gate_probability(torch.tensor(centre), sigma)) == pytest.approx(
        frequency, abs=0.015
    )


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_centres_are_the_lasso_of_every_cluster(l1: float) -> None:
    x, y, environment = problem()
    within = moments(x, y, environment, 3)
    weight = torch.full((B, 1, D), l1, dtype=torch.float64)
    got = fit_centres(torch.zeros(B, 3, D, dtype=torch.float64), within, weight, 3000, 2e-3)
    for b in range(B):
        for e in range(3):
            rows = environment[b] == e
            if l1:
                lasso = Lasso(alpha=l1 / 2, fit_intercept=False).fit(x[b, rows], y[b, rows])
                expected = torch.from_numpy(lasso.coef_)
            else:
                expected = torch.linalg.lstsq(x[b, rows], y[b, rows]).solution
            torch.testing.assert_close(got[b, e], expected, rtol=0, atol=1e-2)


def two_slopes() -> tuple[Tensor, Tensor, Tensor]:
    """Points on two lines in the last feature, and which is whose."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((B, 400, D))
    which = rng.random((B, 400)) < 0.4
    y = np.where(which, 1.5, -1.5) * x[..., -1] + 0.1 * rng.standard_normal((B, 400))
    return torch.from_numpy(x).float(), torch.from_numpy(y).float(), torch.from_numpy(which)


def test_clusters_are_planted_lines() -> None:
    x, y, which = two_slopes()
    options = HRM(clusters=2, cluster_steps=1000, cluster_rate=1e-2)
    split, _ = cluster(x, y, torch.zeros(B, D), range(B), options, "0")
    agreement = ((split == 1) == which).double().mean(-1)
    assert bool((torch.maximum(agreement, 1 - agreement) > 0.9).all())


def test_clusters_do_not_see_what_gates_keep() -> None:
    x, y, _ = two_slopes()
    options = HRM(cluster_steps=100, cluster_rounds=4, cluster_rate=1e-2)
    kept = torch.tensor([0.3, 0.0, 0.0, 1.0]).expand(B, D)
    hidden, _ = cluster(x, y, kept, range(B), options, "0")
    x[..., -1] = 7 * torch.randn(B, 400)
    assert torch.equal(hidden, cluster(x, y, kept, range(B), options, "0")[0])
    assert not torch.equal(hidden, cluster(x, y, 0 * kept, range(B), options, "0")[0])


def varying(n: int = 500) -> tuple[Tensor, Tensor, Tensor]:
    """Two causes of y, and two effects that follow it by the environment's own factor."""
    rng = np.random.default_rng(0)
    environment = rng.integers(2, size=(B, n))
    s = rng.standard_normal((B, n, 2))
    y = s @ [1.0, -1.0] + 0.5 * rng.standard_normal((B, n))
    factor = np.where(environment, 0.3, 1.5)[..., None]
    v = factor * y[..., None] + 0.5 * rng.standard_normal((B, n, 2))
    x = np.concatenate([s, v], -1)
    return torch.from_numpy(x).float(), torch.from_numpy(y).float(), torch.from_numpy(environment)


GATES = HRM(gate_steps=1500, gate_rate=4e-3, penalty=10.0, gate_cost=0.1)


def test_gates_keep_causes_and_drop_effects() -> None:
    x, y, environment = varying()
    start = 2 * least_squares(x, y, torch.ones(B, D, dtype=torch.bool))
    centre, _ = learn_gates(moments(x, y, environment, 2), start, range(B), GATES, "0")
    assert kept_features(centre, GATES).tolist() == [[True, True, False, False]] * B
    # with one environment nothing varies: the effects are what predicts
    pooled = moments(x, y, 0 * environment, 1)
    centre, _ = learn_gates(pooled, start, range(B), GATES, "0")
    assert bool(kept_features(centre, GATES)[:, 2:].all())


def test_without_penalty_and_cost_gates_times_w_are_least_squares() -> None:
    x, y, environment = problem(2)
    environment = torch.arange(N).expand(B, N) % 2  # of equal size
    options = HRM(penalty=0, gate_cost=0, gate_noise=1e-6, gate_steps=3000, gate_rate=5e-3)
    expected = torch.stack([torch.linalg.lstsq(x[b], y[b]).solution for b in range(B)])
    # of the right sign: else a gate may close before its w has turned
    centre, w = learn_gates(moments(x, y, environment, 2), 3 * expected, range(B), options, "0")
    torch.testing.assert_close(centre.clamp(0, 1) * w, expected, rtol=0, atol=1e-3)


def test_growth_multiplies_penalty_and_cost() -> None:
    x, y, environment = problem()
    within, start = moments(x, y, environment, 3), torch.ones(B, D).double()
    few = HRM(penalty=2.0, gate_cost=0.1, gate_steps=50, gate_rate=1e-2)
    more = few.model_copy(update={"penalty": 6.0, "gate_cost": 0.3})
    grown = learn_gates(within, start, range(B), few, "0", growth=3.0)
    torch.testing.assert_close(grown, learn_gates(within, start, range(B), more, "0"))
    assert not torch.allclose(grown[0], learn_gates(within, start, range(B), few, "0")[0])


def test_an_environment_without_points_does_not_count() -> None:
    x, y, environment = problem(2)
    start = torch.ones(B, D).double()
    expected = learn_gates(moments(x, y, environment, 2), start, range(B), QUICK, "0")
    for apart in (2 * environment, environment + 1):  # label 1 or label 0 has no points
        within = moments(x, y, apart, 4)
        torch.testing.assert_close(learn_gates(within, start, range(B), QUICK, "0"), expected)


def trained(samples: Samples, options: HRM) -> Tensor:
    """Coefficients (B, d): the outputs at the unit vectors."""
    b, _, d = samples.x.shape
    predictor = train_hrm(samples, init_mlp(range(b), (d, 2, 1)), options)
    return predictor(torch.eye(d).expand(b, d, d))


def test_more_clusters_than_points(draw_samples: Callable[..., Samples]) -> None:
    w = trained(draw_samples(n=2, d=D), QUICK.model_copy(update={"clusters": 5}))
    assert bool(w.isfinite().all())
    assert bool(w.any(-1).all())


def test_all_gates_open_is_least_squares(draw_samples: Callable[..., Samples]) -> None:
    samples = draw_samples(d=D)
    w = trained(samples, QUICK.model_copy(update={"penalty": 0.0, "gate_cost": 0.0}))
    expected = torch.linalg.lstsq(samples.x, samples.y.unsqueeze(-1)).solution.squeeze(-1)
    torch.testing.assert_close(w, expected)


def test_one_feature_is_left_where_all_gates_close(draw_samples: Callable[..., Samples]) -> None:
    centre = torch.tensor([[-0.9, -0.5, -0.7], [-90.0, -80.0, -60.0], [0.3, 0.4, -0.9]])
    kept = kept_features(centre, HRM(gate_noise=0.1, threshold=0.2))
    assert kept.tolist() == [[False, True, False], [False, False, True], [True, True, False]]
    samples = draw_samples(d=D)
    w = trained(samples, QUICK.model_copy(update={"gate_cost": 50.0, "threshold": 1.0}))
    assert (w != 0).sum(-1).tolist() == [1] * B
    feature = w.abs().argmax(-1)
    for b, j in enumerate(feature.tolist()):
        z, y = samples.x[b, :, j], samples.y[b]
        torch.testing.assert_close(w[b, j], (z * y).sum() / (z * z).sum())


def test_collinear_features_share_one_coefficient() -> None:
    x, y, _ = problem()
    twice = torch.cat([x, x[..., :1]], -1)
    w = least_squares(twice, y, torch.ones(B, D + 1, dtype=torch.bool))
    torch.testing.assert_close(w[:, 0], w[:, -1])
    plain = least_squares(x, y, torch.ones(B, D, dtype=torch.bool))
    torch.testing.assert_close(2 * w[:, 0], plain[:, 0])
    torch.testing.assert_close(w[:, 1:-1], plain[:, 1:])


@pytest.mark.parametrize("d", [D, SMALL + 4])
def test_a_seeds_result_is_its_own_and_repeats(
    draw_samples: Callable[..., Samples], d: int
) -> None:
    seeds = (7, 3, 12)
    samples = draw_samples(seeds=seeds, n=80, d=d)
    together = trained(samples, QUICK)
    assert torch.equal(together, trained(samples, QUICK))
    for b, seed in enumerate(seeds):
        alone = trained(draw_samples(seeds=[seed], n=80, d=d), QUICK)
        torch.testing.assert_close(together[[b]], alone, rtol=1e-3, atol=1e-3)


def test_the_random_numbers_are_the_seeds(draw_samples: Callable[..., Samples]) -> None:
    samples = draw_samples(seeds=(0, 1))
    same = replace(samples, x=samples.x[:1].repeat(2, 1, 1), y=samples.y[:1].repeat(2, 1))
    split, _ = cluster(same.x, same.y, torch.zeros(2, D), same.seeds, QUICK, "0")
    assert not torch.equal(split[0], split[1])
    start = torch.ones(2, D)
    within = moments(same.x, same.y, torch.zeros_like(split), 1)
    centre, _ = learn_gates(within, start, same.seeds, QUICK, "0")
    assert not torch.equal(centre[0], centre[1])
