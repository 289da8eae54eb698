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
    """Reduced features psi(x) = phi(x)^T V of B networks.

    V is from the truncated singular value decomposition of their training points' Phi.

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

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, NTFMap, build
    >>> x = torch.randn(1, 50, 3, generator=torch.Generator().manual_seed(0))
    >>> features = NTFMap.fit(build(NetworkOptions(widths=[32]), [0], 3), x, k=4)
    >>> psi, f0 = features.transform(x)
    >>> psi.shape, bool(torch.allclose(psi, features.reduction.psi, atol=1e-4))
    (torch.Size([1, 50, 4]), True)
    """

    network: Network
    x: Tensor
    ntf: TangentFeatures
    f0: Tensor
    reduction: Reduction

    @classmethod
    def fit(cls, network: Network, x: Tensor, k: int) -> "NTFMap":
        """Decompose the features of points at w_0.

        Parameters
        ----------
        network : Network
            w_0 of B networks.
        x : Tensor, (B, n, d)
            Training points.
        k : int
            Dimensions to keep.

        Returns
        -------
        NTFMap
            Which maps new points, too.

        Raises
        ------
        KerhrmError
            If k exceeds n or the features' rank.
        """
        ntf, f0 = extract(network, x)
        return cls(network, x, ntf, f0.double(), reduce(ntf.kernel(ntf), k))

    def transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map new points, in float64.

        Parameters
        ----------
        x : Tensor, (B, m, d)
            Points.

        Returns
        -------
        psi : Tensor, (B, m, k)
            Their reduced features.
        f0 : Tensor, (B, m)
            Outputs of the untrained networks.
        """
        ntf, f0 = extract(self.network, x)
        return self.reduction.project(ntf.kernel(self.ntf)), f0.double()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write w_0, training points, U and S to one file; the rest follows from them.

        Parameters
        ----------
        path : path-like
            Ending in ``.npz``.
        """
        save_network(path, self.network, x=self.x, u=self.reduction.u, s=self.reduction.s)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: torch.device | str = "cpu") -> "NTFMap":
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : path-like
            Of the file.
        device : torch.device or str
            Where its tensors are to be.

        Returns
        -------
        NTFMap
            As it was.
        """
        network, saved = load_network(path, device)
        ntf, f0 = extract(network, saved["x"])
        return cls(network, saved["x"], ntf, f0.double(), Reduction(saved["u"], saved["s"]))
