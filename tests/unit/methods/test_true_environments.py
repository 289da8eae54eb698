"""True environments in the form of learned ones, and what the iteration makes of them."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.iteration import learn_directions, selection_score
from kerhrm.algorithm.problem import Problem
from kerhrm.arrays import save_arrays
from kerhrm.config.methods import Invariance
from kerhrm.features.reduction import ReducedFeatures
from kerhrm.methods.true_environments import true_environments

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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_arrays(tmp_path / "environments.npz", labels())
    return tmp_path / "environments.npz"


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
    features = ReducedFeatures(
        psi, torch.ones(B, K).double(), psi_validation, psi_validation, zero, zero_validation,
        zero_validation,
    )  # fmt: skip
    return Problem(features, y, y_validation, "regression")


def test_memberships_are_the_labels(problem: Problem, path: Path) -> None:
    given = true_environments(problem, [2, 3], path)
    assert given.k.tolist() == [[2, 3]] * B
    for part, expected in labels().items():
        memberships = getattr(given, part)
        assert memberships.shape == (B, 2, expected.shape[1], N_ENVIRONMENTS)
        assert memberships.dtype == problem.y.dtype
        for g in range(2):
            for e in range(N_ENVIRONMENTS):
                np.testing.assert_array_equal(memberships[:, g, :, e], expected == e)


def test_all_is_usable_and_nothing_was_searched(problem: Problem, path: Path) -> None:
    given = true_environments(problem, [2, 3], path)
    assert bool(given.usable.all())
    assert given.usable.shape == (B, 2)
    rest = {f.name for f in fields(Environments)} - {"k", "train", "validation", "usable"}
    for name in rest:
        assert torch.equal(getattr(given, name), torch.zeros(B, 2).to(getattr(given, name)))


def test_they_survive_their_file(problem: Problem, path: Path, tmp_path: Path) -> None:
    given = true_environments(problem, [2, 3], path)
    given.save(tmp_path / "given.npz")
    again = Environments.load(tmp_path / "given.npz")
    for name in Environments.names():
        assert torch.equal(getattr(again, name), getattr(given, name))


def test_the_worst_true_environment_is_the_score(problem: Problem, path: Path) -> None:
    given = true_environments(problem, [3], path)
    theta = torch.randn(B, 4, K, dtype=torch.float64)
    score = selection_score(problem, theta, [given])
    of = np.concatenate([labels()["train"], labels()["validation"]], axis=1)
    features = problem.features
    both = torch.cat([features.psi_train, features.psi_validation], dim=1)
    for b in range(B):
        psi, y = both[b].numpy(), torch.cat([problem.y[b], problem.y_validation[b]]).numpy()
        for c in range(4):
            errors = (psi @ theta[b, c].numpy() - y) ** 2
            worst = max(errors[of[b] == e].mean() for e in range(N_ENVIRONMENTS))
            assert float(score[b, c]) == pytest.approx(-worst)


def test_the_penalty_evens_the_gradients_of_the_true_environments(
    problem: Problem, path: Path
) -> None:
    given = true_environments(problem, [3], path)
    theta = learn_directions(problem, [given], Invariance(alpha=[0.0, 100.0])).theta
    of = labels()["train"]

    def variance(b: int, c: int) -> float:
        psi, y = problem.features.psi_train[b].numpy(), problem.y[b].numpy()
        residuals = psi @ theta[b, c].numpy() - y
        each = [
            psi[of[b] == e].T @ residuals[of[b] == e] / (of[b] == e).sum()
            for e in range(N_ENVIRONMENTS)
        ]
        return float(np.var(each, axis=0).sum())

    for b in range(B):
        assert variance(b, 1) < 0.5 * variance(b, 0)
