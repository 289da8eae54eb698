"""M_p of an iteration: all candidates' directions, their scores, and the choices."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.directions import learn_directions, predict, selection_score, yardstick
from kerhrm.algorithm.invariant import invariant_direction
from kerhrm.algorithm.options import Invariance
from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.algorithm.penalties.gradient_variance import GradientVariance, WhitenedVariance
from kerhrm.algorithm.prediction import finish
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.data.dataset import Task

BATCH, N, M, K_MAX = 3, 40, 16, 5
ALPHAS = [0.0, 0.5, 10.0]


def random_problem(seed: int = 0, task: Task = "classification", unit: float = 1.0) -> Problem:
    """Features of unequal scale, different in every data set; ``unit`` multiplies Psi."""
    rng = np.random.default_rng(seed)
    scale = np.geomspace(5, 0.5, K_MAX) * rng.uniform(0.5, 2, (BATCH, 1, 1))
    u, psi_v = (rng.standard_normal((BATCH, n, K_MAX)) * scale for n in (N, M))
    f0, f0_v = (0.1 * rng.standard_normal((BATCH, n)) for n in (N, M))
    y, y_v = (rng.choice([-1.0, 1.0], (BATCH, n)) for n in (N, M))
    arrays = (u * unit, np.ones((BATCH, K_MAX)), psi_v * unit, f0, f0_v, y, y_v)
    return Problem(*(torch.from_numpy(a) for a in arrays), task, list(range(BATCH)))


def environments(k: list[list[int]], seed: int = 0, n_environments: int = 2) -> Environments:
    """Arbitrary soft environments; all usable."""
    rng = np.random.default_rng(seed)
    dimensions = torch.tensor(k)
    shape = tuple(dimensions.shape)
    train, validation = (
        torch.from_numpy(rng.dirichlet(np.full(n_environments, 0.5), (*shape, n))) for n in (N, M)
    )
    other = torch.zeros(shape, dtype=torch.float64)
    count = torch.ones(shape, dtype=torch.int64)
    usable = torch.ones(shape, dtype=torch.bool)
    return Environments(
        dimensions, train, validation, other, other, other, other, usable, *[count] * 4
    )


def unusable(base: Environments, usable: list[list[bool]]) -> Environments:
    return replace(base, usable=torch.tensor(usable))


def history_of(*thetas: Tensor) -> list[Directions]:
    """Iterations of one candidate each, theta (B, k_max)."""
    return [
        Directions(
            theta.unsqueeze(1),
            torch.full((len(theta), 1), K_MAX),
            torch.zeros(len(theta), 1),
            torch.zeros(len(theta), 1),
            torch.zeros(len(theta), dtype=torch.int64),
        )
        for theta in thetas
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"penalty": "whitened_gradient_variance"},
        {"weights": "shares"},
        {"penalty": "whitened_gradient_variance", "weights": "shares", "ridge": 0.1},
    ],
)
def test_every_candidate_is_its_invariant_direction(options: dict[str, Any]) -> None:
    problem = random_problem()
    found = environments([[2, 5], [3, 2], [2, 4]])
    settings = Invariance(alpha=ALPHAS, **options)
    whiten = settings.penalty == "whitened_gradient_variance"
    # the environments of earlier iterations measure, but are not those to be invariant over
    learned = [environments([[1], [1], [1]], seed=9), found]
    directions = learn_directions(problem, learned, settings)
    assert directions.theta.shape == (BATCH, 6, K_MAX)
    assert directions.k.tolist() == [[2, 2, 2, 5, 5, 5], [3, 3, 3, 2, 2, 2], [2, 2, 2, 4, 4, 4]]
    assert directions.alpha.tolist() == [ALPHAS * 2] * BATCH
    for b, g, a in np.ndindex(BATCH, 2, 3):
        k = int(found.k[b, g])
        psi = problem.psi_train[b, :, :k]
        eigenvalue = np.linalg.eigvalsh(psi.T @ psi / N).mean()
        theta = invariant_direction(
            psi,
            problem.y[b] - problem.f0_train[b],
            found.train[b, g],
            ALPHAS[a] / (1.0 if whiten else eigenvalue),
            WhitenedVariance() if whiten else GradientVariance(),
            ridge=settings.ridge,
            shares=settings.weights == "shares",
        )
        got = directions.theta[b, 3 * g + a]
        torch.testing.assert_close(got[:k], theta, rtol=1e-8, atol=1e-10)
        assert not bool(got[k:].any())


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("unit", [1e-3, 7.0, 1e4])
def test_the_unit_of_psi_does_not_matter(unit: float, penalty: str) -> None:
    learned = [environments([[2, 5]] * BATCH)]
    settings = Invariance(alpha=ALPHAS, penalty=penalty)
    plain = learn_directions(random_problem(), learned, settings)
    scaled = learn_directions(random_problem(unit=unit), learned, settings)
    torch.testing.assert_close(scaled.theta * unit, plain.theta, rtol=1e-7, atol=1e-10)
    for name in ("k", "alpha", "score", "chosen"):
        assert torch.equal(getattr(scaled, name), getattr(plain, name)), name


def test_predictions_keep_the_offset() -> None:
    problem = random_problem()
    theta = torch.from_numpy(np.random.default_rng(1).standard_normal((BATCH, 2, K_MAX)))
    psi, f0 = problem.psi_validation, problem.f0_validation
    got = predict(psi, f0, theta)
    for b, c, i in np.ndindex(BATCH, 2, M):
        expected = float(f0[b, i]) + float(psi[b, i].numpy() @ theta[b, c].numpy())
        assert float(got[b, c, i]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_score_is_the_worst_environment_of_any_iteration(task: Task) -> None:
    problem = random_problem(task=task)
    learned = [environments([[2, 5]] * BATCH, seed=1), environments([[2]] * BATCH, seed=2)]
    directions = learn_directions(problem, learned, Invariance(alpha=ALPHAS))
    psi = torch.cat([problem.psi_train, problem.psi_validation], dim=1)
    f0 = torch.cat([problem.f0_train, problem.f0_validation], dim=1)
    labels = torch.cat([problem.y, problem.y_validation], dim=1)
    for b, c in np.ndindex(BATCH, 3):
        outputs = (f0[b] + psi[b] @ directions.theta[b, c]).numpy()
        y = labels[b].numpy()
        points = (outputs > 0) == (y > 0) if task == "classification" else -((outputs - y) ** 2)
        means = [
            np.average(points, weights=torch.cat([e.train[b, g, :, j], e.validation[b, g, :, j]]))
            for e in learned
            for g in range(e.k.shape[1])
            for j in range(2)
        ]
        assert float(directions.score[b, c]) == pytest.approx(min(means), rel=1e-9)


def test_an_environment_that_was_dropped_does_not_measure() -> None:
    problem, three = random_problem(), environments([[2]] * BATCH, n_environments=3)
    train, validation = three.train.clone(), three.validation.clone()
    train[..., 1], validation[..., 1] = 0, 0
    left = replace(three, train=train, validation=validation)
    without = replace(three, train=train[..., ::2], validation=validation[..., ::2])
    settings = Invariance(alpha=ALPHAS)
    got, expected = (learn_directions(problem, [e], settings) for e in (left, without))
    torch.testing.assert_close(got.theta, expected.theta)
    torch.testing.assert_close(got.score, expected.score)
    assert bool((learn_directions(problem, [three], settings).score != got.score).any())


def test_the_best_score_is_chosen() -> None:
    directions = learn_directions(
        random_problem(3), [environments([[1, 3, 5]] * BATCH)], Invariance(alpha=ALPHAS)
    )
    assert len(set(directions.chosen.tolist())) > 1  # the data sets differ
    rows = torch.arange(BATCH)
    assert torch.equal(directions.score[rows, directions.chosen], directions.score.amax(1))
    winner = directions.winner
    for name in ("theta", "k", "alpha", "score"):
        for b, c in enumerate(directions.chosen.tolist()):
            assert torch.equal(getattr(winner, name)[b], getattr(directions, name)[b, c])


def test_ties_go_to_the_smaller_dimension_and_alpha() -> None:
    once = environments([[2]] * BATCH)
    twice = replace(
        once,
        k=once.k.repeat(1, 2),
        train=once.train.repeat(1, 2, 1, 1),
        validation=once.validation.repeat(1, 2, 1, 1),
        usable=once.usable.repeat(1, 2),
    )
    directions = learn_directions(random_problem(), [twice], Invariance(alpha=[1.0, 1.0]))
    assert torch.equal(directions.score, directions.score[:, :1].expand(-1, 4))
    assert directions.chosen.tolist() == [0] * BATCH


def test_a_candidate_without_usable_environments_is_not_chosen() -> None:
    problem, settings = random_problem(0), Invariance(alpha=ALPHAS)
    free = environments([[1, 3, 5]] * BATCH)
    held = unusable(free, [[True, False, True], [False, False, True], [False, False, False]])
    directions = learn_directions(problem, [held], settings)
    eligible = [[0, 1, 2, 6, 7, 8], [6, 7, 8], list(range(9))]
    for b, candidates in enumerate(eligible):
        best = max(candidates, key=lambda c: (float(directions.score[b, c]), -c))
        assert int(directions.chosen[b]) == best
    # the second data set's best is barred; the third one's is not the first by chance
    assert int(directions.score[1].argmax()) < 6
    assert int(directions.chosen[2]) > 0
    # all the same each has its direction, for whoever wants to look
    torch.testing.assert_close(directions.theta, learn_directions(problem, [free], settings).theta)


@pytest.mark.parametrize("part", ["train", "validation"])
def test_the_yardstick_holds_every_environment_once(part: Any) -> None:
    first, second = environments([[2, 5]] * BATCH, 1), environments([[2]] * BATCH, 2)
    memberships = yardstick([first, second], part)
    assert memberships.shape == (BATCH, (2 + 1) * 2, {"train": N, "validation": M}[part])
    for b in range(BATCH):
        expected = [getattr(e, part)[b, g, :, j] for e in (first, second)
                    for g in range(e.k.shape[1]) for j in range(2)]  # fmt: skip
        torch.testing.assert_close(memberships[b], torch.stack(expected))


def test_unusable_environments_do_not_measure() -> None:
    first = unusable(environments([[2, 5]] * 2), [[True, False], [False, False]])
    second = unusable(environments([[2]] * 2, 1), [[False], [False]])
    memberships = yardstick([first, second])
    weights = memberships.sum(-1)
    assert bool((weights[0, :2] > 0).all())
    assert weights[0, 2:].tolist() == [0] * 4
    # a seed that has no other is measured by what there is
    torch.testing.assert_close(memberships[1, 4:], second.validation[1, 0].mT)
    assert bool((weights[1] > 0).all())


def test_the_iteration_is_chosen_by_all_environments() -> None:
    problem = random_problem()
    psi, psi_v = problem.psi_train.clone(), problem.psi_validation.clone()
    psi[..., 0], psi_v[..., 0] = problem.y, problem.y_validation  # so column 0 is the label
    problem = replace(problem, u=psi, psi_validation=psi_v)
    right, wrong = (torch.zeros(BATCH, K_MAX, dtype=torch.float64) for _ in range(2))
    right[:, 0], wrong[:, 0] = 10, -10
    mixed = torch.stack([wrong[0], right[0], wrong[0]])
    learned = [environments([[5]] * BATCH, seed) for seed in range(3)]

    def chosen(*thetas: Tensor) -> list[int]:
        return finish(problem, learned[: len(thetas)], history_of(*thetas)).iteration.tolist()

    assert chosen(wrong, mixed, right) == [3, 2, 3]
    assert chosen(wrong, right, 2 * right) == [2, 2, 2]  # the earliest among equals
    assert chosen(right) == [1, 1, 1]
    # only an environment of the last iteration tells these two apart
    half = replace(
        learned[0],
        train=torch.ones_like(learned[0].train),
        validation=torch.ones_like(learned[0].validation),
    )
    always_up = torch.zeros_like(right)
    psi[..., 1] = psi_v[..., 1] = 10.0
    always_up[:, 1] = 1
    hit, hit_v = ((y > 0).double() for y in (problem.y, problem.y_validation))
    positives = replace(
        half,
        train=torch.stack([hit, hit], -1).unsqueeze(1),
        validation=torch.stack([hit_v, hit_v], -1).unsqueeze(1),
    )
    history = history_of(always_up, right)
    assert finish(problem, [positives], history).iteration.tolist() == [1, 1, 1]
    assert finish(problem, [positives, half], history).iteration.tolist() == [2, 2, 2]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_pooled_validation_picks_where_it_is_the_rule(task: Task) -> None:
    """By hand: the mean over validation points, whatever the environments."""
    problem = random_problem(5, task)
    learned = [environments([[2, 5], [3, 2], [2, 4]])]
    directions = learn_directions(problem, learned, Invariance(alpha=ALPHAS), "pooled")
    psi, y = problem.psi_validation.numpy(), problem.y_validation.numpy()
    f = psi @ directions.theta.numpy().transpose(0, 2, 1) + problem.f0_validation.numpy()[..., None]
    hits = (f > 0) == (y > 0)[..., None] if task == "classification" else -((f - y[..., None]) ** 2)
    np.testing.assert_allclose(directions.score, hits.mean(1))
    assert directions.chosen.tolist() == hits.mean(1).argmax(-1).tolist()


def test_the_last_iteration_may_be_the_end() -> None:
    problem, learned = random_problem(), [environments([[5]] * BATCH, seed) for seed in range(2)]
    history = [learn_directions(problem, learned[: t + 1], Invariance()) for t in range(2)]
    final = finish(problem, learned, history, end="last")
    assert final.iteration.tolist() == [2] * BATCH
    assert torch.equal(final.theta, history[-1].winner.theta)


def test_the_history_is_scored_by_the_winners() -> None:
    problem, learned = random_problem(3), [environments([[2, 5]] * BATCH)]
    directions = learn_directions(problem, learned, Invariance(alpha=ALPHAS))
    score = selection_score(problem, directions.winner.theta.unsqueeze(1), learned)
    torch.testing.assert_close(score.squeeze(1), directions.winner.score)


def test_data_sets_do_not_touch_each_other() -> None:
    problem, learned = random_problem(), [environments([[2, 5], [2, 3], [2, 3]])]
    settings = Invariance(alpha=ALPHAS)
    together = learn_directions(problem, learned, settings)
    for b in range(BATCH):
        alone = problem.take([b])
        single = learn_directions(alone, [learned[0].take([b])], settings)
        for name in Directions.names():
            torch.testing.assert_close(getattr(single, name)[0], getattr(together, name)[b])
