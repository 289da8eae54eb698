"""Selection bias: the selected distribution, its constants and streams."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from drawtools import parts
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusal
from scipy import stats

from kerhrm_paper.data.drawing import mixing_matrix
from kerhrm_paper.data.draws import Draws
from kerhrm_paper.data.regression import (
    POOL,
    RegressionData,
    draw,
    draw_unselected,
    generate,
    selection_probability,
)

#: as the appendix prints them; the defaults are those of the authors' code
PAPER: dict[str, Any] = {
    "theta_s": [0.5, 1.0, 1.0],
    "noise": 0.3,
    "tau": 1.0,
}
SMALL: dict[str, Any] = {
    "r": 1.9,
    "n_train": (60, 20),
    "n_validation": 40,
    "n_test": 30,
    "test_r": (-2.9, -1.9),
}


def options(**changed: Any) -> RegressionData:
    return RegressionData(**changed)


def made(seeds: Sequence[int], **changed: Any) -> Draws:
    chosen = options(**SMALL | changed)
    return generate(chosen, seeds)


@pytest.mark.parametrize(
    ("n", "sizes"),
    [
        (2, [1, 1]),
        (5, [4, 1]),
        (33, [30, 3]),
    ],
)
def test_validation_is_split_as_training_is(n: int, sizes: list[int]) -> None:
    data = made([0], n_train=(100, 10), n_validation=n)
    (environments,) = data.validation.environment
    counts = np.bincount(environments)
    assert counts.tolist() == sizes
    swapped = made([0], n_train=(10, 100), n_validation=n)
    (environments,) = swapped.validation.environment
    counts = np.bincount(environments)
    assert counts.tolist() == sizes[::-1]


Moment = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def moments(r: float) -> list[Moment]:
    """Functions of s (n, n_s), v (n, n_v), y (n,), each (n,)."""
    sign = np.sign(r)
    return [
        lambda s, v, y: y,
        lambda s, v, y: y**2,
        lambda s, v, y: np.abs(y),
        lambda s, v, y: v[:, -1] ** 2,
        lambda s, v, y: v[:, -1] * y,
        lambda s, v, y: np.abs(y - sign * v[:, -1]),
        lambda s, v, y: s[:, 0] ** 2,
        lambda s, v, y: s[:, 0] * y,
        lambda s, v, y: s[:, :3].prod(axis=1) * y,
        lambda s, v, y: (v[:, 0] * y) ** 2,
    ]


@pytest.mark.parametrize("constants", [{}, PAPER], ids=["authors' code", "paper"])
@pytest.mark.parametrize("r", [1.5, -1.1, -2.9])
def test_the_selected_points_have_the_weighted_distribution(
    constants: dict[str, Any], r: float
) -> None:
    chosen = options(**constants)
    random = np.random.default_rng(0)
    selected = draw(random, 20_000, r, chosen)

    # Not selected but weighted, with the selection rule written out.
    random = np.random.default_rng(1)
    s, y, _ = draw_unselected(random, 400_000, chosen)
    n = len(y)
    v = random.normal(0, chosen.tau, (n, 5))
    last = v[:, -1]
    distance = y - last if r > 0 else y + last
    strength = 5 * np.log(abs(r))
    exponent = -strength * np.abs(distance)
    w = np.exp(exponent)
    probability = selection_probability(y, last, r)
    assert_allclose(probability, w, rtol=1e-9)

    share = w / w.sum()
    for moment in moments(r):
        drawn = moment(*selected)
        weighted = moment(s, v, y)
        expected = np.average(weighted, weights=w)
        # of both means
        terms = share * (weighted - expected)
        variance = np.sum(terms**2)
        variance += drawn.var() / len(drawn)
        error = drawn.mean() - expected
        assert abs(error) < 5 * variance**0.5


def test_only_the_last_of_v_is_selected_by() -> None:
    n = 20_000
    chosen = options()
    for r in (1.9, -1.9):
        random = np.random.default_rng(0)
        _, v, y = draw(random, n, r, chosen)
        columns = np.column_stack([v, y])
        correlation = np.corrcoef(columns, rowvar=False)
        with_y = correlation[-1, :-1]
        others = with_y[:-1]
        last = with_y[-1]
        bound = 5 / n**0.5
        assert np.abs(others).max() < bound
        assert np.sign(last) == np.sign(r)
        assert abs(last) > 0.8
        rest = v[:, :-1].ravel()
        test = stats.kstest(rest, "norm", (0, 2))
        assert test.pvalue > 1e-4


@pytest.mark.parametrize(
    ("constants", "theta", "noise", "tau"),
    [
        ({}, [0.5, -1, 1.5, -0.5, 1, -1.5], 1.0, 2.0),
        (PAPER, [0.5, -1, 1, -0.5, 1, -1], 0.3, 1.0),
    ],
)
def test_the_mechanism(
    constants: dict[str, Any], theta: list[float], noise: float, tau: float
) -> None:
    n = 50_000
    chosen = options(**constants, beta=2.0, n_s=6)
    assert chosen.tau == tau

    rng = np.random.default_rng(0)
    s, y, f = draw_unselected(rng, n, chosen)
    linear = s @ np.array(theta)
    first_three = s[:, :3]
    product = first_three.prod(axis=1)
    assert_allclose(f, linear + 2 * product, atol=1e-12)
    noise_of_y = y - f
    test = stats.kstest(noise_of_y, "norm", (0, noise))
    assert test.pvalue > 1e-4

    # S_i shares Z_{i+1} with S_{i+1}: covariance 0.2 * 0.8, and variance 0.8^2 + 0.2^2.
    shared = np.full(5, 0.16)
    neighbours = np.diag(shared, 1)
    covariance = 0.68 * np.eye(6)
    covariance += neighbours + neighbours.T
    error = np.cov(s, rowvar=False) - covariance
    standard_error = 0.68 * (2 / n) ** 0.5
    largest = np.abs(error).max()
    assert largest < 5 * standard_error


def test_scenarios_differ_by_the_orthogonal_matrix_alone() -> None:
    seeds = (5, 6)
    plain = made(seeds, scenario=1)
    mixed = made(seeds, scenario=2)
    released = stats.ortho_group.rvs(size=1, dim=10, random_state=1)
    others = parts(mixed)
    for name, split in parts(plain).items():
        assert_array_equal(split.y, others[name].y)
        expected = split.x @ released
        x = others[name].x
        assert_allclose(x, expected, atol=1e-5)

    own = made(seeds, scramble="per_seed").train.x
    for b, seed in enumerate(seeds):
        h = mixing_matrix("per_seed", 10, seed)
        expected = plain.train.x[b] @ h.T
        assert_allclose(own[b], expected, atol=1e-5)


def test_a_larger_sample_begins_with_the_smaller_one() -> None:
    # Large enough for a second pool: about one point in 22 is kept at r = -2.9.
    large = POOL // 20
    few = made([5], n_test=30).test
    many = made([5], n_test=large).test
    for environment in (0, 1):
        one = few.x[few.environment == environment]
        other = many.x[many.environment == environment]
        assert_array_equal(one, other[:30])
        different = np.unique(other[:, 0])
        assert len(different) == large


def draws(chosen: RegressionData, n: int = 4000) -> tuple[np.ndarray, ...]:
    """s, v and y of points that are selected."""
    random = np.random.default_rng(0)
    return draw(random, n, 1.9, chosen)


def test_several_variables_select_together() -> None:
    for count in (1, 2):
        chosen = options(selected_by=count)
        _, v, y = draws(chosen)
        ties = []
        for column in v.T:
            test = stats.pearsonr(y, column)
            ties.append(test.statistic)
        n_others = 5 - count
        others = ties[:n_others]
        selecting = ties[n_others:]
        assert min(selecting) > 0.7
        bound = 5 / np.sqrt(4000)
        assert np.abs(others).max() < bound

    # probabilities are multiplied: given the sum of distances, nothing else counts
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2, 3, 50))
    y, v = values
    of_each = selection_probability(y[0], v, 1.9)
    together = of_each.prod(axis=0)
    product = np.ones(50)
    for one in v:
        product *= selection_probability(y[0], one, 1.9)
    assert_allclose(together, product)

    hint = "V has 5 variables; lower it or raise n_v"
    with refusal(hint):
        options(selected_by=6)


def test_selection_by_f_leaves_the_noise_alone() -> None:
    theta = np.array([0.5, -1.0, 1.5, -0.5, 1.0])

    def f_and_noise(chosen: RegressionData) -> tuple[np.ndarray, np.ndarray]:
        s, _, y = draws(chosen)
        first_three = s[:, :3]
        product = first_three.prod(axis=1)
        f = s @ theta + 5 * product
        return f, y - f

    f, noise = f_and_noise(options(selected_on="structural"))
    assert stats.pearsonr(f, noise).pvalue > 1e-3
    assert stats.kstest(noise, "norm").pvalue > 1e-3
    # by Y: kept are those whose noise brings them to where V is, that is nearer to zero
    f, noise = f_and_noise(options())
    assert stats.pearsonr(f, noise).pvalue < 1e-6
