"""Copies of rows, draws that are equal by chance, and weights, as one description."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from described_tables import sorted_rows
from numpy.testing import assert_array_equal

from kerhrm.description.rows import MOST_DRAWS, effective_number
from kerhrm.description.split import likely_split
from kerhrm.description.tree import separate


def numbers(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which no two are equal by chance, and their targets."""
    random = np.random.default_rng(3)
    x = random.normal(size=(n, 2))
    noise = random.normal(size=n)
    return x, x[:, 0] + noise


def categories(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which many are equal by chance, and their targets."""
    random = np.random.default_rng(3)
    drawn = random.integers(0, 3, size=(n, 2))
    x = drawn.astype(float)
    levels = random.integers(0, 2, size=n)
    return x, x[:, 0] + levels


def fields(rows: Any) -> dict[str, Any]:
    """What a description reads: without places in the table."""
    values = dataclasses.asdict(rows)
    for name in ("labels", "order", "draws"):
        values.pop(name)
    return values


def test_copies_of_a_row_are_one_draw_with_a_weight() -> None:
    x, y = numbers()
    random = np.random.default_rng(0)
    times = random.integers(1, 4, len(y))
    weights = times.astype(float)
    weighted = sorted_rows(x, y, weights=weights)
    repeated_x = np.repeat(x, times, axis=0)
    repeated_y = np.repeat(y, times)
    repeated = sorted_rows(repeated_x, repeated_y)
    assert len(repeated.y) == len(y)
    for name, value in fields(weighted).items():
        assert_array_equal(fields(repeated)[name], value, err_msg=name)
    # every row of the table has the draw with its values
    assert_array_equal(repeated.y[repeated.draws], repeated_y)


def test_equal_rows_are_draws_where_categories_are_all_they_hold() -> None:
    x, y = categories()
    rows = sorted_rows(x, y)
    assert_array_equal(np.sort(rows.order), np.arange(len(y)))
    assert (rows.weights == 1).all()
    of_table = np.column_stack([x, y])
    table, counts = np.unique(of_table, axis=0, return_counts=True)
    different_x = table[:, :2]
    different_y = table[:, 2]
    weights = counts.astype(float)
    weighted = sorted_rows(different_x, different_y, weights=weights)
    for name, value in fields(rows).items():
        assert_array_equal(fields(weighted)[name], value, err_msg=name)


def test_rows_that_differ_beside_the_columns_are_no_copies() -> None:
    x, y = numbers()
    twice = np.tile(x, (2, 1))
    day = np.repeat([[0.0], [1.0]], len(y), axis=0)
    rows = sorted_rows(twice, np.tile(y, 2), beside=day)
    assert len(rows.y) == 2 * len(y)


def test_enormous_weights_make_no_enormous_tables() -> None:
    x, y = categories()
    rows = sorted_rows(x, y, weights=np.full(len(y), 1e6))
    assert MOST_DRAWS <= len(rows.y) < MOST_DRAWS + len(y)
    assert rows.counts.sum() == pytest.approx(4e8)


def test_values_of_draws_are_those_of_their_rows() -> None:
    x, y = numbers()
    weights = np.ones(2 * len(y))
    weights[[0, 120]] = 0
    rows = sorted_rows(np.tile(x, (2, 1)), np.tile(y, 2), weights=weights)
    back = rows.of_table(rows.x)[:, [rows.names.index("c0"), rows.names.index("c1")]]
    assert np.isnan(back[[0, 120]]).all()
    assert_array_equal(back[1:120], x[1:])
    assert_array_equal(back[121:], x[1:])


def test_the_effective_number_of_weights_of_zero_and_one_counts_the_ones() -> None:
    assert effective_number(np.array([2.0, 0.0, 2.0])) == pytest.approx(2)
    assert effective_number(np.zeros(3)) == 0


def test_ten_copies_of_a_table_have_no_more_components_than_one() -> None:
    """Ten times the likelihood would buy four of them."""
    x, y = numbers()
    single = likely_split(sorted_rows(x, y))
    tenfold = likely_split(sorted_rows(np.tile(x, (10, 1)), np.tile(y, 10)))
    assert single is not None
    assert tenfold is not None
    assert tenfold.by_bic == single.by_bic == 1
    assert_array_equal(tenfold.candidates["BIC"], single.candidates["BIC"])


def test_equal_weights_change_no_criterion_and_unequal_ones_lower_the_number() -> None:
    """BIC = -2 n L + p log n of one component, with its own regression for L."""
    x, y = numbers(300)
    weights = np.random.default_rng(1).choice([0.5, 1.5], len(y))
    split = likely_split(sorted_rows(x, y, weights=weights))
    assert split is not None
    n = weights.sum() ** 2 / (weights**2).sum()
    design = np.column_stack([np.ones(len(y)), x])
    root = np.sqrt(weights)
    beta, *_ = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)
    variance = np.average((y - design @ beta) ** 2, weights=weights) / y.var()
    likelihood = -0.5 * (np.log(2 * np.pi * variance) + 1)
    expected = -2 * n * likelihood + 4 * np.log(n)
    assert split.candidates.loc[1, "BIC"] == pytest.approx(expected, abs=0.1)


def test_rules_that_copies_would_teach_are_not_told() -> None:
    """Environments by chance: a fold that holds a row's copy names it."""
    x, y = numbers()
    hidden = np.random.default_rng(0).random(len(y)) < 0.4
    single = sorted_rows(x, y)
    tenfold = sorted_rows(np.tile(x, (10, 1)), np.tile(y, 10))
    of_rows = np.column_stack([~hidden, hidden]).astype(float)
    expected = separate(single, of_rows[single.order])
    assert separate(tenfold, of_rows[tenfold.order % len(y)]) == expected
    assert not expected.says_more


def test_shares_of_a_rule_count_weights() -> None:
    x = np.column_stack([np.repeat([0.0, 1.0], 60), np.arange(120.0)])
    hidden = x[:, 0] == 1
    hidden[:6] = True
    weights = np.ones(120)
    weights[:6] = 10.0
    rows = sorted_rows(x, np.arange(120.0), weights=weights)
    certain = np.column_stack([~hidden, hidden]).astype(float)[rows.order]
    tree = separate(rows, certain)
    text = "; ".join(tree.rules)
    # 54 rows of weight 1 and 6 of weight 10, or what the tree leaves of them
    assert "(100% of 54 rows)" in text or "(53% of 60 rows)" in text
    assert tree.n_rows == pytest.approx((114 + 60) ** 2 / (114 + 600))
