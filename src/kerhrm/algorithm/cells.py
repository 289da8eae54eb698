"""Cells of an auxiliary variable.

Its values as a few numbers that environments may depend on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kerhrm.errors import DataWarning, KerhrmError, warn
from kerhrm.randomness import stream

#: points that a quantile bin has at least, if that leaves two bins; a category with
#: as many has a cell of its own
CELL_POINTS = 30


@dataclass(frozen=True)
class Cells:
    """Cells of an auxiliary variable.

    One column is cut at ``edges``; of one with many categories ``values`` have a cell
    each, and the others share the last.  Several columns, standardised by ``mean`` and
    ``scale``, belong to the nearest of ``centres``.  Rows that were not in training
    have a cell, too.

    Attributes
    ----------
    mean, scale : ndarray, (c,)
        Of the training points' columns; the scale of a constant one is 1.
    edges : ndarray, (C - 1,)
        Empty where there are several columns, or values.
    centres : ndarray, (C, c)
        Empty where there is one column.
    values : ndarray, (C - 1,)
        Empty unless there is one column of many categories.
    """

    mean: np.ndarray
    scale: np.ndarray
    edges: np.ndarray
    centres: np.ndarray
    values: np.ndarray

    @classmethod
    def fit(
        cls,
        z: np.ndarray,
        n_cells: int = 10,
        seed: int = 0,
        categories: Sequence[bool] = (),
    ) -> "Cells":
        """Cut the auxiliary variable of the training points into cells.

        Distinct rows are cells where there are at most ``n_cells`` (categories, given
        as numbers, and crossed categories).  Otherwise one column is cut into quantile
        bins, and several columns by k-means.  Of one column of categories each that 30
        points have is a cell, and so are the ``n_cells - 1`` most frequent; the others
        share one.

        Parameters
        ----------
        z : ndarray, (n, c)
            Numbers, with a row for each point.
        n_cells : int
            Cells at most.  Quantile bins are fewer where one would have less than 30
            points, but two at least; categories have more cells where more of them have
            30 points.
        seed : int
            Starts k-means.
        categories : sequence of bool
            Whether each column holds categories, whose numbers have no order; by
            default none does.  Among several columns they are taken as numbers, with a
            warning.

        Raises
        ------
        KerhrmError
            If z is not a finite table, or is constant.
        """
        z = _checked(z)
        distinct = np.unique(z, axis=0)
        if len(distinct) < 2:
            problem = "the auxiliary variable is constant"
            raise KerhrmError(problem, "give a column that varies")
        deviation = z.std(0)
        mean = z.mean(0)
        scale = np.where(deviation > 0, deviation, 1.0)
        n_columns = z.shape[1]
        many = len(distinct) > n_cells
        none = np.zeros(0)
        if n_columns == 1:
            column = z[:, 0]
            no_centres = np.zeros((0, 1))
            if many and any(categories):
                own = _frequent(column, n_cells)
                return cls(mean, scale, edges=none, centres=no_centres, values=own)
            edges = _edges(column, distinct[:, 0], n_cells)
            return cls(mean, scale, edges, centres=no_centres, values=none)
        centres = (distinct - mean) / scale
        if many:
            _warn_of_order(z, categories)
            points = (z - mean) / scale
            centres = _centres(points, n_cells, seed)
        return cls(mean, scale, edges=none, centres=centres, values=none)

    def locate(self, z: np.ndarray) -> Tensor:
        """Cell (m,), int64, of each row of an auxiliary variable (m, c).

        Raises KerhrmError if z is not finite, or has other columns than in training.
        """
        z = _checked(z)
        n_columns = len(self.mean)
        if z.shape[1] != n_columns:
            problem = f"the auxiliary variable must have {n_columns} columns"
            hint = "give the columns of the training"
            got = z.shape[1]
            raise KerhrmError(f"{problem}; got {got}", hint)
        if n_columns == 1:
            column = z[:, 0]
            numbers = np.searchsorted(self.edges, column, side="left")
            if len(self.values):
                equal = column[:, None] == self.values
                known = equal.any(1)
                numbers = np.where(known, equal.argmax(1), len(self.values))
            return torch.from_numpy(numbers)
        points = (z - self.mean) / self.scale
        differences = points[:, None] - self.centres
        distances = (differences**2).sum(-1)
        nearest = distances.argmin(-1)
        return torch.from_numpy(nearest)

    def __len__(self) -> int:
        n_columns = len(self.mean)
        if n_columns == 1:
            return len(self.edges) + len(self.values) + 1
        return len(self.centres)


def _edges(column: np.ndarray, distinct: np.ndarray, n_cells: int) -> np.ndarray:
    """Edges between the distinct values of a column (n,), or of its quantile bins."""
    if len(distinct) <= n_cells:
        sums = distinct[1:] + distinct[:-1]
        return sums / 2
    most = len(column) // CELL_POINTS
    within = min(n_cells, most)
    n_bins = max(2, within)
    shares = np.arange(1, n_bins) / n_bins
    quantiles = np.quantile(column, shares)
    edges = np.unique(quantiles)
    largest = distinct[-1]
    below = edges[edges < largest]  # a cell above the largest value would be empty
    if len(below):
        return below
    return distinct[-2:-1]  # nearly all points have the largest value


def _frequent(column: np.ndarray, n_cells: int) -> np.ndarray:
    """Categories of a column (n,) that have a cell of their own; one at least has
    none."""
    values, counts = np.unique(column, return_counts=True)
    enough = int((counts >= CELL_POINTS).sum())
    wanted = max(enough, n_cells - 1)
    but_one = len(values) - 1
    n_own = min(wanted, but_one)
    order = np.argsort(-counts, kind="stable")
    own = values[order[:n_own]]
    return np.sort(own)


def _warn_of_order(z: np.ndarray, categories: Sequence[bool]) -> None:
    """Warn where k-means takes three or more categories as numbers."""
    ordered = [
        is_category and len(np.unique(column)) > 2
        for column, is_category in zip(z.T, categories, strict=False)
    ]
    if any(ordered):
        text = "categories next to other auxiliary columns are taken as numbers, in the"
        hint = "give one column of categories, or a column of 0 and 1 for each"
        warn(f"{text} order of their names; {hint}", DataWarning)


def _centres(points: np.ndarray, n_cells: int, seed: int) -> np.ndarray:
    """Centres (C, c) of points (n, c) by k-means, without empty cells."""
    from scipy.cluster.vq import kmeans2  # slow to import

    random = stream(seed, "auxiliary", "cells")
    centres, labels = kmeans2(points, n_cells, minit="++", seed=random)
    occupied = np.unique(labels)
    return centres[occupied]


def _checked(z: np.ndarray) -> np.ndarray:
    """The auxiliary variable in double precision; refuse what is no finite table."""
    z = np.asarray(z, dtype=np.float64)
    if z.ndim != 2 or 0 in z.shape:
        problem = "the auxiliary variable must be a table (n, columns)"
        hint = "give a row for each point and at least one column"
        raise KerhrmError(f"{problem}; got shape {z.shape}", hint)
    finite = np.isfinite(z).all(-1)
    if not finite.all():
        row = int(finite.argmin())
        problem = "the auxiliary variable must be finite"
        where = f"row {row} (counted from 0) is not"
        raise KerhrmError(f"{problem}; {where}", "drop such rows")
    return z
