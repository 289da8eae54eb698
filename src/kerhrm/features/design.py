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

    def varies(self) -> bool:
        """Whether any two points differ; their columns are functions of the inputs."""
        return bool((self.inputs != self.inputs[0]).any())

    def blocks(self) -> Iterator[Block]:
        """Rows and their columns, float64, of all points in order."""
        n = len(self)
        if n <= ROWS:
            yield slice(0, n), self._whole
            return
        for rows in self._slices():
            yield rows, self._columns(rows)

    def times(self, matrix: np.ndarray, mean: np.ndarray) -> Iterator[Block]:
        """Rows and (columns - mean (q,)) matrix (q, r), of all points in order.

        Of many points tangent features are not made: their kernel is multiplied by
        ``span @ matrix``.
        """
        few = len(self) <= ROWS
        if few or self.kernel is None or self.span is None:
            for rows, columns in self.blocks():
                centred = columns - mean
                yield rows, centred @ matrix
            return
        _, d = self.inputs.shape
        of_inputs = matrix[:d]
        of_tangents = matrix[d:]
        of_kernel = self.span @ of_tangents
        centre = mean[d:] @ of_tangents
        for rows in self._slices():
            product = self._kernel(rows) @ of_kernel
            inputs = self._scaled(rows) - mean[:d]
            product += inputs @ of_inputs - centre
            yield rows, product

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sums (q,) of the columns over all points, weighted by (n,)."""
        few = len(self) <= ROWS
        if few or self.kernel is None or self.span is None:
            sums_of_blocks = []
            for rows, columns in self.blocks():
                weighted = weights[rows, None] * columns
                sums_of_block = weighted.sum(0)
                sums_of_blocks.append(sums_of_block)
            return np.asarray(sum(sums_of_blocks))
        _, d = self.inputs.shape
        of_inputs = np.zeros(d)
        of_kernel = 0.0
        for rows in self._slices():
            inputs = self.inputs[rows].astype(float)
            kernel = self._kernel(rows)
            weights_of_rows = weights[rows]
            of_inputs += weights_of_rows @ inputs
            kernel_sums = weights[rows] @ kernel
            of_kernel = of_kernel + kernel_sums
        of_tangents = of_kernel @ self.span
        scaled = self.scale * of_inputs
        return np.concatenate([scaled, of_tangents])

    def _slices(self) -> Iterator[slice]:
        """Slices of at most :data:`ROWS` points, in order."""
        n = len(self)
        for start in range(0, n, ROWS):
            stop = min(start + ROWS, n)
            yield slice(start, stop)

    def _kernel(self, rows: slice) -> np.ndarray:
        """Some rows of the kernel, in double precision."""
        assert self.kernel is not None  # its callers have tangent features
        return self.kernel[rows].astype(float)

    def _scaled(self, rows: slice) -> np.ndarray:
        """Some rows of the inputs as columns, in double precision."""
        inputs = self.inputs[rows].astype(float)
        return self.scale * inputs

    @cached_property
    def _whole(self) -> np.ndarray:
        every_row = slice(0, len(self))
        return self._columns(every_row)

    def _columns(self, rows: slice) -> np.ndarray:
        inputs = self._scaled(rows)
        if self.kernel is None or self.span is None:
            return inputs
        tangents = self._kernel(rows) @ self.span
        return np.column_stack([inputs, tangents])

    def variance(self) -> float:
        """Sum of the columns' variances."""
        n = len(self)
        equal = np.ones(n)
        mean = self.sums(equal) / n
        squares = np.zeros_like(mean)
        for _, columns in self.blocks():
            distances = columns - mean
            squares_of_block = (distances**2).sum(0)
            squares = squares + squares_of_block
        variances = squares / n
        return float(variances.sum())
