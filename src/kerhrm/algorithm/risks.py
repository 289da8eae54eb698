"""Squared losses of environments, by their second moments."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Risks:
    """Squared losses L^e(theta) = theta^T A_e theta - 2 b_e^T theta + c_e of K
    environments.

    Attributes
    ----------
    second, cross, constant : Tensor, (K, k, k), (K, k), (K,)
        A_e, b_e and c_e.
    weights : Tensor, (K,)
        w_e, which sum to one; 0 for environments without any point.
    rho : Tensor, ()
        Ridge of the pooled risk ``sum_e w_e L^e + rho |theta|^2``.
    """

    second: Tensor
    cross: Tensor
    constant: Tensor
    weights: Tensor
    rho: Tensor

    def mean(self, values: Tensor) -> Tensor:
        """Weighted mean sum_e w_e v_e of values (K, ...)."""
        return torch.tensordot(self.weights, values, 1)

    def losses(self, theta: Tensor) -> Tensor:
        """L^e(theta) (K,) of a direction theta (k,)."""
        slopes = self.second @ theta - 2 * self.cross
        return slopes @ theta + self.constant

    @property
    def pooled(self) -> tuple[Tensor, Tensor]:
        """A + rho I (k, k) and b (k,) of the pooled risk."""
        k = self.cross.shape[-1]
        eye = torch.eye(k, dtype=self.cross.dtype, device=self.cross.device)
        matrix = self.mean(self.second) + self.rho * eye
        return matrix, self.mean(self.cross)
