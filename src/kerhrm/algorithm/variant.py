"""Variant features Psi_V: what a clustering sees of the points."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Variant:
    """What a clustering sees: points' features, and directions taken out of them.

    Attributes
    ----------
    psi, psi_validation : Tensor, (n, k), (m, k)
        Features of the training and validation points.
    t : int
        Iteration, from 1; names the random streams.
    taken_out : sequence of Tensor, (k_max,)
        Directions that are projected out one after another; only the last one is
        orthogonal to Psi_V.
    """

    psi: Tensor
    psi_validation: Tensor
    t: int
    taken_out: Sequence[Tensor] = ()

    @property
    def k(self) -> int:
        """Number of features."""
        return self.psi.shape[-1]

    @property
    def stream(self) -> tuple[str, str]:
        """Name of the random streams."""
        return f"t={self.t}", f"k={self.k}"

    def project(self, psi: Tensor) -> Tensor:
        """Psi_V: features (n, k) without the directions."""
        for theta in self.taken_out:
            direction = theta[: self.k]
            psi = orthogonal_update(psi, direction)
        return psi

    def project_slopes(self, slopes: Tensor) -> Tensor:
        """Slopes (K, k) on Psi_V as slopes on Psi."""
        for theta in reversed(self.taken_out):
            direction = theta[: self.k]
            slopes = orthogonal_update(slopes, direction)
        return slopes


def orthogonal_update(psi: Tensor, theta: Tensor) -> Tensor:
    """Take a direction out of Psi (paper, equation "transform").

    ``Psi_V = Psi - (Psi theta) theta^T / |theta|^2`` of Psi (n, k) and theta (k,); Psi
    itself where theta is zero.
    """
    length = theta.norm()
    scaled = theta / length
    unit = torch.where(length > 0, scaled, 0.0)
    along = psi @ unit
    return psi - along[:, None] * unit
