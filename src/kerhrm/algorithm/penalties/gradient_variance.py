"""Var of the environments' gradients (paper, equation "theta_inv"), in two metrics."""

import torch
from torch import Tensor

from kerhrm.algorithm.penalties.base import QuadraticPenalty, Risks


class GradientVariance(QuadraticPenalty):
    """Variance of the environments' gradients, in the Euclidean metric M = I.

    ``sum_e w_e |grad L^e - sum_f w_f grad L^f|_M^2`` with ``|g|_M^2 = g^T M g``;
    alpha counts in units of 1 / (mean eigenvalue of Psi^T Psi / n).
    """

    def metric(self, risks: Risks, columns: Tensor) -> Tensor:
        """M times columns (..., K, k, m)."""
        return columns

    def unit(self, psi: Tensor) -> Tensor:
        return psi.shape[-2] * psi.shape[-1] / (psi**2).sum((-2, -1))

    def value(self, risks: Risks, theta: Tensor) -> Tensor:
        gradients = risks.gradients(theta).unsqueeze(-1)
        deviations = gradients - risks.mean(gradients).unsqueeze(-3)
        return risks.mean(deviations.mT @ self.metric(risks, deviations)).squeeze((-2, -1))

    def quadratic(self, risks: Risks) -> tuple[Tensor, Tensor]:
        w = risks.weights.unsqueeze(-1)
        d_second = risks.second - risks.mean(risks.second).unsqueeze(-3)
        d_cross = risks.cross - (w * risks.cross).sum(-2, keepdim=True)
        metric_times = self.metric(risks, d_second)
        target = (metric_times.mT @ d_cross.unsqueeze(-1)).squeeze(-1)
        return 4 * risks.mean(d_second.mT @ metric_times), 4 * (w * target).sum(-2)


class WhitenedVariance(GradientVariance):
    """With M = (2 A + 2 rho I)^-1, the pooled risk's inverse Hessian: alpha has no unit."""

    def metric(self, risks: Risks, columns: Tensor) -> Tensor:
        pooled, _ = risks.pooled
        return torch.linalg.solve(2 * pooled.unsqueeze(-3), columns)

    def unit(self, psi: Tensor) -> Tensor:
        return psi.new_ones(psi.shape[:-2])
