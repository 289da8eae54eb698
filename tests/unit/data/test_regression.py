"""Selection bias: the selected distribution, its constants and streams."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from kerhrm.paper.data.dataset import Dataset, Split
from kerhrm.paper.data.drawing import mixing_matrix
from kerhrm.paper.data.regression import (
    POOL,
    RegressionData,
    draw,
    draw_unselected,
    generate,
    selection_probability,
)

#: as the appendix prints them; the defaults are those of the authors' code
PAPER: dict[str, Any] = {"theta_s": [0.5, 1.0, 1.0], "noise": 0.3, "tau": 1.0}
SMALL: dict[str, Any] = {
    "r": 1.9,
    "n_train": (60, 20),
    "n_validation": 40,
    "n_test": 30,
    "test_r": (-2.9, -1.9),
}


def options(**changed: Any) -> RegressionData:
    return RegressionData(**changed)


def made(seeds: Sequence[int], **changed: Any) -> Dataset:
    return generate(options(**SMALL | changed), seeds)


def parts(data: Dataset) -> dict[str, Split]:
    return {"train": data.train, "validation": data.validation, "test": data.test}


@pytest.mark.parametrize(("n", "sizes"), [(2, [1, 1]), (5, [4, 1]), (33, [30, 3])])
def test_validation_is_split_as_training_is(n: int, sizes: list[int]) -> None:
    data = made([0], n_train=(100, 10), n_validation=n)
    assert np.bincount(data.validation.environment[0]).tolist() == sizes
    swapped = made([0], n_train=(10, 100), n_validation=n)
    assert np.bincount(swapped.validation.environment[0]).tolist() == sizes[::-1]


@pytest.mark.parametrize("constants", [{}, PAPER], ids=["authors' code", "paper"])
@pytest.mark.parametrize("r", [1.5, -1.1, -2.9])
def test_the_selected_points_have_the_weighted_distribution(
    constants: dict[str, Any], r: float
) -> None:
    chosen = options(**constants)
    s, v, y = draw(np.random.default_rng(0), 20_000, r, chosen)
    # Not selected but weighted, with the selection rule written out.
    random = np.random.default_rng(1)
    s_all, y_all, _ = draw_unselected(random, 400_000, chosen)
    v_all = random.normal(0, chosen.tau, (len(y_all), 5))
    distance = y_all - v_all[:, -1] if r > 0 else y_all + v_all[:, -1]
    w = np.exp(-5 * np.log(abs(r)) * np.abs(distance))
    np.testing.assert_allclose(
        selection_probability(y_all, v_all[:, -1], r), w, rtol=1e-9
    )
    for moment in (
        lambda s, v, y: y,
        lambda s, v, y: y**2,
        lambda s, v, y: np.abs(y),
        lambda s, v, y: v[:, -1] ** 2,
        lambda s, v, y: v[:, -1] * y,
        lambda s, v, y: np.abs(y - np.sign(r) * v[:, -1]),
        lambda s, v, y: s[:, 0] ** 2,
        lambda s, v, y: s[:, 0] * y,
        lambda s, v, y: s[:, 0] * s[:, 1] * s[:, 2] * y,
        lambda s, v, y: (v[:, 0] * y) ** 2,
    ):
        drawn, weighted = moment(s, v, y), moment(s_all, v_all, y_all)
        expected = np.average(weighted, weights=w)
        variance = np.sum(
            (w / w.sum() * (weighted - expected)) ** 2
        ) + drawn.var() / len(drawn)
        assert abs(drawn.mean() - expected) < 5 * variance**0.5


def test_only_the_last_of_v_is_selected_by() -> None:
    for r in (1.9, -1.9):
        _, v, y = draw(np.random.default_rng(0), 20_000, r, options())
        correlation = np.corrcoef(np.column_stack([v, y]), rowvar=False)[-1, :-1]
        assert np.abs(correlation[:-1]).max() < 5 / 20_000**0.5
        assert np.sign(correlation[-1]) == np.sign(r)
        assert abs(correlation[-1]) > 0.8
        assert stats.kstest(v[:, :-1].ravel(), "norm", (0, 2)).pvalue > 1e-4


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
    s, y, f = draw_unselected(np.random.default_rng(0), n, chosen)
    expected = (
        sum(theta[i] * s[:, i] for i in range(6)) + 2 * s[:, 0] * s[:, 1] * s[:, 2]
    )
    np.testing.assert_allclose(f, expected, atol=1e-12)
    assert stats.kstest(y - f, "norm", (0, noise)).pvalue > 1e-4
    # S_i shares Z_{i+1} with S_{i+1}: covariance 0.2 * 0.8, and variance 0.8^2 + 0.2^2.
    neighbours = np.diag(np.full(5, 0.16), 1)
    covariance = 0.68 * np.eye(6) + neighbours + neighbours.T
    assert (
        np.abs(np.cov(s, rowvar=False) - covariance).max() < 5 * 0.68 * (2 / n) ** 0.5
    )


def test_scenarios_differ_by_the_orthogonal_matrix_alone() -> None:
    plain, mixed = (made([5, 6], scenario=i) for i in (1, 2))
    released = stats.ortho_group.rvs(size=1, dim=10, random_state=1)
    for name, split in parts(plain).items():
        np.testing.assert_array_equal(split.y, parts(mixed)[name].y)
        np.testing.assert_allclose(parts(mixed)[name].x, split.x @ released, atol=1e-5)
    own = made([5, 6], scramble="per_seed").train.x
    for b, seed in enumerate((5, 6)):
        h = mixing_matrix("per_seed", 10, seed)
        np.testing.assert_allclose(own[b], plain.train.x[b] @ h.T, atol=1e-5)


def test_a_larger_sample_begins_with_the_smaller_one() -> None:
    # Large enough for a second pool: about one point in 22 is kept at r = -2.9.
    few, many = (made([5], n_test=n).test for n in (30, POOL // 20))
    for environment in (0, 1):
        one, other = (
            split.x[split.environment == environment] for split in (few, many)
        )
        np.testing.assert_array_equal(one, other[:30])
        assert len(np.unique(other[:, 0])) == POOL // 20


def draws(chosen: RegressionData, n: int = 4000) -> tuple[np.ndarray, ...]:
    return draw(np.random.default_rng(0), n, 1.9, chosen)


def test_several_variables_select_together() -> None:
    for count in (1, 2):
        _, v, y = draws(options(selected_by=count))
        ties = [stats.pearsonr(y, v[:, j]).statistic for j in range(5)]
        assert min(ties[5 - count :]) > 0.7
        assert np.abs(ties[: 5 - count]).max() < 5 / np.sqrt(4000)
    # probabilities are multiplied: given the sum of distances, nothing else counts
    y, v = np.random.default_rng(1).normal(size=(2, 3, 50))
    each = [selection_probability(y[0], v_b, 1.9) for v_b in v]
    np.testing.assert_allclose(
        selection_probability(y[0], v, 1.9).prod(axis=0), each[0] * each[1] * each[2]
    )
    with pytest.raises(
        ValidationError, match="V has 5 variables; lower it or raise n_v"
    ):
        options(selected_by=6)


def test_selection_by_f_leaves_the_noise_alone() -> None:
    def parts(chosen: RegressionData) -> tuple[np.ndarray, np.ndarray]:
        s, _, y = draws(chosen)
        f = s @ np.array([0.5, -1.0, 1.5, -0.5, 1.0]) + 5 * s[:, 0] * s[:, 1] * s[:, 2]
        return f, y - f

    f, noise = parts(options(selected_on="structural"))
    assert stats.pearsonr(f, noise).pvalue > 1e-3
    assert stats.kstest(noise, "norm").pvalue > 1e-3
    # by Y: kept are those whose noise brings them to where V is, that is nearer to zero
    assert stats.pearsonr(*parts(options())).pvalue < 1e-6
