"""Features of a network written out, and regressions on them by plain formulas."""

import torch
from torch import Tensor

from kerhrm.features.ntf import FactoredNTF


def svd(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
    return u, s, vt.mT


def ridge_fit(features: Tensor, y: Tensor, ridge: float) -> Tensor:
    """argmin |y - features w|^2 + ridge |w|^2, by the smaller system; (n, p), (n,) to
    (p,)."""
    system = features @ features.mT + ridge * torch.eye(len(y), dtype=features.dtype)
    return features.mT @ torch.linalg.solve(system, y)


def written_out(ntf: FactoredNTF) -> Tensor:
    """Phi (n, p), float64."""
    columns = []
    for a, d in zip(ntf.inputs, ntf.deltas, strict=True):
        a, d = a.double(), d.double()
        columns += [(d.unsqueeze(-1) * a.unsqueeze(-2)).flatten(1), d]
    return torch.cat(columns, -1)
