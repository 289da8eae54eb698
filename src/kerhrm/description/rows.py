"""Rows of one table as all parts of a description read them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from kerhrm.tables.distinct import column_order


@dataclass(frozen=True)
class DescribedRows:
    """Rows of a table, in an order that depends on their values alone.

    Attributes
    ----------
    x : ndarray, (n, d), float64
        Columns.
    y : ndarray, (n,), float64
        Target; 1 for the second of two classes, and 0 for the first.
    names : list of str
        Of the d columns.
    labels : Index, (n,)
        Of the rows.
    weights : ndarray, (n,), float64
        Of the rows, of mean 1.
    order : ndarray, (n,), int64
        Number of each of these rows in the table.
    """

    x: np.ndarray
    y: np.ndarray
    names: list[str]
    labels: pd.Index
    weights: np.ndarray
    order: np.ndarray

    @classmethod
    def sort(
        cls,
        x: np.ndarray,
        y: np.ndarray,
        names: list[str],
        labels: pd.Index,
        weights: np.ndarray | None = None,
    ) -> Self:
        """Sort rows (n, d) with targets (n,), and their columns.

        Rows of weight 0 are left out.
        """
        if weights is None:
            weights = np.ones(len(y))
        columns = column_order(x, y)
        x = x[:, columns]
        counted = np.flatnonzero(weights > 0)
        keys = (*x[counted].T[::-1], y[counted])
        order = counted[np.lexsort(keys)]
        mean_weight = weights[counted].mean()
        return cls(
            x=x[order],
            y=y[order],
            names=[names[j] for j in columns],
            labels=labels[order],
            weights=weights[order] / mean_weight,
            order=order,
        )


def environment_names(number: int) -> list[str]:
    """Names of so many environments."""
    return [f"environment {j}" for j in range(number)]
