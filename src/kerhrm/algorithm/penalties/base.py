"""What a penalty of M_p is: a function of theta, made from the environments' risks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.algorithm.conditioning import solve


@dataclass(frozen=True)
class Risks:
    """Squared losses L^e(theta) = theta^T A_e theta - 2 b_e^T theta + const of K environments.

    Attributes
    ----------
    second, cross : Tensor, (..., K, k, k) and (..., K, k), A_e and b_e
    weights : Tensor, (..., K), w_e, which sum to one; 0 for environments without any point
    rho : Tensor, (...), rho of the pooled risk ``sum_e w_e L^e + rho |theta|^2``
    """

    second: Tensor
    cross: Tensor
    weights: Tensor
    rho: Tensor

    def mean(self, values: Tensor) -> Tensor:
        """sum_e w_e v_e: (..., K, k, k) to (..., k, k)."""
        return (self.weights[..., None, None] * values).sum(-3)

    @property
    def pooled(self) -> tuple[Tensor, Tensor]:
        """A + rho I (..., k, k) and b (..., k) of the pooled risk."""
        k = self.second.shape[-1]
        eye = torch.eye(k, dtype=self.second.dtype, device=self.second.device)
        cross = (self.weights.unsqueeze(-1) * self.cross).sum(-2)
        return self.mean(self.second) + self.rho[..., None, None] * eye, cross

    def gradients(self, theta: Tensor) -> Tensor:
        """grad L^e at theta (..., k): (..., K, k)."""
        return 2 * ((self.second @ theta[..., None, :, None]).squeeze(-1) - self.cross)


class Penalty(ABC):
    """A penalty, and how the pooled risk is minimised together with it."""

    @abstractmethod
    def value(self, risks: Risks, theta: Tensor) -> Tensor:
        """The penalty at theta (..., k): (...)."""

    @abstractmethod
    def unit(self, psi: Tensor) -> Tensor:
        """What alpha = 1 stands for, given Psi (..., n, k): (...)."""

    @abstractmethod
    def minimise(self, risks: Risks, alpha: Tensor) -> Tensor:
        """Argmin (..., k) of the pooled risk plus alpha (...) times the penalty."""


class QuadraticPenalty(Penalty):
    """A penalty that is quadratic in theta, so that M_p stays one linear solve."""

    @abstractmethod
    def quadratic(self, risks: Risks) -> tuple[Tensor, Tensor]:
        """Q (..., k, k) and q (..., k): the value is theta^T Q theta - 2 q^T theta + const."""

    def minimise(self, risks: Risks, alpha: Tensor) -> Tensor:
        pooled, mean_cross = risks.pooled
        matrix, target = self.quadratic(risks)
        system = pooled + alpha[..., None, None] * matrix
        return solve(system, mean_cross + alpha[..., None] * target, "invariant direction")
