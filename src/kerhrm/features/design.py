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

    def times(self, matrix: np.ndarray, mean: np.ndarray) -> Iterator[Block]:
        """Rows and (columns - mean (q,)) matrix (q, r), of all points in order.

        Of many points tangent features are not made: their kernel is multiplied by
        ``span @ matrix``.
        """
        if len(self) <= ROWS or self.kernel is None or self.span is None:
            for rows, columns in self.blocks():
                yield rows, (columns - mean) @ matrix
            return
        d = self.inputs.shape[1]
        of_kernel, centre = self.span @ matrix[d:], mean[d:] @ matrix[d:]
        for start in range(0, len(self), ROWS):
            rows = slice(start, min(start + ROWS, len(self)))
            product = self.kernel[rows].astype(float) @ of_kernel
            inputs = self.scale * self.inputs[rows].astype(float) - mean[:d]
            product += inputs @ matrix[:d] - centre
            yield rows, product

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sums (q,) of the columns over all points, weighted by (n,)."""
        if len(self) <= ROWS or self.kernel is None or self.span is None:
            parts = ((weights[rows, None] * columns) for rows, columns in self.blocks())
            return np.asarray(sum(part.sum(0) for part in parts))
        of_inputs, of_kernel = np.zeros(self.inputs.shape[1]), 0.0
        for start in range(0, len(self), ROWS):
            rows = slice(start, min(start + ROWS, len(self)))
            of_inputs += weights[rows] @ self.inputs[rows].astype(float)
            of_kernel = of_kernel + weights[rows] @ self.kernel[rows].astype(float)
        return np.concatenate([self.scale * of_inputs, of_kernel @ self.span])

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
        mean = self.sums(np.ones(len(self))) / len(self)
        squares = (((columns - mean) ** 2).sum(0) for _, columns in self.blocks())
        return float((sum(squares) / len(self)).sum())
