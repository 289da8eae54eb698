"""Claims that are identities of distributions, or that a counterexample contradicts.

They live in the world of ``counted_worlds.py``.
"""

from itertools import (
    combinations,
    combinations_with_replacement,
    permutations,
    product,
)

import numpy as np
import pytest
from counted_worlds import (
    BY_S,
    BY_V,
    RATES,
    S,
    divergence_of_x,
    invariance_set,
    representations,
    represented,
    world,
)
from scipy.optimize import minimize
from scipy.special import rel_entr
from scipy.stats import entropy, norm
from shown_claims import effect_of

from kerhrm_paper.data import classification
from kerhrm_paper.data.closed_forms import invariant_ceiling, kept_given_y
from kerhrm_paper.data.regression import RegressionData

TABLE1 = (0.7, 0.75, 0.8)


def divergence_of_v(r: float, other: float) -> float:
    """D_KL(P^r(Y|V) || P^other(Y|V))."""
    given_v = [r, 1 - r]
    other_given_v = [other, 1 - other]
    return float(entropy(given_v, other_given_v))


def test_more_environments_leave_fewer_representations() -> None:
    assert len(representations()) == 15  # Bell's number
    of_all = invariance_set(RATES)
    lost = 0
    for n in (1, 2, 3):
        for fewer in combinations(RATES, n):
            lost += len(of_all - invariance_set(fewer))
    assert effect_of(7) == lost
    of_one = invariance_set(RATES[:1])
    of_two = invariance_set(RATES[:2])
    assert len(of_one) == 15
    assert len(of_two) < 15
    assert len(of_all) <= len(of_two)
    assert BY_S in of_all
    assert BY_V not in of_all


def test_selection_changes_the_label_given_s() -> None:
    """Y has density N(y; f(S), noise^2) g_r(y) given S, g_r the probability that y is
    kept."""
    data = RegressionData()
    y = np.linspace(-8, 8, 4001)
    without_selection = norm.pdf(y, loc=1.0, scale=data.noise)
    laws = []
    rates = (data.r, data.r_second, *data.test_r)
    for r in rates:
        selected = without_selection * kept_given_y(y, r, data.tau)
        laws.append(selected / selected.sum())
    total_variations = []
    for p, q in combinations(laws, 2):
        distance = np.abs(p - q).sum()
        total_variations.append(distance / 2)
    largest = max(total_variations)
    assert largest == pytest.approx(effect_of(8), abs=1e-6)


def test_the_invariant_predictor_is_minimax() -> None:
    """P(V | Y) may be anything, so the worst environment is a corner: V a function of
    Y."""
    of_s = np.array([[S, 1 - S], [1 - S, S]])
    corners = []
    for plus, minus in product((0.0, 1.0), repeat=2):  # P(V=+ | Y=+), P(V=+ | Y=-)
        of_v = np.array([[1 - minus, minus], [1 - plus, plus]])
        of_s_in_rows = of_s[:, :, None]
        of_s_and_v = of_s_in_rows * of_v[:, None, :]
        of_both = of_s_and_v.reshape(2, 4)
        corners.append(0.5 * of_both)
    labels = np.array([[-1.0], [1.0]])

    def risks(predictor: np.ndarray) -> np.ndarray:
        """Mean squared error in every corner, of a prediction for each cell."""
        squares = (predictor - labels) ** 2
        errors = [(joint * squares).sum() for joint in corners]
        return np.array(errors)

    def below_the_bound(z: np.ndarray) -> np.ndarray:
        """Not negative where all risks keep the bound, z being (predictor, bound)."""
        predictor = z[:-1]
        bound = z[-1]
        return bound - risks(predictor)

    # The smallest bound that all risks keep.
    start = np.append(np.zeros(4), 1.0)
    constraint = {"type": "ineq", "fun": below_the_bound}
    minimax = minimize(
        lambda z: z[-1],
        start,
        method="SLSQP",
        options={"ftol": 1e-14},
        constraints=constraint,
    )
    sign_of_s = np.array([-1, -1, 1, 1])
    invariant = (2 * S - 1) * sign_of_s  # E[Y | S]
    predictor = minimax.x[:-1]
    worst_of_minimax = risks(predictor).max()
    worst_of_invariant = risks(invariant).max()
    excess = worst_of_invariant - worst_of_minimax
    assert excess == pytest.approx(effect_of(9), abs=1e-6)

    def information(blocks: tuple[int, ...]) -> float:
        """I(Y;Psi), nats."""
        joint = represented(world(0.9), blocks)
        of_label = joint.sum(1, keepdims=True)
        independent = joint.sum(0) * of_label
        return float(rel_entr(joint, independent).sum())

    assert max(invariance_set(RATES), key=information) == BY_S


def test_any_variation_leaves_the_smallest_set() -> None:
    """Not only the most: D_KL between P(Y|V) of two environments."""
    grid = (0.1, 0.3, 0.5, 0.7, 0.9)
    pairs = list(combinations_with_replacement(grid, 2))
    variations = [divergence_of_v(*rates) for rates in pairs]
    sizes = [len(invariance_set(rates)) for rates in pairs]
    most = max(variations)
    fewest = min(sizes)
    smallest_without_the_most = []
    for variation, size in zip(variations, sizes, strict=True):
        if size == fewest and variation < most - 1e-12:
            smallest_without_the_most.append(variation)
    assert effect_of(10) == len(smallest_without_the_most)


def test_the_variant_part_varies_more() -> None:
    rates = {*RATES, *TABLE1}
    gaps = []
    for r, other in permutations(rates, 2):
        of_x = divergence_of_x(r, other)
        of_v = divergence_of_v(r, other)
        gaps.append(of_x - of_v)
    largest = max(gaps)
    assert largest == pytest.approx(effect_of(19), abs=1e-6)


def test_printed_sigmas_make_s_more_informative() -> None:
    """Best accuracy of S alone less that of V alone in pooled training data, of Table
    1."""
    data = classification.ClassificationData()
    pooled_rates = [(data.r1 + r2) / 2 for r2 in TABLE1]
    of_v = max(pooled_rates)
    sigma_as_variance = data.sigma_s**0.5
    of_s = invariant_ceiling(data.d, sigma_as_variance)
    advantage = of_s - of_v
    assert advantage == pytest.approx(effect_of(25), abs=1e-6)
    assert invariant_ceiling(data.d, data.sigma_s) < of_v
