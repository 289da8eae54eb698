"""Small regressions with soft environments that disagree."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.problem import Risks


class Data(NamedTuple):
    """psi (n, k), y (n,), soft environments (n, E)."""

    psi: Tensor
    y: Tensor
    r: Tensor

    def risks(self, rho: float = 0.05) -> Risks:
        risks = environment_risks(*self, by_size=True)
        penalty = torch.tensor(rho).double()
        return replace(risks, rho=penalty)


def data(seed: int, n: int = 40, k: int = 3, n_environments: int = 3) -> Data:
    """Environments that disagree about the regression; none of equal size."""
    rng = np.random.default_rng(seed)
    scale = rng.standard_normal((n, k))
    psi = scale * rng.uniform(0.3, 3, k)
    concentration = np.arange(1, n_environments + 1) / 2
    r = rng.dirichlet(concentration, n)
    centres = rng.standard_normal((n_environments, k))
    slopes = r @ centres
    signal = (slopes * psi).sum(-1)
    y = signal + rng.standard_normal(n)
    return Data(
        psi=torch.from_numpy(psi),
        y=torch.from_numpy(y),
        r=torch.from_numpy(r),
    )
