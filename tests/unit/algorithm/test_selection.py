"""The selection rule's score against a plain loop, and what a minimum must satisfy."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kerhrm.algorithm.selection import point_scores, pooled_score, worst_environment_score
from kerhrm.data.dataset import Task

M = 12


def draw(seed: int, batch: int = 2, candidates: int = 3, environments: int = 4) -> list[Tensor]:
    """Scores (B, C, m) and a partition of the points into soft environments (B, E, m)."""
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 1.0, -0.3], (batch, candidates, M))
    memberships = rng.dirichlet(np.full(environments, 0.2), (batch, M)).transpose(0, 2, 1)
    return [torch.from_numpy(a) for a in (scores, memberships)]


def literal(scores: Tensor, memberships: Tensor) -> np.ndarray:
    """min_e sum_i r_ie s_i / sum_i r_ie, with loops; environments without weight left out."""
    result = np.full(scores.shape[:2], np.inf)
    for b, c in np.ndindex(*scores.shape[:2]):
        for r in memberships[b].tolist():
            if sum(r) > 0:
                values = scores[b, c].tolist()
                mean = sum(w * s for w, s in zip(r, values, strict=True)) / sum(r)
                result[b, c] = min(result[b, c], mean)
    return result


@given(seed=st.integers(0, 10**6), environments=st.integers(1, 5), empty=st.integers(0, 2))
def test_the_score_is_the_worst_mean(seed: int, environments: int, empty: int) -> None:
    scores, memberships = draw(seed, environments=environments)
    nobody = torch.zeros(2, empty, M, dtype=torch.float64)
    memberships = torch.cat([nobody, memberships], dim=1)
    got = worst_environment_score(scores, memberships)
    np.testing.assert_allclose(got, literal(scores, memberships), rtol=1e-12, atol=1e-12)


def test_an_environment_without_points_is_left_out() -> None:
    scores = torch.ones(1, 1, M, dtype=torch.float64)
    memberships = torch.zeros(1, 2, M, dtype=torch.float64)
    memberships[:, 1] = 1
    assert worst_environment_score(scores, memberships).item() == 1  # not 0 / 0, and not 0
    assert worst_environment_score(-scores, memberships).item() == -1


def test_environments_may_be_unoccupied_in_one_seed_alone() -> None:
    scores, memberships = draw(0)
    memberships[0, 1:] = 0
    got = worst_environment_score(scores, memberships)
    np.testing.assert_allclose(got, literal(scores, memberships), rtol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_one_environment_is_the_pooled_sample(weight: float) -> None:
    scores, _ = draw(1)
    everybody = torch.full((2, 1, M), weight, dtype=torch.float64)
    torch.testing.assert_close(worst_environment_score(scores, everybody), pooled_score(scores))


@given(seed=st.integers(0, 10**6))
def test_a_partition_bounds_the_pooled_score(seed: int) -> None:
    scores, memberships = draw(seed)
    pooled = pooled_score(scores)
    worst = worst_environment_score(scores, memberships)
    best = -worst_environment_score(-scores, memberships)
    assert bool((worst <= pooled + 1e-12).all())
    assert bool((pooled <= best + 1e-12).all())


@given(seed=st.integers(0, 10**6))
def test_another_environment_never_raises_the_score(seed: int) -> None:
    scores, memberships = draw(seed)
    fewer = worst_environment_score(scores, memberships[:, :-1])
    assert bool((worst_environment_score(scores, memberships) <= fewer + 1e-12).all())


def test_seeds_and_candidates_do_not_touch_each_other() -> None:
    scores, memberships = draw(2, batch=3)
    together = worst_environment_score(scores, memberships)
    assert together.shape == (3, 3)
    for b, c in np.ndindex(3, 3):
        alone = worst_environment_score(scores[b : b + 1, c : c + 1], memberships[b : b + 1])
        assert math.isclose(together[b, c], alone.item(), rel_tol=1e-12)


def test_points_of_a_classification_score_by_sign() -> None:
    predictions = torch.tensor([[[0.3, -2.0, 0.0, 5.0], [-0.3, 2.0, 1e-9, -5.0]]])
    y = torch.tensor([[1.0, -1.0, -1.0, -1.0]])
    scores = point_scores(predictions, y.unsqueeze(1), "classification")
    assert scores.dtype == torch.float64
    assert scores.tolist() == [[[1, 1, 1, 0], [0, 0, 0, 1]]]  # an output of 0 is the class -1


def test_points_of_a_regression_score_by_squared_error() -> None:
    predictions = torch.tensor([[[0.5, -2.0], [1.0, 3.0]]])
    y = torch.tensor([[1.0, -2.0]])
    scores = point_scores(predictions, y.unsqueeze(1), "regression")
    assert scores.tolist() == [[[-0.25, 0], [0, -25]]]
    assert pooled_score(scores).tolist() == [[-0.125, -12.5]]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_arrays_score_as_tensors_do(task: Task) -> None:
    """Scoring knows no PyTorch."""
    rng = np.random.default_rng(3)
    f, y = rng.standard_normal((2, 3, M)).astype(np.float32), rng.standard_normal((2, 1, M))
    memberships = rng.dirichlet(np.full(4, 0.2), (2, M)).transpose(0, 2, 1).copy()
    memberships[0, 1] = 0
    scores = point_scores(f, y, task)
    assert scores.dtype == np.float64
    tensors = point_scores(torch.from_numpy(f), torch.from_numpy(y), task)
    np.testing.assert_array_equal(scores, tensors)
    worst = worst_environment_score(scores, memberships)
    expected = worst_environment_score(tensors, torch.from_numpy(memberships))
    np.testing.assert_allclose(worst, expected, rtol=1e-12)
    np.testing.assert_allclose(pooled_score(scores), pooled_score(tensors), rtol=1e-12)
