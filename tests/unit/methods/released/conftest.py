"""Data for the authors' code, and a quick clustering."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm import Problem
from kerhrm.methods import released
from kerhrm.methods.inputs import Inputs
from tests.unit.methods.released.settings import (
    K_MAX,
    SEED,
    K,
    N,
)

Draw = Callable[..., Inputs]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released, "CLUSTER_STEPS", 150)
    monkeypatch.setattr(released, "CLUSTER_RATE", 1e-2)


@pytest.fixture
def inputs(draw: Draw) -> Inputs:
    """Two linear rules over features of unequal scale, labels -1 and
    +1, an offset f_0."""
    rng = np.random.default_rng(0)
    scale = np.geomspace(2, 0.5, K_MAX)
    psi = rng.standard_normal((N, K_MAX)) * scale
    f0 = 0.3 * rng.standard_normal(N)
    follows = rng.random(N) < 0.6
    attribute = psi[:, 1]
    rule = np.where(follows, attribute, -attribute)
    noise = 0.1 * rng.standard_normal(N)
    signal = psi[:, 0] + rule
    y = np.sign(signal + noise)
    s = np.ones(K_MAX)
    arrays = (psi, s, psi[:8], f0, f0[:8], y, y[:8])
    tensors = map(torch.from_numpy, arrays)
    problem = Problem(*tensors, "classification", SEED)
    return replace(draw(), problem=problem)


@pytest.fixture
def points(inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
    problem = inputs.require_problem()
    psi = problem.psi_train[:, :K]
    return psi, problem.f0_train, problem.y
