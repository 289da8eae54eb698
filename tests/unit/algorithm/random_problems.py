"""Random features and environments, from which directions are learned."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Memberships
from kerhrm.options import Task

N = 40
M = 16
K_MAX = 5
ALPHAS = [0.0, 0.5, 10.0]
OPTIONS = KerHRMOptions(alpha=ALPHAS)


def random_problem(
    seed: int = 0, task: Task = "classification", unit: float = 1.0
) -> Problem:
    """Features of unequal scale; ``unit`` multiplies Psi."""
    rng = np.random.default_rng(seed)
    decay = np.geomspace(5, 0.5, K_MAX)
    scale = decay * rng.uniform(0.5, 2)
    u = rng.standard_normal((N, K_MAX)) * scale
    psi_v = rng.standard_normal((M, K_MAX)) * scale
    f0 = 0.1 * rng.standard_normal(N)
    f0_v = 0.1 * rng.standard_normal(M)
    y = rng.choice([-1.0, 1.0], N)
    y_v = rng.choice([-1.0, 1.0], M)
    s = np.ones(K_MAX)
    arrays = (u * unit, s, psi_v * unit, f0, f0_v, y, y_v)
    tensors = map(torch.from_numpy, arrays)
    return Problem(*tensors, task, seed)


def given_environments(train: Tensor, validation: Tensor, k: list[int]) -> Memberships:
    """Memberships (n, K), (m, K) for every k."""
    n_candidates = len(k)
    return Memberships(
        k=torch.tensor(k),
        train=train.expand(n_candidates, -1, -1),
        validation=validation.expand(n_candidates, -1, -1),
        degenerate=torch.zeros(n_candidates, dtype=torch.bool),
    )


def environments(k: list[int], seed: int = 0, n_environments: int = 2) -> Memberships:
    """Arbitrary soft environments, other ones for every k."""
    rng = np.random.default_rng(seed)
    shape = len(k)
    concentration = np.full(n_environments, 0.5)
    draws = rng.dirichlet(concentration, (shape, N))
    train = torch.from_numpy(draws)
    draws_v = rng.dirichlet(concentration, (shape, M))
    validation = torch.from_numpy(draws_v)
    alike = given_environments(train[0], validation[0], k)
    return replace(alike, train=train, validation=validation)
