"""Result of a test for environments."""

import math
from dataclasses import dataclass

import numpy as np

from kerhrm.record import Record

MIN_POINTS = 80

#: points, and the share of the residuals' variance above which a slope that flips in a
#: fifth of them is detected in four of five draws; measured with ten inputs by
#: ``kerhrm_paper.studies.heterogeneity``
VISIBLE = {80: 1.0, 125: 0.9, 250: 0.65, 500: 0.5, 1000: 0.42, 2000: 0.36, 4000: 0.36}


@dataclass(frozen=True)
class HeterogeneityResult(Record):
    """Result of the test; numbers are NaN for binary labels, which cannot be tested.

    Attributes
    ----------
    gain : float
        Of two environments over one, in nats per point.
    null : ndarray, (n_permutations,)
        The same of permuted residuals; NaN after the test's end.
    p_value : float
        Of the permutations; at least 1 / (1 + n_permutations).
    detected : bool
        Whether the p-value counts.
    n_points : int
        Points that were compared; 0 where an auxiliary column was tested, or no test
        was possible.
    constant_only : bool
        Whether all that is seen to change with an auxiliary column is a constant.

    Examples
    --------
    A test of 250 points that has detected nothing, and what it detects in four of
    five tables.

    >>> import numpy as np
    >>> from kerhrm.heterogeneity.result import HeterogeneityResult
    >>> result = HeterogeneityResult(
    ...     gain=0.01, null=np.zeros(39), p_value=0.4, detected=False, n_points=250)
    >>> result.homogeneous, result.visible
    (True, 0.65)
    """

    gain: float
    null: np.ndarray
    p_value: float
    detected: bool
    n_points: int = 0
    constant_only: bool = False

    @property
    def visible(self) -> float:
        """Share of ERM's residual variance above which a flip of a slope would have
        been seen.

        In a fifth of the points, with probability .8, interpolated; NaN of an auxiliary
        column, or where no test was possible.
        """
        if self.n_points == 0:
            return math.nan
        points = list(VISIBLE)
        shares = list(VISIBLE.values())
        share = np.interp(self.n_points, points, shares)
        return float(share)

    @property
    def homogeneous(self) -> bool:
        """True if the test was possible and detected nothing, so that ERM is the
        answer."""
        possible = not np.isnan(self.p_value)
        return possible and not self.detected


def impossible(n_permutations: int) -> HeterogeneityResult:
    """The result where no test is possible."""
    return HeterogeneityResult(
        gain=math.nan,
        null=np.full(n_permutations, math.nan),
        p_value=math.nan,
        detected=False,
    )


def nothing_left(n_points: int, n_permutations: int) -> HeterogeneityResult:
    """The result where one regression explains all n points exactly."""
    return HeterogeneityResult(
        gain=0.0,
        null=np.full(n_permutations, math.nan),
        p_value=1.0,
        detected=False,
        n_points=n_points,
    )
