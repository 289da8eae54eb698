"""What an invariant direction leaves over: Psi_V, the features of the next M_c."""

import torch
from torch import Tensor


def orthogonal_update(psi: Tensor, theta: Tensor) -> Tensor:
    """Psi_V = Psi - (Psi theta) theta^T / |theta|^2 (paper, equation "transform").

    Always taken from Psi, never from the last Psi_V, so the result depends on the
    newest theta alone.

    Parameters
    ----------
    psi : Tensor, (..., n, k)
    theta : Tensor, (..., k); where it is zero, Psi is returned unchanged

    Returns
    -------
    Tensor, (..., n, k), rows orthogonal to theta
    """
    length = theta.norm(dim=-1, keepdim=True)
    unit = torch.where(length > 0, theta / length, 0.0)
    return psi - (psi @ unit.unsqueeze(-1)) * unit.unsqueeze(-2)
