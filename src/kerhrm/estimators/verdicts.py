"""What an estimator says about heterogeneity, of targets that can be tested and of labels."""

import math
from dataclasses import dataclass

import numpy as np
import torch

from kerhrm.algorithm.options import Heterogeneity
from kerhrm.algorithm.problem import Problem
from kerhrm.heterogeneity.records import BINARY, HeterogeneityTest
from kerhrm.heterogeneity.verdict import LEAST, heterogeneity_test
from kerhrm.randomness import stream

#: rows that are tested at most, for a kernel ridge regression takes their number cubed
MOST = 4000
NOT_ASKED = "not tested: the options say so"
TWO_VALUES = "cannot be tested: the target has two values"

ASSUMPTION = (
    "Assumed, and not tested: the label depends on some features in another way in one hidden "
    "environment than in the next, and those features are spurious. Whatever made them, pooled "
    "binary labels are draws from one law, so that environments can be cut out of any data."
)
#: of results/reference/controls, columns "environments=one"
COST = (
    "If there are no environments, what the features are worth is given away: on data from a "
    "single environment KerHRM has .768 test accuracy where pooled training has .848. If the "
    "assumption holds and the relation turns, it has .766 where pooled training has .349."
)


@dataclass(frozen=True)
class HeterogeneityReport:
    """Whether there is anything to find.

    Attributes
    ----------
    verdict : str
        In words.
    found : bool or None
        None: not tested, or no test is possible.
    p_value, statistic, excess : float
        Of the test; gain of two environments over one, in nats per row, and how far it lies above
        the mean gain of permuted residuals.  NaN without a test.
    null : tuple of float
        Gains of the permutations.
    n_rows : int
        Rows that were tested, of copies one.
    assumption, cost : str
        Of binary labels: what is assumed instead, and what it costs if it is wrong.
    """

    verdict: str
    found: bool | None = None
    p_value: float = math.nan
    statistic: float = math.nan
    excess: float = math.nan
    null: tuple[float, ...] = ()
    n_rows: int = 0
    assumption: str = ""
    cost: str = ""

    def __str__(self) -> str:
        if self.assumption:
            return f"{self.verdict}. {self.assumption} {self.cost}"
        if not self.null:
            return self.verdict
        return (
            f"{self.verdict}: gain {self.statistic:.4f} nats per row, {self.excess:+.4f} beyond "
            f"chance, p = {self.p_value:.2f}, {self.n_rows} rows"
        )


def report(problem: Problem, x: torch.Tensor, options: Heterogeneity | None) -> HeterogeneityReport:
    """Of one data set with training inputs x (n, d): the calibrated test, where there is one.

    Of copies of a row, which stand together, one is tested: the test takes rows as independent.
    """
    if problem.task == "classification":
        return HeterogeneityReport(BINARY, assumption=ASSUMPTION, cost=COST)
    if options is None:
        return HeterogeneityReport(NOT_ASKED)
    rows = _different(torch.column_stack([x, problem.y[0].to(x)]).cpu().numpy())
    n = len(rows)
    if n < LEAST:
        different = "" if n == len(x) else "different "
        told = f"cannot be tested: {n} {different}training rows are fewer than {LEAST}"
        return HeterogeneityReport(told, found=False)
    if n > MOST:
        drawn = stream(problem.seeds[0], "heterogeneity", "rows").choice(n, MOST, replace=False)
        rows = rows[np.sort(drawn)]
    k = min(options.k, problem.s.shape[-1])
    psi = problem.u[0, rows, :k].double() * problem.s[0, :k].double()
    test = heterogeneity_test(
        psi.cpu().numpy(),
        problem.y[0, rows].double().cpu().numpy(),
        x=x[rows].double().cpu().numpy(),
        options=options,
        seed=problem.seeds[0],
    )
    return _told(test, len(rows))


def _different(points: np.ndarray) -> np.ndarray:
    """Rows of points (n, d) that differ from the one before."""
    return np.flatnonzero(np.append(True, (points[1:] != points[:-1]).any(1)))


def _told(test: HeterogeneityTest, n: int) -> HeterogeneityReport:
    if bool(test.p_value.isnan()):  # two values, of a regression
        return HeterogeneityReport(TWO_VALUES, found=False)
    return HeterogeneityReport(
        test.verdict,
        bool(test.found),
        float(test.p_value),
        float(test.statistic),
        float(test.excess),
        tuple(test.null.tolist()),
        n,
    )
