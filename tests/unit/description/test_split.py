"""Mixtures of regressions, their stability, and the order of rows."""

import numpy as np
import pytest
from described_tables import sorted_rows, turned
from numpy.testing import assert_allclose, assert_array_equal

from kerhrm.description.rows import DescribedRows
from kerhrm.description.split import likely_split, split_again
from kerhrm.description.stability import stability


def test_a_hidden_level_is_the_most_likely_split() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 2))
    hidden = random.random(300) < 0.3
    level = np.where(hidden, 3.0, 0.0)
    noise = 0.4 * random.normal(size=300)
    y = x[:, 0] + level + noise
    rows = sorted_rows(x, y)
    split = likely_split(rows)
    assert split is not None
    assert split.number == 2
    assert split.by_bic == 2
    assert split.by_icl == 2
    likeliest = split.memberships.argmax(1)
    agree = likeliest == hidden[rows.order]
    assert np.mean(agree) > 0.98


def test_one_regression_has_one_component_by_bic_and_is_split_all_the_same() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(300, 2))
    y = x[:, 0] + random.normal(size=300)
    rows = sorted_rows(x, y)
    split = likely_split(rows)
    assert split is not None
    assert split.by_bic == 1
    assert split.by_icl == 1
    assert split.number >= 2
    y_of_few = random.normal(size=6)
    few = sorted_rows(x[:6], y_of_few)
    assert likely_split(few) is None


def test_a_half_whose_targets_are_all_the_same_is_one_environment() -> None:
    """Where most rows repeat one value; its mixtures have no noise."""
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 1))
    y = np.zeros(60)
    y[:20] = random.normal(size=20)
    rows = sorted_rows(x, y)
    split = likely_split(rows)
    assert split is not None
    half = np.flatnonzero(rows.y == 0)
    again = split_again(rows, half, split, seed=0)
    assert not again.any()


def test_sums_of_other_columns_change_nothing() -> None:
    """As the columns of yes and of no: among equal fits rounding would choose, and two
    runs of one command would differ."""
    random = np.random.default_rng(2)
    amounts = random.normal(size=(200, 2))
    yes = random.random(200) < 0.5
    noise = random.normal(size=200) * np.where(random.random(200) < 0.3, 4, 1)
    y = amounts[:, 0] + yes + noise
    independent = np.column_stack([amounts, yes])
    both = np.column_stack([amounts, yes, ~yes, np.ones(200)])
    once = likely_split(sorted_rows(independent, y))
    again = likely_split(sorted_rows(both, y))
    assert once is not None
    assert again is not None
    assert_allclose(again.memberships, once.memberships, atol=0.01)
    found = again.candidates["BIC"]
    assert_allclose(found, once.candidates["BIC"], rtol=1e-3)


def test_neither_the_order_of_rows_nor_that_of_columns_matters() -> None:
    table = turned(120)
    rows = table.rows
    random = np.random.default_rng(0)
    by = random.permutation(120)
    of = np.array([2, 0, 1])
    again = DescribedRows.sort(
        rows.x[by][:, of],
        rows.y[by],
        [rows.names[j] for j in of],
        rows.labels[by],
    )
    assert_array_equal(again.x, rows.x)
    assert again.names == rows.names
    assert again.labels.tolist() == rows.labels.tolist()


def test_rows_of_weight_zero_are_left_out() -> None:
    y = np.arange(30.0)
    x = y[:, None]
    weights = np.ones(30)
    weights[0] = 0
    weights[-1] = 3
    rows = sorted_rows(x, y, weights=weights)
    assert rows.order.tolist() == list(range(1, 30))
    assert rows.counts.tolist() == [1.0] * 28 + [3.0]
    assert rows.weights.mean() == pytest.approx(1)
    assert rows.draws.tolist() == [-1, *range(29)]


def test_stability_is_one_for_the_same_split_and_zero_by_chance() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(2, size=200)

    def swapped(half: np.ndarray, seed: int) -> np.ndarray:
        return 1 - labels

    same = stability(labels, swapped, 3, 0)
    assert same is not None
    assert same.indices == (1.0, 1.0, 1.0)

    def by_chance(half: np.ndarray, seed: int) -> np.ndarray:
        assert len(half) == 100
        drawn = np.random.default_rng(seed)
        return drawn.integers(2, size=200)

    drawn = stability(labels, by_chance, 5, 0)
    assert drawn is not None
    assert abs(drawn.median) < 0.05

    def without_split(half: np.ndarray, seed: int) -> None:
        return None

    assert stability(labels, without_split, 3, 0) is None


def test_rows_that_a_half_cannot_place_do_not_count() -> None:
    labels = np.arange(200) % 2
    placed = np.arange(200) >= 20

    def partly(half: np.ndarray, seed: int) -> np.ndarray:
        return np.where(placed, 1 - labels, -1)

    same = stability(labels, partly, 2, 0)
    assert same is not None
    assert same.indices == (1.0, 1.0)


def test_rows_in_one_environment_are_no_agreement() -> None:
    everyone = np.zeros(200, dtype=np.int64)
    labels = np.arange(200) % 2

    def without_split(half: np.ndarray, seed: int) -> np.ndarray:
        return everyone

    assert stability(everyone, without_split, 2, 0) is None
    chance = stability(labels, without_split, 2, 0)
    assert chance is not None
    assert chance.indices == (0.0, 0.0)

    # also where the rows that a half can place are of one environment alone
    def partly(half: np.ndarray, seed: int) -> np.ndarray:
        return np.where(labels == 0, 0, -1)

    some = stability(labels, partly, 2, 0)
    assert some is not None
    assert some.indices == (0.0, 0.0)
