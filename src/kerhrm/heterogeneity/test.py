# ruff: noqa: PT028  (test_heterogeneity is no test of pytest)
"""Calibrated test of pooled regression data for hidden environments.

Null hypothesis: one law y = m(x) + s(x) e, with noise e of any shape that is
independent of x. Under it residuals in units of their scale are exchangeable, so that
the gain of two environments on them (:mod:`kerhrm.heterogeneity.statistic`) is compared
with the gain on permutations of them:

    p = (1 + #{permutations whose gain, and the credit, reaches it}) / (1 +
    #permutations).

Permutations end once so many reach it that p is above ``level``; then p is their share
(Besag and Clifford, Biometrika 78, 1991).  The least possible p is 1 / (1 +
n_permutations).

Residuals are not quite exchangeable, for m and s are estimates.  So permutations stay
among points whose fitted scale and mean are alike, where errors of both are alike, too;
and the null hypothesis has ``min_gain`` sqrt(n) nats over all n points to its credit,
n at most 2 000, for what is left: the errors of a scale that is fitted without a form
fall slower than 1 / n.  p is then larger than it need be where nothing is wrong.

Features are divided by the scale, as a regression in units of the noise asks for, and
made orthonormal, so that no invertible linear map of them changes anything.

The test cannot tell environments from noise whose *shape* depends on x: skewed to the
left here and to the right there, as in y = M m(x) with a skewed factor M, which is a
mixture of regressions. Binary labels cannot be tested. Whatever environments made them,
pooled labels are draws from one law P(Y | X), given by one number for each x, and
labels drawn again from it have environments of the same likelihood cut out of them.
What decides there is an assumption about which feature is spurious, or information
outside the data (Lin, Zhu, Tan and Cui, "ZIN: When and How to Learn Invariance Without
Environment Partition?", NeurIPS 2022).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.algorithm.records import NO_WEIGHT, Problem, Record
from kerhrm.errors import KerhrmError, shown
from kerhrm.randomness import stream

MIN_POINTS = 80
#: rows that are tested at most, for a kernel ridge regression takes their number cubed
MAX_TESTED = 4000
POINTS_PER_FEATURE = 10
#: points beyond which the credit of the null hypothesis grows no more
CREDIT_POINTS = 2000
#: points, and the share of the residuals' variance above which a slope that flips in a
#: fifth of them is detected in four of five draws; measured with ten inputs by
#: study ``heterogeneity``
VISIBLE = {80: 1.0, 125: 0.9, 250: 0.65, 500: 0.5, 1000: 0.42, 2000: 0.36, 4000: 0.36}


@dataclass(frozen=True)
class HeterogeneityResult(Record):
    """Result of the test; numbers are NaN for binary labels, which cannot be tested."""

    gain: float  #: of two environments over one, in nats per point
    #: (n_permutations,), the same of permuted residuals; NaN after the test's end
    null: np.ndarray
    p_value: float  #: of the permutations; at least 1 / (1 + n_permutations)
    detected: bool  #: whether the p-value counts
    n_points: int = 0  #: that were compared; 0 where an auxiliary column was tested
    #: whether all that is seen to change with an auxiliary column is a constant
    constant_only: bool = False

    @property
    def visible(self) -> float:
        """Share of ERM's residual variance above which a flip of a slope would have
        been seen.

        In a fifth of the points, with probability .8, interpolated; NaN of an auxiliary
        column.
        """
        shares = np.interp(self.n_points, [*VISIBLE], [*VISIBLE.values()])
        return float(shares) if self.n_points else math.nan

    @property
    def homogeneous(self) -> bool:
        """True if the test was possible and detected nothing, so that ERM is the
        answer."""
        return not self.detected and not np.isnan(self.p_value)


def impossible(n_permutations: int) -> HeterogeneityResult:
    """The result where no test is possible."""
    return HeterogeneityResult(
        math.nan, np.full(n_permutations, math.nan), math.nan, detected=False
    )


def test_heterogeneity(
    features: np.ndarray,
    y: np.ndarray,
    *,
    x: np.ndarray | None = None,
    options: HeterogeneityOptions | None = None,
    seed: int = 0,
) -> HeterogeneityResult:
    """Test one data set for environments.

    Parameters
    ----------
    features : ndarray, (n, k)
        What environments may differ in, linearly; of the columns the first ones count
        where there are not ten points for each.
    y : ndarray, (n,)
        Labels; with two values or fewer they cannot be tested.  Points of a label that
        more than a tenth of them share, zeros among amounts, say, are left out.
    x : ndarray, (n, d), optional
        Inputs of the flexible regression; the features themselves by default.
    options : HeterogeneityOptions, optional
        Sizes and thresholds of the test.
    seed : int
        Draws folds, permutations and initialisations.

    Returns
    -------
    HeterogeneityResult
        With the p-value, and whether environments were detected.

    Raises
    ------
    KerhrmError
        If shapes do not fit, a value is not finite, or there are fewer than 80 points.

    Examples
    --------
    The second slope is the opposite in a hidden fifth of the rows.

    >>> import numpy as np
    >>> from kerhrm import test_heterogeneity
    >>> from kerhrm.algorithm.options import HeterogeneityOptions
    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(200, 2))
    >>> slope = np.where(random.random(200) < 0.2, -2.0, 2.0)
    >>> y = x[:, 0] + slope * x[:, 1] + 0.5 * random.normal(size=200)
    >>> result = test_heterogeneity(x, y, options=HeterogeneityOptions(folds=2))
    >>> result.detected, result.p_value
    (True, 0.025)
    """
    # scikit-learn takes a second to import, and most methods do without
    from sklearn.utils import check_array

    from kerhrm.heterogeneity.statistic import (
        alike,
        beside_atom,
        scaled_residuals,
        spread_ties,
    )

    if isinstance(options, Mapping):
        options = HeterogeneityOptions.parse(dict(options), "options: ")
    options = options or HeterogeneityOptions()
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        problem = f"seed must be a whole number; got {shown(seed)}"
        raise KerhrmError(problem, "use seed=0")
    x = features if x is None else x
    read = partial(check_array, dtype=np.float64, ensure_all_finite=False)
    given = {"features": features, "x": x, "y": y}
    arrays = []
    for name, values in given.items():
        try:
            arrays.append(read(_unmasked(values), ensure_2d=name != "y"))
        except (ValueError, TypeError) as error:
            problem = f"{name} must hold numbers ({str(error).partition(chr(10))[0]})"
            hint = "encode text first; labels of a class cannot be tested"
            raise KerhrmError(problem, hint) from error
    features, x, y = arrays
    _check(features, x, y)
    rows = beside_atom(y)
    features, x, y = features[rows], x[rows], y[rows]
    if len(np.unique(y)) <= 2 or len(y) < MIN_POINTS:
        return impossible(options.n_permutations)
    features = features[:, : len(y) // POINTS_PER_FEATURE]
    y = spread_ties(y, stream(seed, "heterogeneity", "ties"))
    folds = int(stream(seed, "heterogeneity", "folds").integers(2**31))
    scores, scale, mean = scaled_residuals(x, y, options.folds, folds)
    features = orthonormal(features / scale[:, None])
    return against_permutations(features, scores, options, seed, alike(scale, mean))


def test_problem(
    problem: Problem, x: Tensor, options: HeterogeneityOptions
) -> HeterogeneityResult:
    """Test the training points x (n, d) of a problem, of copies in a row one.

    Points are draws.
    """
    points = torch.column_stack([x, problem.y.to(x)]).cpu().numpy()
    rows = np.flatnonzero(np.append(True, (points[1:] != points[:-1]).any(1)))
    rows = rows[problem.counts[0].cpu().numpy()[rows] > NO_WEIGHT * len(points)]
    if len(rows) < MIN_POINTS:
        return impossible(options.n_permutations)
    if len(rows) > MAX_TESTED:
        drawn = stream(problem.seed, "heterogeneity", "rows")
        rows = rows[np.sort(drawn.choice(len(rows), MAX_TESTED, replace=False))]
    psi, _ = problem.reduced(min(options.k, len(problem.s)))
    chosen = torch.from_numpy(rows).to(x.device)
    return test_rows(psi[chosen], problem.y[chosen], x[chosen], options, problem.seed)


def test_rows(
    psi: Tensor, y: Tensor, x: Tensor, options: HeterogeneityOptions, seed: int
) -> HeterogeneityResult:
    """Test points (n, d) with reduced features (n, k) and labels (n,).

    Environments may differ in the inputs' coefficients and the constant; in those of
    the reduced features where there are not ten points for each input.
    """
    from kerhrm.heterogeneity.statistic import beside_atom

    features, labels, inputs = (t.double().cpu().numpy() for t in (psi, y, x))
    if inputs.shape[1] + 1 <= beside_atom(labels).sum() // POINTS_PER_FEATURE:
        features = np.column_stack([inputs, np.ones(len(labels))])
    return test_heterogeneity(features, labels, x=inputs, options=options, seed=seed)


def test_table(
    x: np.ndarray, y: np.ndarray, options: HeterogeneityOptions
) -> HeterogeneityResult:
    """Test the rows x (n, d), with labels (n,), of a table, of equal ones one.

    Nothing depends on a seed or on the rows' order.  Environments may differ in the
    inputs' coefficients and the constant; where there are not ten points for each, in
    those of as many principal components.
    """
    from kerhrm.heterogeneity.statistic import beside_atom

    points = np.unique(np.column_stack([y, x]), axis=0)
    if len(points) < MIN_POINTS:
        return impossible(options.n_permutations)
    if len(points) > MAX_TESTED:
        random = stream(0, "heterogeneity", "rows")
        drawn = random.choice(len(points), MAX_TESTED, replace=False)
        points = points[np.sort(drawn)]
    labels, inputs = points[:, 0], points[:, 1:]
    most = int(beside_atom(labels).sum()) // POINTS_PER_FEATURE - 1
    many = inputs.shape[1] > most
    features = leading(inputs, min(most, options.k) if many else most)
    return test_heterogeneity(features, labels, x=inputs, options=options)


def leading(x: np.ndarray, most: int) -> np.ndarray:
    """Inputs (n, d) and a constant; of more than ``most`` inputs so many principal
    components."""
    if x.shape[1] > most:
        centred = x - x.mean(0)
        u, s, _ = np.linalg.svd(centred, full_matrices=False)
        x = u[:, :most] * s[:most]
    return np.column_stack([x, np.ones(len(x))])


for _function in (test_heterogeneity, test_problem, test_rows, test_table):
    _function.__test__ = False  # type: ignore[union-attr]  # not a test of pytest's


def against_permutations(
    features: np.ndarray,
    residuals: np.ndarray,
    options: HeterogeneityOptions,
    seed: int,
    groups: np.ndarray | None = None,
) -> HeterogeneityResult:
    """Test residuals (n,) that are exchangeable under the null, given orthonormal
    features (n, k).

    Or exchangeable within groups, numbers (n,).

    Then the p-value is exact: at most ``level`` with at most that probability.
    """
    from kerhrm.heterogeneity.statistic import gains

    n = len(residuals)
    groups = np.zeros(n, dtype=np.int64) if groups is None else groups
    together = np.argsort(groups, kind="stable")
    random = stream(seed, "heterogeneity", "permutations")
    orders = np.tile(np.arange(n), (1 + options.n_permutations, 1))
    for order in orders[1:]:
        order[together] = np.lexsort((random.random(n), groups))
    values = gains(features, residuals[orders], options, seed)
    credit, how = (
        options.min_gain * math.sqrt(min(n, CREDIT_POINTS)) / n,
        (options.n_permutations, options.level),
    )
    return replace(in_sequence(values, *how, credit), n_points=n)


def in_sequence(
    values: Iterator[float], n_permutations: int, level: float, credit: float = 0.0
) -> HeterogeneityResult:
    """Compare the first gain, less a credit, with permutations' until p is above
    ``level``."""
    gain, null = next(values), np.full(n_permutations, np.nan)
    enough = math.ceil(level * (1 + n_permutations) - 1e-9)
    for drawn, value in enumerate(values, start=1):
        null[drawn - 1] = value
        larger = int((null >= gain - credit).sum())
        if larger == enough:
            p_value = larger / drawn
            break
    else:
        p_value = (1 + larger) / (1 + n_permutations)
    return HeterogeneityResult(gain, null, p_value, bool(p_value <= level))


def orthonormal(features: np.ndarray) -> np.ndarray:
    """Columns with the span of the features (n, k), orthogonal and of
    mean square one."""
    u, s, _ = np.linalg.svd(features, full_matrices=False)
    rank = int((s > len(features) * np.finfo(float).eps * s[0]).sum())
    return np.ascontiguousarray(u[:, :rank] * np.sqrt(len(features)))


def _unmasked(values: np.ndarray) -> np.ndarray:
    """Values with NaN in masked cells, if there are any."""
    if not np.ma.is_masked(values):
        return values
    filled: np.ndarray = np.ma.filled(values.astype(float), np.nan)
    return filled


def _check(features: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    n = len(features)
    if len(x) != n or y.shape != (n,):
        problem = (
            f"features {features.shape}, inputs {x.shape}, labels {y.shape} do not fit"
        )
        raise KerhrmError(problem, "give one row of each for every point")
    for name, a in (("features", features), ("x", x), ("y", y[:, None])):
        if not (finite := np.isfinite(a).all(axis=1)).all():
            problem = (
                f"{name} must be finite; row {finite.argmin()} (counted from 0) is not"
            )
            raise KerhrmError(problem, "drop such rows")
    if n < MIN_POINTS:
        raise KerhrmError(
            f"n={n} points are too few to test", f"use {MIN_POINTS} or more"
        )
