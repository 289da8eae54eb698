"""A written rule that says of every cell how it compares with the paper's number."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["", "reproduced", "better", "worse", "not comparable", "failed"]


@dataclass(frozen=True)
class Criterion:
    """How a metric is judged."""

    tolerance: float  #: distance that counts as equal
    relative: bool  #: whether that is a share of the reference number
    merit: Callable[[float], float]  #: larger is better

    def margin(self, reference: float) -> float:
        """The tolerance in the metric's own units."""
        return self.tolerance * abs(reference) if self.relative else self.tolerance


_ACCURACY = Criterion(0.01, False, operator.pos)
_ERROR = Criterion(0.05, True, operator.neg)
CRITERIA: Mapping[str, Criterion] = {
    "train_acc": _ACCURACY,
    "test_acc": _ACCURACY,
    "generalisation_gap": Criterion(0.01, False, lambda gap: -abs(gap)),
    "mean_error": _ERROR,
    "std_error": _ERROR,
    "mse": _ERROR,
    "d_kl": Criterion(0.05, True, operator.pos),
}
#: of the comparison itself, so that .71 is within .01 of .70
ROUNDING = 1e-9


def verdict(
    *,
    mean: float,
    ci_low: float,
    ci_high: float,
    paper: float | None,
    metric: str,
    comparable: bool,
    failed: bool,
) -> Verdict:
    """Judge one cell; the first of these that applies.

    1. ``failed``: a seed has no value.
    2. Nothing, where the paper prints no number.
    3. ``not comparable``: see :func:`kerhrm.reporting.tables.build_table`.
    4. ``reproduced``: the paper's number lies in our interval, or our mean within the
       tolerance of :data:`CRITERIA` of it.
    5. ``better`` where our mean has the larger merit, else ``worse``.

    Our mean over seeds has the 95 % interval ``ci_low``, ``ci_high``.
    """
    if failed:
        return "failed"
    if paper is None:
        return ""
    if not comparable:
        return "not comparable"
    criterion = CRITERIA[metric]
    near = abs(mean - paper) <= criterion.margin(paper) + ROUNDING
    if near or ci_low - ROUNDING <= paper <= ci_high + ROUNDING:
        return "reproduced"
    return "better" if criterion.merit(mean) > criterion.merit(paper) else "worse"
