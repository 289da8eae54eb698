"""A small problem for the released variant, shared by the tests of its two modules."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.problem import Problem
from kerhrm.released.options import Released

B, N, K_MAX, K = 3, 80, 6, 4
SEEDS = [11, 5, 8]
FAST = {"k": K, "iterations": 2, "cluster_steps": 150, "cluster_rate": 1e-2, "steps": 40}


def settings(**options: Any) -> Released:
    return Released.model_validate(FAST | options)


def random_problem(seed: int = 0) -> Problem:
    """Two linear rules over features of unequal scale, labels -1 and +1, an offset f_0."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((B, N, K_MAX)) * np.geomspace(2, 0.5, K_MAX)
    f0 = 0.3 * rng.standard_normal((B, N))
    rule = np.where(rng.random((B, N)) < 0.6, psi[..., 1], -psi[..., 1])
    y = np.sign(psi[..., 0] + rule + 0.1 * rng.standard_normal((B, N)))
    arrays = (psi, np.ones((B, K_MAX)), psi[:, :8], f0, f0[:, :8], y, y[:, :8])
    return Problem(*map(torch.from_numpy, arrays), "classification", SEEDS)


def random_members(n_clusters: int, empty: int | None = None) -> Tensor:
    """Hard memberships (B, N, K); in data set 0 one cluster may have no points."""
    labels = torch.from_numpy(np.random.default_rng(1).integers(n_clusters, size=(B, N)))
    if empty is not None:
        labels[0, labels[0] == empty] = (empty + 1) % n_clusters
    return torch.nn.functional.one_hot(labels, n_clusters).double()


def points() -> tuple[Tensor, Tensor, Tensor]:
    problem = random_problem()
    return problem.psi_train[..., :K], problem.f0_train, problem.y
