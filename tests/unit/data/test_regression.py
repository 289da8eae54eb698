"""Selection bias: the selected distribution, its constants and streams."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from kerhrm.data.dataset import Dataset, Split
from kerhrm.data.drawing import mixing_matrix
from kerhrm.data.regression.generator import (
    CONSTANTS,
    POOL,
    constants_of,
    draw,
    draw_unselected,
    generate,
    selection_probability,
)
from kerhrm.data.regression.options import RegressionData

SMALL: dict[str, Any] = {
    "r": 1.9,
    "n_train": (60, 20),
    "n_validation": 40,
    "n_test": 30,
    "test_r": (-2.9, -1.9),
}
TEST_R = (-2.9, -2.7, -2.5, -2.3, -2.1, -1.9)


def options(**changed: Any) -> RegressionData:
    return RegressionData(generator="regression", **changed)


def made(seeds: Sequence[int], **changed: Any) -> Dataset:
    return generate(options(**SMALL | changed), seeds)


def parts(data: Dataset) -> dict[str, Split]:
    return {"train": data.train, "validation": data.validation, "test": data.test}


def assert_same(one: Split, other: Split) -> None:
    for name in ("x", "y", "environment"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_shapes_types_and_names() -> None:
    data = made([3, 7])
    for split, sizes in (
        (data.train, (60, 20)),
        (data.validation, (30, 10)),
        (data.test, (30, 30)),
    ):
        n = sum(sizes)
        assert split.x.shape == (2, n, 10)
        assert split.y.shape == split.environment.shape == (2, n)
        assert (split.x.dtype, split.y.dtype) == (np.float32, np.float32)
        assert split.environment.dtype == np.int8
        np.testing.assert_array_equal(split.environment, [np.repeat([0, 1], sizes)] * 2)
    assert data.source == "synthetic"
    assert data.task == "regression"
    assert data.test_environments == ["r=-2.9", "r=-1.9"]
    assert made([0], n_s=3, n_v=2).train.x.shape == (1, 80, 5)


def test_the_paper_s_design_is_the_default() -> None:
    data = generate(options(r=2.3), [0])
    assert np.bincount(data.train.environment[0]).tolist() == [1000, 100]
    assert np.bincount(data.validation.environment[0]).tolist() == [500, 50]
    assert np.bincount(data.test.environment[0]).tolist() == [1000] * 6
    assert data.test_environments == [f"r={r}" for r in TEST_R]


@pytest.mark.parametrize(("n", "sizes"), [(2, [1, 1]), (5, [4, 1]), (33, [30, 3])])
def test_validation_is_split_as_training_is(n: int, sizes: list[int]) -> None:
    data = made([0], n_train=(100, 10), n_validation=n)
    assert np.bincount(data.validation.environment[0]).tolist() == sizes
    swapped = made([0], n_train=(10, 100), n_validation=n)
    assert np.bincount(swapped.validation.environment[0]).tolist() == sizes[::-1]


@pytest.mark.parametrize("constants", ["released", "paper"])
@pytest.mark.parametrize("r", [1.5, -1.1, -2.9])
def test_the_selected_points_have_the_weighted_distribution(constants: str, r: float) -> None:
    chosen, tau = options(constants=constants), CONSTANTS[constants].tau
    s, v, y = draw(np.random.default_rng(0), 20_000, r, chosen)
    # Not selected but weighted, with the selection rule written out.
    random = np.random.default_rng(1)
    s_all, y_all, _ = draw_unselected(random, 400_000, chosen)
    v_all = random.normal(0, tau, (len(y_all), 5))
    distance = y_all - v_all[:, -1] if r > 0 else y_all + v_all[:, -1]
    w = np.exp(-5 * np.log(abs(r)) * np.abs(distance))
    np.testing.assert_allclose(selection_probability(y_all, v_all[:, -1], r), w, rtol=1e-9)
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
        variance = np.sum((w / w.sum() * (weighted - expected)) ** 2) + drawn.var() / len(drawn)
        assert abs(drawn.mean() - expected) < 5 * variance**0.5


def test_only_the_last_of_v_is_selected_by() -> None:
    for r in (1.9, -1.9):
        _, v, y = draw(np.random.default_rng(0), 20_000, r, options())
        correlation = np.corrcoef(np.column_stack([v, y]), rowvar=False)[-1, :-1]
        assert np.abs(correlation[:-1]).max() < 5 / 20_000**0.5
        assert np.sign(correlation[-1]) == np.sign(r)
        assert abs(correlation[-1]) > 0.8
        assert stats.kstest(v[:, :-1].ravel(), "norm", (0, 2)).pvalue > 1e-4


def test_a_stronger_bias_correlates_more() -> None:
    chosen = options()
    correlations = [
        np.corrcoef(y, v[:, -1])[0, 1]
        for _, v, y in (
            draw(np.random.default_rng(0), 10_000, r, chosen) for r in (-2.9, -1.1, 1.1, 1.5, 2.3)
        )
    ]
    assert correlations == sorted(correlations)


@pytest.mark.parametrize(
    ("constants", "theta", "noise", "tau"),
    [
        ("released", [0.5, -1, 1.5, -0.5, 1, -1.5], 1.0, 2.0),
        ("paper", [0.5, -1, 1, -0.5, 1, -1], 0.3, 1.0),
    ],
)
def test_the_mechanism(constants: str, theta: list[float], noise: float, tau: float) -> None:
    assert CONSTANTS[constants].tau == tau
    n = 50_000
    chosen = options(constants=constants, beta=2.0, n_s=6)
    s, y, f = draw_unselected(np.random.default_rng(0), n, chosen)
    expected = sum(theta[i] * s[:, i] for i in range(6)) + 2 * s[:, 0] * s[:, 1] * s[:, 2]
    np.testing.assert_allclose(f, expected, atol=1e-12)
    assert stats.kstest(y - f, "norm", (0, noise)).pvalue > 1e-4
    # S_i shares Z_{i+1} with S_{i+1}: covariance 0.2 * 0.8, and variance 0.8^2 + 0.2^2.
    neighbours = np.diag(np.full(5, 0.16), 1)
    covariance = 0.68 * np.eye(6) + neighbours + neighbours.T
    assert np.abs(np.cov(s, rowvar=False) - covariance).max() < 5 * 0.68 * (2 / n) ** 0.5


def test_constants_reach_the_data() -> None:
    one, other = (made([0], constants=c) for c in ("released", "paper"))
    assert one.test.y.std() > 1.3 * other.test.y.std()


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


@pytest.mark.parametrize(
    ("changed", "shifted"),
    [
        ({"n_train": (66, 22)}, {"train"}),
        ({"n_validation": 44}, {"validation"}),
        ({"n_test": 31}, {"test"}),
        ({"test_r": (-2.8, -1.9)}, {"test"}),
        ({"r": 1.5}, {"train", "validation"}),
    ],
)
def test_a_change_of_one_part_shifts_no_other(changed: dict[str, Any], shifted: set[str]) -> None:
    before, after = parts(made([5])), parts(made([5], **changed))
    for name in before.keys() - shifted:
        assert_same(before[name], after[name])
    for name in shifted:
        same = before[name].x.shape == after[name].x.shape
        assert not (same and np.array_equal(before[name].x, after[name].x))


def test_a_larger_sample_begins_with_the_smaller_one() -> None:
    # Large enough for a second pool: about one point in 22 is kept at r = -2.9.
    few, many = (made([5], n_test=n).test for n in (30, POOL // 20))
    for environment in (0, 1):
        one, other = (split.x[split.environment == environment] for split in (few, many))
        np.testing.assert_array_equal(one, other[:30])
        assert len(np.unique(other[:, 0])) == POOL // 20


def test_a_seed_does_not_depend_on_its_company() -> None:
    together, alone = parts(made([4, 9])), parts(made([9]))
    for name, split in alone.items():
        both = together[name]
        assert_same(split, Split(both.x[1:], both.y[1:], both.environment[1:]))
        assert not np.array_equal(both.x[0], both.x[1])


def test_every_part_and_environment_has_its_own_points() -> None:
    data = made([5])
    labels = np.concatenate([split.y[0] for split in parts(data).values()])
    assert len(np.unique(labels)) == len(labels) == 180


def test_each_constant_may_be_told_alone() -> None:
    for name, field, value in (
        ("theta_s", "theta", (2.0, 3.0)), ("noise", "noise", 0.3), ("tau", "tau", 1.0)
    ):  # fmt: skip
        for constants in ("released", "paper"):
            got = constants_of(options(constants=constants, **{name: value}))
            assert got == replace(CONSTANTS[constants], **{field: value})
    assert constants_of(options()) == CONSTANTS["released"]
    # all of the appendix's, one by one
    own = options(theta_s=[0.5, 1.0, 1.0], noise=0.3, tau=1.0)
    for one, other in zip(draws(own), draws(options(constants="paper")), strict=True):
        np.testing.assert_array_equal(one, other)


def draws(told: RegressionData, n: int = 4000) -> tuple[np.ndarray, ...]:
    return draw(np.random.default_rng(0), n, 1.9, told)


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
    with pytest.raises(ValidationError, match="V has 5 variables; lower it or raise n_v"):
        options(selected_by=6)


def test_selection_by_f_leaves_the_noise_alone() -> None:
    def parts(told: RegressionData) -> tuple[np.ndarray, np.ndarray]:
        s, _, y = draws(told)
        f = s @ np.array([0.5, -1.0, 1.5, -0.5, 1.0]) + 5 * s[:, 0] * s[:, 1] * s[:, 2]
        return f, y - f

    f, noise = parts(options(selected_on="structural"))
    assert stats.pearsonr(f, noise).pvalue > 1e-3
    assert stats.kstest(noise, "norm").pvalue > 1e-3
    # by Y: kept are those whose noise brings them to where V is, that is nearer to zero
    assert stats.pearsonr(*parts(options())).pvalue < 1e-6
