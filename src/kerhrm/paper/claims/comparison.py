r"""One test, and how several become one.

Every test has two one-sided p-values: ``p_for``, that the effect that a claim predicts would be
seen if the claim were false, and ``p_against``, the same of its opposite.  Of n tests of which at
least m have to support a claim,

.. math::
    p_{for} = (n - m + 1) \, p_{for, (m)}, \qquad p_{against} = m \, p_{against, (n - m + 1)},

(i) being the i-th smallest: the partial conjunction test of Benjamini and Heller (*Screening for
partial conjunction hypotheses*, Biometrics 2008), which allows for any dependence between tests.
If all have to, that is the largest p_for, and n times the smallest p_against.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kerhrm.paper.evaluation.statistics import LEVEL, difference, equivalence, summarise

NAN = float("nan")


@dataclass(frozen=True)
class Comparison:
    """An effect with its 95 % interval, and the evidence for and against a claim.

    The claim says that the effect is positive or, of :func:`alike` and :func:`steady`, small.
    """

    name: str
    effect: float
    ci_low: float
    ci_high: float
    p_for: float
    p_against: float
    n_seeds: int
    n: int = 1  #: tests that it combines
    n_for: int = 0  #: those that support the claim, each on its own at 5 %
    n_against: int = 0

    @property
    def p(self) -> float:
        """The two-sided p-value; NaN where a seed has no value."""
        return NAN if np.isnan(self.p_for) else min(1.0, 2 * min(self.p_for, self.p_against))


def _single(
    name: str, effect: float, low: float, high: float, p_for: float, n_seeds: int
) -> Comparison:
    """A test of its own; 2.5 % a side, as of a two-sided test at 5 %."""
    supports, opposes = int(p_for <= LEVEL / 2), int(1 - p_for <= LEVEL / 2)
    effect, low, high = (round(number, 12) + 0.0 for number in (effect, low, high))
    return Comparison(
        name, effect, low, high, p_for, 1 - p_for, n_seeds, n_for=supports, n_against=opposes
    )


def more(name: str, a: ArrayLike, b: ArrayLike, by: float = 0.0) -> Comparison:
    """a exceeds b by more than ``by``: the paired t test over seeds; the effect is a - b."""
    a = np.asarray(a, dtype=float)
    b = np.broadcast_to(np.asarray(b, dtype=float), a.shape)
    found = difference(a - by, b)
    p_for = found.p / 2 if found.effect > 0 else 1 - found.p / 2
    effect, low, high = (value + by for value in found[:3])
    return _single(name, effect, low, high, p_for, len(a))


def alike(name: str, a: ArrayLike, b: ArrayLike, within: float) -> Comparison:
    """a and b differ by less than ``within``: two one-sided t tests; the effect is a - b."""
    a = np.asarray(a, dtype=float)
    b = np.broadcast_to(np.asarray(b, dtype=float), a.shape)
    found, facts = difference(a, b), summarise(a - b)
    p_for = equivalence(facts["mean"], facts["std"], len(a), 0.0, 0.0, within)
    return _single(name, *found[:3], p_for, len(a))


def steady(name: str, values: ArrayLike, below: float) -> Comparison:
    """The standard deviation is below a limit: the chi-square test; the effect is the former."""
    facts = summarise(values)
    std, degrees = facts["std"], int(facts["n_seeds"]) - 1
    if degrees < 1 or np.isnan(std):
        return _single(name, std, NAN, NAN, NAN, degrees + 1)
    p_for = float(stats.chi2.cdf(degrees * (std / below) ** 2, degrees))
    ends = stats.chi2.isf([LEVEL / 2, 1 - LEVEL / 2], degrees)
    low, high = (float(std * (degrees / end) ** 0.5) for end in ends)
    return _single(name, std, low, high, p_for, degrees + 1)


def at_least(m: int, tests: Sequence[Comparison]) -> Comparison:
    """At least m of the tests support the claim; the effect is that of the deciding one."""
    n = len(tests)
    if not 1 <= m <= n:
        raise ValueError(f"{m} of {n} tests are impossible")
    unknown = [test for test in tests if np.isnan(test.p_for)]
    if unknown:
        deciding, p_for, p_against = unknown[0], NAN, NAN
    else:
        deciding = sorted(tests, key=lambda test: (test.p_for, -test.p_against))[m - 1]
        against = sorted(test.p_against for test in tests)[n - m]
        p_for, p_against = min(1.0, (n - m + 1) * deciding.p_for), min(1.0, m * against)
    counts = {
        name: sum(getattr(test, name) for test in tests) for name in ("n", "n_for", "n_against")
    }
    return replace(deciding, p_for=p_for, p_against=p_against, **counts)


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's correlation of two samples (m,); 0 if one is constant."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(stats.spearmanr(x, y).statistic)
