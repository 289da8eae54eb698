"""Is there anything to find?  A calibrated test of pooled regression data for environments.

Null hypothesis: one law y = m(x) + s(x) e, with noise e of any shape that is independent of x.
Under it residuals in units of their scale are exchangeable, so that the gain of two environments
on them (:mod:`kerhrm.heterogeneity.statistic`) is compared with the gain on permutations of them:

    p = (1 + #{permutations with at least the gain}) / (1 + #permutations).

Residuals are not quite exchangeable, for m and s are estimates, and what that gains falls as
1 / n.  So a gain counts only if it is ten nats or more over all points.

Features are divided by the scale, as a regression in units of the noise asks for, and made
orthonormal, so that no invertible linear map of them changes anything.

What the test cannot tell from environments is noise whose *shape* depends on x: skewed to the
left here and to the right there.  Of binary labels it can tell nothing.  Whatever environments
made them, pooled labels are draws from one law P(Y | X), given by one number for each x, and
labels drawn anew from it have environments of the same likelihood cut out of them.  What decides
there is an assumption about which feature is spurious, or information beside the data (Lin, Zhu,
Tan and Cui, "ZIN: When and How to Learn Invariance Without Environment Partition?", NeurIPS 2022).
"""

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.options import Heterogeneity
from kerhrm.algorithm.problem import Problem
from kerhrm.errors import KerhrmError
from kerhrm.heterogeneity.records import HeterogeneityTest
from kerhrm.heterogeneity.residuals import scaled_residuals
from kerhrm.heterogeneity.statistic import gains
from kerhrm.randomness import stream

LEAST = 80  #: points
#: per feature: what noise gains grows as their inverse, and with it what counts by chance
POINTS = 40


def heterogeneity_test(
    features: np.ndarray,
    y: np.ndarray,
    *,
    x: np.ndarray | None = None,
    options: Heterogeneity | None = None,
    seed: int = 0,
) -> HeterogeneityTest:
    """Test one data set for environments.

    Parameters
    ----------
    features : ndarray, (n, k)
        What environments may differ in, linearly; of the columns the first ``options.k`` count,
        or fewer where there are not forty points for each.
    y : ndarray, (n,)
        Labels; with two values or fewer the verdict is that they cannot be tested.
    x : ndarray, (n, d), optional
        Inputs of the flexible regression; the features themselves by default.
    options : Heterogeneity, optional
        Sizes and thresholds of the test.
    seed : int
        Draws folds, permutations and starts.

    Returns
    -------
    HeterogeneityTest
        Of scalars; its ``verdict`` is in words.

    Raises
    ------
    KerhrmError
        If shapes do not fit, a value is not finite, or there are fewer than 80 points.

    Examples
    --------
    The second slope is the opposite in a hidden fifth of the rows; then in none.

    >>> import numpy as np
    >>> from kerhrm.heterogeneity.verdict import heterogeneity_test
    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(600, 2))
    >>> noise = 0.5 * random.normal(size=600)
    >>> slope = np.where(random.random(600) < 0.2, -2.0, 2.0)
    >>> heterogeneity_test(x, x[:, 0] + slope * x[:, 1] + noise).verdict
    'environments found'
    >>> heterogeneity_test(x, x[:, 0] + 2 * x[:, 1] + noise).verdict
    'no environments found beyond noise'
    """
    options = options or Heterogeneity()
    x = features if x is None else x
    features, x, y = (np.asarray(a, dtype=np.float64) for a in (features, x, y))
    _check(features, x, y)
    features = features[:, : min(options.k, len(y) // POINTS)]
    if len(np.unique(y)) <= 2:
        return _untestable(options)
    folds = int(stream(seed, "heterogeneity", "folds").integers(2**31))
    noise = scaled_residuals(x, y, options.folds, folds)
    features = orthonormal(features / noise.scale[:, None])
    return against_permutations(features, noise.scores, options, seed)


def against_permutations(
    features: np.ndarray, residuals: np.ndarray, options: Heterogeneity, seed: int
) -> HeterogeneityTest:
    """Test residuals (n,) that are exchangeable under the null, given orthonormal features (n, k).

    Then the p-value is exact: at most ``level`` with at most that probability.
    """
    orders = np.tile(np.arange(len(residuals)), (1 + options.nulls, 1))
    random = stream(seed, "heterogeneity", "permutations")
    orders[1:] = random.permuted(orders[1:], axis=1)
    gain = gains(features, residuals[orders], options, seed)
    statistic, null = gain[0], gain[1:]
    p_value = (1 + (null >= statistic).sum().double()) / (1 + options.nulls)
    large = len(residuals) * (statistic - null.mean()) >= options.smallest_gain
    return HeterogeneityTest(statistic, null, p_value, (p_value <= options.level) & large)


def examine(problem: Problem, x: Tensor, options: Heterogeneity) -> HeterogeneityTest:
    """Test B problems on their training points, whose inputs are x (B, n, d): fields (B,).

    Raises
    ------
    KerhrmError
        As :func:`heterogeneity_test`.
    """
    k = min(options.k, problem.s.shape[-1])
    return HeterogeneityTest.stack(
        heterogeneity_test(
            problem.reduced(b, k)[0].cpu().numpy(),
            problem.y[b].cpu().numpy(),
            x=x[b].cpu().numpy(),
            options=options,
            seed=seed,
        )
        for b, seed in enumerate(problem.seeds)
    )


def orthonormal(features: np.ndarray) -> np.ndarray:
    """Columns with the span of the features (n, k), orthogonal and of mean square one."""
    u, s, _ = np.linalg.svd(features, full_matrices=False)
    rank = int((s > len(features) * np.finfo(float).eps * s[0]).sum())
    return np.ascontiguousarray(u[:, :rank] * np.sqrt(len(features)))


def _untestable(options: Heterogeneity) -> HeterogeneityTest:
    nan = torch.tensor(torch.nan, dtype=torch.float64)
    return HeterogeneityTest(nan, nan.expand(options.nulls), nan, torch.tensor(False))


def _check(features: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    n = len(features)
    if len(x) != n or y.shape != (n,):
        problem = f"features {features.shape}, inputs {x.shape}, labels {y.shape} do not fit"
        raise KerhrmError(problem, "give one row per point")
    if not all(np.isfinite(a).all() for a in (features, x, y)):
        raise KerhrmError("a feature, input or label is not finite", "drop such points")
    if n < LEAST:
        raise KerhrmError(f"n={n} points are too few to test", f"use {LEAST} or more")
