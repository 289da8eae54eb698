"""The released variant: one test per quirk, gradients against autograd, fits against oracles."""

import logging
from dataclasses import replace
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sklearn.linear_model import Lasso, Ridge
from torch import Tensor

from kerhrm.algorithm.clustering import fit_mixture, random_starts
from kerhrm.algorithm.invariant import orthogonal_update
from kerhrm.algorithm.problem import Problem
from kerhrm.config.methods import Released
from kerhrm.errors import KerhrmError
from kerhrm.features.reduction import ReducedFeatures
from kerhrm.methods import released
from kerhrm.methods.released import Risks, learn_theta, train_released
from kerhrm.methods.released_clustering import (
    adam,
    assign,
    design,
    fit_centres,
    lasso_gradient,
    nearest,
    xavier,
)

B, N, K_MAX, K = 3, 80, 6, 4
FAST = {"k": K, "iterations": 2, "cluster_steps": 150, "cluster_rate": 1e-2, "steps": 40}


def settings(**options: Any) -> Released:
    return Released.model_validate(FAST | options)


def random_problem(seed: int = 0) -> Problem:
    """Two linear rules over features of unequal scale, labels -1 and +1, an offset f_0."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((B, N, K_MAX)) * np.geomspace(2, 0.5, K_MAX)
    f0 = 0.3 * rng.standard_normal((B, N))
    rule = np.where(rng.random((B, N)) < 0.6, psi[..., 1], -psi[..., 1])
    y = np.sign(psi[..., 0] + rule + 0.1 * rng.standard_normal((B, N)))
    arrays = (psi, np.ones((B, K_MAX)), psi[:, :8], psi[:, :8], f0, f0[:, :8], f0[:, :8])
    features = ReducedFeatures(*(torch.from_numpy(a) for a in arrays))
    return Problem(features, torch.from_numpy(y), torch.from_numpy(y[:, :8]), "classification")


def random_members(n_clusters: int, empty: int | None = None) -> Tensor:
    """Hard memberships (B, N, K); in data set 0 one cluster may have no points."""
    labels = torch.from_numpy(np.random.default_rng(1).integers(n_clusters, size=(B, N)))
    if empty is not None:
        labels[0, labels[0] == empty] = (empty + 1) % n_clusters
    return torch.nn.functional.one_hot(labels, n_clusters).double()


def points() -> tuple[Tensor, Tensor, Tensor]:
    problem = random_problem()
    return problem.features.psi_train[..., :K], problem.features.f0_train, problem.y


def raw_risk_and_penalty(
    theta: Tensor, psi: Tensor, f0: Tensor, y: Tensor, members: Tensor, penalty: str
) -> tuple[Tensor, Tensor]:
    """One data set, point by point; derivatives inside the penalty by autograd."""
    risks, slopes = [], []
    for e in range(members.shape[-1]):
        inside = members[:, e] > 0
        if not bool(inside.any()):
            continue
        scale = torch.ones((), dtype=theta.dtype, requires_grad=True)
        f = f0[inside] + psi[inside] @ theta
        risks.append(((f - y[inside]) ** 2).mean())
        of, by = (
            (((scale * f - y[inside]) ** 2).mean(), scale)
            if penalty == "scale_gradient"
            else (risks[-1], theta)
        )
        slopes.append(torch.autograd.grad(of, by, create_graph=True)[0])
    pairs = [((a - b) ** 2).mean() for a, b in combinations(slopes, 2)]
    none = 0 * theta.sum()
    return torch.stack(risks).mean(), torch.stack(pairs).mean() if pairs else none


@pytest.mark.parametrize("penalty", ["scale_gradient", "gradient_variance"])
@pytest.mark.parametrize(("n_clusters", "empty"), [(2, None), (3, None), (3, 1), (2, 1)])
def test_gradients_of_risk_and_penalty(penalty: str, n_clusters: int, empty: int | None) -> None:
    psi, f0, y = points()
    members = random_members(n_clusters, empty)
    theta = torch.randn(B, K, dtype=torch.float64, requires_grad=True)
    risks = Risks(psi, f0, y, members)
    u = torch.cat([theta.detach(), torch.ones(B, 1, dtype=torch.float64)], -1)
    got_penalty = (
        risks.scale_penalty_gradient(u)
        if penalty == "scale_gradient"
        else risks.theta_penalty_gradient(u)
    )
    for got, part in ((risks.mean_gradient(u), 0), (got_penalty, 1)):
        assert not bool(got[:, K:].any())  # the coefficient of f_0 does not move
        raw = [
            raw_risk_and_penalty(theta[b], psi[b], f0[b], y[b], members[b], penalty)[part]
            for b in range(B)
        ]
        (expected,) = torch.autograd.grad(torch.stack(raw).sum(), theta)
        torch.testing.assert_close(got[:, :K], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_gradient_of_the_clusters_loss(intercept: bool) -> None:
    psi, _, y = points()
    members = random_members(2)
    features = design(psi, settings(intercept=intercept))
    p = features.shape[-1]
    w = torch.randn(B, 2, p, dtype=torch.float64, requires_grad=True)
    losses = []
    for b, j in product(range(B), range(2)):
        inside = members[b, :, j] > 0
        errors = (y[b, inside] - features[b, inside] @ w[b, j]) ** 2
        losses.append(errors.mean() + 0.7 * w[b, j, :K].abs().mean())
    (expected,) = torch.autograd.grad(torch.stack(losses).sum(), w)
    l1 = torch.tensor([0.7 / K] * K + [0.0] * (p - K), dtype=torch.float64)
    second, cross = released.environment_risks(features, y, members)
    torch.testing.assert_close(lasso_gradient(w.detach(), second, cross, l1), expected)


def test_adam_is_that_of_the_library() -> None:
    start = torch.randn(5, 3, dtype=torch.float64)
    scale = torch.logspace(-3, 2, 3, dtype=torch.float64)
    got = adam(start, lambda step, w: scale * w + 1.0 / step, steps=60, rate=0.02)
    w = start.clone().requires_grad_(True)
    optimiser = torch.optim.Adam([w], lr=0.02)
    for step in range(1, 61):
        w.grad = scale * w.detach() + 1.0 / step
        optimiser.step()
    torch.testing.assert_close(got, w.detach(), rtol=1e-12, atol=1e-12)


def test_lasso_centres_run_long_are_the_lasso() -> None:
    psi, _, y = points()
    members = random_members(2)
    options = settings(cluster_l1=2.0, cluster_steps=8_000, cluster_rate=5e-4)
    centres = fit_centres(design(psi, options), y, members, options, range(B), ("t=1",))
    zeros = 0
    for b, j in product(range(B), range(2)):
        inside = members[b, :, j].numpy() > 0
        # half the squared error, and the sum instead of the mean of the weights
        oracle = Lasso(alpha=2.0 / (2 * K), tol=1e-10).fit(psi[b, inside], y[b, inside])
        expected = np.append(oracle.coef_, oracle.intercept_)
        np.testing.assert_allclose(centres[b, j], expected, atol=3e-3)
        zeros += int((oracle.coef_ == 0).sum())
    assert zeros > 0  # the penalty matters here


def test_the_constant_column() -> None:
    psi, _, _ = points()
    for centres in ("lasso", "ridge"):
        assert torch.equal(design(psi, settings(centres=centres, intercept=False)), psi)
        got = design(psi, settings(centres=centres))
        assert torch.equal(got[..., :K], psi)
        length = torch.linalg.matrix_norm(psi) / (N * K) ** 0.5
        constant = length if centres == "ridge" else torch.ones_like(length)
        torch.testing.assert_close(got[..., K], constant.unsqueeze(-1).expand(B, N))


@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_centres(intercept: bool) -> None:
    psi, _, y = points()
    members = random_members(3, empty=2)
    options = settings(clusters=3, centres="ridge", cluster_ridge=0.05, intercept=intercept)
    features = design(psi, options)
    centres = fit_centres(features, y, members, options, range(B), ("t=1",))
    assert not bool(centres[0, 2].any())
    for b, j in product(range(B), range(3)):
        if (b, j) == (0, 2):
            continue
        inside = members[b, :, j].numpy() > 0
        rho = 0.05 * np.linalg.eigvalsh(features[b].T @ features[b]).mean()
        oracle = Ridge(rho, fit_intercept=False).fit(features[b, inside], y[b, inside])
        np.testing.assert_allclose(centres[b, j], oracle.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("centres", ["lasso", "ridge"])
def test_an_intercept_lets_a_cluster_be_the_label(centres: str) -> None:
    psi = torch.randn(B, N, K, dtype=torch.float64)
    psi = psi - psi.mean(1, keepdim=True)
    y = torch.sign(torch.randn(B, N, dtype=torch.float64))
    by_label = torch.stack([y < 0, y > 0], -1).double()
    options = settings(centres=centres, cluster_ridge=1e-3, cluster_steps=3000, cluster_rate=3e-3)
    for intercept in (True, False):
        chosen = options.model_copy(update={"intercept": intercept})
        features = design(psi, chosen)
        centres = fit_centres(features, y, by_label, chosen, range(B), ("t=1",))
        residuals = ((y.unsqueeze(-1) - features @ centres.mT).abs() * by_label).amax((1, 2))
        assert bool((residuals < 0.02).all()) == intercept
        stays = torch.equal(assign(psi, y, by_label, chosen, range(B), 1), by_label)
        assert stays == intercept


def planted() -> tuple[Tensor, Tensor, Tensor]:
    """Two linear rules without noise, and which one made which label."""
    psi = torch.randn(B, 200, 3, dtype=torch.float64)
    rule = torch.randn(B, 200) < 0.3
    y = torch.where(rule, psi[..., 0] - psi[..., 1], 2 * psi[..., 2])
    return psi, y, rule


@pytest.mark.parametrize("centres", ["lasso", "ridge"])
def test_hard_clusters_find_planted_rules(centres: str) -> None:
    psi, y, rule = planted()
    options = settings(k=3, centres=centres, stop_share=0.0, cluster_l1=1e-3, cluster_ridge=1e-6,
                       cluster_steps=400, cluster_rate=2e-2)  # fmt: skip
    start = torch.nn.functional.one_hot((rule ^ (torch.rand(B, 200) < 0.2)).long(), 2).double()
    members = assign(psi, y, start, options, range(B), 1)
    assert bool(((members == 0) | (members == 1)).all())
    agreement = (members[..., 1] == rule.double()).double().mean(-1)
    assert bool((agreement > 0.97).all())


def test_a_point_goes_to_the_smallest_residual() -> None:
    psi, _, y = points()
    centres = torch.randn(B, 3, K, dtype=torch.float64)
    got = nearest(psi, y, centres)
    for b, i in product(range(B), range(N)):
        residuals = [abs(float(y[b, i] - psi[b, i] @ centres[b, j])) for j in range(3)]
        assert got[b, i].tolist() == [float(j == int(np.argmin(residuals))) for j in range(3)]
    assert nearest(psi, y, torch.zeros(B, 3, K, dtype=torch.float64))[..., 0].all()


def reassign(start: Tensor, options: Released, times: int) -> list[Tensor]:
    """The alternation written out, without a rule to stop."""
    psi, _, y = points()
    states = [start]
    for r in range(1, times + 1):
        name = ("t=1", f"reassignment={r}")
        features = design(psi, options)
        centres = fit_centres(features, y, states[-1], options, range(B), name)
        states.append(nearest(features, y, centres))
    return states


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_clustering_stops_when_few_points_move(share: float) -> None:
    psi, _, y = points()
    start = random_members(2)
    options = settings(stop_share=share, max_reassignments=12)
    states = reassign(start, options, 12)
    moved = torch.stack([(a != b).any(-1).sum(-1) for a, b in pairwise(states)])
    got = assign(psi, y, start, options, range(B), 1)
    for b in range(B):
        settled = (moved[:, b] <= share * N / 2).nonzero()
        last = int(settled[0]) + 1 if len(settled) else 12
        assert torch.equal(got[b], states[last][b])


@pytest.mark.parametrize("assignment", ["hard", "soft"])
def test_the_cap_is_logged(assignment: str, caplog: pytest.LogCaptureFixture) -> None:
    psi, _, y = points()
    start = random_members(2)
    options = settings(assignment=assignment, centres="ridge", stop_share=0.0, max_reassignments=1)
    with caplog.at_level(logging.WARNING):
        got = assign(psi, y, start, options, [7, 8, 9], 1)
    assert "[7, 8, 9] not settled after 1 reassignments" in caplog.text
    if assignment == "hard":
        assert torch.equal(got, reassign(start, options, 1)[-1])


@pytest.mark.parametrize("intercept", [True, False])
def test_soft_assignment_is_em(intercept: bool) -> None:
    psi, _, y = points()
    start = random_members(2)
    options = settings(assignment="soft", centres="ridge", cluster_ridge=0.03, intercept=intercept)
    got = assign(psi, y, start, options, range(B), 1)
    features = design(psi, options)
    mixture = fit_mixture(features, y, start.unsqueeze(1), ridge=0.03, max_iterations=100)
    for b in range(B):
        alone = mixture.take(b, 0)
        torch.testing.assert_close(got[b], alone.responsibilities(features[b], y[b]))
    assert bool(((got > 0.01) & (got < 0.99)).any())


class Spy:
    """Stands in for M_c: notes what it is given and returns fixed memberships."""

    def __init__(self, *answers: Tensor) -> None:
        self.answers = answers
        self.psi: list[Tensor] = []
        self.y: list[Tensor] = []
        self.starts: list[Tensor] = []

    def __call__(self, psi: Tensor, y: Tensor, start: Tensor, *_: Any) -> Tensor:
        self.psi.append(psi)
        self.y.append(y)
        self.starts.append(start)
        return self.answers[(len(self.starts) - 1) % len(self.answers)]


@pytest.mark.parametrize("reuse", [True, False])
def test_what_the_clustering_is_given(reuse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem()
    spy = Spy(random_members(2))
    monkeypatch.setattr(released, "assign", spy)
    train_released(problem, settings(iterations=3, reuse_assignment=reuse), range(B))
    thetas = [train_released(problem, settings(iterations=t), range(B))[:, :K] for t in (1, 2)]
    psi = problem.features.psi_train[..., :K]
    assert torch.equal(spy.psi[0], psi)
    for got, theta in zip(spy.psi[1:3], thetas, strict=True):
        assert torch.equal(got, orthogonal_update(psi, theta))
    assert torch.equal(spy.y[0], problem.y - problem.features.f0_train)
    for t in (1, 2, 3):
        random = random_starts(range(B), 1, N, 2, "released", f"t={t}")[:, 0]
        expected = random if t == 1 or not reuse else spy.answers[0]
        assert torch.equal(spy.starts[t - 1], expected)


@pytest.mark.parametrize("penalty", ["scale_gradient", "gradient_variance"])
def test_clusters_beyond_the_second_are_dropped(
    penalty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_problem()
    members = random_members(3)
    monkeypatch.setattr(released, "assign", Spy(members))
    flipped = replace(problem, y=torch.where(members[..., 2] > 0, -problem.y, problem.y))
    for used in (2, 3):
        options = settings(clusters=3, environments_used=used, penalty=penalty)
        before, after = (train_released(p, options, range(B)) for p in (problem, flipped))
        assert torch.equal(before, after) == (used == 2)


def objective(theta: Tensor, members: Tensor, options: Released) -> Tensor:
    psi, f0, y = points()
    values = []
    for b in range(B):
        risk, penalty = raw_risk_and_penalty(
            theta[b], psi[b], f0[b], y[b], members[b], options.penalty
        )
        values.append(risk + options.weight * penalty)
    return torch.stack(values)


@pytest.mark.parametrize(("n_clusters", "empty"), [(2, None), (3, None), (3, 1), (2, 1)])
def test_converged_theta_is_the_minimum(n_clusters: int, empty: int | None) -> None:
    members = random_members(n_clusters, empty)
    options = settings(
        clusters=n_clusters, environments_used=n_clusters, penalty="gradient_variance",
        theta="converged", weight=0.8,
    )  # fmt: skip
    start = torch.zeros(B, K, dtype=torch.float64)
    theta = learn_theta(*points(), members, start, options).requires_grad_(True)
    (slope,) = torch.autograd.grad(objective(theta, members, options).sum(), theta)
    assert float(slope.abs().max()) < 1e-6
    long = options.model_copy(
        update={"theta": "early_stopped", "steps": 6_000, "learning_rate": 1e-2, "anneal": 0}
    )
    descended = learn_theta(*points(), members, start, long)
    torch.testing.assert_close(descended, theta.detach(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("penalty", ["scale_gradient", "gradient_variance"])
def test_early_stopping_keeps_theta_short(penalty: str) -> None:
    members = random_members(2)
    options = settings(penalty=penalty, weight=0.1, anneal=0, steps=300, learning_rate=1e-4)
    start = xavier(range(B), (K,), 0.1, "theta")
    early = learn_theta(*points(), members, start, options)
    # one step of Adam moves a coordinate by about the rate
    assert float((early - start).abs().max()) < 1.1 * 300 * 1e-4
    late = learn_theta(
        *points(), members, start,
        options.model_copy(update={"steps": 6_000, "learning_rate": 1e-2}),
    )  # fmt: skip
    assert bool((early.norm(dim=-1) < 0.7 * late.norm(dim=-1)).all())
    values = [objective(t.requires_grad_(True), members, options) for t in (late, early)]
    assert bool((values[0] < values[1]).all())


def test_the_weight_applies_after_the_anneal_step() -> None:
    members = random_members(2)
    start = xavier(range(B), (K,), 0.1, "theta")

    def run(**options: Any) -> Tensor:
        return learn_theta(*points(), members, start, settings(learning_rate=1e-2, **options))

    for steps in (9, 10):
        light = run(steps=steps, anneal=0, weight=1.0)
        assert torch.equal(run(steps=steps, anneal=10, weight=60.0, first_weight=1.0), light)
    annealed = run(steps=11, anneal=10, weight=60.0, first_weight=1.0)
    assert not torch.equal(annealed, run(steps=11, anneal=0, weight=1.0))
    heavy = run(steps=11, anneal=0, weight=60.0, first_weight=1.0)
    assert torch.equal(heavy, run(steps=11, anneal=11, weight=1.0, first_weight=60.0))


@pytest.mark.parametrize("reuse", [True, False])
def test_where_theta_starts(reuse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem()
    starts: list[Tensor] = []
    ends: list[Tensor] = []

    def noted(*arguments: Any) -> Tensor:
        starts.append(arguments[4])
        ends.append(learn_theta(*arguments))
        return ends[-1]

    monkeypatch.setattr(released, "learn_theta", noted)
    train_released(problem, settings(reuse_theta=reuse), range(B))
    assert torch.equal(starts[0], xavier(range(B), (K,), 0.1, "theta", "t=1"))
    second = ends[0] if reuse else xavier(range(B), (K,), 0.1, "theta", "t=2")
    assert torch.equal(starts[1], second)


def test_xavier_starts() -> None:
    draws = xavier(range(4), (5, 1000), 0.1, "theta")
    bound = 0.1 * (6 / 1001) ** 0.5
    assert 0.99 * bound < float(draws.max()) <= bound
    assert -bound <= float(draws.min()) < -0.99 * bound
    assert abs(float(draws.var()) / (bound**2 / 3) - 1) < 0.05
    assert torch.equal(draws[2], xavier([2], (5, 1000), 0.1, "theta")[0])
    assert not torch.equal(draws, xavier(range(4), (5, 1000), 0.1, "centres"))


SENSIBLE = [
    {"assignment": assignment, "centres": centres, "penalty": penalty, "theta": theta}
    for assignment, centres, penalty, theta in product(
        ("hard", "soft"), ("lasso", "ridge"),
        ("scale_gradient", "gradient_variance"), ("early_stopped", "converged"),
    )
    if (assignment, centres) != ("soft", "lasso")
    and (penalty, theta) != ("scale_gradient", "converged")
]  # fmt: skip


@pytest.mark.parametrize("choice", SENSIBLE, ids=lambda c: "-".join(c.values()))
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_every_combination(choice: dict[str, str], n_clusters: int) -> None:
    problem = random_problem()
    options = settings(
        clusters=n_clusters, environments_used=n_clusters, max_reassignments=5, **choice
    )
    seeds = [11, 5, 8]
    theta = train_released(problem, options, seeds)
    assert theta.shape == (B, K_MAX)
    assert theta.dtype == torch.float64
    assert bool(theta[:, :K].any(-1).all())
    assert bool(theta.isfinite().all())
    assert not bool(theta[:, K:].any())
    assert torch.equal(theta, train_released(problem, options, seeds))
    assert not torch.equal(theta, train_released(problem, options, [1, 2, 3]))
    for b in range(B):  # no seed sees another
        features = problem.features.take(slice(b, b + 1))
        alone = replace(problem, features=features, y=problem.y[b : b + 1])
        got = train_released(alone, options, seeds[b : b + 1])
        torch.testing.assert_close(got[0], theta[b], rtol=1e-9, atol=1e-12)


def test_only_the_first_columns_count() -> None:
    problem = random_problem()
    u = problem.features.u.clone()
    u[..., K:] = 100.0
    other = replace(problem, features=replace(problem.features, u=u))
    first, second = (train_released(p, settings(), range(B)) for p in (problem, other))
    assert torch.equal(first, second)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 1}, "k=1 leaves nothing"),
        ({"environments_used": 3}, "environments_used=3 exceeds clusters=2"),
        ({"environments_used": 1}, "greater than or equal to 2"),
        ({"assignment": "soft"}, 'set centres to "ridge"'),
        ({"theta": "converged"}, "gradient_variance"),
    ],
)
def test_combinations_without_a_meaning(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Released.model_validate(options)


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem()
    with pytest.raises(KerhrmError, match="k=7 exceeds the 6"):
        train_released(problem, settings(k=7), range(B))
    with pytest.raises(KerhrmError, match="K=81 clusters exceed n=80"):
        train_released(problem, settings(clusters=81), range(B))
    third = torch.zeros(B, N, 3, dtype=torch.float64)
    third[..., 2] = 1
    monkeypatch.setattr(released, "assign", Spy(third))
    with pytest.raises(KerhrmError, match="have no points"):
        train_released(problem, settings(clusters=3), range(B))
