"""Draws of one table as all parts of a description read them.

Copies of a row are one draw with the sum of their weights, as in the fit
(:mod:`kerhrm.tables.distinct`); where a few categories are all that rows hold, equal
rows are draws.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from kerhrm.tables.distinct import DistinctRows, column_order

#: rows of an environment or group, by the sum of their memberships: fewer are none
HARDLY_ANY = 1e-6
#: of a table with fewer rows; where weights stand for more, a draw weighs more
MOST_DRAWS = 1_000_000


@dataclass(frozen=True)
class DescribedRows:
    """Draws of a table, in an order that depends on their values alone.

    Attributes
    ----------
    x : ndarray, (n, d), float64
        Columns.
    y : ndarray, (n,), float64
        Target; 1 for the second of two classes, and 0 for the first.
    names : list of str
        Of the d columns.
    labels : Index, (n,)
        Of the rows that stand for the draws.
    counts : ndarray, (n,), float64
        Weight of the rows that each draw stands for; without weights their number.
    weights : ndarray, (n,), float64
        The same in units of the mean.
    order : ndarray, (n,), int64
        Number of a row of the table that has each draw's values.
    draws : ndarray, (n_samples,), int64
        First draw with the values of each row of the table; -1 for one of weight 0.
    """

    x: np.ndarray
    y: np.ndarray
    names: list[str]
    labels: pd.Index
    counts: np.ndarray
    weights: np.ndarray
    order: np.ndarray
    draws: np.ndarray

    @classmethod
    def sort(
        cls,
        x: np.ndarray,
        y: np.ndarray,
        names: list[str],
        labels: pd.Index,
        weights: np.ndarray | None = None,
        beside: np.ndarray | None = None,
    ) -> Self:
        """Sort rows (n_samples, d) with targets (n_samples,), and their columns.

        Rows of weight 0 are left out.  Rows that differ in columns ``beside`` the
        others (n_samples, c) alone are no copies.
        """
        z = np.empty((len(y), 0)) if beside is None else beside
        table = np.column_stack([z, x, y])
        distinct = DistinctRows.find(table, weights)
        first = distinct.first
        columns = column_order(x[first], y[first])
        x = x[:, columns]
        table = np.column_stack([z, x[:, ::-1], y])  # sorted by y, then the columns
        distinct = DistinctRows.find(table, weights)
        units = _units(distinct)
        order = _rows_of_draws(distinct, units)
        first_draws = np.cumsum(units) - units
        draws = np.where(distinct.numbers < 0, -1, first_draws[distinct.numbers])
        weights_of_draws = distinct.weights / units
        counts = np.repeat(weights_of_draws, units)
        return cls(
            x=x[order],
            y=y[order],
            names=[names[j] for j in columns],
            labels=labels[order],
            counts=counts,
            weights=counts / counts.mean(),
            order=order,
            draws=draws,
        )

    @property
    def effective_number(self) -> float:
        """Number (sum w)^2 / sum w^2 of draws with the weights w."""
        return effective_number(self.weights)

    @property
    def of_single_rows(self) -> np.ndarray:
        """Draws (r,), ascending: one for each row of the table that stands for any.

        A row with a weight may stand for several.
        """
        _, first = np.unique(self.order, return_index=True)
        return np.sort(first)

    @property
    def counted(self) -> np.ndarray:
        """Draws (c,) that numbers of rows count.

        Where some row has several draws, which its weight is no number of, one for each
        row of the table; else all.
        """
        of_rows = self.draws[self.draws >= 0]
        some_has_several = len(np.unique(of_rows)) < len(self.y)
        if some_has_several and not (self.counts == 1).all():
            return of_rows
        return np.arange(len(self.y))

    def of_table(self, values: np.ndarray) -> np.ndarray:
        """Values (n, c) of the draws for each row of the table, (n_samples, c); NaN in
        rows of weight 0."""
        counted = self.draws >= 0
        shape = (len(counted), values.shape[1])
        of_rows = np.full(shape, np.nan)
        draws = self.draws[counted]
        of_rows[counted] = values[draws]
        return of_rows


def _units(distinct: DistinctRows) -> np.ndarray:
    """Draws (m,) that distinct rows stand for."""
    units = distinct.units
    n_draws = int(units.sum())
    most = max(MOST_DRAWS, len(distinct.numbers))
    if n_draws <= most:
        return units
    parts = np.ceil(units * (most / n_draws))
    return parts.astype(np.int64)


def _rows_of_draws(distinct: DistinctRows, units: np.ndarray) -> np.ndarray:
    """Row of the table for each draw (n,), those of a distinct row in turn."""
    counted = np.flatnonzero(distinct.numbers >= 0)
    numbers = distinct.numbers[counted]
    in_order = np.argsort(numbers, kind="stable")
    by_distinct = counted[in_order]
    n_rows = np.bincount(numbers)
    first_rows = np.cumsum(n_rows) - n_rows
    first_draws = np.cumsum(units) - units
    n_distinct = len(distinct)
    of_draw = np.repeat(np.arange(n_distinct), units)
    among_its_draws = np.arange(len(of_draw)) - first_draws[of_draw]
    among_its_rows = among_its_draws * n_rows[of_draw] // units[of_draw]
    return by_distinct[first_rows[of_draw] + among_its_rows]


def effective_number(weights: np.ndarray) -> float:
    """Number (sum w)^2 / sum w^2 of rows with weights w (n,); 0 if all are 0."""
    total = float(weights.sum())
    squares = weights**2
    total_of_squares = float(squares.sum())
    return total**2 / max(total_of_squares, 1e-300)


def environment_names(number: int) -> list[str]:
    """Names of so many environments."""
    return [f"environment {j}" for j in range(number)]
