"""A written rule that says of every cell how it compares with the paper's number.

``docs/verdicts.md`` explains it.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kerhrm.scoring.statistics import LEVEL, different, equivalence, holm, smallest_margin

Verdict = Literal[
    "", "agrees", "differs: higher", "differs: lower", "undecided", "not comparable", "failed"
]
Direction = Literal["", "good", "bad"]
#: of cells that are compared with the paper
JUDGED: tuple[Verdict, ...] = ("agrees", "differs: higher", "differs: lower", "undecided")


@dataclass(frozen=True)
class Criterion:
    """How a metric is judged."""

    tolerance: float  #: distance that counts as none
    relative: bool  #: whether that is a share of the reference number
    merit: Callable[[Any], Any] | None  #: of numbers or arrays, larger is better; None: neither is

    def margin(self, reference: float) -> float:
        """The tolerance in the metric's own units."""
        return self.tolerance * abs(reference) if self.relative else self.tolerance

    def direction(self, ours: float, reference: float) -> Direction:
        """Whether ours lies in the good direction of the reference, or in the bad one."""
        if self.merit is None or self.merit(ours) == self.merit(reference):
            return ""
        return "good" if self.merit(ours) > self.merit(reference) else "bad"


_ERROR = Criterion(0.10, True, operator.neg)
#: fixed before the runs that they judge
CRITERIA: Mapping[str, Criterion] = {
    # an accuracy that spurious features raise is no merit
    "train_acc": Criterion(0.02, False, None),
    "test_acc": Criterion(0.02, False, operator.pos),
    "generalisation_gap": Criterion(0.02, False, lambda gap: -abs(gap)),
    "mean_error": _ERROR,
    "std_error": _ERROR,
    "mse": _ERROR,
    **dict.fromkeys(("overall_error", "worst_error", "group_error"), _ERROR),
    "d_kl": Criterion(0.10, True, operator.pos),
}
#: of sums and differences of numbers such as .71 and .70
ROUNDING = 1e-9


@dataclass(frozen=True)
class Measured:
    """A cell's statistics over seeds, and the paper's number for it."""

    metric: str
    mean: float
    std: float  #: ddof = 1
    n_seeds: int
    paper: float
    runs: int  #: that the paper's number is the mean of

    @property
    def error(self) -> float:
        """Standard error of the paper's number, whose runs are taken to spread as ours do."""
        return self.std / self.runs**0.5


@dataclass(frozen=True)
class Judgement:
    """A verdict and what it rests on."""

    verdict: Verdict
    direction: Direction  #: of a difference
    p_agrees: float  #: of a distance of the margin or more
    p_differs: float  #: of no distance, after Holm
    margins: float  #: smallest margin at which the verdict is ``agrees``, in units of the fixed one


def judge(
    cells: Sequence[Measured], criteria: Mapping[str, Criterion] = CRITERIA
) -> list[Judgement]:
    """Judge the comparable cells of one table; of each the first of these that applies.

    1. ``agrees``: the distance of the two means is below the margin of the metric's criterion, by
       two one-sided t tests at 5 %.  It may still be larger than nothing.
    2. ``differs: higher`` or ``differs: lower``: ours is another mean, by a t test at 5 % after
       Holm's correction over all ``cells``.
    3. ``undecided``: too few seeds, for how much they differ, to tell.

    Both tests allow for the paper's own error, :attr:`Measured.error`.
    """
    differs = holm([different(c.mean, c.std, c.n_seeds, c.paper, c.error) for c in cells])
    return [
        _judge(cell, criteria[cell.metric], float(p))
        for cell, p in zip(cells, differs, strict=True)
    ]


def _judge(cell: Measured, criterion: Criterion, p_differs: float) -> Judgement:
    margin = criterion.margin(cell.paper)
    facts = cell.mean, cell.std, cell.n_seeds, cell.paper, cell.error
    p_agrees = equivalence(*facts, margin)
    margins = smallest_margin(*facts) / margin if margin > 0 else float("inf")
    direction: Direction = ""
    verdict: Verdict = "undecided"  # as where either p is NaN
    if p_agrees <= LEVEL:
        verdict = "agrees"
    elif p_differs <= LEVEL:
        verdict = "differs: higher" if cell.mean > cell.paper else "differs: lower"
        direction = criterion.direction(cell.mean, cell.paper)
    return Judgement(verdict, direction, p_agrees, p_differs, margins)
