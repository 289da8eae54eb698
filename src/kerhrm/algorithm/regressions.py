"""Ridge regressions of the clusters, for the M step.

For responsibilities r_j of each cluster j, R_j = diag(r_j):

    Theta_j = (Psi^T R_j Psi + ridge I)^-1 Psi^T R_j y.
"""

from typing import Protocol

import torch
from torch import Tensor

from kerhrm.algorithm.problem import weighted_moments

#: entries of all products psi_a psi_b up to which they are stored: 0.5 GB in float64
PRODUCTS_LIMIT = 2**26
#: points beyond which each product of two columns lies together in memory: sums over
#: the points, which the cache does not hold, take half the time
MANY_POINTS = 2**13
#: k and n k^2 from which a processor is faster by conjugate gradients
MANY_FEATURES = 2**7
LARGE_SYSTEM = 2**30


class Regressions(Protocol):
    """A way to solve for the coefficients of all clusters of R mixtures."""

    def solve(self, r: Tensor, ridge: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
        """Coefficients (R, K, k), and whether a system is singular: (), bool.

        Parameters
        ----------
        r : Tensor, (R, K, n)
            Responsibilities, times the weights of the points.
        ridge : Tensor, (R,)
            Positive.
        near : Tensor, (R, K, k)
            Coefficients to begin with, for those who search.
        """


def is_large(psi: Tensor) -> bool:
    """Whether the moments of psi (n, k) cost more than conjugate gradients.

    Several data sets are small, and a GPU multiplies fast enough.
    """
    if psi.ndim > 2 or psi.is_cuda:
        return False
    n, k = psi.shape
    return k >= MANY_FEATURES and n * k**2 >= LARGE_SYSTEM


class ClusterMoments:
    """Moments of every cluster of many mixtures, psi (n, k) and y (n,).

    Where it fits, the products psi_a psi_b of all points are stored once as an n x
    k(k+1)/2 matrix, so that the moments of every mixture and cluster are one matrix
    product; of several data sets, (S, n, k) and (S, n), they are in any case.  The last
    cluster's moments are what the others leave of the sum: responsibilities add up to
    ``counts`` (n,).
    """

    def __init__(self, psi: Tensor, y: Tensor, counts: Tensor) -> None:
        n, k = psi.shape[-2:]
        self.psi = psi
        self.y = y
        self.products: Tensor | None = None
        n_products = k * (k + 1) // 2
        several = psi.ndim == 3
        if several or n * n_products <= PRODUCTS_LIMIT:
            self.products = column_products(psi)
            self.psi_y = psi * y[..., None]
            rows, columns = torch.triu_indices(k, k, device=psi.device)
            position = torch.empty(k, k, dtype=torch.int64, device=psi.device)
            numbers = torch.arange(len(rows), device=psi.device)
            position[rows, columns] = numbers
            position[columns, rows] = numbers
            self.unpack = position.flatten()
        if several:
            everyone = counts.expand(len(psi), 1, n)
            second, cross = self._moments(everyone)
            self.total_second = second.squeeze(1)
            self.total_cross = cross.squeeze(1)
        else:
            everyone = counts[None]
            self.total_second, self.total_cross = weighted_moments(psi, y, everyone)

    def weighted(self, r: Tensor) -> tuple[Tensor, Tensor]:
        """Moments (R, K, k, k) and (R, K, k) of responsibilities (R, K, n)."""
        but_last = r[:, :-1]
        second, cross = self._moments(but_last)
        n_mixtures = len(r)
        total_second = repeated(self.total_second, n_mixtures)
        total_cross = repeated(self.total_cross, n_mixtures)
        last_second = total_second - second.sum(1)
        last_cross = total_cross - cross.sum(1)
        last_second_row = last_second.unsqueeze(1)
        second = torch.cat([second, last_second_row], 1)
        last_cross_row = last_cross.unsqueeze(1)
        cross = torch.cat([cross, last_cross_row], 1)
        return second, cross

    def solve(self, r: Tensor, ridge: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
        """As :class:`Regressions`."""
        del near
        second, cross = self.weighted(r)
        return solutions(second, cross, ridge[:, None])

    def _moments(self, weightings: Tensor) -> tuple[Tensor, Tensor]:
        """Moments (R, J, k, k) and (R, J, k) of weightings (R, J, n) of the points."""
        k = self.psi.shape[-1]
        shape = weightings.shape[:-1]
        if self.products is not None:
            packed = products(weightings, self.products)
            unpacked = packed.index_select(-1, self.unpack)
            second = unpacked.reshape(*shape, k, k)
            return second, products(weightings, self.psi_y)
        flat = weightings.flatten(0, 1)
        second, cross = weighted_moments(self.psi, self.y, flat)
        return second.reshape(*shape, k, k), cross.reshape(*shape, k)


def column_products(psi: Tensor) -> Tensor:
    """Products psi_a psi_b, a <= b, of each point: (..., n, k) to (..., n,
    k(k+1)/2), in the order of ``torch.triu_indices``."""
    *shape, k = psi.shape
    n_products = k * (k + 1) // 2
    if psi.ndim == 2 and len(psi) > MANY_POINTS:
        psi = psi.mT.contiguous().mT
        packed = psi.new_empty(n_products, len(psi)).mT
    else:
        packed = psi.new_empty(*shape, n_products)
    first = 0
    for a in range(k):  # several times faster than two gathers
        stop = first + k - a
        torch.mul(psi[..., a:], psi[..., a : a + 1], out=packed[..., first:stop])
        first = stop
    return packed


def products(left: Tensor, right: Tensor) -> Tensor:
    """Products of (..., J, a) with (a, b), or of (R, J, a) with those of their data
    sets, (S, a, b)."""
    *shape, _ = left.shape
    if right.ndim == 2:
        flat = left.flatten(0, -2)
    else:
        n_sets, n_inner, _ = right.shape
        n_mixtures, n_rows = shape
        of_each_set = n_mixtures // n_sets * n_rows
        flat = left.reshape(n_sets, of_each_set, n_inner)
    flat_products = flat @ right
    return flat_products.reshape(*shape, right.shape[-1])


def repeated(of_sets: Tensor, n_mixtures: int) -> Tensor:
    """Repeat the values of each data set (S, ...) for each of its mixtures (R, ...)."""
    n_sets = len(of_sets)
    if n_sets == 1:
        return of_sets
    return of_sets.repeat_interleave(n_mixtures // n_sets, 0)


def solutions(second: Tensor, cross: Tensor, penalty: Tensor) -> tuple[Tensor, Tensor]:
    """(A_j + penalty_j I)^-1 b_j of A (..., k, k), in its place, b (..., k) and
    penalties (...).

    And whether one of them is singular, which a GPU need not wait for.
    """
    diagonal = second.diagonal(dim1=-2, dim2=-1)
    diagonal.add_(penalty.unsqueeze(-1))
    factor, failures = torch.linalg.cholesky_ex(second)
    column = cross.unsqueeze(-1)
    solution = torch.cholesky_solve(column, factor)
    return solution.squeeze(-1), failures.any()
