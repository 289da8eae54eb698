r"""Statements about distributions, checked where everything can be counted.

A small world: Y is -1 or +1 with equal probability, S agrees with it with probability s in every
environment, and V with probability r_e in environment e, independently.  A representation of (S, V)
is a partition of its four values, of which there are 15.
"""

from collections.abc import Sequence
from itertools import combinations, permutations, product

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_expit, rel_entr

from kerhrm.claims.claim import Claim
from kerhrm.claims.evidence import Case, Finding
from kerhrm.claims.parts import exact
from kerhrm.data.classification.options import ClassificationData
from kerhrm.scoring.truths import invariant_ceiling

AGREEMENT = 0.75  #: s
RATES = (0.9, 0.7, 0.1)  #: r_e of the experiments' environments
GRID = (0.1, 0.3, 0.5, 0.7, 0.9)
TABLE1_RATES = (0.7, 0.75, 0.8)
ZERO = 1e-12  #: information below which there is none
BY_S = (0, 0, 1, 1)  #: the representation S; cells are (S, V) = (-,-), (-,+), (+,-), (+,+)


def world(r: float, s: float = AGREEMENT) -> np.ndarray:
    """P(Y, cell), (2, 4)."""
    cells = [(a, b) for a in (0, 1) for b in (0, 1)]
    return np.array(
        [[0.5 * (s if a == y else 1 - s) * (r if b == y else 1 - r) for a, b in cells]
         for y in (0, 1)]
    )  # fmt: skip


def representations() -> list[tuple[int, ...]]:
    """All partitions of the four cells, as the block of each cell."""
    found = set()
    for labels in product(range(4), repeat=4):
        names: dict[int, int] = {}
        found.add(tuple(names.setdefault(label, len(names)) for label in labels))
    return sorted(found)


def represented(joint: np.ndarray, blocks: Sequence[int]) -> np.ndarray:
    """P(Y, Psi), (2, number of blocks)."""
    return np.asarray(joint @ np.eye(max(blocks) + 1)[list(blocks)])


def information(joint: np.ndarray) -> float:
    """I(Y; Psi) of P(Y, Psi), nats."""
    independent = joint.sum(0, keepdims=True) * joint.sum(1, keepdims=True)
    return float(rel_entr(joint, independent).sum())


def dependence(worlds: Sequence[np.ndarray], blocks: Sequence[int]) -> float:
    """I(Y; E | Psi) with all environments alike, nats: zero if Psi is invariant."""
    joints = np.stack([represented(w, blocks) for w in worlds]) / len(worlds)  # (E, Y, Psi)
    pooled = joints.sum(0)
    by_psi = joints.sum(1, keepdims=True) * pooled / pooled.sum(0)
    return float(rel_entr(joints, by_psi).sum())


def invariance_set(rates: Sequence[float]) -> set[tuple[int, ...]]:
    """I_E of the environments with these r."""
    worlds = [world(r) for r in rates]
    return {b for b in representations() if dependence(worlds, b) < ZERO}


def more_environments_fewer_representations(case: Case) -> Finding:
    whole = invariance_set(RATES)
    parts = [c for n in (1, 2, 3) for c in combinations(RATES, n)]
    sizes = {c: len(invariance_set(c)) for c in parts}
    missing = sum(len(whole - invariance_set(c)) for c in parts)
    told = f"of 15 representations a single environment leaves {sizes[RATES[:1]]} invariant"
    note = f"{told}, two leave {sizes[RATES[:2]]}, three {sizes[RATES]}"
    return Finding(exact("representations of I_E that are missing in some I_Etr", missing), note)


def invariant_predictor_is_minimax(case: Case) -> Finding:
    """P(V | Y) may be anything, so the worst environment is a corner: V a function of Y."""
    s = AGREEMENT
    corners = []
    for plus, minus in product((0.0, 1.0), repeat=2):  # P(V=+ | Y=+), P(V=+ | Y=-)
        of_v = np.array([[1 - minus, minus], [1 - plus, plus]])
        of_s = np.array([[s, 1 - s], [1 - s, s]])
        corners.append(0.5 * (of_s[:, :, None] * of_v[:, None, :]).reshape(2, 4))
    labels = np.array([-1.0, 1.0])

    def risks(h: np.ndarray) -> np.ndarray:
        return np.array([(c * (h - labels[:, None]) ** 2).sum() for c in corners])

    optimal = (2 * s - 1) * np.array([-1, -1, 1, 1])  # E[Y | S]
    found = minimize(
        lambda z: z[-1], np.r_[np.zeros(4), 1.0], method="SLSQP", options={"ftol": 1e-14},
        constraints={"type": "ineq", "fun": lambda z: z[-1] - risks(z[:-1])},
    )  # fmt: skip
    gap = abs(float(risks(optimal).max() - risks(found.x[:-1]).max()))
    allowed = invariance_set(RATES)
    best = max(allowed, key=lambda b: information(represented(world(RATES[0]), b)))
    wrong = gap + float(best != BY_S)
    name = "worst risk of E[Y|S] above the least worst risk, found numerically"
    note = "the maximal invariant predictor is S; squared loss"
    return Finding(exact(name, wrong, tolerance=1e-6), note)


def smallest_set_needs_most_variation(case: Case) -> Finding:
    """Pairs of environments with the smallest invariance set that do not vary most."""
    pairs = list(combinations(GRID, 2)) + [(r, r) for r in GRID]
    sizes = {pair: len(invariance_set(pair)) for pair in pairs}
    varied = {pair: divergence_of_v(*pair) for pair in pairs}
    least, most = min(sizes.values()), max(varied.values())
    smallest = [pair for pair in pairs if sizes[pair] == least]
    others = [pair for pair in smallest if varied[pair] < most - ZERO]
    note = (
        f"{len(smallest)} of {len(pairs)} pairs of environments have the smallest set; "
        f"P(Y|Psi_V) varies most in one of them, but any variation will do "
        f"(D_KL from {min(varied[p] for p in smallest):.2f} to {most:.2f})"
    )
    return Finding(exact("pairs with the smallest set but less variation", len(others)), note)


def divergence_of_v(r: float, other: float) -> float:
    """D_KL(P^r(Y|V) || P^other(Y|V)), nats."""
    return float(rel_entr([r, 1 - r], [other, 1 - other]).sum())


def divergence_of_x(r: float, other: float, d: int = 5, sigma: float = 3.0) -> float:
    """D_KL(P^r(Y|X) || P^other(Y|X)) of the classification data, V telling A for certain.

    The log-odds of Y are 2 sum_i S_i / sigma^2, with sum_i S_i ~ N(d Y, d sigma^2), plus those
    that A gives; by symmetry Y = 1.
    """
    z, step = np.linspace(-10, 10, 20001, retstep=True)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * step
    t = 2 * (d + d**0.5 * sigma * z) / sigma**2

    def log_posterior(rate: float, a: int) -> np.ndarray:
        return np.asarray(log_expit(t + a * np.log(rate / (1 - rate))))

    gains = {a: density @ (log_posterior(r, a) - log_posterior(other, a)) for a in (1, -1)}
    return float(r * gains[1] + (1 - r) * gains[-1])


def variant_part_varies_more(case: Case) -> Finding:
    rates = sorted({*RATES, *TABLE1_RATES})
    gaps = {p: divergence_of_x(*p) - divergence_of_v(*p) for p in permutations(rates, 2)}
    worst = max(gaps, key=lambda p: gaps[p])
    note = (
        f"{len(gaps)} pairs of Table 1's environments, by quadrature; nearest at r = {worst[0]} "
        f"and {worst[1]}: {divergence_of_x(*worst):.3f} against {divergence_of_v(*worst):.3f} nats"
    )
    name = "D_KL of P(Y|X) less that of P(Y|Psi_V), at most"
    return Finding(exact(name, gaps[worst]), note)


def sigma_makes_v_informative(case: Case) -> Finding:
    """Best accuracy of S alone less that of V alone in pooled training data, of Table 1."""
    data = ClassificationData(generator="classification")
    pooled = [(data.r1 + r2) / 2 for r2 in TABLE1_RATES]
    ahead = {
        unit: invariant_ceiling(data.d, data.sigma_s**power) - max(pooled)
        for unit, power in (("variance", 0.5), ("std", 1.0))
    }
    note = (
        f"sigmas as variances, as printed: S alone reaches "
        f"{ahead['variance'] + max(pooled):.3f}, V alone {min(pooled):.3f} to {max(pooled):.3f}; "
        f"as standard deviations, as in the released code, S alone "
        f"{ahead['std'] + max(pooled):.3f}. The main text has sigma_v^2 >= sigma_s^2, the opposite"
    )
    return Finding(exact("accuracy by S alone less that by V alone", ahead["variance"]), note)


CLAIMS = (
    Claim(7, "2", "I_E is a subset of I_Etr: what is invariant depends on the given environments",
          more_environments_fewer_representations),
    Claim(9, "Theorem 2.1, A.3.1", "E[Y|Psi_S] is minimax, Psi_S the maximal invariant predictor",
          invariant_predictor_is_minimax),
    Claim(10, "3, remark", "The invariance set is smallest if and only if P(Y|Psi_V) varies most",
          smallest_set_needs_most_variation),
    Claim(19, "Lemma 4.1", "Environments differ in P(Y|X) by at most as much as in P(Y|Psi_V)",
          variant_part_varies_more),
    Claim(25, "5.1, A.1", "The sigmas make V more informative than S", sigma_makes_v_informative),
)  # fmt: skip
