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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kerhrm_paper.evaluation.statistics import LEVEL, summarise, tail

NAN = float("nan")


@dataclass(frozen=True)
class Comparison:
    """An effect with its 95 % interval, and the evidence for and against a claim.

    The claim says that the effect is positive or, of :func:`alike` and :func:`steady`,
    small.
    """

    measure: str
    effect: float
    ci_low: float
    ci_high: float
    p_for: float
    p_against: float
    n: int  #: seeds
    tests: int = 1  #: that it combines
    tests_for: int = 0  #: those that support the claim, each on its own at 5 %
    tests_against: int = 0

    @property
    def p(self) -> float:
        """The two-sided p-value; NaN where a seed has no value."""
        return (
            NAN
            if np.isnan(self.p_for)
            else min(1.0, 2 * min(self.p_for, self.p_against))
        )


def more(name: str, values: ArrayLike, than: float = 0.0) -> Comparison:
    """The mean over seeds exceeds a number: the t test; the effect is the mean."""
    facts = summarise(values)
    p_for = tail(facts["mean"] - than, facts["std"], int(facts["n_seeds"]))
    return _single(name, facts, p_for)


def alike(name: str, values: ArrayLike, within: float) -> Comparison:
    """The mean is off zero by less than ``within``: two one-sided t tests."""
    facts = summarise(values)
    p_for = tail(within - abs(facts["mean"]), facts["std"], int(facts["n_seeds"]))
    return _single(name, facts, p_for)


def steady(name: str, values: ArrayLike, below: float) -> Comparison:
    """The standard deviation is below a limit: the chi-square test.

    The effect is the former.
    """
    facts = summarise(values)
    std, degrees = facts["std"], int(facts["n_seeds"]) - 1
    p_for, low, high = NAN, NAN, NAN
    if degrees > 0 and not np.isnan(std):
        p_for = float(stats.chi2.cdf(degrees * (std / below) ** 2, degrees))
        ends = stats.chi2.isf([LEVEL / 2, 1 - LEVEL / 2], degrees)
        low, high = std * (degrees / ends) ** 0.5
    return _single(name, facts | {"mean": std, "ci_low": low, "ci_high": high}, p_for)


def _single(name: str, facts: Mapping[str, float], p_for: float) -> Comparison:
    """A test of its own; 2.5 % a side, as of a two-sided test at 5 %."""
    mean, low, high = (
        round(float(facts[key]), 12) + 0.0 for key in ("mean", "ci_low", "ci_high")
    )
    p_against, n_seeds = 1 - p_for, int(facts["n_seeds"])
    supports, opposes = int(p_for <= LEVEL / 2), int(p_against <= LEVEL / 2)
    return Comparison(
        name, mean, low, high, p_for, p_against, n_seeds, 1, supports, opposes
    )


def at_least(m: int, tests: Sequence[Comparison]) -> Comparison:
    """At least m of the tests support the claim.

    The effect is that of the deciding one.
    """
    n = len(tests)
    unknown = [test for test in tests if np.isnan(test.p_for)]
    if unknown:
        deciding, p_for, p_against = unknown[0], NAN, NAN
    else:
        deciding = sorted(tests, key=lambda test: (test.p_for, -test.p_against))[m - 1]
        against = sorted(test.p_against for test in tests)[n - m]
        p_for, p_against = min(1.0, (n - m + 1) * deciding.p_for), min(1.0, m * against)
    names = ("tests", "tests_for", "tests_against")
    counts = {name: sum(getattr(test, name) for test in tests) for name in names}
    return replace(deciding, p_for=p_for, p_against=p_against, **counts)


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's correlation of two samples (m,); 0 if one is constant."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(stats.spearmanr(x, y).statistic)
