"""Weighted second moments Psi^T R_j Psi and Psi^T R_j y, in bounded memory."""

from collections.abc import Iterator

import torch
from torch import Tensor

#: entries of the layout of products below which it is made: 0.5 GB in float64
PRODUCTS_LIMIT = 2**26
#: entries of Psi that are weighted at once: 64 MB in float64
CHUNK = 2**23


def weighted_moments(psi: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Psi^T R_j Psi (..., J, k, k) and Psi^T R_j y (..., J, k), R_j = diag(weights_j).

    Of points (..., n, k), (..., n) and J weightings (..., J, n).  Only a chunk of weighted
    points is held at a time, one weighting after the other, so that no n x k array is made.
    """
    second = psi.new_zeros(*weights.shape[:-1], psi.shape[-1], psi.shape[-1])
    for rows in chunks(psi):
        for j in range(weights.shape[-2]):
            weighted = psi[..., rows, :] * weights[..., j, rows].unsqueeze(-1)
            second[..., j, :, :] += weighted.mT @ psi[..., rows, :]
    cross = (weights * y.unsqueeze(-2)) @ psi
    return second, cross


def chunks(psi: Tensor) -> Iterator[slice]:
    """Cut the points of psi (..., n, k) into slices of at most ``CHUNK`` entries."""
    n = psi.shape[-2]
    step = max(1, CHUNK * n // max(1, psi.numel()))
    return (slice(first, first + step) for first in range(0, n, step))


class ClusterMoments:
    """The moments of every cluster of many mixtures on one data set, psi (n, k) and y (n,).

    Where it fits, the products psi_a psi_b of all points are laid out once as an
    n x k(k+1)/2 matrix, so that the moments of every mixture and cluster are one matrix
    product; where it does not, points are weighted for one after the other.  The last cluster's
    are what the others leave of the sum, since responsibilities add up to one.
    """

    def __init__(self, psi: Tensor, y: Tensor) -> None:
        n, k = psi.shape
        self.psi, self.y = psi, y
        second, cross = weighted_moments(psi, y, psi.new_ones(1, n))
        self.total_second, self.total_cross = second[0], cross[0]
        self.products: Tensor | None = None
        if n * k * (k + 1) // 2 <= PRODUCTS_LIMIT:
            rows, columns = torch.triu_indices(k, k, device=psi.device)
            self.products = psi[:, rows] * psi[:, columns]
            self.psi_y = psi * y[:, None]
            position = torch.empty(k, k, dtype=torch.int64, device=psi.device)
            position[rows, columns] = torch.arange(len(rows), device=psi.device)
            position[columns, rows] = position[rows, columns]
            self.unpack = position.flatten()

    def of(self, r: Tensor) -> tuple[Tensor, Tensor]:
        """Moments (R, K, k, k) and (R, K, k) of responsibilities (R, K, n)."""
        weightings = r[:, :-1].flatten(0, 1)  # (R (K - 1), n)
        if self.products is not None:
            packed = weightings @ self.products
            second = packed.index_select(1, self.unpack).unflatten(1, self.total_second.shape)
            cross = weightings @ self.psi_y
        else:
            second, cross = weighted_moments(self.psi, self.y, weightings)
        second, cross = (m.unflatten(0, (len(r), r.shape[1] - 1)) for m in (second, cross))
        rest_second = (self.total_second - second.sum(1)).unsqueeze(1)
        rest_cross = (self.total_cross - cross.sum(1)).unsqueeze(1)
        return torch.cat([second, rest_second], 1), torch.cat([cross, rest_cross], 1)
