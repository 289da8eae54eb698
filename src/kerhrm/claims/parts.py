r"""One tested statement, and how several become one.

Every part has two one-sided p-values: ``p_for``, that what the claim says would be seen if it were
not so, and ``p_against``, the same of its opposite.  Of n parts of which at least m have to hold,

.. math::
    p_{for} = (n - m + 1) \, p_{for, (m)}, \qquad p_{against} = m \, p_{against, (n - m + 1)},

(i) being the i-th smallest: the partial conjunction test of Benjamini and Heller (*Screening for
partial conjunction hypotheses*, Biometrics 2008), which allows for any dependence between parts.
If all parts have to hold, that is the largest p_for, and n times the smallest p_against.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kerhrm.scoring.statistics import LEVEL, difference, equivalence, summarise

#: by which two numbers may differ that an identity makes equal, as a share of their size
ROUNDING = 1e-8
DIGITS = 6  #: of a violation that are told
NAN = float("nan")


@dataclass(frozen=True)
class Part:
    """An effect, its 95 % interval, and what speaks for and against the claim.

    Effects are turned so that the claim says they are positive, but for those of :func:`alike`,
    :func:`steady` and :func:`exact`, which the claim says are small.
    """

    name: str  #: what is compared, where
    effect: float
    ci_low: float
    ci_high: float
    p_for: float
    p_against: float
    exact: bool = False  #: whether it is an identity or a counterexample, and no test
    n: int = 1  #: parts that it is made from
    n_for: int = 0  #: those that hold, each by itself at 5 %
    n_against: int = 0

    def __post_init__(self) -> None:
        if self.n == 1:  # 2.5 %, as of a two-sided test at 5 %
            object.__setattr__(self, "n_for", int(self.p_for <= LEVEL / 2))
            object.__setattr__(self, "n_against", int(self.p_against <= LEVEL / 2))

    @property
    def p(self) -> float:
        """The two-sided p-value; NaN of an identity, which is no test, and of failed seeds."""
        if self.exact or np.isnan(self.p_for):
            return NAN
        return min(1.0, 2 * min(self.p_for, self.p_against))


def more(name: str, a: ArrayLike, b: ArrayLike = 0.0, by: float = 0.0) -> Part:
    """a exceeds b by more than ``by``: the paired t test over seeds, (n_seeds,).

    The effect is a - b.
    """
    a = np.asarray(a, dtype=float)
    b = np.broadcast_to(np.asarray(b, dtype=float), a.shape)
    found = difference(a - by, b)
    half = found.p / 2
    p_for = half if found.effect > 0 else 1 - half
    effect, low, high = (round(v + by, 12) + 0.0 for v in found[:3])
    return Part(name, effect, low, high, p_for, 1 - p_for)


def alike(name: str, a: ArrayLike, b: ArrayLike, margin: float) -> Part:
    """a and b differ by less than ``margin``: two one-sided t tests over seeds, (n_seeds,).

    The effect is a - b.
    """
    found = difference(a, np.broadcast_to(np.asarray(b, dtype=float), np.shape(a)))
    facts = summarise(np.subtract(a, b, dtype=float))
    p_for = equivalence(facts["mean"], facts["std"], int(facts["n_seeds"]), 0.0, 0.0, margin)
    return Part(name, found.effect, found.ci_low, found.ci_high, p_for, 1 - p_for)


def steady(name: str, values: ArrayLike, limit: float) -> Part:
    """The standard deviation over seeds (n_seeds,) is below a limit: the chi-square test.

    The effect is the standard deviation, with the interval of normal values.
    """
    facts = summarise(values)
    std, degrees = facts["std"], int(facts["n_seeds"]) - 1
    if degrees < 1 or np.isnan(std):
        return Part(name, std, NAN, NAN, NAN, NAN)
    p_for = float(stats.chi2.cdf(degrees * (std / limit) ** 2, degrees))
    ends = stats.chi2.isf([LEVEL / 2, 1 - LEVEL / 2], degrees)
    low, high = (float(std * (degrees / end) ** 0.5) for end in ends)
    return Part(name, std, low, high, p_for, 1 - p_for)


def exact(name: str, violation: float, tolerance: float = ROUNDING) -> Part:
    """An identity that is violated by so much; the effect is the violation, without rounding."""
    wrong = float(not violation <= tolerance)
    return Part(name, round(float(violation), DIGITS) + 0.0, NAN, NAN, wrong, 1 - wrong, exact=True)


def at_least(m: int, parts: Sequence[Part]) -> Part:
    """At least m of the parts hold; the effect is that of the part that decides."""
    n = len(parts)
    if not 1 <= m <= n:
        raise ValueError(f"{m} of {n} parts cannot hold")
    if unknown := [p for p in parts if np.isnan(p.p_for)]:
        return _counting(parts, replace(unknown[0], p_for=NAN, p_against=NAN))
    deciding = sorted(parts, key=lambda p: (p.p_for, -p.p_against))[m - 1]
    against = sorted(p.p_against for p in parts)[n - m]
    p_for, p_against = min(1.0, (n - m + 1) * deciding.p_for), min(1.0, m * against)
    exact = all(p.exact for p in parts)
    return _counting(parts, replace(deciding, p_for=p_for, p_against=p_against, exact=exact))


def _counting(parts: Sequence[Part], whole: Part) -> Part:
    """The whole, with the counts of its parts."""
    n, n_for, n_against = (
        sum(counts) for counts in zip(*((p.n, p.n_for, p.n_against) for p in parts), strict=True)
    )
    return replace(whole, n=n, n_for=n_for, n_against=n_against)


def all_of(parts: Sequence[Part]) -> Part:
    """All parts hold."""
    return at_least(len(parts), parts)


def correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rank correlation along the last axis, (B, m) and (B, m) to (B,).

    Of a constant it is 0.
    """
    rows = []
    for one, other in zip(x, y, strict=True):
        constant = np.ptp(one) == 0 or np.ptp(other) == 0
        rows.append(0.0 if constant else float(stats.spearmanr(one, other).statistic))
    return np.array(rows)
