"""Where nothing is found KerHRM ends with ERM on its own features."""

import numpy as np
import torch

from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem
from kerhrm.heterogeneity.guard import guarded, pooled_direction


def problem() -> Problem:
    """Two data sets of five features, of which the labels need three, and an offset."""
    random = np.random.default_rng(0)
    u, _ = np.linalg.qr(random.standard_normal((2, 60, 5)))
    s = np.tile([5.0, 4.0, 3.0, 2.0, 1.0], (2, 1))
    psi = random.standard_normal((2, 400, 5))
    f0, f0_new = random.standard_normal((2, 60)), random.standard_normal((2, 400))
    theta = np.array([1.0, -1.0, 1.0, 0.0, 0.0])
    y = f0 + (u * s[:, None]) @ theta + 0.5 * random.standard_normal((2, 60))
    y_new = f0_new + psi @ theta + 0.5 * random.standard_normal((2, 400))
    return Problem(*map(torch.from_numpy, (u, s, psi, f0, f0_new, y, y_new)), "regression", [0, 1])


def test_pooled_erm_is_ridge_regression_with_k_by_validation() -> None:
    given = problem()
    pooled = pooled_direction(given, [5, 1, 3], [0.1])
    errors = []
    for k in (1, 3, 5):
        psi, new = (a[0].numpy() for a in (given.psi_train[:, :, :k], given.psi_validation))
        penalty = 0.1 * (psi**2).sum() / k * np.eye(k)
        theta = np.linalg.solve(psi.T @ psi + penalty, psi.T @ given.target[0].numpy())
        errors.append(((new[:, :k] @ theta - given.target_validation[0].numpy()) ** 2).mean())
        if k == int(pooled.k[0]):
            np.testing.assert_allclose(pooled.theta[0, :k], theta)
            assert not pooled.theta[0, k:].any()
    assert int(pooled.k[0]) == (1, 3, 5)[int(np.argmin(errors))]
    np.testing.assert_allclose(float(pooled.score[0]), -min(errors))
    assert pooled.iteration.tolist() == [0, 0]


def test_the_guard_falls_back_only_where_nothing_was_found() -> None:
    pooled = pooled_direction(problem(), [1, 3])
    ones = {name: torch.ones_like(getattr(pooled, name)) for name in FinalDirection.names()}
    direction = FinalDirection(**ones)
    ended = guarded(direction, pooled, torch.tensor([True, False]))
    for name in FinalDirection.names():
        assert torch.equal(getattr(ended, name)[0], getattr(pooled, name)[0])
        assert torch.equal(getattr(ended, name)[1], getattr(direction, name)[1])
