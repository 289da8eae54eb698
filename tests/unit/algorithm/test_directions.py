"""M_p of an iteration: all candidates' directions, their scores, and the choices."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm.invariance import (
    all_memberships,
    erm_direction,
    learn_directions,
    point_scores,
)
from kerhrm.algorithm.loop import select_iteration
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Memberships
from kerhrm.options import Task

N, M, K_MAX = 40, 16, 5
ALPHAS = [0.0, 0.5, 10.0]
OPTIONS = KerHRMOptions(alpha=ALPHAS)


def random_problem(
    seed: int = 0, task: Task = "classification", unit: float = 1.0
) -> Problem:
    """Features of unequal scale; ``unit`` multiplies Psi."""
    rng = np.random.default_rng(seed)
    scale = np.geomspace(5, 0.5, K_MAX) * rng.uniform(0.5, 2)
    u, psi_v = (rng.standard_normal((n, K_MAX)) * scale for n in (N, M))
    f0, f0_v = (0.1 * rng.standard_normal(n) for n in (N, M))
    y, y_v = (rng.choice([-1.0, 1.0], n) for n in (N, M))
    arrays = (u * unit, np.ones(K_MAX), psi_v * unit, f0, f0_v, y, y_v)
    return Problem(*(torch.from_numpy(a) for a in arrays), task, seed)


def given_environments(train: Tensor, validation: Tensor, k: list[int]) -> Memberships:
    """Memberships (n, K), (m, K) for every k."""
    return Memberships(
        k=torch.tensor(k),
        train=train.expand(len(k), -1, -1),
        validation=validation.expand(len(k), -1, -1),
        degenerate=torch.zeros(len(k), dtype=torch.bool),
    )


def environments(k: list[int], seed: int = 0, n_environments: int = 2) -> Memberships:
    """Arbitrary soft environments, other ones for every k."""
    rng = np.random.default_rng(seed)
    train, validation = (
        torch.from_numpy(rng.dirichlet(np.full(n_environments, 0.5), (len(k), n)))
        for n in (N, M)
    )
    return replace(
        given_environments(train[0], validation[0], k),
        train=train,
        validation=validation,
    )


@pytest.mark.parametrize("total", ["sum", "mean"])
@pytest.mark.parametrize("weights", ["equal", "by_size"])
def test_every_candidate_minimises_its_losses_and_the_penalty(
    total: str, weights: str
) -> None:
    """Derivatives by autograd; environments of earlier iterations have no say."""
    problem, learned = random_problem(4), environments([2, 5])
    pad = torch.nn.functional.pad  # a third environment, without any point
    padded = {
        part: pad(getattr(learned, part), (0, 1)) for part in ("train", "validation")
    }
    settings = KerHRMOptions(alpha=ALPHAS, total=total, weights=weights, ridge=0.0)
    before = environments([1], seed=9, n_environments=3)
    got = learn_directions(problem, [before, replace(learned, **padded)], settings)
    assert got.k.tolist() == [2, 2, 2, 5, 5, 5]
    assert got.alpha.tolist() == ALPHAS * 2
    for c, (k, alpha) in enumerate(
        zip(got.k.tolist(), got.alpha.tolist(), strict=True)
    ):
        psi, r = problem.reduced(k)[0], learned.train[c // 3]
        theta = got.theta[c, :k].clone().requires_grad_()
        squares = (psi @ theta - problem.target) ** 2
        losses = [(r[:, e] * squares).sum() / r[:, e].sum() for e in range(2)]
        slopes = [
            torch.autograd.grad(loss, theta, create_graph=True)[0] for loss in losses
        ]
        w = r.mean(0) if weights == "by_size" else torch.full((2,), 0.5).double()
        mean = w @ torch.stack(slopes)
        variance = w @ ((torch.stack(slopes) - mean) ** 2).sum(1)
        risk = (2 if total == "sum" else 1) * w @ torch.stack(losses)
        (slope,) = torch.autograd.grad(risk + alpha / (psi**2).mean() * variance, theta)
        assert float(slope.abs().max()) < 1e-6
        assert not bool(got.theta[c, k:].any())


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("unit", [1e-3, 7.0, 1e4])
def test_the_unit_of_psi_does_not_matter(unit: float, penalty: str) -> None:
    learned = [environments([2, 5])]
    settings = KerHRMOptions(alpha=ALPHAS, penalty=penalty)
    plain = learn_directions(random_problem(), learned, settings)
    scaled = learn_directions(random_problem(unit=unit), learned, settings)
    assert_close(scaled.theta * unit, plain.theta, rtol=1e-7, atol=1e-10)
    assert torch.equal(scaled.score, plain.score)
    assert scaled.chosen == plain.chosen


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_score_is_the_worst_environment_of_any_iteration(task: Task) -> None:
    problem = random_problem(task=task)
    learned = [environments([2, 5], seed=1), environments([2], seed=2)]
    directions = learn_directions(problem, learned, OPTIONS)
    psi = torch.cat([problem.psi_train, problem.psi_validation])
    f0 = torch.cat([problem.f0_train, problem.f0_validation])
    y = torch.cat([problem.y, problem.y_validation]).numpy()
    for theta, score in zip(directions.theta, directions.score.tolist(), strict=True):
        outputs = (f0 + psi @ theta).numpy()
        points = (
            (outputs > 0) == (y > 0)
            if task == "classification"
            else -((outputs - y) ** 2)
        )
        means = [
            np.average(
                points, weights=torch.cat([e.train[g, :, j], e.validation[g, :, j]])
            )
            for e in learned
            for g in range(len(e.k))
            for j in range(2)
        ]
        assert score == pytest.approx(min(means), rel=1e-9)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_pooled_validation_picks_where_it_is_the_rule(task: Task) -> None:
    problem = random_problem(5, task)
    settings = KerHRMOptions(alpha=ALPHAS, stop_by="pooled")
    directions = learn_directions(problem, [environments([2, 5])], settings)
    psi, y = problem.psi_validation.numpy(), problem.y_validation.numpy()
    f = directions.theta.numpy() @ psi.T + problem.f0_validation.numpy()
    points = (f > 0) == (y > 0) if task == "classification" else -((f - y) ** 2)
    np.testing.assert_allclose(directions.score, points.mean(-1))
    assert directions.chosen == points.mean(-1).argmax()


def test_an_environment_that_was_dropped_does_not_score() -> None:
    problem, three = random_problem(), environments([2], n_environments=3)
    train, validation = three.train.clone(), three.validation.clone()
    train[..., 1], validation[..., 1] = 0, 0
    left = replace(three, train=train, validation=validation)
    without = replace(three, train=train[..., ::2], validation=validation[..., ::2])
    got, expected = (learn_directions(problem, [e], OPTIONS) for e in (left, without))
    assert_close(got.theta, expected.theta)
    assert_close(got.score, expected.score)
    assert bool((learn_directions(problem, [three], OPTIONS).score != got.score).any())


@pytest.mark.parametrize(
    ("degenerate", "eligible"),
    [([0, 1, 0], [0, 1, 2, 6, 7, 8]), ([1, 1, 0], [6, 7, 8]), ([1, 1, 1], range(9))],
)
def test_a_degenerate_clustering_is_chosen_only_if_there_is_no_other(
    degenerate: list[int], eligible: list[int]
) -> None:
    barred = False
    for seed in range(6):
        problem, free = random_problem(seed), environments([1, 3, 5])
        held = replace(free, degenerate=torch.tensor(degenerate).bool())
        directions = learn_directions(problem, [held], OPTIONS)
        best = max(eligible, key=lambda c: (float(directions.score[c]), -c))
        assert directions.chosen == best
        barred |= int(directions.score.argmax()) not in eligible
        plain = learn_directions(problem, [free], OPTIONS)
        assert_close(directions.theta, plain.theta)
    assert barred == (len(eligible) < 9)


def test_degenerate_environments_do_not_score() -> None:
    def marked(e: Memberships, *flags: bool) -> Memberships:
        return replace(e, degenerate=torch.tensor(flags))

    first, second = environments([2, 5], 1), environments([2], 2)
    weights = all_memberships(
        [marked(first, False, True), marked(second, True)], "validation"
    ).sum(-1)
    assert bool((weights[:2] > 0).all())
    assert weights[2:].tolist() == [0] * 4
    # where there is no other, what there is scores
    every = all_memberships(
        [marked(first, True, True), marked(second, True)], "validation"
    )
    assert_close(every, all_memberships([first, second], "validation"))


def ends(*thetas: list[float]) -> list[Directions]:
    """Iterations of one candidate each."""
    one = torch.zeros(1).double()
    padded = [torch.tensor([*t, *[0.0] * (K_MAX - len(t))]).double() for t in thetas]
    return [
        Directions(t[None], torch.tensor([K_MAX]), one, one + i, 0)
        for i, t in enumerate(padded)
    ]


def test_the_iteration_is_chosen_by_all_environments() -> None:
    problem = random_problem()
    psi, psi_v = problem.psi_train.clone(), problem.psi_validation.clone()
    psi[:, 0], psi_v[:, 0] = problem.y, problem.y_validation  # so column 0 is the label
    psi[:, 1] = psi_v[:, 1] = 10.0
    problem = replace(problem, u=psi, psi_validation=psi_v)
    right, wrong, always_up = [10.0], [-10.0], [0.0, 1.0]
    learned = [environments([5], seed) for seed in range(3)]

    def chosen(
        environments: list[Memberships], *thetas: list[float], final: str = "best"
    ) -> int:
        options = KerHRMOptions(final=final)
        return select_iteration(problem, environments, ends(*thetas), options).iteration

    assert chosen(learned, wrong, wrong, right) == 3
    assert chosen(learned, wrong, right, right) == 2  # the earliest among equals
    assert chosen(learned, right, wrong, wrong) == 1
    assert chosen(learned, right, wrong, wrong, final="last") == 3
    # only an environment of the last iteration tells these two apart
    hits = [(y > 0).double()[:, None] for y in (problem.y, problem.y_validation)]
    positives = given_environments(*hits, [5])
    everybody = given_environments(*map(torch.ones_like, hits), [5])
    assert chosen([positives] * 2, always_up, right) == 1
    assert chosen([positives, everybody], always_up, right) == 2


def test_points_score_by_sign_or_squared_error() -> None:
    outputs, y = (
        torch.tensor([0.3, -2.0, 0.0, 5.0]),
        torch.tensor([1.0, -1.0, -1.0, -1.0]),
    )
    scores = point_scores(outputs, y, "classification")
    assert scores.dtype == torch.float64
    assert scores.tolist() == [1, 1, 1, 0]  # an output of 0 is the class -1
    outputs, y = torch.tensor([[0.5, -2.0], [1.0, 3.0]]), torch.tensor([1.0, -2.0])
    assert point_scores(outputs, y, "regression").tolist() == [[-0.25, 0], [0, -25]]


def test_erm_is_ridge_regression_with_k_by_validation() -> None:
    random = np.random.default_rng(0)
    u, _ = np.linalg.qr(random.standard_normal((60, 5)))
    s, theta = np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([1.0, -1.0, 1.0, 0.0, 0.0])
    psi = random.standard_normal((400, 5))
    f0, f0_new = random.standard_normal(60), random.standard_normal(400)
    y = f0 + (u * s) @ theta + 0.5 * random.standard_normal(60)
    y_new = f0_new + psi @ theta + 0.5 * random.standard_normal(400)
    arrays = map(torch.from_numpy, (u, s, psi, f0, f0_new, y, y_new))
    got = erm_direction(Problem(*arrays, "regression", 0), [5, 1, 3], [0.1])
    errors, expected = [], []
    for k in (1, 3, 5):
        features = (u * s)[:, :k]
        penalty = 0.1 * (features**2).sum() / k * np.eye(k)
        expected.append(
            np.linalg.solve(features.T @ features + penalty, features.T @ (y - f0))
        )
        errors.append(((psi[:, :k] @ expected[-1] - (y_new - f0_new)) ** 2).mean())
    best = int(np.argmin(errors))
    assert (got.k, got.iteration) == ((1, 3, 5)[best], 0)
    np.testing.assert_allclose(got.theta[: got.k], expected[best])
    assert not bool(got.theta[got.k :].any())
    assert got.score == pytest.approx(-min(errors))
