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

N, M, K_MAX = 300, 150, 4
FLOATS = ("train", "validation", "ridge", "held_out", "objective", "label_information")
COUNTS = ("k", "degenerate", "n_starts", "n_label_split", "n_empty", "n_unconverged")


def planted(seed: int, noise: float = 0.2, intercept: float = 0.3) -> Problem:
    """Columns of Psi: A with noise, noise, a constant, noise; P(A = Y) = 0.8.

    The constant is what a label split needs: every label is then fitted without
    residual.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for n in (N, M):
        y = rng.choice([-1.0, 1.0], n)
        a = np.where(rng.random(n) < 0.8, y, -y)
        columns = [a + noise * rng.standard_normal(n), rng.standard_normal(n)]
        columns += [np.full(n, intercept), 0.5 * rng.standard_normal(n)]
        parts.append([torch.from_numpy(v) for v in (np.stack(columns, axis=1), y)])
    (psi, y), (psi_v, y_v) = parts
    f0, f0_v = torch.full_like(y, 0.05), torch.full_like(y_v, -0.05)
    return Problem(
        psi, psi.new_ones(K_MAX), psi_v, f0, f0_v, y, y_v, "classification", seed
    )


def with_psi(base: Problem, psi: Tensor, psi_v: Tensor) -> Problem:
    return replace(base, u=psi, psi_validation=psi_v)


def first(problem: Problem, *k: int, **options: Any) -> Environments:
    """Environments of the first iteration."""
    return learn_environments(problem, KerHRMOptions(k=list(k), **options), 1, [], [])


def direction(theta: Tensor, k: int) -> Directions:
    one = torch.ones(1).double()
    theta = torch.where(torch.arange(K_MAX) < k, theta, 0.0)
    return Directions(theta[None], torch.tensor([k]), one, one, 0)


def later(
    problem: Problem, *thetas: Tensor, k: int = 4, **options: Any
) -> Environments:
    """Environments of the iteration after those that left such directions."""
    settings = KerHRMOptions(k=[k], **options)
    before = [learn_environments(problem, settings, 1, [], [])] * len(thetas)
    directions = [direction(theta, k) for theta in thetas]
    return learn_environments(problem, settings, len(thetas) + 1, before, directions)


def same(left: Environments, right: Environments, but: tuple[str, ...] = ()) -> None:
    for name in FLOATS:
        if name not in but:
            assert_close(
                getattr(left, name), getattr(right, name), rtol=1e-6, atol=1e-9
            )
    for name in COUNTS:
        assert torch.equal(getattr(left, name), getattr(right, name)), name
