"""The public test takes any units, zeros and orders, or refuses them in one line."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import refusal
from scipy.sparse import csr_array

from kerhrm import test_heterogeneity
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.heterogeneity.residuals import scaled_residuals
from kerhrm.heterogeneity.test import test_table

FEW = HeterogeneityOptions(n_permutations=19, folds=2)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Two inputs, and a slope that is the opposite in a fifth of the rows."""
    random = np.random.default_rng(3)
    x = random.normal(size=(200, 2))
    slope = np.where(random.random(200) < 0.2, -2.0, 2.0)
    noise = 0.3 * random.normal(size=200)
    return x, x[:, 0] + slope * x[:, 1] + noise


@pytest.mark.parametrize("shift", [0.0, 1.0, 10.0, -1e6])
@pytest.mark.parametrize("factor", [1.0, 1e-200, 1e12])
def test_neither_unit_nor_zero_of_a_feature_counts(
    rows: tuple[np.ndarray, np.ndarray], shift: float, factor: float
) -> None:
    x, y = rows
    expected = test_heterogeneity(x, y, options=FEW)
    assert expected.detected
    moved = x.copy()
    moved[:, 1] = factor * (moved[:, 1] + shift)
    result = test_heterogeneity(moved, y, options=FEW)
    assert_allclose(result.null, expected.null, atol=1e-5)
    assert result.p_value == expected.p_value


@pytest.mark.parametrize("factor", [1e-300, 1e15, -1.0])
def test_nor_does_the_unit_of_the_target(
    rows: tuple[np.ndarray, np.ndarray], factor: float
) -> None:
    x, y = rows
    result = test_heterogeneity(x, factor * y, options=FEW)
    assert result.detected


def test_a_constant_feature_changes_nothing(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = rows
    expected = test_heterogeneity(x, y, x=x, options=FEW)
    five = np.full(len(y), 5.0)
    with_constant = np.column_stack([x, five])
    result = test_heterogeneity(with_constant, y, x=x, options=FEW)
    assert_allclose(result.null, expected.null, atol=1e-9)


@pytest.mark.parametrize("row", [0, 100])
@pytest.mark.parametrize("value", [1e5, 1e19, -1e5])
def test_a_number_far_from_all_others_is_survived(
    rows: tuple[np.ndarray, np.ndarray], row: int, value: float
) -> None:
    """A log-linear model of the scale predicts infinity there."""
    x, y = rows
    outlying = x.copy()
    outlying[row, 0] = value
    noise_model = scaled_residuals(outlying, y, 5, 0)
    assert noise_model is not None
    scores, scale, _ = noise_model
    assert np.isfinite(scores).all()
    assert np.isfinite(scale).all()
    result = test_heterogeneity(outlying, y, options=FEW)
    assert 0 < result.p_value <= 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"features": np.full((200, 2), 1e30)},
            "features must be below 1e\\+20 in size",
        ),
        ({"y": np.full(200, -1e25)}, "y must be below 1e\\+20 in size; row 0"),
        ({"features": np.full((200, 2), 3.0)}, "features are all constant"),
        ({"features": np.full((200, 2), np.inf)}, "features must be finite; row 0"),
    ],
)
def test_what_cannot_be_squared_or_does_not_vary_is_refused(
    rows: tuple[np.ndarray, np.ndarray], given: dict[str, Any], message: str
) -> None:
    x, y = rows
    arguments = {"features": x, "y": y} | given
    with refusal(message):
        test_heterogeneity(**arguments)


def ratings(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of five numbers, and a slope that flips in a quarter of the rows."""
    random = np.random.default_rng(0)
    x = random.integers(0, 5, (n, 2)).astype(float)
    slope = np.where(random.random(n) < 0.25, -2.0, 2.0)
    noise = 0.5 * random.normal(size=n)
    y = np.round(x[:, 0] + slope * (x[:, 1] - 2) + noise)
    return x, y


def test_ratings_that_are_alike_are_draws() -> None:
    """As numbers are that differ by nothing that counts."""
    x, y = ratings()
    result = test_heterogeneity(x, y, options=FEW)
    moved = x + 1e-6 * np.random.default_rng(1).normal(size=x.shape)
    expected = test_heterogeneity(moved, y, options=FEW)
    assert result.n_points == expected.n_points == 400
    assert result.detected
    assert expected.detected


def test_so_they_are_in_a_table_and_weights_are_their_numbers() -> None:
    x, y = ratings()
    table = np.column_stack([x, y])
    different, counts = np.unique(table, axis=0, return_counts=True)
    result = test_table(x, y, FEW)
    assert result.n_points == 400
    weighted = test_table(different[:, :2], different[:, 2], FEW, draws=counts)
    assert_allclose(weighted.null, result.null)
    assert weighted.p_value == result.p_value


def test_copies_of_numbers_are_no_draws(rows: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rows
    expected = test_table(x, y, FEW)
    twice = test_table(np.tile(x, (2, 1)), np.tile(y, 2), FEW)
    assert twice.n_points == 200
    assert twice.p_value == expected.p_value


def test_rows_in_another_order_are_refused(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = rows
    table = pd.DataFrame(x)
    target = pd.Series(y)
    shuffled = target.sample(frac=1, random_state=0)
    with refusal("the rows of y are in another order than those of X, by index"):
        test_heterogeneity(table, shuffled)
    in_order = test_heterogeneity(table, target, options=FEW)
    assert in_order.p_value == test_heterogeneity(x, y, options=FEW).p_value


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_nothing_is_detected_where_nothing_is_left(seed: int, shift: float) -> None:
    """The residuals are rounding, whose size depends on the inputs."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(150, 3))
    y = x @ [1.0, 2.0, 3.0] + shift
    result = test_heterogeneity(x, y, options=FEW)
    assert not result.detected
    assert result.p_value == 1
    assert result.homogeneous


def test_a_column_of_labels_is_labels(rows: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rows
    expected = test_heterogeneity(x, y, options=FEW)
    for labels in (y[:, None], pd.DataFrame({"y": y})):
        result = test_heterogeneity(x, labels, options=FEW)
        assert result.p_value == expected.p_value


def test_tensors_that_require_gradients_are_numbers(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = rows
    expected = test_heterogeneity(x, y, options=FEW)
    inputs = torch.tensor(x, requires_grad=True)
    result = test_heterogeneity(inputs, torch.tensor(y), options=FEW)
    assert result.p_value == expected.p_value


def test_more_folds_than_points_leave_each_point_out_once(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = rows
    many = HeterogeneityOptions(n_permutations=19, folds=1000)
    result = test_heterogeneity(x[:80], y[:80], options=many)
    assert np.isfinite(result.p_value)


def test_the_cure_is_that_of_the_fault(rows: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rows
    with refusal("Expected 2D array, got 1D array instead:.*n rows and k columns"):
        test_heterogeneity(x[:, 0], y)
    with refusal("encode text first"):
        test_heterogeneity(x.astype(str) + "a", y)


@pytest.mark.parametrize("times", [2, 5])
def test_copies_of_points_are_one_point(
    rows: tuple[np.ndarray, np.ndarray], times: int
) -> None:
    """Among copies a regression that leaves a point out would still know it."""
    x, y = rows
    expected = test_heterogeneity(x, y, options=FEW)
    copied = test_heterogeneity(np.tile(x, (times, 1)), np.tile(y, times), options=FEW)
    assert expected.detected
    assert copied.gain == expected.gain
    assert copied.p_value == expected.p_value
    assert copied.n_points == len(y)


def test_copies_that_differ_in_the_inputs_alone_are_points(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = rows
    side = np.repeat([0.0, 1.0], len(y))
    twice = np.tile(x, (2, 1))
    inputs = np.column_stack([twice, side])
    result = test_heterogeneity(twice, np.tile(y, 2), x=inputs, options=FEW)
    assert result.n_points == 2 * len(y)


def test_too_few_points_are_too_few_whatever_their_copies(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = rows
    with refusal("n=79 different points are too few to test; the others of 158 repeat"):
        test_heterogeneity(np.tile(x[:79], (2, 1)), np.tile(y[:79], 2))


class LazyFrame:
    """As one of polars, which has no rows."""

    def collect(self) -> np.ndarray:
        return np.ones((200, 2))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (LazyFrame(), r"a LazyFrame, which holds no rows yet; give features.collect"),
        (csr_array(np.eye(200)), r"got a sparse matrix; give features.toarray\(\)"),
        (np.full((200, 1), "2020-01-01", "M8[D]"), "dates or .*; give a number for"),
        (pd.DataFrame({"month": [pd.Period("2020-01")] * 200}), "dates or durations"),
        (
            pd.DataFrame({"a": 1.0, "day": pd.date_range("2020-01-01", periods=200)}),
            "features must hold numbers .got dates or durations.; give a number for",
        ),
    ],
)
def test_each_kind_that_is_no_number_has_its_cure(
    rows: tuple[np.ndarray, np.ndarray], given: Any, words: str
) -> None:
    _, y = rows
    with refusal(words):
        test_heterogeneity(given, y)
