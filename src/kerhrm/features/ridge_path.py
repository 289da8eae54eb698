"""Ridge regressions of n points on q columns, by one decomposition.

The formulas are those of :mod:`kerhrm.features.ridge`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from kerhrm.features.design import ROWS, Block, Design
from kerhrm.threads import one_blas_thread

RIDGES = np.logspace(-6, 4, 21)  #: lambda, in units of the columns' mean square norm
RANK_TOLERANCE = 1e-10  #: of eigenvalues, as a share of the largest
LARGEST_LEVERAGE = 1 - 1e-6  #: beyond it a point is fitted whatever its label
#: above them, and above twice the points, the decomposition is that of the points
MANY_COLUMNS = 2000


@dataclass(frozen=True)
class RidgePath:
    """Ridge regressions of n points on q columns, for every lambda and any labels.

    Attributes
    ----------
    design : Design
        The columns.
    values, v : ndarray, (r,), (q, r)
        Of the centred columns: squared singular values, and right singular vectors.
    mean : ndarray, (q,)
        Of the columns.
    weights : ndarray, (n,)
        Of the points, of mean 1; sums over points are weighted sums, and left singular
        vectors have a factor of the weights' square root.
    units : ndarray, (n,)
        Equal draws that each point stands for: one of them is left out at a time.
    """

    design: Design
    values: np.ndarray
    v: np.ndarray
    mean: np.ndarray
    weights: np.ndarray
    units: np.ndarray

    @classmethod
    def decompose(
        cls,
        columns: Design | np.ndarray,
        weights: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> Self:
        """Decompose the columns of n points.

        Parameters
        ----------
        columns : Design or ndarray, (n, q)
            Columns of the regressions.
        weights : ndarray, (n,), optional
            Of the points, of mean 1; equal by default.
        units : ndarray, (n,), optional
            Equal draws that each point stands for; one by default.
        """
        design = columns if isinstance(columns, Design) else Design(columns)
        n = len(design)
        if weights is None:
            weights = np.ones(n)
        if units is None:
            units = np.ones(n)
        with one_blas_thread():
            mean = design.sums(weights) / n
            centred = _weighted_blocks(design, mean, weights)
            q = len(mean)
            many = max(MANY_COLUMNS, 2 * n)
            if q > many:
                eigenvalues, v = _by_points(centred)
            else:
                second = np.zeros((q, q))
                for block in centred:
                    second += block.T @ block
                eigenvalues, v = np.linalg.eigh(second)
        tiny = np.finfo(float).tiny
        floor = max(RANK_TOLERANCE * eigenvalues[-1], tiny)
        kept = eigenvalues > floor
        if not design.varies():  # what is left of the columns is their mean's rounding
            kept = np.zeros_like(kept)
        return cls(
            design=design,
            values=eigenvalues[kept],
            v=v[:, kept],
            mean=mean,
            weights=weights,
            units=units,
        )

    @cached_property
    def u(self) -> np.ndarray:
        """Left singular vectors, (n, r)."""
        blocks = [block for _, block in self._computed_left()]
        return np.concatenate(blocks)

    def _left_blocks(self) -> Iterator[Block]:
        """Rows and their left singular vectors, of all points in order."""
        n = len(self.design)
        if n <= ROWS:
            yield slice(0, n), self.u
        else:
            yield from self._computed_left()

    def _computed_left(self) -> Iterator[Block]:
        singular_values = np.sqrt(self.values)
        directions = self.v / singular_values
        for rows, left in self.design.times(directions, self.mean):
            weights_of_rows = self.weights[rows]
            root = np.sqrt(weights_of_rows)
            left *= root[:, None]
            yield rows, left

    def shrinkage(self, ridge: float) -> np.ndarray:
        """s^2 / (s^2 + lambda) of the directions, (r,)."""
        n = len(self.design)
        norm = self.values.sum() / n
        denominators = self.values + ridge * norm
        return self.values / denominators

    def _centred(self, y: np.ndarray) -> np.ndarray:
        """Labels less their mean, times the root of the weights."""
        weighted = self.weights * y
        mean = weighted.mean()
        root = np.sqrt(self.weights)
        deviations = y - mean
        return root * deviations

    @property
    def _own_share(self) -> np.ndarray:
        """Share (n,) of each point's unit in the mean of all labels."""
        n = len(self.weights)
        shares = self.weights / n
        return shares / self.units

    def _along(self, y: np.ndarray) -> np.ndarray:
        """Coordinates U^T y (r,) of labels (n,)."""
        centred = self._centred(y)
        n_directions = len(self.values)
        along = np.zeros(n_directions)
        for rows, u in self._left_blocks():
            centred_rows = centred[rows]
            along += u.T @ centred_rows
        return along

    def choose(self, y: np.ndarray) -> tuple[float, float]:
        """The lambda with the least leave-one-out error of labels (n,), and that error.

        Without any columns, or where every lambda fits some point exactly, the mean of
        the others predicts, and lambda is infinite.
        """
        n = len(y)
        centred = self._centred(y)
        kept_share = 1 - self._own_share
        left_out_residuals = centred / kept_share
        best_ridge = np.inf
        squared_residuals = left_out_residuals**2
        least_error = float(np.mean(squared_residuals))
        if len(self.values) == 0:
            return best_ridge, least_error
        squares, leverage = self._by_ridge(y)
        errors = squares / n
        candidates = zip(RIDGES, errors, leverage, strict=True)
        for ridge, error, highest in candidates:
            usable = highest <= LARGEST_LEVERAGE
            if usable and error < least_error:
                best_ridge = float(ridge)
                least_error = float(error)
        return best_ridge, least_error

    def _by_ridge(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum of squared leave-one-out residuals, and largest leverage, of each of
        :data:`RIDGES`."""
        n = len(y)
        centred = self._centred(y)
        n_ridges = len(RIDGES)
        squares = np.zeros(n_ridges)
        leverage = np.zeros(len(RIDGES))
        with one_blas_thread():
            along_directions = self._along(y)
            along = along_directions[:, None]
            of_ridges = [self.shrinkage(ridge) for ridge in RIDGES]
            shrinkages = np.column_stack(of_ridges)
            for rows, u in self._left_blocks():
                of_mean = self.weights[rows, None] / n
                h = of_mean + u**2 @ shrinkages
                h /= self.units[rows, None]
                shrunk = shrinkages * along
                fitted = u @ shrunk
                labels = centred[rows, None]
                residuals = labels - fitted
                highest = h.max(0)
                leverage = np.maximum(leverage, highest)
                with np.errstate(divide="ignore", invalid="ignore"):
                    left_out_residuals = residuals / (1 - h)
                    squares_of_rows = (left_out_residuals**2).sum(0)
                    squares += squares_of_rows
        return squares, leverage

    def leave_one_out(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Predictions of each label (n,) by all others, and their mean squared error,
        with the lambda of :meth:`choose`."""
        ridge, error = self.choose(y)
        predictions = self.left_out(y, ridge)
        return predictions, error

    def left_out(self, y: np.ndarray, ridge: float) -> np.ndarray:
        """Predictions of each label (n,) by all others, with a lambda."""
        n = len(y)
        root = np.sqrt(self.weights)
        centred = self._centred(y)
        if np.isinf(ridge):
            kept_share = 1 - self._own_share
            left_out_residuals = centred / kept_share
            corrections = left_out_residuals / root
            return np.asarray(y - corrections)
        predictions = np.empty(n)
        shrinkage = self.shrinkage(ridge)
        with one_blas_thread():
            along = self._along(y)
            for rows, u in self._left_blocks():
                of_mean = self.weights[rows] / n
                h = of_mean + u**2 @ shrinkage
                h = h / self.units[rows]
                h = np.minimum(h, LARGEST_LEVERAGE)
                shrunk = shrinkage * along
                fitted = u @ shrunk
                residuals = centred[rows] - fitted
                left_out_residuals = residuals / (1 - h)
                correction = left_out_residuals / root[rows]
                predictions[rows] = y[rows] - correction
        return predictions

    def solve(self, y: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
        """Coefficients beta (q,) and intercept b of labels (n,)."""
        weighted = self.weights * y
        mean = weighted.mean()
        if np.isinf(ridge):
            no_slopes = np.zeros_like(self.mean)
            return no_slopes, float(mean)
        with one_blas_thread():
            along = self._along(y)
            lengths = np.sqrt(self.values)
            inverse = self.shrinkage(ridge) / lengths
            coefficients = inverse * along
            beta = self.v @ coefficients
        intercept = mean - self.mean @ beta
        return beta, float(intercept)


def _weighted_blocks(
    design: Design, mean: np.ndarray, weights: np.ndarray
) -> Iterator[np.ndarray]:
    """Columns (b, q) less their mean, times the root of the weights, block by block."""
    root_of_weights = np.sqrt(weights)
    root = root_of_weights[:, None]
    for rows, block in design.blocks():
        centred = block - mean
        yield root[rows] * centred


def _by_points(centred: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (n,) of Z^T Z and its eigenvectors (q, n), by those of Z Z^T (n, n).

    Of vectors with eigenvalue zero only the length may be wrong; nobody keeps them.
    """
    blocks = list(centred)
    z = np.concatenate(blocks)
    gram = z @ z.T
    eigenvalues, u = np.linalg.eigh(gram)
    tiny = np.finfo(float).tiny
    positive = np.maximum(eigenvalues, tiny)
    lengths = np.sqrt(positive)
    directions = u / lengths
    return eigenvalues, z.T @ directions
