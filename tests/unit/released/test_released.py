"""The released variant's M_p and loop: one test per quirk, gradients against autograd."""

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from released_problem import (
    K_MAX,
    SEEDS,
    B,
    K,
    N,
    points,
    random_members,
    random_problem,
    settings,
)
from torch import Tensor

from kerhrm.algorithm.mixture import orthogonal_update, random_starts
from kerhrm.errors import KerhrmError
from kerhrm.released import train as released
from kerhrm.released.clustering import xavier
from kerhrm.released.options import Released
from kerhrm.released.train import Risks, learn_theta, train_released


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
    train_released(problem, settings(iterations=3, reuse_assignment=reuse))
    thetas = [train_released(problem, settings(iterations=t))[:, :K] for t in (1, 2)]
    psi = problem.psi_train[..., :K]
    assert torch.equal(spy.psi[0], psi)
    for got, theta in zip(spy.psi[1:3], thetas, strict=True):
        assert torch.equal(got, orthogonal_update(psi, theta))
    assert torch.equal(spy.y[0], problem.y - problem.f0_train)
    for t in (1, 2, 3):
        random = random_starts(SEEDS, 1, N, 2, "released", f"t={t}")[:, 0]
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
        before, after = (train_released(p, options) for p in (problem, flipped))
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
    train_released(problem, settings(reuse_theta=reuse))
    assert torch.equal(starts[0], xavier(SEEDS, (K,), 0.1, "theta", "t=1"))
    second = ends[0] if reuse else xavier(SEEDS, (K,), 0.1, "theta", "t=2")
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
    theta = train_released(problem, options)
    assert theta.shape == (B, K_MAX)
    assert theta.dtype == torch.float64
    assert bool(theta[:, :K].any(-1).all())
    assert bool(theta.isfinite().all())
    assert not bool(theta[:, K:].any())
    assert torch.equal(theta, train_released(problem, options))
    assert not torch.equal(theta, train_released(replace(problem, seeds=[1, 2, 3]), options))
    for b in range(B):  # no seed sees another
        alone = replace(problem.take(slice(b, b + 1)), seeds=SEEDS[b : b + 1])
        got = train_released(alone, options)
        torch.testing.assert_close(got[0], theta[b], rtol=1e-9, atol=1e-12)


def test_only_the_first_columns_count() -> None:
    problem = random_problem()
    u = problem.u.clone()
    u[..., K:] = 100.0
    first, second = (train_released(p, settings()) for p in (problem, replace(problem, u=u)))
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
        train_released(problem, settings(k=7))
    with pytest.raises(KerhrmError, match="K=81 clusters exceed n=80"):
        train_released(problem, settings(clusters=81))
    third = torch.zeros(B, N, 3, dtype=torch.float64)
    third[..., 2] = 1
    monkeypatch.setattr(released, "assign", Spy(third))
    with pytest.raises(KerhrmError, match="have no points"):
        train_released(problem, settings(clusters=3))
