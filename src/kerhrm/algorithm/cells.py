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

        Numbers z (n, c); the seed starts k-means.  There are at most ``n_cells`` cells,
        fewer where a quantile bin would have less than 30 points.

        Raises KerhrmError if z is not a finite table with a row for each point, or is
        constant.
        """
        z = _checked(z)
        mean, scale = z.mean(0), np.where(z.std(0) > 0, z.std(0), 1.0)
        rows = np.unique(z, axis=0)
        if len(rows) < 2:
            raise KerhrmError(
                "the auxiliary variable is constant", "give a column that varies"
            )
        none = np.zeros((0, z.shape[1]))
        if z.shape[1] == 1:
            edges = (rows[1:, 0] + rows[:-1, 0]) / 2
            if len(rows) > n_cells:
                count = max(2, min(n_cells, len(z) // CELL_POINTS))
                edges = np.unique(np.quantile(z[:, 0], np.arange(1, count) / count))
            return cls(mean, scale, edges, none)
        centres = (rows - mean) / scale
        if len(rows) > n_cells:
            from scipy.cluster.vq import kmeans2  # slow to import

            random = stream(seed, "auxiliary", "cells")
            points = (z - mean) / scale
            centres, labels = kmeans2(points, n_cells, minit="++", seed=random)
            centres = centres[np.unique(labels)]
        return cls(mean, scale, np.zeros(0), centres)

    def of(self, z: np.ndarray) -> Tensor:
        """Cell (m,), int64, of each row of an auxiliary variable (m, c).

        Raises KerhrmError if z is not finite, or has other columns than in training.
        """
        z = _checked(z)
        if z.shape[1] != len(self.mean):
            d = len(self.mean)
            text = f"the auxiliary variable must have {d} columns; got {z.shape[1]}"
            raise KerhrmError(text, "give the columns of the training")
        if len(self.mean) == 1:
            return torch.from_numpy(np.searchsorted(self.edges, z[:, 0], side="left"))
        points = (z - self.mean) / self.scale
        distances = ((points[:, None] - self.centres) ** 2).sum(-1)
        return torch.from_numpy(distances.argmin(-1))

    def __len__(self) -> int:
        return len(self.edges) + 1 if len(self.mean) == 1 else len(self.centres)


def _checked(z: np.ndarray) -> np.ndarray:
    z = np.asarray(z, dtype=np.float64)
    if z.ndim != 2 or 0 in z.shape:
        text = (
            f"the auxiliary variable must be a table (n, columns); got shape {z.shape}"
        )
        raise KerhrmError(text, "give a row for each point and at least one column")
    if not np.isfinite(z).all():
        row = int(np.flatnonzero(~np.isfinite(z).all(-1))[0])
        text = (
            f"the auxiliary variable must be finite; row {row} (counted from 0) is not"
        )
        raise KerhrmError(text, "drop such rows")
    return z
