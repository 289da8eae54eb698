"""M_p: the invariant direction theta_inv in closed form."""

import torch
from torch import Tensor

from kerhrm.algorithm.penalties.base import Penalty, Risks
from kerhrm.algorithm.penalties.gradient_variance import GradientVariance

PRINTED = GradientVariance()


def environment_risks(psi: Tensor, y: Tensor, responsibilities: Tensor) -> tuple[Tensor, Tensor]:
    """Second moments of every environment: A (..., K, k, k) and b (..., K, k).

    With squared loss L^e(theta) = theta^T A_e theta - 2 b_e^T theta + const, where
    A_e = Psi^T R_e Psi / N_e,  b_e = Psi^T R_e y / N_e,  N_e = sum_i r_ie: soft
    environments enter as weights.  Arguments are those of :func:`invariant_direction`.
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
    penalty: Penalty = PRINTED,
    *,
    ridge: float = 0.0,
    shares: bool = False,
) -> Tensor:
    """theta_inv of the paper's equation "theta_inv", as one k x k linear solve.

    Minimises, with w_e = 1/K (or w_e = N_e / n if ``shares``),

        sum_e w_e L^e(theta) + alpha penalty(theta) + rho |theta|^2,

    where rho is ``ridge`` times the mean eigenvalue of Psi^T Psi / n.  Environments without any
    point (N_e = 0) get weight 0.

    Parameters
    ----------
    psi : Tensor, (..., n, k)
    y : Tensor, (..., n)
    responsibilities : Tensor, (..., n, K)
    alpha : float or Tensor broadcastable to (...)
        >= 0; of the bare penalty, not in its unit.
    penalty : Penalty
        The default is the paper's: the variance of the environments' gradients.

    Returns
    -------
    Tensor, (..., k)
    """
    second, cross = environment_risks(psi, y, responsibilities)
    mass = responsibilities.mean(-2)  # (..., K)
    occupied = (mass > 1e-9).to(psi.dtype)
    weights = mass if shares else occupied / occupied.sum(-1, keepdim=True)
    rho = ridge * (psi**2).sum((-2, -1)) / (psi.shape[-2] * psi.shape[-1])
    risks = Risks(second, cross, weights, rho)
    pooled, mean_cross = risks.pooled
    matrix, target = penalty.quadratic(risks)
    alpha = torch.as_tensor(alpha, dtype=psi.dtype, device=psi.device)
    return torch.linalg.solve(
        pooled + alpha[..., None, None] * matrix, mean_cross + alpha[..., None] * target
    )
