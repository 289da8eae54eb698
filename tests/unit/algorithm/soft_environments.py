"""Small regressions with soft environments that disagree."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.penalties import Risks


class Data(NamedTuple):
    """psi (n, k), y (n,), soft environments (n, E)."""

    psi: Tensor
    y: Tensor
    r: Tensor

    def risks(self, rho: float = 0.05) -> Risks:
        risks = environment_risks(*self, by_size=True)
        return replace(risks, rho=torch.tensor(rho).double())


def data(seed: int, n: int = 40, k: int = 3, n_environments: int = 3) -> Data:
    """Environments that disagree about the regression; none of equal size."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((n, k)) * rng.uniform(0.3, 3, k)
    r = rng.dirichlet(np.arange(1, n_environments + 1) / 2, n)
    y = (r @ rng.standard_normal((n_environments, k)) * psi).sum(
        -1
    ) + rng.standard_normal(n)
    return Data(*(torch.from_numpy(a) for a in (psi, y, r)))
