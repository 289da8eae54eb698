"""Cells of the tables that claims name, and comparisons of two of them."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from kerhrm.claims.evidence import Case, pair
from kerhrm.claims.parts import Part, more
from kerhrm.scoring.verdicts import CRITERIA

ENVIRONMENTS_UNKNOWN = ("ERM", "DRO", "EIIL", "HRM")
BASELINES = (*ENVIRONMENTS_UNKNOWN, "IRM")
CEILING = "ref: invariant ceiling"
FIGURE2 = "iterations"
CHANCE = 0.5  #: accuracy of guessing
BIAS_RATES = ("r2=0.70", "r2=0.75", "r2=0.80")  #: Table 1, H orthogonal
BIASES = ("r=1.5", "r=1.9", "r=2.3")
SELECTIONS = tuple(f"scenario={s},{r}" for s in (1, 2) for r in BIASES)  #: Table 3
#: table, setting and metric of every result of Tables 1, 3 and 4
RESULTS = (
    *(("classification", setting, "test_acc") for setting in BIAS_RATES),
    *(("regression", setting, "mean_error") for setting in SELECTIONS),
    ("colored_mnist", "cmnist", "test_acc"),
)


def merit(metric: str, values: pd.Series) -> pd.Series:
    """Values of which larger ones are better."""
    turn = CRITERIA[metric].merit
    assert turn is not None, metric
    return pd.Series(turn(values))


def better(
    case: Case, table: str, setting: str, a: str, b: str, metric: str, by: float = 0.0
) -> Part:
    """Row a is better than row b by more than ``by``; the effect is the difference of merits."""
    ours, theirs = (merit(metric, case.scores.of(table, setting, m, metric)) for m in (a, b))
    return more(f"{a} against {b}, {metric} at {setting}", *pair(ours, theirs), by)


def better_than_all(
    case: Case, table: str, setting: str, a: str, others: Iterable[str], metric: str
) -> list[Part]:
    """:func:`better` than each of several rows."""
    return [better(case, table, setting, a, b, metric) for b in others if b != a]


def iterations_of(case: Case) -> list[str]:
    """Settings of Figure 2's table, from the first iteration to the last."""
    plain = [s for s in case.scores.settings(FIGURE2) if "," not in s]
    return sorted(plain, key=lambda s: int(s.partition("=")[2]))


def mean_of(cells: Iterable[pd.Series]) -> pd.Series:
    """Mean of several cells by seed, over the seeds that all of them have."""
    cells = list(cells)
    index = cells[0].index
    for cell in cells[1:]:
        index = index.intersection(cell.index)
    return pd.Series(np.mean([cell[index] for cell in cells], axis=0), index=index)
