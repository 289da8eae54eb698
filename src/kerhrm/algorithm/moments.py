"""Second moments of weighted points, for many weightings at once."""

from collections.abc import Iterator

import torch
from torch import Tensor

#: entries of all products psi_a psi_b up to which they are stored: 0.5 GB in float64
PRODUCTS_LIMIT = 2**26


#: entries of Psi that are weighted at once: 64 MB in float64
CHUNK = 2**23


def weighted_moments(psi: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Psi^T R_j Psi (J, k, k) and Psi^T R_j y (J, k) with R_j = diag(weights_j).

    Of points (n, k), (n,) and J weightings (J, n), in chunks of points, so that no
    second n x k array is made.
    """
    k = psi.shape[-1]
    second = psi.new_zeros(len(weights), k, k)
    for rows in _chunks(psi):
        chunk = psi[rows]
        for j, weighting in enumerate(weights):
            weighted = chunk * weighting[rows, None]
            second[j] += weighted.mT @ chunk
    cross = (weights * y) @ psi
    return second, cross


class ClusterMoments:
    """Moments of every cluster of many mixtures on one data set, psi (n, k) and y (n,).

    Where it fits, the products psi_a psi_b of all points are stored once as an n x
    k(k+1)/2 matrix, so that the moments of every mixture and cluster are one matrix
    product.  The last cluster's are what the others leave of the sum: responsibilities
    add up to ``counts`` (n,).
    """

    def __init__(self, psi: Tensor, y: Tensor, counts: Tensor) -> None:
        n, k = psi.shape
        self.psi = psi
        self.y = y
        second, cross = weighted_moments(psi, y, counts[None])
        self.total_second = second[0]
        self.total_cross = cross[0]
        self.products: Tensor | None = None
        n_products = k * (k + 1) // 2
        if n * n_products <= PRODUCTS_LIMIT:
            rows, columns = torch.triu_indices(k, k, device=psi.device)
            self.products = psi[:, rows] * psi[:, columns]
            self.psi_y = psi * y[:, None]
            position = torch.empty(k, k, dtype=torch.int64, device=psi.device)
            position[rows, columns] = torch.arange(len(rows), device=psi.device)
            position[columns, rows] = position[rows, columns]
            self.unpack = position.flatten()

    def weighted(self, r: Tensor) -> tuple[Tensor, Tensor]:
        """Moments (R, K, k, k) and (R, K, k) of responsibilities (R, K, n)."""
        n_mixtures, n_clusters, _ = r.shape
        all_but_last = (n_mixtures, n_clusters - 1)
        weightings = r[:, :-1].flatten(0, 1)  # (R (K - 1), n)
        if self.products is not None:
            packed = weightings @ self.products
            unpacked = packed.index_select(1, self.unpack)
            second = unpacked.unflatten(1, self.total_second.shape)
            cross = weightings @ self.psi_y
        else:
            second, cross = weighted_moments(self.psi, self.y, weightings)
        second = second.unflatten(0, all_but_last)
        cross = cross.unflatten(0, all_but_last)
        last_second = self.total_second - second.sum(1)
        last_cross = self.total_cross - cross.sum(1)
        second = torch.cat([second, last_second.unsqueeze(1)], 1)
        cross = torch.cat([cross, last_cross.unsqueeze(1)], 1)
        return second, cross


def _chunks(psi: Tensor) -> Iterator[slice]:
    """Slices of points whose rows of psi have at most ``CHUNK`` entries."""
    n = len(psi)
    step = max(1, CHUNK * n // max(1, psi.numel()))
    for first in range(0, n, step):
        yield slice(first, first + step)
