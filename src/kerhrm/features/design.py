"""Columns of a regression, made a block of points at a time.

The columns of all points would fill the memory long before their sums do, so they are
made, used and dropped :data:`ROWS` points at a time; what is kept of a point is its
kernel with the landmarks, in single precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

#: points whose columns are held at once, in float64: 10 MB with 300 landmarks
ROWS = 2**12

#: rows of some points, and their columns (m, q)
Block = tuple[slice, np.ndarray]


@dataclass(frozen=True)
class Design:
    """Columns of n points: their inputs, and tangent features if there are any.

    Attributes
    ----------
    inputs : ndarray, (n, d)
        float32 or float64.
    scale : float
        Factor of the inputs.
    kernel : ndarray, (n, m), or None
        kappa(x, landmarks) of every point; None: the inputs are all columns.
    span : ndarray, (m, r), or None
        Tangent features are ``kernel @ span``.
    """

    inputs: np.ndarray
    scale: float = 1.0
    kernel: np.ndarray | None = None
    span: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def blocks(self) -> Iterator[Block]:
        """Rows and their columns, float64, of all points in order."""
        if len(self) <= ROWS:
            yield slice(0, len(self)), self._whole
            return
        for start in range(0, len(self), ROWS):
            rows = slice(start, min(start + ROWS, len(self)))
            yield rows, self._columns(rows)

    @cached_property
    def _whole(self) -> np.ndarray:
        return self._columns(slice(0, len(self)))

    def _columns(self, rows: slice) -> np.ndarray:
        inputs = self.scale * self.inputs[rows].astype(float)
        if self.kernel is None or self.span is None:
            return inputs
        tangents = self.kernel[rows].astype(float) @ self.span
        return np.column_stack([inputs, tangents])

    def variance(self) -> float:
        """Sum of the columns' variances."""
        mean = sum(columns.sum(0) for _, columns in self.blocks()) / len(self)
        squares = (((columns - mean) ** 2).sum(0) for _, columns in self.blocks())
        return float((sum(squares) / len(self)).sum())
