"""The variance of gradients in the metric of the pooled risk's inverse Hessian."""

import torch
from torch import Tensor

from kerhrm.algorithm.penalties.base import Risks
from kerhrm.algorithm.penalties.gradient_variance import GradientVariance


class WhitenedGradientVariance(GradientVariance):
    """As its base, with M = (2 A + 2 rho I)^-1, which makes alpha free of the scale of Psi."""

    def metric(self, risks: Risks, columns: Tensor) -> Tensor:
        pooled, _ = risks.pooled
        return torch.linalg.solve(2 * pooled.unsqueeze(-3), columns)

    def unit(self, psi: Tensor) -> Tensor:
        return psi.new_ones(psi.shape[:-2])
