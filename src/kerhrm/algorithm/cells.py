"""Cells of an auxiliary variable.

Its values as a few numbers that environments may depend on.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

CELL_POINTS = 30  #: of which a quantile bin has at least as many


@dataclass(frozen=True)
class Cells:
    """Cells of an auxiliary variable.

    One column is cut at ``edges``.  Several columns, standardised by ``mean`` and
    ``scale``, belong to the nearest of ``centres``.  Rows that were not in training
    have a cell, too.

    Attributes
    ----------
    mean, scale : ndarray, (c,)
    edges : ndarray, (C - 1,)
        Empty where there are several columns.
    centres : ndarray, (C, c)
        Empty where there is one column.
    """

    mean: np.ndarray
    scale: np.ndarray
    edges: np.ndarray
    centres: np.ndarray

    @classmethod
    def fit(cls, z: np.ndarray, n_cells: int = 10, seed: int = 0) -> "Cells":
        """Cut the auxiliary variable of the training points into cells.

        Distinct rows are cells where there are at most ``n_cells`` (categories, given
        as numbers, and crossed categories).  Otherwise one column is cut into quantile
        bins, and several columns by k-means.  Columns of indicators suit a category
        with many values.

        Parameters
        ----------
        z : ndarray, (n, c)
            Numbers, with a row for each point.
        n_cells : int
            Cells at most; fewer where a quantile bin would have less than 30 points.
        seed : int
            Starts k-means.

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
        if n_columns == 1:
            column = z[:, 0]
            values = distinct[:, 0]
            edges = _edges(column, values, n_cells)
            no_centres = np.zeros((0, 1))
            return cls(mean, scale, edges, centres=no_centres)
        centres = (distinct - mean) / scale
        if len(distinct) > n_cells:
            points = (z - mean) / scale
            centres = _centres(points, n_cells, seed)
        no_edges = np.zeros(0)
        return cls(mean, scale, edges=no_edges, centres=centres)

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
            return torch.from_numpy(numbers)
        points = (z - self.mean) / self.scale
        differences = points[:, None] - self.centres
        distances = (differences**2).sum(-1)
        nearest = distances.argmin(-1)
        return torch.from_numpy(nearest)

    def __len__(self) -> int:
        n_columns = len(self.mean)
        if n_columns == 1:
            return len(self.edges) + 1
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
    return edges[edges < largest]  # a cell above the largest value would be empty


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
