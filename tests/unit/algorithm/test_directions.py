"""M_p of an iteration: the directions of all candidates."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from random_problems import (
    ALPHAS,
    N,
    environments,
    random_problem,
)
from torch.testing import assert_close

from kerhrm.algorithm.invariance import (
    environment_risks,
    erm_direction,
    learn_directions,
)
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.registry import PENALTIES


@pytest.mark.parametrize("total", ["sum", "mean"])
@pytest.mark.parametrize("weights", ["equal", "by_size"])
def test_every_candidate_minimises_its_losses_and_the_penalty(
    total: str, weights: str
) -> None:
    """Derivatives by autograd; environments of earlier iterations have no say."""
    problem = random_problem(4)
    learned = environments([2, 5])
    one_more = (0, 1)  # a third environment, without any point
    pad = torch.nn.functional.pad
    padded = replace(
        learned,
        train=pad(learned.train, one_more),
        validation=pad(learned.validation, one_more),
    )
    settings = KerHRMOptions(
        alpha=ALPHAS,
        total=total,
        weights=weights,
        ridge=0.0,
    )
    before = environments([1], seed=9, n_environments=3)
    got = learn_directions(problem, [before, padded], settings)
    ks = got.k.tolist()
    alphas = got.alpha.tolist()
    assert ks == [2, 2, 2, 5, 5, 5]
    assert alphas == ALPHAS * 2
    candidates = zip(ks, alphas, strict=True)
    for c, (k, alpha) in enumerate(candidates):
        psi, _ = problem.reduced(k)
        r = learned.train[c // 3]
        theta = got.theta[c, :k].clone()
        theta.requires_grad_()
        squares = (psi @ theta - problem.target) ** 2
        losses = []
        slopes = []
        for e in range(2):
            share = r[:, e]
            loss = (share * squares).sum() / share.sum()
            (slope,) = torch.autograd.grad(loss, theta, create_graph=True)
            losses.append(loss)
            slopes.append(slope)

        w = torch.full((2,), 0.5).double()
        if weights == "by_size":
            w = r.mean(0)
        gradients = torch.stack(slopes)
        deviations = gradients - w @ gradients
        variance = w @ (deviations**2).sum(1)
        factor = 2 if total == "sum" else 1
        risk = factor * w @ torch.stack(losses)
        unit = (psi**2).mean()
        objective = risk + alpha / unit * variance
        (slope,) = torch.autograd.grad(objective, theta)
        assert slope.abs().max() < 1e-6
        beyond_k = got.theta[c, k:]
        assert not beyond_k.any()


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("unit", [1e-3, 7.0, 1e4])
def test_the_unit_of_psi_does_not_matter(unit: float, penalty: str) -> None:
    learned = [environments([2, 5])]
    settings = KerHRMOptions(alpha=ALPHAS, penalty=penalty)
    plain = learn_directions(random_problem(), learned, settings)
    problem_in_unit = random_problem(unit=unit)
    scaled = learn_directions(problem_in_unit, learned, settings)
    theta = scaled.theta * unit
    message = "does the penalty's unit go with the features psi?"
    assert_close(theta, plain.theta, rtol=1e-7, atol=1e-10, msg=message)
    assert torch.equal(scaled.score, plain.score)
    assert scaled.chosen == plain.chosen


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_penalty_has_an_effect(penalty: str) -> None:
    """A unit of zero, or one that is no number, would make any alpha nothing."""
    problem = random_problem()
    psi, _ = problem.reduced(3)
    unit = float(PENALTIES[penalty]().unit(psi))
    assert 0 < unit < float("inf")
    learned = [environments([2, 5])]
    settings = KerHRMOptions(alpha=[0.0, 1.0], penalty=penalty)
    candidates = learn_directions(problem, learned, settings)
    without, moved = candidates.theta[:2]
    assert moved.isfinite().all()
    assert not torch.allclose(without, moved, rtol=1e-3)


def test_weights_by_size_are_shares_of_the_points_that_are_left() -> None:
    problem = random_problem()
    psi, _ = problem.reduced(3)
    random = np.random.default_rng(0)
    memberships = torch.from_numpy(random.dirichlet([1.0] * 3, N))
    memberships[:, 1] = 0  # dropped
    risks = environment_risks(psi, problem.target, memberships, by_size=True)
    sizes = memberships.sum(0)
    assert_close(risks.weights, sizes / sizes.sum())
    # the pooled risk is that of the points, each by what is left of it
    left = memberships.sum(1, keepdim=True)
    second = psi.mT @ (left * psi) / left.sum()
    pooled, _ = risks.pooled
    assert_close(pooled, second)
    # of an equal target every environment's gradient is the same
    same_risks = replace(risks, second=second.expand(3, -1, -1))
    assert_close(same_risks.mean(same_risks.second), second)


def test_erm_is_ridge_regression_with_k_by_validation() -> None:
    random = np.random.default_rng(0)
    entries = random.standard_normal((60, 5))
    u, _ = np.linalg.qr(entries)
    s = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    theta = np.array([1.0, -1.0, 1.0, 0.0, 0.0])
    psi = random.standard_normal((400, 5))
    f0 = random.standard_normal(60)
    f0_new = random.standard_normal(400)
    noise = 0.5 * random.standard_normal(60)
    noise_new = 0.5 * random.standard_normal(400)
    y = f0 + (u * s) @ theta + noise
    y_new = f0_new + psi @ theta + noise_new
    arrays = map(
        torch.from_numpy,
        (u, s, psi, f0, f0_new, y, y_new),
    )
    problem = Problem(*arrays, "regression", 0)
    got = erm_direction(problem, [5, 1, 3], [0.1])

    dimensions = (1, 3, 5)
    errors = []
    expected = []
    for k in dimensions:
        features = (u * s)[:, :k]
        mean_square = (features**2).sum() / k
        second = features.T @ features
        penalised = second + 0.1 * mean_square * np.eye(k)
        right = features.T @ (y - f0)
        solution = np.linalg.solve(penalised, right)
        outputs = f0_new + psi[:, :k] @ solution
        residuals = y_new - outputs
        expected.append(solution)
        errors.append((residuals**2).mean())
    best = int(np.argmin(errors))
    assert got.k == dimensions[best]
    assert got.iteration == 0
    k = got.k
    assert_allclose(got.theta[:k], expected[best])
    assert not got.theta[k:].any()
    smallest_error = min(errors)
    assert got.score == pytest.approx(-smallest_error)
