"""A written rule that says of every cell how it compares with the paper's number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["", "reproduced", "better", "worse", "not comparable", "failed"]


@dataclass(frozen=True)
class Criterion:
    """How a metric is judged.

    Attributes
    ----------
    tolerance : float
        Distance that counts as equal.
    relative : bool
        Whether the tolerance is a share of the reference number.
    merit : callable
        Larger is better.
    """

    tolerance: float
    relative: bool
    merit: Callable[[float], float]

    def margin(self, reference: float) -> float:
        """The tolerance in the metric's own units."""
        return self.tolerance * abs(reference) if self.relative else self.tolerance


def _itself(value: float) -> float:
    return value


def _negative(value: float) -> float:
    return -value


def _closeness_to_zero(value: float) -> float:
    return -abs(value)


CRITERIA: Mapping[str, Criterion] = {
    "train_acc": Criterion(0.01, False, _itself),
    "test_acc": Criterion(0.01, False, _itself),
    "generalisation_gap": Criterion(0.01, False, _closeness_to_zero),
    "mean_error": Criterion(0.05, True, _negative),
    "std_error": Criterion(0.05, True, _negative),
    "mse": Criterion(0.05, True, _negative),
    "d_kl": Criterion(0.05, True, _itself),
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

    Parameters
    ----------
    mean, ci_low, ci_high : float
        Ours: the mean over seeds and its 95 % interval.
    paper : float or None
    metric : str
        A key of :data:`CRITERIA`.
    comparable : bool
        Whether the cell was measured on what the paper measured, by the method's own rule.
    failed : bool
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
