"""Distributions in which everything can be counted, or integrated over a grid.

Y is -1 or +1 with equal probability, S agrees with it with probability 3/4 in every
environment, and V with probability r_e in environment e, independently.  A
representation of (S, V) is a partition of its four values.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
from scipy.special import log_expit
from scipy.stats import entropy

S = 0.75
RATES = (0.9, 0.7, 0.1)  # r_e of the experiments' environments
# the representation S; cells are (S, V) = (-,-), (-,+), (+,-), (+,+)
BY_S = (0, 0, 1, 1)


def world(r: float) -> np.ndarray:
    """P(Y, cell), (2, 4)."""
    cells = list(product((0, 1), repeat=2))
    rows = [
        [(S if a == y else 1 - S) * (r if b == y else 1 - r) for a, b in cells]
        for y in (0, 1)
    ]
    return np.array(rows) / 2


def representations() -> list[tuple[int, ...]]:
    """All partitions of the four cells, as the block of each cell."""
    found = set()
    for labels in product(range(4), repeat=4):
        names: dict[int, int] = {}
        found.add(tuple(names.setdefault(label, len(names)) for label in labels))
    return sorted(found)


def represented(joint: np.ndarray, blocks: Sequence[int]) -> np.ndarray:
    """P(Y, Psi), (2, number of blocks)."""
    return joint @ np.eye(max(blocks) + 1)[list(blocks)]


def dependence(worlds: Sequence[np.ndarray], blocks: Sequence[int]) -> float:
    """H(Y|Psi) - H(Y|Psi,E) with all environments alike, nats: zero if Psi is
    invariant."""

    def conditional(joint: np.ndarray) -> float:
        return float(entropy(joint.ravel()) - entropy(joint.sum(0)))

    joints = [represented(w, blocks) for w in worlds]
    return conditional(np.mean(joints, axis=0)) - float(
        np.mean([conditional(j) for j in joints])
    )


@cache
def invariance_set(rates: tuple[float, ...]) -> set[tuple[int, ...]]:
    """I_E of the environments with these r."""
    return {
        b for b in representations() if dependence([world(r) for r in rates], b) < 1e-12
    }


def divergence_of_x(r: float, other: float, d: int = 5, sigma: float = 3.0) -> float:
    """D_KL(P^r(Y|X) || P^other(Y|X)) of the classification data, V giving A for
    certain.

    The log-odds of Y are 2 sum_i S_i / sigma^2, with sum_i S_i ~ N(d Y, d sigma^2),
    plus those that A gives; by symmetry Y = 1.
    """
    z, step = np.linspace(-10, 10, 20001, retstep=True)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * step
    t = 2 * (d + d**0.5 * sigma * z) / sigma**2

    def log_posterior(rate: float, a: int) -> np.ndarray:
        return log_expit(t + a * np.log(rate / (1 - rate)))

    gains = {
        a: density @ (log_posterior(r, a) - log_posterior(other, a)) for a in (1, -1)
    }
    return float(r * gains[1] + (1 - r) * gains[-1])
