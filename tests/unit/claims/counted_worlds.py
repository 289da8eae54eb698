"""Distributions in which everything can be counted, or integrated over a grid.

Y is -1 or +1 with equal probability, S agrees with it with probability 3/4 in every
environment, and V with probability r_e in environment e, independently.  A
representation of (S, V) is a partition of its four values.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
from scipy.special import log_expit, logit
from scipy.stats import entropy, norm

S = 0.75
RATES = (0.9, 0.7, 0.1)  # r_e of the experiments' environments
# the representations S and V; cells are (S, V) = (-,-), (-,+), (+,-), (+,+)
BY_S = (0, 0, 1, 1)
BY_V = (0, 1, 0, 1)


def world(r: float) -> np.ndarray:
    """P(Y, cell), (2, 4)."""
    joint = np.empty((2, 4))
    values = (0, 1)
    for y in values:
        for cell, (s, v) in enumerate(product(values, repeat=2)):
            p_s = S if s == y else 1 - S
            p_v = r if v == y else 1 - r
            joint[y, cell] = p_s * p_v / 2
    return joint


def representations() -> list[tuple[int, ...]]:
    """All partitions of the four cells, as the block of each cell."""
    partitions = set()
    for labels in product(range(4), repeat=4):
        in_order_of_appearance = list(dict.fromkeys(labels))
        blocks = [in_order_of_appearance.index(label) for label in labels]
        partition = tuple(blocks)
        partitions.add(partition)
    return sorted(partitions)


def represented(joint: np.ndarray, blocks: Sequence[int]) -> np.ndarray:
    """P(Y, Psi), (2, number of blocks)."""
    n_blocks = max(blocks) + 1
    block_of_cell = list(blocks)
    one_hot = np.eye(n_blocks)[block_of_cell]
    return joint @ one_hot


def conditional_entropy(joint: np.ndarray) -> float:
    """H(Y|Psi), nats."""
    h_both = entropy(joint.ravel())
    h_psi = entropy(joint.sum(0))
    return float(h_both - h_psi)


def dependence(worlds: Sequence[np.ndarray], blocks: Sequence[int]) -> float:
    """H(Y|Psi) - H(Y|Psi,E) with all environments alike, nats: zero if Psi is
    invariant."""
    joints = [represented(joint, blocks) for joint in worlds]
    pooled = np.mean(joints, axis=0)
    entropies = [conditional_entropy(joint) for joint in joints]
    within = float(np.mean(entropies))
    return conditional_entropy(pooled) - within


@cache
def invariance_set(rates: tuple[float, ...]) -> set[tuple[int, ...]]:
    """I_E of the environments with these r."""
    worlds = [world(r) for r in rates]
    invariant = set()
    for blocks in representations():
        if dependence(worlds, blocks) < 1e-12:
            invariant.add(blocks)
    return invariant


def divergence_of_x(r: float, other: float, d: int = 5, sigma: float = 3.0) -> float:
    """D_KL(P^r(Y|X) || P^other(Y|X)) of the classification data, V giving A for
    certain.

    The log-odds of Y are 2 sum_i S_i / sigma^2, with sum_i S_i ~ N(d Y, d sigma^2),
    plus those that A gives; by symmetry Y = 1.
    """
    z, step = np.linspace(-10, 10, 20001, retstep=True)
    weight = norm.pdf(z) * step
    sum_of_s = d + d**0.5 * sigma * z
    log_odds_by_s = 2 * sum_of_s / sigma**2

    def expected_gain(a: int) -> float:
        """E[log P^r(Y|X) - log P^other(Y|X)] given A."""
        known_by_r = a * logit(r)
        known_by_other = a * logit(other)
        log_p_r = log_expit(log_odds_by_s + known_by_r)
        log_p_other = log_expit(log_odds_by_s + known_by_other)
        gain = log_p_r - log_p_other
        return float(weight @ gain)

    gain_if_agreeing = expected_gain(1)
    gain_if_not = expected_gain(-1)
    return r * gain_if_agreeing + (1 - r) * gain_if_not
