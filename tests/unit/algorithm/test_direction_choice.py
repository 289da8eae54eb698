"""Which direction M_p chooses: scores of candidates, and of iterations."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from random_problems import (
    ALPHAS,
    K_MAX,
    OPTIONS,
    environments,
    given_environments,
    random_problem,
)
from torch.testing import assert_close

from kerhrm.algorithm.invariance import (
    all_memberships,
    best_candidate,
    learn_directions,
    point_scores,
    worst_environment_score,
)
from kerhrm.algorithm.loop import select_iteration
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Directions, Memberships
from kerhrm.options import Task


def scores_of_points(outputs: np.ndarray, y: np.ndarray, task: Task) -> np.ndarray:
    """Hits of a classification, negative squared errors of a regression."""
    if task == "classification":
        return (outputs > 0) == (y > 0)
    return -((outputs - y) ** 2)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_score_is_the_worst_environment_of_any_iteration(task: Task) -> None:
    problem = random_problem(task=task)
    first = environments([2, 5], seed=1)
    second = environments([2], seed=2)
    learned = [first, second]
    directions = learn_directions(problem, learned, OPTIONS)
    parts = [problem.psi_train, problem.psi_validation]
    f0_of_parts = [problem.f0_train, problem.f0_validation]
    labels = torch.cat([problem.y, problem.y_validation])
    psi = torch.cat(parts)
    f0 = torch.cat(f0_of_parts)
    y = labels.numpy()
    scores = directions.score.tolist()
    for theta, score in zip(directions.theta, scores, strict=True):
        outputs = f0 + psi @ theta
        points = scores_of_points(outputs.numpy(), y, task)
        means = []
        for e in learned:
            shares = torch.cat([e.train, e.validation], 1)
            for g in range(len(e.k)):
                for j in range(2):
                    weights = shares[g, :, j]
                    mean = np.average(points, weights=weights)
                    means.append(mean)
        worst = min(means)
        assert score == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_pooled_validation_picks_where_it_is_the_rule(task: Task) -> None:
    problem = random_problem(5, task)
    settings = KerHRMOptions(alpha=ALPHAS, stop_by="pooled")
    learned = [environments([2, 5])]
    directions = learn_directions(problem, learned, settings)
    psi = problem.psi_validation.numpy()
    y = problem.y_validation.numpy()
    f0 = problem.f0_validation.numpy()
    theta = directions.theta.numpy()
    f = theta @ psi.T + f0
    points = scores_of_points(f, y, task)
    means = points.mean(-1)
    assert_allclose(directions.score, means)
    assert directions.chosen == means.argmax()


def test_an_environment_that_was_dropped_does_not_score() -> None:
    problem = random_problem()
    three = environments([2], n_environments=3)
    train = three.train.clone()
    validation = three.validation.clone()
    train[..., 1] = 0
    validation[..., 1] = 0
    left = replace(three, train=train, validation=validation)
    without = replace(
        three,
        train=train[..., ::2],
        validation=validation[..., ::2],
    )
    got = learn_directions(problem, [left], OPTIONS)
    expected = learn_directions(problem, [without], OPTIONS)
    assert_close(got.theta, expected.theta)
    assert_close(got.score, expected.score)
    with_all_three = learn_directions
    scores_of_three = with_all_three(problem, [three], OPTIONS).score
    assert (scores_of_three != got.score).any()


@pytest.mark.parametrize(
    ("degenerate", "eligible"),
    [
        pytest.param([0, 1, 0], [0, 1, 2, 6, 7, 8], id="one of three"),
        pytest.param([1, 1, 0], [6, 7, 8], id="two of three"),
        pytest.param([1, 1, 1], range(9), id="all"),
    ],
)
def test_a_degenerate_clustering_is_chosen_only_if_there_is_no_other(
    degenerate: list[int], eligible: list[int]
) -> None:
    barred = False
    for seed in range(6):
        problem = random_problem(seed)
        free = environments([1, 3, 5])
        flags = torch.tensor(degenerate)
        held = replace(free, degenerate=flags.bool())
        directions = learn_directions(problem, [held], OPTIONS)

        def score_then_order(candidate: int) -> tuple[float, int]:
            """By which candidates are ranked: the earlier one among equals."""
            return float(directions.score[candidate]), -candidate  # noqa: B023

        best = max(eligible, key=score_then_order)
        assert directions.chosen == best
        best_of_all = int(directions.score.argmax())
        barred |= best_of_all not in eligible
        plain = learn_directions(problem, [free], OPTIONS)
        assert_close(directions.theta, plain.theta)
    some_are_barred = len(eligible) < 9
    assert barred == (some_are_barred)


def test_degenerate_environments_do_not_score() -> None:
    def marked(e: Memberships, *flags: bool) -> Memberships:
        return replace(e, degenerate=torch.tensor(flags))

    first = environments([2, 5], 1)
    second = environments([2], 2)
    half_of_first = marked(first, False, True)
    all_of_second = marked(second, True)
    some = [half_of_first, all_of_second]
    weights = all_memberships(some, "validation").sum(-1)
    assert (weights[:2] > 0).all()
    of_second = weights[2:]
    assert of_second.tolist() == [0] * 4
    # where there is no other, what there is scores
    all_of_first = marked(first, True, True)
    all_degenerate = [all_of_first, all_of_second]
    every = all_memberships(all_degenerate, "validation")
    unmarked = all_memberships([first, second], "validation")
    assert_close(every, unmarked)


def ends(*thetas: list[float]) -> list[Directions]:
    """Iterations of one candidate each."""
    one = torch.zeros(1).double()
    k = torch.tensor([K_MAX])
    iterations = []
    for i, theta in enumerate(thetas):
        padded = torch.zeros(1, K_MAX).double()
        n_given = len(theta)
        padded[0, :n_given] = torch.tensor(theta)
        score = one + i
        iterations.append(Directions(padded, k, one, score, 0))
    return iterations


def test_the_iteration_is_chosen_by_all_environments() -> None:
    problem = random_problem()
    psi = problem.psi_train.clone()
    psi_v = problem.psi_validation.clone()
    # so column 0 is the label
    psi[:, 0] = problem.y
    psi_v[:, 0] = problem.y_validation
    psi[:, 1] = 10.0
    psi_v[:, 1] = 10.0
    problem = replace(problem, u=psi, psi_validation=psi_v)
    right = [10.0]
    wrong = [-10.0]
    always_up = [0.0, 1.0]
    learned = [environments([5], seed) for seed in range(3)]

    def chosen(
        environments: list[Memberships], *thetas: list[float], final: str = "best"
    ) -> int:
        options = KerHRMOptions(final=final)
        directions = ends(*thetas)
        selected = select_iteration(problem, environments, directions, options)
        return selected.iteration

    assert chosen(learned, wrong, wrong, right) == 3
    assert chosen(learned, wrong, right, right) == 2  # the earliest among equals
    assert chosen(learned, right, wrong, wrong) == 1
    last = chosen(learned, right, wrong, wrong, final="last")
    assert last == 3
    # only an environment of the last iteration tells these two apart
    is_positive = problem.y > 0
    is_positive_v = problem.y_validation > 0
    hits = is_positive.double()[:, None]
    hits_v = is_positive_v.double()[:, None]
    positives = given_environments(hits, hits_v, [5])
    ones = torch.ones_like(hits)
    ones_v = torch.ones_like(hits_v)
    everybody = given_environments(ones, ones_v, [5])
    at_first = [positives] * 2
    assert chosen(at_first, always_up, right) == 1
    at_last = [positives, everybody]
    assert chosen(at_last, always_up, right) == 2


def test_points_score_by_sign_or_squared_error() -> None:
    outputs = torch.tensor([0.3, -2.0, 0.0, 5.0])
    y = torch.tensor([1.0, -1.0, -1.0, -1.0])
    scores = point_scores(outputs, y, "classification")
    assert scores.dtype == torch.float64
    assert scores.tolist() == [1, 1, 1, 0]  # an output of 0 is the class -1
    outputs = torch.tensor([[0.5, -2.0], [1.0, 3.0]])
    y = torch.tensor([1.0, -2.0])
    scores = point_scores(outputs, y, "regression")
    expected = [[-0.25, 0], [0, -25]]
    assert scores.tolist() == expected


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_an_output_that_is_not_finite_is_no_label(number: float) -> None:
    outputs = torch.tensor([number, number, 1.0])
    y = torch.tensor([-1.0, 1.0, 1.0])
    scores = point_scores(outputs, y, "classification")
    assert scores.isnan().tolist() == [True, True, False]
    assert float(scores[2]) == 1
    # the first two are in no environment, and the candidate has no score anyway
    both = torch.stack([scores, torch.zeros_like(scores)])
    worst = worst_environment_score(both, torch.tensor([[0.0, 0.0, 1.0]]).double())
    assert worst.isnan().tolist() == [True, False]
    assert best_candidate(worst) == 1


def test_the_best_candidate_has_a_score() -> None:
    nan = torch.nan
    scores = {
        (nan, -5.0, -2.0, -2.0): 2,
        (nan, 0.0): 1,
        (nan, -torch.inf, nan): 0,
        (nan, nan): 0,
        (0.25, nan): 0,
    }
    for of_candidates, expected in scores.items():
        assert best_candidate(torch.tensor(of_candidates)) == expected
