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
    p = (1 + \#\{\text{draws}: u_\text{draw} + 0.2 \ge u\}) / (1 + \#\text{draws}),

u the gain less its mean, in standard deviations, both over data and draws; 0.2 of them
are the null hypothesis's credit, for what the regressions miss.

psi are a constant and the inputs, or the leading principal components of many inputs:
what a change of the function must be correlated with to be seen.  A change of the
constant alone would be lost among many inputs, so that it is measured by itself, too;
u is the larger one of both, and of a draw likewise.
Where nothing is detected any more once every cell has a constant of its own, no input's
effect is seen to change.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.options import AuxiliaryOptions
from kerhrm.features.ridge import Columns
from kerhrm.heterogeneity.permutations import orthonormal
from kerhrm.heterogeneity.result import (
    MIN_POINTS,
    HeterogeneityResult,
    impossible,
)
from kerhrm.heterogeneity.test import leading
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.randomness import some_of, stream
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
MOST_DRAWS = 1000  #: of signs that memory holds at a time
SMALLEST = 1e-6  #: eigenvalue of a covariance, as a share of the largest


def covariance_measure(
    x: Tensor,
    y: Tensor,
    cells: Tensor,
    options: AuxiliaryOptions,
    weights: Tensor | None = None,
) -> HeterogeneityResult:
    """Test points for a regression function that depends on cells of Z.

    Parameters
    ----------
    x : Tensor, (n, d)
        Points; fewer than 80 are not tested.
    y : Tensor, (n,)
        Labels of any kind.
    cells : Tensor, (n,), int64
        Cells of Z.
    options : AuxiliaryOptions
        Of the test.
    weights : Tensor, (n,), optional
        Of the points, of mean 1.

    Returns
    -------
    HeterogeneityResult
        With the larger gain, of all inputs or of a constant.
    """
    n_permutations = options.n_permutations or 0
    if len(y) < MIN_POINTS:
        return impossible(n_permutations)
    rows = _tested_rows(len(y))
    cell_numbers = cells.cpu().numpy()
    tested_cells = cell_numbers[rows]
    indicators = _indicators(tested_cells)
    _, n_cells = indicators.shape
    if n_cells == 0:
        return impossible(n_permutations)
    all_inputs = x.double().cpu().numpy()
    all_labels = y.double().cpu().numpy()
    tested_inputs = all_inputs[rows]
    inputs = _standardised(tested_inputs)
    labels = all_labels[rows]
    n_rows, n_inputs = inputs.shape
    share = np.ones(n_rows)
    if weights is not None:
        all_weights = weights.double().cpu().numpy()
        share = all_weights[rows]
        share = share / share.mean()
    network = build(NetworkOptions(), 0, n_inputs)
    points = torch.from_numpy(inputs).float()
    columns = Columns.extract(network, points, weights=share)
    with one_blas_thread():
        smoothed_labels = columns.less_smoothed(labels, SMOOTHING)
        e = labels - smoothed_labels
        smoothed_indicators = []
        for indicator in indicators.T:
            smoothed = columns.less_smoothed(indicator, SMOOTHING)
            smoothed_indicators.append(smoothed)
        smoothed_columns = np.column_stack(smoothed_indicators)
        r = indicators - smoothed_columns
        leading_inputs = leading(inputs, MAX_FEATURES)
        psi = orthonormal(leading_inputs)
        of_cells = _whitened(r, share)
        constant = np.ones((n_rows, 1))
        sums = of_cells.T @ (share * e)
        constants = sums / n_rows
        explained = of_cells @ constants
        without_constants = e - explained
        by_inputs = _gains(psi, e, of_cells, share, n_permutations)
        by_constant = _gains(constant, e, of_cells, share, n_permutations)
        beside = _gains(psi, without_constants, of_cells, share, n_permutations)
    return _largest(by_inputs, by_constant, beside, options.level)


def _tested_rows(n: int) -> np.ndarray:
    """Rows that are tested of n, in order."""
    random = stream(0, "auxiliary", "rows")
    return some_of(random, n, MAX_ROWS)


def _standardised(inputs: np.ndarray) -> np.ndarray:
    """Inputs (n, d) of mean 0 and deviation 1; constant ones are 0."""
    deviation = inputs.std(0)
    varies = deviation > 0
    scale = np.where(varies, deviation, 1.0)
    mean = inputs.mean(0)
    centred = inputs - mean
    return centred / scale


def _indicators(cells: np.ndarray) -> np.ndarray:
    """Indicators (n, C') of the cells with rows enough; rows of others are in none."""
    present, counts = np.unique(cells, return_counts=True)
    large_enough = counts >= CELL_ROWS
    tested = present[large_enough]
    if len(tested) == len(present):  # the last one follows from the others
        tested = tested[:-1]
    inside = cells[:, None] == tested
    return inside.astype(float)


def _whitened(terms: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Terms (n, q) of mean zero with the identity as covariance, (n, rank)."""
    n = len(terms)
    weighted = weights[:, None] * terms
    covariance = weighted.T @ terms
    eigenvalues, vectors = np.linalg.eigh(covariance)
    tiny = np.finfo(float).tiny
    largest = max(eigenvalues[-1], tiny)
    kept = eigenvalues > SMALLEST * largest
    kept_values = eigenvalues[kept]
    lengths = np.sqrt(n / kept_values)
    kept_vectors = vectors[:, kept]
    whitening = kept_vectors * lengths
    return terms @ whitening


def _gains(
    psi: np.ndarray,
    residuals: np.ndarray,
    of_cells: np.ndarray,
    weights: np.ndarray,
    n_draws: int,
) -> np.ndarray:
    """Gain of T, and of draws of the signs of its terms: (1 + n_draws,).

    Of features psi (n, p), residuals of y (n,), whitened ones of the cells (n, q), and
    weights (n,).
    """
    n = len(psi)
    column_of_residuals = residuals[:, None]
    terms = psi * column_of_residuals
    of_labels = _whitened(terms, weights)
    gains = []
    for signs in _signs(n, n_draws):
        weighted_signs = signs * weights
        rows_of_t = []
        for column in of_labels.T:
            signed = weighted_signs * column
            moments = signed @ of_cells
            rows_of_t.append(moments)
        sums = np.stack(rows_of_t, axis=1)
        t = sums / math.sqrt(n)
        norms = np.linalg.norm(t, 2, axis=(1, 2))
        gains.append(norms**2 / (2 * n))
    return np.concatenate(gains)


def _signs(n: int, n_draws: int) -> Iterator[np.ndarray]:
    """Signs (b, n) of the terms in blocks of draws: as they are, then at random."""
    random = stream(0, "auxiliary", "signs")
    as_they_are = np.ones((1, n))
    first = min(n_draws, MOST_DRAWS)
    drawn = random.choice([-1.0, 1.0], (first, n))
    yield np.vstack([as_they_are, drawn])
    for number in range(first, n_draws, MOST_DRAWS):
        size = min(n_draws - number, MOST_DRAWS)
        yield random.choice([-1.0, 1.0], (size, n))


def _largest(
    by_inputs: np.ndarray, by_constant: np.ndarray, beside: np.ndarray, level: float
) -> HeterogeneityResult:
    """Compare the first of the gains (1 + B,) with the draws behind it.

    By the larger of the inputs' and the constant's, in units of the spread of all of
    each; ``beside`` are the inputs' once each cell has a constant of its own.
    """
    gains = np.stack([by_inputs, by_constant])
    means = gains.mean(1, keepdims=True)
    centred = gains - means
    spread = gains.std(1, keepdims=True)
    tiny = np.finfo(float).tiny
    positive_spread = np.maximum(spread, tiny)
    units = centred / positive_spread
    largest = units.max(0)
    threshold = largest[0] - CREDIT
    reached = largest >= threshold  # at least by itself
    p_value = float(reached.mean())
    reached_beside = beside >= beside[0]
    p_beside = float(reached_beside.mean())
    detected = p_value <= level
    still_detected = p_beside <= level
    of_data = units[:, 0]
    larger = int(of_data.argmax())
    of_larger = gains[larger]
    gain_of_data = float(of_larger[0])
    return HeterogeneityResult(
        gain=gain_of_data,
        null=of_larger[1:],
        p_value=p_value,
        detected=detected,
        constant_only=detected and not still_detected,
    )
