"""What claims are tested on: values by seed, of the tables of a run and of small runs.

A claim takes :class:`Evidence` and asks it for :class:`Quantities`, whose methods
compare two of them::

    accuracy = evidence.cells("table1", "test_acc", "r2=0.8")
    accuracy.better("KerHRM", than="ERM")
    accuracy.alike("KerHRM", accuracy.at("r2=0.7", "KerHRM"), within=0.02)
    numbers = evidence.small_run("low_rank")
    numbers.more(numbers.weighted({"error with all": 1.1}), than="error with k")
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from kerhrm.methods.base import POOLED
from kerhrm_paper.claims import comparison
from kerhrm_paper.claims.comparison import Comparison
from kerhrm_paper.evaluation.tables import METRICS, stand_ins, where


class MissingCell(LookupError):
    """A table, row or cell that a claim needs was not made."""


@dataclass(frozen=True)
class Values:
    """A quantity by seed, and its name in the column ``measure`` of claims.csv."""

    name: str
    by_seed: pd.Series


#: a quantity by its name, one that was looked up, or a number
Operand = str | Values | float


@dataclass(frozen=True)
class Quantities:
    """Methods in the cells of a table, or numbers of a small run.

    Attributes
    ----------
    look : callable
        Values by seed of a name in a setting; "" is the own one.
    place : str
        Metric and setting, for names of comparisons.
    merit : callable
        Of values, larger is better.
    means : mapping of str to float
        Means of a small run's numbers.
    """

    look: Callable[[str, str], pd.Series]
    place: str = ""
    merit: Callable[[Any], Any] = operator.pos
    means: Mapping[str, float] = field(default_factory=dict)

    def at(self, setting: str, name: str) -> Values:
        """A quantity in a setting of the table."""
        values = self.look(name, setting)
        return Values(f"{name} @ {setting}", values)

    def weighted(
        self,
        weights: Mapping[str, float],
        *,
        constant: float = 0.0,
        at: str = "",
        over: Sequence[str] = (),
    ) -> Values:
        """Weighted sum of quantities, plus a constant.

        In the setting ``at``, or the mean over several settings.
        """
        settings = over or [at]
        columns = []
        for setting, name in product(settings, weights):
            values = self.look(name, setting)
            columns.append(values)
        by_seed = pd.concat(columns, axis=1, join="inner")
        if by_seed.empty:
            names = ", ".join(weights)
            raise MissingCell(f"no seed that {names} share")
        n_settings = len(settings)
        of_setting = list(weights.values())
        repeated = np.tile(of_setting, n_settings)
        factors = repeated / n_settings
        sums = by_seed.to_numpy() @ factors
        sums = sums + constant
        total = pd.Series(sums, by_seed.index)
        terms: dict[str, object] = {}
        for name, weight in weights.items():
            term = f"{name} @ {at}" if at else name
            terms[term] = weight
        if constant:
            terms["constant"] = constant
        if over:
            terms["over"] = [*over]
        name_of_sum = json.dumps(terms)
        return Values(name_of_sum, total)

    def better(self, ours: Operand, than: Operand, by: float = 0.0) -> Comparison:
        """By the metric, the first is better in the mean over seeds, ``by`` so much."""
        a, b = self._shared(ours, than)
        text = f"{_text(ours)} better than {_text(than)}"
        merit_of_first = self.merit(a)
        merit_of_second = self.merit(b)
        merit = merit_of_first - merit_of_second
        return self._test(comparison.more, text, merit, by)

    def more(self, ours: Operand, than: Operand, by: float = 0.0) -> Comparison:
        """The first is larger in the mean over seeds, ``by`` so much."""
        a, b = self._shared(ours, than)
        text = f"{_text(ours)} more than {_text(than)}"
        difference = a - b
        return self._test(comparison.more, text, difference, by)

    def alike(self, ours: Operand, to: Operand, within: float) -> Comparison:
        """The two differ by less than a margin in the mean over seeds."""
        a, b = self._shared(ours, to)
        text = f"{_text(ours)} alike to {_text(to)}"
        difference = a - b
        return self._test(comparison.alike, text, difference, within)

    def steady(self, ours: str, below: float) -> Comparison:
        """The standard deviation over seeds is below a limit."""
        values = self.look(ours, "")
        text = f"{ours} steady"
        return self._test(comparison.steady, text, values, below)

    def rising(self, ours: str, over: Sequence[str]) -> Comparison:
        """The rank correlation with the order of the settings is positive."""
        columns = [self.look(ours, setting) for setting in over]
        by_seed = pd.concat(columns, axis=1, join="inner")
        order = np.arange(len(over))
        correlations = []
        for row in by_seed.to_numpy():
            correlation = comparison.rank_correlation(row, order)
            correlations.append(correlation)
        text = f"{ours} rising"
        return self._test(comparison.more, text, correlations, 0.0)

    def correlated(self, ours: str, points: float) -> Comparison:
        """A rank correlation over so many points is positive."""
        values = self.look(ours, "")
        text = f"{ours} positive"
        return self._test(comparison.correlated, text, values, points)

    def following(
        self, others: "Quantities", name: str, over: Sequence[str], by: float
    ) -> Comparison:
        """The rank correlation with another quantity over settings exceeds ``by``."""
        pairs = []
        for quantities in (self, others):
            columns = [quantities.look(name, setting) for setting in over]
            by_seed = pd.concat(columns, axis=1, join="inner")
            of_all_seeds = by_seed.to_numpy()
            pairs.append(of_all_seeds)
        correlations = []
        for a, b in zip(*pairs, strict=True):
            correlation = comparison.rank_correlation(a, b)
            correlations.append(correlation)
        text = f"{name} following {others.place}"
        return self._test(comparison.more, text, correlations, by)

    def _test(
        self,
        test: Callable[[str, ArrayLike, float], Comparison],
        text: str,
        values: ArrayLike,
        limit: float,
    ) -> Comparison:
        measure = f"{text} ({self.place})" if self.place else text
        result = test(measure, values, limit)
        return replace(result, means=self.means)

    def _shared(self, ours: Operand, theirs: Operand) -> tuple[Any, Any]:
        """Numbers, or values by seed, of the seeds that both sides have."""
        a = self._by_seed(ours)
        b = self._by_seed(theirs)
        if isinstance(a, pd.Series) and isinstance(b, pd.Series):
            a, b = a.align(b, join="inner")
            if a.empty:
                raise MissingCell("no seed in common")
        return a, b

    def _by_seed(self, operand: Operand) -> pd.Series | float:
        if isinstance(operand, Values):
            return operand.by_seed
        if isinstance(operand, str):
            return self.look(operand, "")
        return operand


def _text(operand: Operand) -> str:
    if isinstance(operand, Values):
        return operand.name
    return operand if isinstance(operand, str) else f"{operand:g}"


@dataclass
class Evidence:
    """Scores of a run by table, and the numbers of small runs.

    Attributes
    ----------
    tables : mapping of str to DataFrame
        Rows of :func:`kerhrm_paper.evaluation.scores.score_table`.
    smoke : bool
        Whether small runs are tiny.
    numbers : dict of str to DataFrame
        By small run; rows are seeds.
    pooled : bool
        Whether rows that pooled validation has chosen go before others.
    """

    tables: Mapping[str, pd.DataFrame]
    smoke: bool = False
    numbers: dict[str, pd.DataFrame] = field(default_factory=dict)
    pooled: bool = False

    def cells(self, table: str, metric: str, setting: str = "") -> Quantities:
        """Methods of a table by a metric, in one setting unless :meth:`at` others."""

        def look(method: str, elsewhere: str) -> pd.Series:
            at = elsewhere or setting
            return self.cell(table, at, method, metric)

        place = f"{metric}, {setting}" if setting else metric
        merit = METRICS[metric].merit or operator.pos
        return Quantities(look, place, merit)

    def small_run(self, name: str) -> Quantities:
        """Numbers of a function in :mod:`kerhrm_paper.claims.small_runs`."""
        if name not in self.numbers:
            from kerhrm_paper.claims import small_runs  # imports torch

            numbers = small_runs.run(name, self.smoke)
            self.numbers[name] = numbers
        by_seed = self.numbers[name]
        means = by_seed.mean().round(4)
        means = means.to_dict()

        def look(number: str, _: str) -> pd.Series:
            return by_seed[number]

        return Quantities(look, means=means)

    def cell(self, table: str, setting: str, method: str, metric: str) -> pd.Series:
        """Values by seed, of the method's own selection criterion.

        The first that a table has, the oracle's if there is no other.
        """
        if table not in self.tables:
            raise MissingCell(f"no {table}")
        rows = self.tables[table]
        if replaced := stand_ins(rows):
            raise MissingCell(f"{table} has {replaced}")
        keys = {"setting": setting, "method": method, "metric": metric}
        for column, wanted in keys.items():
            key = {column: wanted}
            rows = where(rows, **key)
            if rows.empty:
                raise MissingCell(f"no {wanted} in {table}")
        selections = rows["selection"]
        selection = selections.iloc[0]
        if self.pooled and POOLED in selections.array:
            selection = POOLED
        rows = where(rows, selection=selection)
        seeds = rows["seed"].astype(str)
        by_seed = rows.set_index(seeds)
        return by_seed["value"]
