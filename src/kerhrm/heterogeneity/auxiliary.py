r"""Test whether the regression function depends on an auxiliary variable Z, given x.

Null hypothesis: E[Y | X, Z] = E[Y | X].  The distribution of x may change with Z, as
features that drift over time, and so may the noise.  The generalised covariance measure
(Shah and Peters, Annals of Statistics 48, 2020) compares what Y and Z keep once x is
known.  With e the residuals of y, and r_c those of the indicator of cell c of Z, both
of a ridge regression on x and its tangent features that leaves the point out,

.. math::
    T = n^{-1/2} \sum_i A^{-1/2} \psi_i e_i \, (B^{-1/2} r_i)^T, \qquad
    \text{gain} = \| T \|_2^2 / 2 n,

A and B the covariances of :math:`\psi_i e_i` and of r_i: half of the squared largest
singular value, which is the gain in log-likelihood of regressions
:math:`\psi^T (\theta + q(c) \delta)` to second order, in nats per point.  Under the
null each term has mean zero, up to the product of the errors of two regressions, so
that random signs of the terms make draws of T:

.. math::
    p = (1 + \#\{\text{draws with at least the gain}\}) / (1 + \#\text{draws}).

psi are a constant and the inputs, or the leading principal components of many inputs:
what a change of the function must be correlated with to be seen.  A change of the
constant alone would be lost among many inputs, so that it is measured by itself, too;
of both gains, in units of their spread, the larger one counts, and of a draw likewise.
Where nothing is detected any more once every cell has a constant of its own, no input's
effect is seen to change.
"""

import math

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.options import AuxiliaryOptions
from kerhrm.features.ridge import Columns
from kerhrm.heterogeneity.test import (
    MIN_POINTS,
    HeterogeneityResult,
    impossible,
    leading,
    orthonormal,
)
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.randomness import stream
from kerhrm.threads import one_blas_thread

MAX_ROWS = 10_000  #: that are tested; more cost much, and small changes are seen
#: of a cell that is looked at: in the mean over few rows one outlier decides
CELL_ROWS = 10
MAX_FEATURES = 25  #: inputs, or components of them, beside the constant
#: share of the penalty that predicts best: the product of the two regressions' biases
#: counts here, and their variances hardly do
SMOOTHING = 0.3
#: of the null hypothesis, in units of the gains' spread, for what the regressions miss
CREDIT = 0.2
SMALLEST = 1e-6  #: eigenvalue of a covariance, as a share of the largest


def covariance_measure(
    x: Tensor,
    y: Tensor,
    cells: Tensor,
    options: AuxiliaryOptions,
    weights: Tensor | None = None,
) -> HeterogeneityResult:
    """Test points (n, d), with labels (n,) of any kind, for a regression function that
    depends on cells (n,), int64, of Z.

    Points may have weights (n,) of mean 1.  Fewer than 80 points are not tested.
    """
    n_permutations, n = options.n_permutations or 0, len(y)
    if n < MIN_POINTS:
        return impossible(n_permutations)
    rows = np.arange(n)
    if n > MAX_ROWS:
        drawn = stream(0, "auxiliary", "rows").choice(n, MAX_ROWS, replace=False)
        rows = np.sort(drawn)
    inputs, labels, numbers = (
        part.cpu().numpy()[rows] for part in (x.double(), y.double(), cells)
    )
    spread = inputs.std(0)
    inputs = (inputs - inputs.mean(0)) / np.where(spread > 0, spread, 1.0)
    weight = np.ones(len(rows))
    if weights is not None:
        weight = weights.double().cpu().numpy()[rows]
        weight = weight / weight.mean()
    network = build(NetworkOptions(), 0, x.shape[1])
    columns = Columns.extract(network, torch.from_numpy(inputs).float(), weights=weight)
    present, counts = np.unique(numbers, return_counts=True)
    present = present[counts >= CELL_ROWS]  # rows of others are in none of these
    if not len(present):
        return impossible(n_permutations)
    if len(present) == len(counts):  # the last one follows from the others
        present = present[:-1]
    indicators = (numbers[:, None] == present).astype(float)
    with one_blas_thread():
        e = labels - columns.less_smoothed(labels, SMOOTHING)
        known = [columns.less_smoothed(column, SMOOTHING) for column in indicators.T]
        r = indicators - np.column_stack(known)
        psi = orthonormal(leading(inputs, MAX_FEATURES))
        right = _whitened(r, weight)
        constant = np.ones((len(e), 1))
        of_cells = right.T @ (weight * e) / len(e)
        beside = e - right @ of_cells  # residuals without a constant of each cell
        gains = [
            _gains(
                _whitened(terms * left[:, None], weight), right, weight, n_permutations
            )
            for terms, left in ((psi, e), (constant, e), (psi, beside))
        ]
    return _largest(np.stack(gains), options.level)


def _whitened(terms: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Terms (n, q) of mean zero with the identity as covariance, (n, rank)."""
    values, vectors = np.linalg.eigh((weights[:, None] * terms).T @ terms)
    kept = values > SMALLEST * max(values[-1], np.finfo(float).tiny)
    return terms @ (vectors[:, kept] * np.sqrt(len(terms) / values[kept]))


def _gains(
    left: np.ndarray, right: np.ndarray, weights: np.ndarray, n_draws: int
) -> np.ndarray:
    """Gain of the sum of products of terms (n, p), (n, q), and of draws of their
    signs: (1 + n_draws,)."""
    n = len(left)
    signs = stream(0, "auxiliary", "signs").choice([-1.0, 1.0], (n_draws, n))
    signs = np.vstack([np.ones(n), signs]) * weights
    sums = np.stack([(signs * column) @ right for column in left.T], axis=1)
    norms = np.linalg.norm(sums / math.sqrt(n), 2, axis=(1, 2))
    return np.asarray(norms**2 / (2 * n))


def _largest(gains: np.ndarray, level: float) -> HeterogeneityResult:
    """Compare the first of the gains (3, 1 + B) with draws.

    By the larger of the first two in units of the spread of all of them; the third is
    of the inputs once each cell has a constant of its own.
    """
    two = gains[:2]
    centred = two - two.mean(1, keepdims=True)
    units = centred / np.maximum(two.std(1, keepdims=True), np.finfo(float).tiny)
    largest = units.max(0)
    p_value = float((largest >= largest[0] - CREDIT).mean())  # at least itself
    of = int(units[:, 0].argmax())
    beside = float((gains[2] >= gains[2, 0]).mean())
    return HeterogeneityResult(
        float(two[of, 0]),
        two[of, 1:],
        p_value,
        bool(p_value <= level),
        constant_only=bool(p_value <= level < beside),
    )
