r"""Effects over seeds, and what they decide against a margin.

The seeds s = 1..n have values :math:`d_s`, as differences of two methods.  Their effect
is

.. math::
    \bar{d} \pm t_{n-1} \, \frac{\hat\sigma}{\sqrt{n}},

with :math:`\hat\sigma` the standard deviation (ddof = 1) and :math:`t_{n-1}` Student's
quantile of a 95 % interval.  Endpoints, comparisons, choices and claims all compute an
:class:`Effect`, correct its p-value for the tests beside it, and :func:`decide`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from kerhrm_paper.evaluation.statistics import LEVEL, summarise, tail

NAN = float("nan")
Decision = Literal["equivalent", "better", "worse", "undecided", "unknown"]


@dataclass(frozen=True)
class Effect:
    """A mean over seeds with its 95 % interval and two one-sided tests.

    Attributes
    ----------
    estimate : float
        The mean; NaN where a seed has no value.
    low, high : float
        Ends of the interval; NaN of a single seed.
    p_for, p_against : float
        p-value of a positive effect, and of a negative one.  Of a claim, those of what
        it predicts, and of the opposite.
    n : int
        Seeds.
    """

    estimate: float
    low: float
    high: float
    p_for: float
    p_against: float
    n: int

    @property
    def p(self) -> float:
        """The two-sided p-value; NaN where there is no test."""
        if np.isnan(self.p_for):
            return NAN
        one_sided = min(self.p_for, self.p_against)
        return min(1.0, 2 * one_sided)

    def columns(self) -> dict[str, float]:
        """Columns ``difference``, ``ci_low``, ``ci_high`` and ``p`` of a file."""
        return {
            "difference": self.estimate,
            "ci_low": self.low,
            "ci_high": self.high,
            "p": self.p,
        }


#: of a seed without a value
NO_EFFECT = Effect(NAN, NAN, NAN, NAN, NAN, 0)


def paired(a: ArrayLike, b: ArrayLike) -> Effect:
    """Mean of a - b over the same seeds, both (n_seeds,): the paired t test.

    Seeds must stand in the same order.  A single seed has neither interval nor p (NaN).
    Where every seed has the same difference, the interval is a point, and p is 0 or, of
    none, 1.
    """
    differences = np.subtract(a, b, dtype=float)
    summary = summarise(differences)
    mean = summary["mean"]
    std = summary["std"]
    n = int(summary["n_seeds"])
    return Effect(
        estimate=mean,
        low=summary["ci_low"],
        high=summary["ci_high"],
        p_for=tail(mean, std, n),
        p_against=tail(-mean, std, n),
        n=n,
    )


def against(values: ArrayLike, reference: float, reference_error: float) -> Effect:
    """Mean of values (n_seeds,) less a reference that has a standard error, too.

    The standard error of the effect is the root of the sum of both squares, and there
    are n - 1 degrees of freedom, see :func:`kerhrm_paper.evaluation.statistics.tail`.
    """
    summary = summarise(values)
    std = summary["std"]
    n = int(summary["n_seeds"])
    difference = summary["mean"] - reference
    of_mean = std / n**0.5
    standard_error = float(np.hypot(of_mean, reference_error))
    quantile = float(special.stdtrit(n - 1, 1 - LEVEL / 2))
    half = quantile * standard_error
    p_for = tail(difference, std, n, reference_error)
    p_against = tail(-difference, std, n, reference_error)
    return Effect(
        estimate=difference,
        low=difference - half,
        high=difference + half,
        p_for=p_for,
        p_against=p_against,
        n=n,
    )


def decide(
    effect: Effect,
    margin: float | None = None,
    *,
    p: float | None = None,
    higher_is_better: bool = True,
) -> Decision:
    """What an effect decides.

    Parameters
    ----------
    effect : Effect
        A difference from something else.
    margin : float, optional
        Size of a difference that counts as none; None: no effect is equivalent.
    p : float, optional
        p-value after a correction for other tests; the effect's own if None.
    higher_is_better : bool
        Whether a positive effect is better.

    Returns
    -------
    str
        ``unknown`` if a seed has no value; ``equivalent`` if the 95 % interval is
        within the margin; else ``better`` or ``worse`` at 5 %; else ``undecided``.
    """
    if not np.isfinite(effect.estimate):
        return "unknown"
    if margin is not None:
        is_inside = -margin <= effect.low and effect.high <= margin
        if is_inside:
            return "equivalent"
    if p is None:
        p = effect.p
    if p <= LEVEL:
        is_positive = effect.p_for < effect.p_against
        return "better" if is_positive == higher_is_better else "worse"
    return "undecided"
