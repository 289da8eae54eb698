"""Problems with planted environments, and what M_c learns there."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments

N = 300
M = 150
K_MAX = 4
FLOATS = (
    "train",
    "validation",
    "ridge",
    "held_out",
    "objective",
    "label_information",
)
COUNTS = (
    "k",
    "degenerate",
    "n_starts",
    "n_label_split",
    "n_empty",
    "n_unconverged",
)


def planted(seed: int, noise: float = 0.2, intercept: float = 0.3) -> Problem:
    """Columns of Psi: A with noise, noise, a constant, noise; P(A = Y) = 0.8.

    The constant is what a label split needs: every label is then fitted without
    residual.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for n in (N, M):
        y = rng.choice([-1.0, 1.0], n)
        agrees = rng.random(n) < 0.8
        attribute = np.where(agrees, y, -y)
        columns = [
            attribute + noise * rng.standard_normal(n),
            rng.standard_normal(n),
            np.full(n, intercept),
            0.5 * rng.standard_normal(n),
        ]
        psi = np.stack(columns, axis=1)
        features = torch.from_numpy(psi)
        labels = torch.from_numpy(y)
        parts.append((features, labels))
    (psi, y), (psi_v, y_v) = parts
    return Problem(
        u=psi,
        s=psi.new_ones(K_MAX),
        psi_validation=psi_v,
        f0_train=torch.full_like(y, 0.05),
        f0_validation=torch.full_like(y_v, -0.05),
        y=y,
        y_validation=y_v,
        task="classification",
        seed=seed,
    )


def with_psi(base: Problem, psi: Tensor, psi_v: Tensor) -> Problem:
    return replace(base, u=psi, psi_validation=psi_v)


def first(problem: Problem, *k: int, **options: Any) -> Environments:
    """Environments of the first iteration."""
    settings = KerHRMOptions(k=list(k), **options)
    return learn_environments(problem, settings, 1, [], [])


def direction(theta: Tensor, k: int) -> Directions:
    """One candidate, of which the first k coefficients count."""
    one = torch.ones(1).double()
    in_k = torch.arange(K_MAX) < k
    theta = torch.where(in_k, theta, 0.0)
    length = torch.tensor([k])
    candidate = theta[None]
    return Directions(candidate, length, one, one, 0)


def later(
    problem: Problem, *thetas: Tensor, k: int = 4, **options: Any
) -> Environments:
    """Environments of the iteration after those that left such directions."""
    settings = KerHRMOptions(k=[k], **options)
    environments = learn_environments(problem, settings, 1, [], [])
    n_before = len(thetas)
    before = [environments] * n_before
    directions = [direction(theta, k) for theta in thetas]
    return learn_environments(problem, settings, n_before + 1, before, directions)


def same(left: Environments, right: Environments, but: tuple[str, ...] = ()) -> None:
    """Equal in all fields, ``but`` those named."""
    for name in FLOATS:
        if name in but:
            continue
        value = getattr(left, name)
        expected = getattr(right, name)
        assert_close(value, expected, rtol=1e-6, atol=1e-9)
    for name in COUNTS:
        value = getattr(left, name)
        expected = getattr(right, name)
        assert torch.equal(value, expected), name
