"""From points to reduced neural tangent features: fit on training points, map new ones."""

import os
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.features.extract import TangentFeatures, extract
from kerhrm.features.reduction import Reduction, reduce
from kerhrm.networks.build import from_arrays, to_arrays
from kerhrm.networks.protocol import Network
from kerhrm.storage.arrays import load_arrays, save_arrays


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
        """Extract the training points' features and decompose them.

        Parameters
        ----------
        network : Network
            B networks at w_0.
        x : Tensor, (B, n, d)
        k : int
            Reduced dimension.

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
        tensors = {"x": self.x, "u": self.reduction.u, "s": self.reduction.s}
        arrays = {name: t.cpu().numpy() for name, t in tensors.items()}
        save_arrays(path, arrays | to_arrays(self.network), self.network.facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: torch.device | str = "cpu") -> "NTFMap":
        """Read what :meth:`save` wrote."""
        arrays, facts = load_arrays(path)
        network = from_arrays(arrays, facts).to(device)
        x, u, s = (torch.from_numpy(arrays[name]).to(device) for name in ("x", "u", "s"))
        ntf, f0 = extract(network, x)
        return cls(network, x, ntf, f0.double(), Reduction(u, s))
