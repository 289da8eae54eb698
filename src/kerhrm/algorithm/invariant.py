"""M_p: the invariant direction theta_inv in closed form, and what it leaves over."""

import torch
from torch import Tensor


def environment_risks(psi: Tensor, y: Tensor, responsibilities: Tensor) -> tuple[Tensor, Tensor]:
    """Second moments of every environment.

    With squared loss L^e(theta) = theta^T A_e theta - 2 b_e^T theta + const, where
    A_e = Psi^T R_e Psi / N_e,  b_e = Psi^T R_e y / N_e,  N_e = sum_i r_ie: soft
    environments enter as weights.

    Parameters
    ----------
    psi : Tensor, (..., n, k)
    y : Tensor, (..., n)
    responsibilities : Tensor, (..., n, K)

    Returns
    -------
    second : Tensor, (..., K, k, k)
    cross : Tensor, (..., K, k)
    """
    tiny = torch.finfo(psi.dtype).tiny
    shares = responsibilities / responsibilities.sum(-2, keepdim=True).clamp_min(tiny)
    weighted = shares.mT.unsqueeze(-1) * psi.unsqueeze(-3)  # (..., K, n, k)
    return weighted.mT @ psi.unsqueeze(-3), (weighted.mT @ y[..., None, :, None]).squeeze(-1)


def invariant_direction(
    psi: Tensor,
    y: Tensor,
    responsibilities: Tensor,
    alpha: Tensor | float,
    *,
    ridge: float = 0.0,
    whiten: bool = False,
    shares: bool = False,
) -> Tensor:
    """theta_inv of the paper's equation "theta_inv", as one k x k linear solve.

    Minimises, with w_e = 1/K (or w_e = N_e / n if ``shares``),

        sum_e w_e L^e(theta) + alpha sum_e w_e |grad L^e - sum_f w_f grad L^f|_M^2
        + rho |theta|^2,

    where |g|_M^2 = g^T M g with M = I (the paper) or, if ``whiten``, M = (2 A + 2 rho I)^-1, the
    inverse Hessian of the pooled risk, which makes alpha free of the scale of Psi.
    L^e is quadratic, its gradient linear, the penalty quadratic, hence the solve.
    rho is ``ridge`` times the mean eigenvalue of Psi^T Psi / n.

    Environments without any point (N_e = 0) get weight 0.

    Parameters
    ----------
    psi : Tensor, (..., n, k)
    y : Tensor, (..., n)
    responsibilities : Tensor, (..., n, K)
    alpha : float or Tensor broadcastable to (...)
        Weight of the gradient variance, >= 0.

    Returns
    -------
    Tensor, (..., k)
    """
    k = psi.shape[-1]
    second, cross = environment_risks(psi, y, responsibilities)
    mass = responsibilities.mean(-2)  # (..., K)
    occupied = (mass > 1e-9).to(psi.dtype)
    weights = mass if shares else occupied / occupied.sum(-1, keepdim=True)
    w = weights[..., None, None]
    mean_second = (w * second).sum(-3)
    mean_cross = (w[..., 0] * cross).sum(-2)
    d_second = second - mean_second.unsqueeze(-3)
    d_cross = cross - mean_cross.unsqueeze(-2)

    rho = ridge * (psi**2).sum((-2, -1)) / (psi.shape[-2] * k)
    eye = torch.eye(k, dtype=psi.dtype, device=psi.device)
    pooled = mean_second + rho[..., None, None] * eye
    metric_times = torch.linalg.solve(2 * pooled.unsqueeze(-3), d_second) if whiten else d_second
    penalty = 4 * (w * (d_second.mT @ metric_times)).sum(-3)
    target = 4 * (w[..., 0] * (metric_times.mT @ d_cross.unsqueeze(-1)).squeeze(-1)).sum(-2)
    alpha = torch.as_tensor(alpha, dtype=psi.dtype, device=psi.device)
    return torch.linalg.solve(
        pooled + alpha[..., None, None] * penalty, mean_cross + alpha[..., None] * target
    )


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
