"""The one door to neural tangent features: factored where the network allows it."""

import os
from typing import Any, Protocol

import torch
from torch import Tensor

from kerhrm.features.ntf import FactoredNTF, factorise
from kerhrm.features.per_sample import PerSampleNTF
from kerhrm.networks.build import from_tensors
from kerhrm.networks.mlp import MLP
from kerhrm.networks.protocol import Network
from kerhrm.storage.records import load_tensors


class TangentFeatures(Protocol):
    """Phi(X) of B networks, (B, n, p), which nobody has to form."""

    def kernel(self, other: Any) -> Tensor:
        """Phi(X) Phi(X')^T, (B, n, n'), with features of the same networks."""

    def save(self, path: str | os.PathLike[str], f0: Tensor) -> None:
        """Write them and f_0 (B, n) to one file, which ``load_ntf`` reads."""


def extract(network: Network, x: Tensor) -> tuple[TangentFeatures, Tensor]:
    """Neural tangent features and outputs of B networks at w_0.

    Parameters
    ----------
    network : Network
    x : Tensor, (B, n, d)

    Returns
    -------
    ntf : TangentFeatures
        Phi, (B, n, p).
    f0 : Tensor, (B, n)
        f_{w_0}(x), the offset that is kept in every later step.
    """
    if isinstance(network, MLP):
        return factorise(network, x)
    with torch.no_grad():
        return PerSampleNTF(network, x), network(x)


def load_ntf(
    path: str | os.PathLike[str], device: torch.device | str = "cpu"
) -> tuple[TangentFeatures, Tensor]:
    """Read what :meth:`TangentFeatures.save` wrote: the features and f_0."""
    tensors, facts = load_tensors(path, device)
    if facts:  # of a network
        return PerSampleNTF(from_tensors(tensors, facts), tensors["x"]), tensors["f0"]
    return FactoredNTF.among(tensors), tensors["f0"]
