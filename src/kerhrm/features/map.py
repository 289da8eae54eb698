"""From points to reduced neural tangent features: fit on training points, map new ones."""

import os
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.features.extract import TangentFeatures, extract
from kerhrm.features.reduction import Reduction, reduce
from kerhrm.networks.build import load_network, save_network
from kerhrm.networks.protocol import Network


@dataclass(frozen=True)
class NTFMap:
    """psi(x) = phi(x)^T V of B networks, V from the truncated SVD of their training points' Phi.

    Attributes
    ----------
    network : Network
        w_0.
    x : Tensor, (B, n, d)
        Training points.
    ntf : TangentFeatures, (B, n, p)
        Of the training points.
    f0 : Tensor, (B, n), float64
        Outputs of the untrained networks on them.
    reduction : Reduction
        U and S; ``reduction.psi`` are the training points' reduced features.
    """

    network: Network
    x: Tensor
    ntf: TangentFeatures
    f0: Tensor
    reduction: Reduction

    @classmethod
    def fit(cls, network: Network, x: Tensor, k: int) -> "NTFMap":
        """Decompose the features of points (B, n, d) at w_0 to k dimensions.

        Raises
        ------
        KerhrmError
            If k exceeds n or the features' rank.
        """
        ntf, f0 = extract(network, x)
        return cls(network, x, ntf, f0.double(), reduce(ntf.kernel(ntf), k))

    def transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Reduced features psi (B, m, k) and outputs f_0 (B, m) of points (B, m, d); float64."""
        ntf, f0 = extract(self.network, x)
        return self.reduction.project(ntf.kernel(self.ntf)), f0.double()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write w_0, training points, U and S to one file; the rest follows from them."""
        save_network(path, self.network, x=self.x, u=self.reduction.u, s=self.reduction.s)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: torch.device | str = "cpu") -> "NTFMap":
        """Read what :meth:`save` wrote."""
        network, saved = load_network(path, device)
        ntf, f0 = extract(network, saved["x"])
        return cls(network, saved["x"], ntf, f0.double(), Reduction(saved["u"], saved["s"]))
