"""The released variant's M_c: one test per quirk, gradients and fits against oracles."""

import logging
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from released_problem import B, K, N, points, random_members, settings
from sklearn.linear_model import Lasso, Ridge
from torch import Tensor

from kerhrm.algorithm.invariant import environment_risks
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.released.clustering import (
    adam,
    assign,
    design,
    fit_centres,
    lasso_gradient,
    nearest,
)
from kerhrm.released.options import Released


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
    second, cross = environment_risks(features, y, members)
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
