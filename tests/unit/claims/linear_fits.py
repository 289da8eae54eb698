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
    identity = torch.eye(len(y), dtype=features.dtype)
    system = features @ features.mT + ridge * identity
    dual = torch.linalg.solve(system, y)
    return features.mT @ dual


def written_out(ntf: FactoredNTF) -> Tensor:
    """Phi (n, p), float64."""
    columns = []
    for inputs, deltas in zip(ntf.inputs, ntf.deltas, strict=True):
        of_biases = deltas.double()
        points = inputs.double()
        columns_of_deltas = of_biases.unsqueeze(-1)
        of_weights = columns_of_deltas * points.unsqueeze(-2)
        columns.append(of_weights.flatten(1))
        columns.append(of_biases)
    return torch.cat(columns, -1)
