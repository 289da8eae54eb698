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
mixture of regressions itself.  Comparing with noise of the mixture's own skewness costs
half of the power, and such data are still detected.  A credit of six nats for tables of
any size, and permutations of all points, detected a slope that flips in a fifth of 150
rows in 6 of 20 draws; this test does in 14, and raises 22 false alarms in 1 000 tables
(``docs/studies.md``).

Binary labels cannot be tested.  Whatever environments made them, pooled labels are
draws from one law P(Y | X), given by one number for each x, and labels drawn again from
it have environments of the same likelihood cut out of them.
What decides there is an assumption about which feature is spurious, or information
outside the data (Lin, Zhu, Tan and Cui, "ZIN: When and How to Learn Invariance Without
Environment Partition?", NeurIPS 2022).
"""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import NO_WEIGHT
from kerhrm.errors import KerhrmError, shown
from kerhrm.given import check_order, few_categories
from kerhrm.heterogeneity.arguments import check_number, check_points, numbers_of
from kerhrm.heterogeneity.permutations import against_permutations, orthonormal
from kerhrm.heterogeneity.result import (
    MIN_POINTS,
    HeterogeneityResult,
    impossible,
    nothing_left,
)
from kerhrm.randomness import some_of, stream

#: rows that are tested at most, for a kernel ridge regression takes their number cubed
MAX_TESTED = 4000
POINTS_PER_FEATURE = 10


def test_heterogeneity(
    features: np.ndarray,
    y: np.ndarray,
    *,
    x: np.ndarray | None = None,
    options: HeterogeneityOptions | None = None,
    seed: int = 0,
) -> HeterogeneityResult:
    """Test one data set for environments.

    Equal points, with their label, are one: a copy is no further draw, and its
    residual would be that of its original.  Where a few categories are all that points
    hold, equal ones are draws.

    Parameters
    ----------
    features : ndarray, (n, k)
        What environments may differ in, linearly, as they may in the constant; of the
        columns the first ones count where there are not ten points for each and it.
        Their units and where they have 0 change nothing.
    y : ndarray, (n,)
        Labels; with two values or fewer they cannot be tested.  Points of a label that
        more than a tenth of them share, zeros among amounts, say, are left out.  Of
        residuals below a millionth of the labels' deviation, which are rounding in
        single precision, p is 1.
    x : ndarray, (n, d), optional
        Inputs of the flexible regression; the features themselves by default.
    options : HeterogeneityOptions, optional
        Sizes and thresholds of the test.  Their ``k`` counts where a fit makes the
        features, and not here.
    seed : int
        Draws folds, permutations and initialisations.  Where many rows share their
        inputs p may depend on it, and even a clear flip be missed: permutations among
        rows of equal inputs change nothing.

    Returns
    -------
    HeterogeneityResult
        With the p-value, and whether environments were detected.  Numbers are NaN where
        no test is possible: of two labels, or where fewer than 80 points are left
        beside those of frequent labels.

    Raises
    ------
    KerhrmError
        If shapes do not fit, ``y`` or ``x`` has the rows of ``features`` in another
        order by their index, a value is not finite or 1e20 and more, no feature varies,
        or there are fewer than 80 different points.

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
    options = _read_options(options)
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not whole:
        problem = f"seed must be a whole number; got {shown(seed)}"
        raise KerhrmError(problem, "use seed=0")
    if x is None:
        x = features
    for table, other, what in ((features, y, "y"), (features, x, "x")):
        check_order(table, other, what)
    features = numbers_of("features", features)
    x = numbers_of("x", x)
    y = numbers_of("y", y, ensure_2d=False)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    check_points(features, x, y)
    points = np.column_stack([features, x, y])
    _, first = np.unique(points, axis=0, return_index=True)
    draws = np.arange(len(y))
    if not few_categories(np.column_stack([x, y])[first]):
        draws = np.sort(first)
    check_number(len(draws), len(y))
    features = features[draws]
    x = x[draws]
    y = y[draws]
    constant = np.ones((len(y), 1))
    varying = np.column_stack([constant, _without_units(features)])
    return _tested(varying, _without_units(y), _without_units(x), options, int(seed))


def _without_units(values: np.ndarray) -> np.ndarray:
    """Columns (n, d), or one (n,), without their means and of largest size 1.

    A constant one is 0.
    """
    with np.errstate(under="ignore"):
        centred = values - values.mean(0)
        largest = np.abs(centred).max(0)
        size = np.where(np.ptp(values, axis=0) > 0, largest, np.inf)
        return np.asarray(centred / size)


def _tested(
    features: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    options: HeterogeneityOptions,
    seed: int,
) -> HeterogeneityResult:
    """Test points with features (n, k), which hold the constant if it counts, labels
    (n,) and inputs (n, d)."""
    from kerhrm.heterogeneity.residuals import (
        alike,
        beside_atom,
        scaled_residuals,
        spread_ties,
    )

    rows = beside_atom(y)
    features = features[rows]
    x = x[rows]
    y = y[rows]
    n = len(y)
    binary = len(np.unique(y)) <= 2
    if binary or n < MIN_POINTS:
        return impossible(options.n_permutations)
    most = n // POINTS_PER_FEATURE
    features = features[:, :most]
    random_of_ties = stream(seed, "heterogeneity", "ties")
    y = spread_ties(y, random_of_ties)
    random_of_folds = stream(seed, "heterogeneity", "folds")
    seed_of_folds = int(random_of_folds.integers(2**31))
    noise = scaled_residuals(x, y, options.folds, seed_of_folds)
    if noise is None:
        return nothing_left(n, options.n_permutations)
    scores, scale, mean = noise
    features = orthonormal(features / scale[:, None])
    groups = alike(scale, mean)
    return against_permutations(features, scores, options, seed, groups)


def _read_options(options: Any) -> HeterogeneityOptions:
    """Options of the test, given as such, by name, or not at all."""
    if options is None:
        return HeterogeneityOptions()
    if isinstance(options, HeterogeneityOptions):
        return options
    if isinstance(options, Mapping):
        return HeterogeneityOptions.parse(options, "options: ")
    problem = f"options must be HeterogeneityOptions; got {shown(options)}"
    raise KerhrmError(problem, 'give options={"level": 0.01}, or leave them out')


def test_problem(
    problem: Problem, x: Tensor, options: HeterogeneityOptions
) -> HeterogeneityResult:
    """Test the training points x (n, d) of a problem, of copies in a row one.

    Points are draws; where they hold a few categories alone, copies are, too.
    """
    labels = problem.y.to(x)
    with_labels = torch.column_stack([x, labels])
    points = with_labels.cpu().numpy()
    differ = points[1:] != points[:-1]
    differs = differ.any(1)
    is_first = np.append(True, differs)
    rows = np.flatnonzero(is_first)
    if few_categories(points[rows]):
        rows = np.arange(len(points))
    weights = problem.counts[0]
    counts = weights.cpu().numpy()
    floor = NO_WEIGHT * len(points)
    counted = counts[rows] > floor
    rows = rows[counted]
    n = len(rows)
    if n < MIN_POINTS:
        return impossible(options.n_permutations)
    random = stream(problem.seed, "heterogeneity", "rows")
    kept = some_of(random, n, MAX_TESTED)
    rows = rows[kept]
    largest_k = len(problem.s)
    k = min(options.k, largest_k)
    psi, _ = problem.reduced(k)
    tested = torch.from_numpy(rows).to(x.device)
    return test_rows(
        psi=psi[tested],
        y=problem.y[tested],
        x=x[tested],
        options=options,
        seed=problem.seed,
    )


def test_rows(
    psi: Tensor, y: Tensor, x: Tensor, options: HeterogeneityOptions, seed: int
) -> HeterogeneityResult:
    """Test points (n, d) with reduced features (n, k) and labels (n,).

    Environments may differ in the inputs' coefficients and the constant; in those of
    the reduced features where there are not ten points for each input.
    """
    from kerhrm.heterogeneity.residuals import beside_atom

    features = psi.double().cpu().numpy()
    labels = y.double().cpu().numpy()
    inputs = x.double().cpu().numpy()
    n, d = inputs.shape
    beside = beside_atom(labels)
    n_beside = beside.sum()
    most = n_beside // POINTS_PER_FEATURE
    if d + 1 <= most:
        constant = np.ones(n)
        features = np.column_stack([inputs, constant])
    return _tested(features, labels, inputs, options, seed)


def test_table(
    x: np.ndarray,
    y: np.ndarray,
    options: HeterogeneityOptions,
    draws: np.ndarray | None = None,
) -> HeterogeneityResult:
    """Test the rows x (n, d), with labels (n,), of a table, of equal ones one.

    Where a few categories are all that rows hold, each stands for so many ``draws``
    (n,), whole numbers; None: one.

    Nothing depends on a seed or on the rows' order.  Environments may differ in the
    inputs' coefficients and the constant; where there are not ten points for each, in
    those of as many principal components.
    """
    from kerhrm.heterogeneity.residuals import beside_atom

    with_labels = np.column_stack([y, x])
    different, numbers = np.unique(with_labels, axis=0, return_inverse=True)
    rows = np.arange(len(different))
    if few_categories(different):
        numbers = numbers.ravel()  # NumPy 2.0.0 has a column
        n_draws = np.bincount(numbers, draws).astype(np.int64)
        rows = np.repeat(rows, n_draws)
    n = len(rows)
    if n < MIN_POINTS:
        return impossible(options.n_permutations)
    random = stream(0, "heterogeneity", "rows")
    kept = some_of(random, n, MAX_TESTED)
    rows = rows[kept]
    points = different[rows]
    labels = points[:, 0]
    inputs = points[:, 1:]
    beside = beside_atom(labels)
    n_beside = int(beside.sum())
    per_feature = n_beside // POINTS_PER_FEATURE
    most = per_feature - 1
    if inputs.shape[1] > most:
        most = min(most, options.k)
    features = leading(inputs, most)
    return _tested(features, labels, inputs, options, seed=0)


def leading(x: np.ndarray, most: int) -> np.ndarray:
    """Inputs (n, d) and a constant; of more than ``most`` inputs so many principal
    components."""
    if x.shape[1] > most:
        means = x.mean(0)
        centred = x - means
        u, s, _ = np.linalg.svd(centred, full_matrices=False)
        left = u[:, :most]
        x = left * s[:most]
    constant = np.ones(len(x))
    return np.column_stack([x, constant])


for _function in (test_heterogeneity, test_problem, test_rows, test_table):
    _function.__test__ = False  # type: ignore[union-attr]  # not a test of pytest's
