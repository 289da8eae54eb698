"""M_p: the invariant direction theta_inv, in closed form where the penalty is quadratic."""

import torch
from torch import Tensor

from kerhrm.algorithm.moments import weighted_moments
from kerhrm.algorithm.penalties.base import Penalty, Risks
from kerhrm.algorithm.penalties.gradient_variance import GradientVariance

PRINTED = GradientVariance()


def environment_risks(psi: Tensor, y: Tensor, responsibilities: Tensor) -> tuple[Tensor, Tensor]:
    """Second moments of every environment: A (..., K, k, k) and b (..., K, k).

    With squared loss L^e(theta) = theta^T A_e theta - 2 b_e^T theta + const, where
    A_e = Psi^T R_e Psi / N_e,  b_e = Psi^T R_e y / N_e,  N_e = sum_i r_ie: soft
    environments enter as weights.  Arguments are those of :func:`pooled_risks`.
    """
    tiny = torch.finfo(psi.dtype).tiny
    shares = responsibilities / responsibilities.sum(-2, keepdim=True).clamp_min(tiny)
    return weighted_moments(psi, y, shares.mT)


def pooled_risks(
    psi: Tensor, y: Tensor, responsibilities: Tensor, *, ridge: float = 0.0, shares: bool = False
) -> Risks:
    """All that M_p has to know of the environments.

    Parameters
    ----------
    psi : Tensor, (..., n, k)
    y : Tensor, (..., n)
    responsibilities : Tensor, (..., n, K)
        Environments without any point (N_e = 0) get weight 0.
    ridge : float
        In units of the mean eigenvalue of Psi^T Psi / n.
    shares : bool
        Whether environments count by their points, w_e = N_e / n, and not alike, w_e = 1/K.
    """
    second, cross = environment_risks(psi, y, responsibilities)
    mass = responsibilities.mean(-2)  # (..., K)
    occupied = (mass > 1e-9).to(psi.dtype)
    weights = mass if shares else occupied / occupied.sum(-1, keepdim=True)
    rho = ridge * (psi**2).sum((-2, -1)) / (psi.shape[-2] * psi.shape[-1])
    return Risks(second, cross, weights, rho)


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
    """theta_inv over environments of points: :func:`minimise_risks` of :func:`pooled_risks`."""
    risks = pooled_risks(psi, y, responsibilities, ridge=ridge, shares=shares)
    return minimise_risks(risks, alpha, penalty)


def minimise_risks(risks: Risks, alpha: Tensor | float, penalty: Penalty) -> Tensor:
    """theta_inv of the paper's equation "theta_inv": (..., k).

    Minimises, for alpha >= 0 (of the bare penalty, not in its unit; broadcastable to (...)),
    ``sum_e w_e L^e(theta) + alpha penalty(theta) + rho |theta|^2``.
    """
    dtype, device = risks.cross.dtype, risks.cross.device
    return penalty.minimise(risks, torch.as_tensor(alpha, dtype=dtype, device=device))
