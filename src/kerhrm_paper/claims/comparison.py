r"""One test, and how several become one.

Every test has two one-sided p-values: ``p_for``, that the effect that a claim predicts
would be seen if the claim were false, and ``p_against``, the same of its opposite.  Of
n tests of which at least m have to support a claim,

.. math::
    p_{for} = (n - m + 1) \, p_{for, (m)}, \qquad p_{against} = m \, p_{against, (n - m
    + 1)},

(i) being the i-th smallest: the partial conjunction test of Benjamini and Heller
(*Screening for partial conjunction hypotheses*, Biometrics 2008), which allows for any
dependence between tests. If all have to, that is the largest p_for, and n times the
smallest p_against.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kerhrm_paper.evaluation.effects import NAN, Effect
from kerhrm_paper.evaluation.statistics import LEVEL, summarise, tail


@dataclass(frozen=True)
class Comparison(Effect):
    """An effect, and the evidence for and against what a claim says of it.

    The claim says that the effect is positive or, of :func:`alike` and :func:`steady`,
    small.

    Attributes
    ----------
    measure : str
        What is compared, in words.
    tests : int
        How many it combines.
    tests_for, tests_against : int
        Those that support the claim, or its opposite, each on its own at 5 %.
    means : mapping of str to float
        Of the small run's numbers, by name; empty for scores.
    """

    measure: str
    tests: int = 1
    tests_for: int = 0
    tests_against: int = 0
    means: Mapping[str, float] = field(default_factory=dict)


def more(measure: str, values: ArrayLike, than: float = 0.0) -> Comparison:
    """The mean of values (n_seeds,) exceeds a number: the t test.

    The effect is the mean.
    """
    facts = summarise(values)
    distance = facts["mean"] - than
    n_seeds = int(facts["n_seeds"])
    p_for = tail(distance, facts["std"], n_seeds)
    return _single(measure, facts, p_for)


def correlated(measure: str, correlations: ArrayLike, points: float) -> Comparison:
    """Rank correlations (n_seeds,) of ``points`` points each are positive.

    If the points are in random order, a rank correlation has mean 0 and variance 1 /
    (points - 1) (Kendall 1938), whatever their scatter over seeds.  The mean over
    seeds, taken for normal, is tested; its interval is Student's, as elsewhere.
    """
    facts = summarise(correlations)
    n_points = facts["n_seeds"] * (points - 1)
    z = facts["mean"] * n_points**0.5
    probability = stats.norm.sf(z)
    p_for = float(probability)
    return _single(measure, facts, p_for)


def alike(measure: str, values: ArrayLike, within: float) -> Comparison:
    """The mean of values (n_seeds,) is off zero by less than ``within``.

    Two one-sided t tests.  The effect is the mean.
    """
    facts = summarise(values)
    distance = within - abs(facts["mean"])
    n_seeds = int(facts["n_seeds"])
    p_for = tail(distance, facts["std"], n_seeds)
    return _single(measure, facts, p_for)


def steady(measure: str, values: ArrayLike, below: float) -> Comparison:
    """The standard deviation of values (n_seeds,) is below a limit.

    The chi-square test.  The effect is the deviation.
    """
    facts = summarise(values)
    std = facts["std"]
    degrees = int(facts["n_seeds"]) - 1
    p_for = low = high = NAN
    if degrees > 0 and not np.isnan(std):
        ratio = std / below
        statistic = degrees * ratio**2
        probability = stats.chi2.cdf(statistic, degrees)
        p_for = float(probability)
        tails = [LEVEL / 2, 1 - LEVEL / 2]
        quantiles = stats.chi2.isf(tails, degrees)
        bounds = std * (degrees / quantiles) ** 0.5
        low, high = bounds
    facts["mean"] = std
    facts["ci_low"] = low
    facts["ci_high"] = high
    return _single(measure, facts, p_for)


def _single(measure: str, facts: Mapping[str, float], p_for: float) -> Comparison:
    """A test of its own; 2.5 % a side, as of a two-sided test at 5 %."""
    rounded = []
    for key in ("mean", "ci_low", "ci_high"):
        number = round(float(facts[key]), 12)
        rounded.append(number + 0.0)
    mean, low, high = rounded
    p_against = 1 - p_for
    return Comparison(
        estimate=mean,
        low=low,
        high=high,
        p_for=p_for,
        p_against=p_against,
        n=int(facts["n_seeds"]),
        measure=measure,
        tests_for=int(p_for <= LEVEL / 2),
        tests_against=int(p_against <= LEVEL / 2),
    )


def at_least(m: int, tests: Iterable[Comparison]) -> Comparison:
    """At least m of the tests support the claim.

    The effect is that of the deciding one, the m-th smallest p_for.
    """
    tests = list(tests)
    n = len(tests)
    unknown = [test for test in tests if np.isnan(test.p_for)]
    means: dict[str, float] = {}
    for test in tests:
        means |= test.means
    if unknown:
        deciding = unknown[0]
        p_for = p_against = NAN
    else:
        by_support = sorted(tests, key=lambda test: (test.p_for, -test.p_against))
        deciding = by_support[m - 1]
        opposing = sorted(test.p_against for test in tests)
        n_left = n - m
        corrected_for = (n_left + 1) * deciding.p_for
        corrected_against = m * opposing[n_left]
        p_for = min(1.0, corrected_for)
        p_against = min(1.0, corrected_against)
    return replace(
        deciding,
        p_for=p_for,
        p_against=p_against,
        tests=sum(test.tests for test in tests),
        tests_for=sum(test.tests_for for test in tests),
        tests_against=sum(test.tests_against for test in tests),
        means=means,
    )


def all_of(tests: Iterable[Comparison]) -> Comparison:
    """All tests support the claim."""
    tests = list(tests)
    return at_least(len(tests), tests)


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's correlation of two samples (m,); 0 if one is constant."""
    is_constant = np.ptp(x) == 0 or np.ptp(y) == 0
    if is_constant:
        return 0.0
    rank = stats.spearmanr(x, y)
    return float(rank.statistic)
