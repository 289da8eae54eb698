r"""Test whether the regression function depends on an auxiliary variable Z, by
permuting Z.

Null hypothesis: Z says nothing of (x, y).  Then any reordering of the points' cells is
as likely as the true one, whatever the labels are, binary ones included, and the
p-value is exact:

.. math::

    p = (1 + \#\{\text{permutations with at least the gain}\})
        / (1 + \#\text{permutations}).

The statistic is the score test of one latent contrast between cells.  With e the
residuals of the pooled regression, weighted and divided by the cell's noise (so that
noise whose scale depends on Z does not count), and :math:`\hat V` the covariance of
:math:`\psi_i e_i`,

.. math::
    g_c = n_c^{-1/2} \sum_{i \in c} \hat V^{-1/2} \psi_i e_i, \qquad
    \text{gain} = \| (g_1, ..., g_C) \|_2^2 / 2 n,

half the squared largest singular value, which is the gain in log-likelihood of
regressions
:math:`\psi^T (\theta + q(c) \delta)` to second order, in nats per point.  It needs no
EM, so that a permutation costs milliseconds.

Where x depends on Z, and k features cannot express the regression, the test sees that
misfit, too.
"""

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.auxiliary import AuxiliaryOptions
from kerhrm.algorithm.records import Problem
from kerhrm.heterogeneity.test import (
    MIN_POINTS,
    HeterogeneityResult,
    impossible,
    in_sequence,
    orthonormal,
)
from kerhrm.randomness import stream


def permute_cells(
    problem: Problem, cells: Tensor, options: AuxiliaryOptions
) -> HeterogeneityResult:
    """Test the training points of a problem for environments that depend on cells of Z.

    Of cells (n,), int64, by regressions on max(k) features; fewer than 80 points are
    not tested.
    """
    n_permutations = options.n_permutations or 0
    psi, _ = problem.reduced(min(max(options.k), len(problem.s)))
    rows = torch.column_stack([psi, torch.ones_like(problem.target), problem.target])
    rows *= problem.counts[0][:, None].sqrt()
    numbers, n = cells.cpu().numpy(), len(rows)
    if n < MIN_POINTS:
        return impossible(n_permutations)
    features, y = orthonormal(rows[:, :-1].cpu().numpy()), rows[:, -1].cpu().numpy()
    random = stream(problem.seed, "auxiliary", "permutations")
    squares = (y - features @ (features.T @ y) / n) ** 2
    orders = [numbers, *(random.permutation(numbers) for _ in range(n_permutations))]
    gains = (cell_gain(features, y, squares, order) for order in orders)
    return in_sequence(gains, n_permutations, options.level)


def cell_gain(
    features: np.ndarray, y: np.ndarray, squares: np.ndarray, cells: np.ndarray
) -> float:
    """Gain of one contrast between cells (n,) over a pooled regression, in nats per
    point.

    Of orthonormal features (n, k), labels (n,) and the squared residuals (n,) of least
    squares.
    """
    n, k = features.shape
    _, cells, counts = np.unique(cells, return_inverse=True, return_counts=True)
    variance = np.bincount(cells, squares) / counts
    floor = 1e-9 * squares.mean() + 1e-300
    weight = 1 / np.sqrt(np.maximum(variance, floor))[cells]
    scaled = features * weight[:, None]
    theta = np.linalg.solve(scaled.T @ scaled, scaled.T @ (weight * y))
    scores = features * (weight * (y - features @ theta))[:, None]
    covariance = scores.T @ scores / n
    covariance[np.diag_indices(k)] += 1e-9 * np.trace(covariance) / k + 1e-300
    sums = np.stack([np.bincount(cells, column) for column in scores.T]) / np.sqrt(
        counts
    )
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), sums)
    return float(np.linalg.norm(whitened, 2) ** 2 / (2 * n))
