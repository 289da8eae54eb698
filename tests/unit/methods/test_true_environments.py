"""True environments in the form of learned ones, and what the iteration makes of them."""

from dataclasses import fields

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.directions import learn_directions, selection_score
from kerhrm.algorithm.options import Invariance, KerHRM
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.methods.true_environments.train import train_true_environments, true_environments

B, K, N, M, N_ENVIRONMENTS = 2, 3, 40, 21, 3


def labels() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = {"train": N, "validation": M}
    return {
        part: np.stack([rng.permutation(np.arange(n) % N_ENVIRONMENTS) for _ in range(B)]).astype(
            np.int8
        )
        for part, n in rows.items()
    }


def tensors() -> tuple[Tensor, Tensor]:
    train, validation = (torch.from_numpy(a).long() for a in labels().values())
    return train, validation


@pytest.fixture
def problem() -> Problem:
    """The first feature is the cause; the second follows y as the environment has it."""
    of = {part: torch.from_numpy(a).double() for part, a in labels().items()}
    parts = {}
    for part, n in (("train", N), ("validation", M)):
        cause = torch.randn(B, n, dtype=torch.float64)
        y = cause + 0.3 * torch.randn_like(cause)
        spurious = y * (of[part] + 0.5) + 0.2 * torch.randn_like(y)
        noise = torch.randn_like(y)
        parts[part] = torch.stack([cause, spurious, noise], dim=-1), y
    (psi, y), (psi_validation, y_validation) = parts["train"], parts["validation"]
    zero, zero_validation = torch.zeros_like(y), torch.zeros_like(y_validation)
    return Problem(
        psi, torch.ones(B, K).double(), psi_validation, zero, zero_validation, y, y_validation,
        "regression", list(range(B)),
    )  # fmt: skip


def test_memberships_are_the_labels(problem: Problem) -> None:
    given = true_environments(problem, [2, 3], *tensors())
    assert given.k.tolist() == [[2, 3]] * B
    for part, expected in labels().items():
        memberships = getattr(given, part)
        assert memberships.shape == (B, 2, expected.shape[1], N_ENVIRONMENTS)
        assert memberships.dtype == problem.y.dtype
        for g in range(2):
            for e in range(N_ENVIRONMENTS):
                np.testing.assert_array_equal(memberships[:, g, :, e], expected == e)


def test_all_is_usable_and_nothing_was_searched(problem: Problem) -> None:
    given = true_environments(problem, [2, 3], *tensors())
    assert bool(given.usable.all())
    assert given.usable.shape == (B, 2)
    rest = {f.name for f in fields(Environments)} - {"k", "train", "validation", "usable"}
    for name in rest:
        assert torch.equal(getattr(given, name), torch.zeros(B, 2).to(getattr(given, name)))


def test_the_worst_true_environment_is_the_score(problem: Problem) -> None:
    given = true_environments(problem, [3], *tensors())
    theta = torch.randn(B, 4, K, dtype=torch.float64)
    score = selection_score(problem, theta, [given])
    of = np.concatenate([labels()["train"], labels()["validation"]], axis=1)
    both = torch.cat([problem.psi_train, problem.psi_validation], dim=1)
    for b in range(B):
        psi, y = both[b].numpy(), torch.cat([problem.y[b], problem.y_validation[b]]).numpy()
        for c in range(4):
            errors = (psi @ theta[b, c].numpy() - y) ** 2
            worst = max(errors[of[b] == e].mean() for e in range(N_ENVIRONMENTS))
            assert float(score[b, c]) == pytest.approx(-worst)


def test_the_penalty_evens_the_gradients_of_the_true_environments(problem: Problem) -> None:
    given = true_environments(problem, [3], *tensors())
    theta = learn_directions(problem, [given], Invariance(alpha=[0.0, 100.0])).theta
    of = labels()["train"]

    def variance(b: int, c: int) -> float:
        psi, y = problem.psi_train[b].numpy(), problem.y[b].numpy()
        residuals = psi @ theta[b, c].numpy() - y
        each = [
            psi[of[b] == e].T @ residuals[of[b] == e] / (of[b] == e).sum()
            for e in range(N_ENVIRONMENTS)
        ]
        return float(np.var(each, axis=0).sum())

    for b in range(B):
        assert variance(b, 1) < 0.5 * variance(b, 0)


def test_the_worst_true_environment_chooses_the_direction(problem: Problem) -> None:
    options = KerHRM(k=[1, 3], invariance=Invariance(alpha=[0.0, 1.0]))
    theta = train_true_environments(problem, options, tensors())
    given = true_environments(problem, options.k, *tensors())
    tried = learn_directions(problem, [given], options.invariance)
    assert theta.shape == (B, K)
    for b in range(B):
        assert torch.equal(theta[b], tried.theta[b, tried.score[b].argmax()])
    with pytest.raises(AssertionError):
        train_true_environments(problem, options, None)
