"""Weighted least squares of environments against closed forms and simulations."""

import dataclasses

import numpy as np
import pytest
from described_tables import sorted_rows, turned
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kerhrm.description.regressions import (
    LEVEL,
    environment_regressions,
    independent_columns,
    slopes,
    weighted_least_squares,
)


def test_coefficients_and_errors_are_those_of_the_formula() -> None:
    """HC3 as MacKinnon and White write it, of rows times the root of their weights."""
    random = np.random.default_rng(0)
    columns = random.normal(size=(40, 2))
    x = np.column_stack([np.ones(40), columns])
    y = random.normal(size=40)
    r = random.random(40)
    found = weighted_least_squares(x, y, r)
    root = np.sqrt(r)
    xw = x * root[:, None]
    yw = y * root
    inverse = np.linalg.inv(xw.T @ xw)
    beta = inverse @ xw.T @ yw
    assert_allclose(found.coefficients, beta)
    e = yw - xw @ beta
    h = np.diag(xw @ inverse @ xw.T)
    of_rows = e / (1 - h)
    omega = np.diag(of_rows**2)
    covariance = inverse @ xw.T @ omega @ xw @ inverse
    variances = np.diag(covariance)
    assert_allclose(found.errors, np.sqrt(variances))


def test_with_weights_of_zero_and_one_it_is_least_squares_of_some_rows() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(50, 3))
    y = random.normal(size=50)
    some = random.random(50) < 0.5
    weights = some.astype(float)
    weighted = weighted_least_squares(x, y, weights)
    x_some = x[some]
    y_some = y[some]
    ones = np.ones(some.sum())
    alone = weighted_least_squares(x_some, y_some, ones)
    assert_allclose(weighted.errors, alone.errors)
    assert weighted.noise == pytest.approx(alone.noise)
    expected, *_ = np.linalg.lstsq(x_some, y_some, rcond=None)
    assert_allclose(weighted.coefficients, expected)


def test_intervals_cover_where_the_environments_are_known() -> None:
    """And noise grows with the column, so that plain errors would be too small."""
    random = np.random.default_rng(2)
    covered = []
    for _ in range(300):
        x = random.normal(size=60)
        noise = np.abs(x) * random.normal(size=60)
        y = 2 * x + noise
        ones = np.ones(60)
        design = np.column_stack([ones, x])
        fitted = weighted_least_squares(design, y, ones)
        distance = abs(fitted.coefficients[1] - 2)
        half_width = 2 * fitted.errors[1]
        covered.append(distance < half_width)
    assert 0.91 < np.mean(covered) < 0.985


def test_the_column_whose_slope_differs_comes_first() -> None:
    table = turned()
    regressions, names, left_out = environment_regressions(
        table.rows, table.memberships
    )
    found = slopes(regressions, names)
    # in both environments place is constant, so that its slope is not determined
    assert left_out == []
    assert found["column"].iloc[0] == "rating"
    is_rating = found["column"] == "rating"
    of_rating = found[is_rating].set_index("environment")
    slopes_by_name = {"environment 0": 2.0, "environment 1": -2.0}
    for name, slope in slopes_by_name.items():
        row = of_rating.loc[name]
        coefficient = row["coefficient"]
        assert coefficient == pytest.approx(slope, abs=0.15)
        assert row["low"] < coefficient < row["high"]
    assert LEVEL in found["column"].tolist()
    is_place = found["column"] == "place"
    assert found.loc[is_place, "coefficient"].isna().all()


def test_sums_of_other_columns_are_left_out() -> None:
    """As one-hot columns, which add up to one."""
    random = np.random.default_rng(3)
    kind = random.integers(3, size=90)
    one_hot = np.eye(3)[kind]
    amounts = random.normal(size=90)
    x = np.column_stack([one_hot, amounts, np.ones(90)])
    assert len(independent_columns(x)) == 3
    y = random.normal(size=90)
    rows = sorted_rows(x, y)
    is_first = rows.x[:, 0] > 0
    halves = np.column_stack([is_first, ~is_first]).astype(float)
    _, names, left_out = environment_regressions(rows, halves)
    assert left_out == []
    assert len(names) == 4


def test_rounding_is_nought() -> None:
    """Where the columns say the target, as those of a split of labels may."""
    random = np.random.default_rng(5)
    column = random.choice([0.0, 1.0], 60)
    other = random.normal(size=60)
    design = np.column_stack([np.ones(60), column - column.mean(), other])
    fitted = weighted_least_squares(design, 1 - column, random.random(60))
    assert fitted.noise == 0
    assert fitted.coefficients[2] == 0
    assert fitted.coefficients[1] == pytest.approx(-1)
    assert not fitted.errors.any()


@given(st.integers(0, 10_000), st.floats(0, 1e11))
def test_the_targets_level_changes_no_error(seed: int, level: float) -> None:
    """A time in seconds since 1970 is no exact function of the columns."""
    random = np.random.default_rng(seed)
    column = random.normal(size=60)
    design = np.column_stack([np.ones(60), column - column.mean()])
    noise = random.normal(size=60)
    y = 60 * column + 30 * noise
    r = random.random(60)
    before = weighted_least_squares(design, y, r)
    after = weighted_least_squares(design, y + level, r)
    assert after.noise == pytest.approx(before.noise, rel=1e-3)
    assert_allclose(after.errors, before.errors, rtol=1e-3)


def test_of_many_columns_those_that_differ_stay() -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=(80, 40))
    hidden = random.random(80) < 0.4
    slope = np.where(hidden, -3.0, 3.0)
    noise = 0.3 * random.normal(size=80)
    y = slope * x[:, 7] + noise
    rows = sorted_rows(x, y)
    of_each = np.column_stack([~hidden, hidden])
    parts = of_each[rows.order].astype(float)
    regressions, names, left_out = environment_regressions(rows, parts)
    assert len(left_out) > 30
    assert set(left_out) | set(names[1:]) == set(rows.names)
    ordered = slopes(regressions, names)
    assert ordered["column"].iloc[0] == "c7"


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_units_change_nothing_but_the_unit(seed: int, unit: float) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(30, 2))
    y = random.normal(size=30)
    r = random.random(30)
    before = weighted_least_squares(x, y, r)
    units = [unit, 1.0]
    after = weighted_least_squares(x * units, y, r)
    coefficients = after.coefficients * units
    errors = after.errors * units
    assert_allclose(coefficients, before.coefficients)
    assert_allclose(errors, before.errors)


def test_a_column_that_is_called_like_the_level_stays_one_of_its_own() -> None:
    table = turned()
    names = [LEVEL, f"({LEVEL})", "place"]
    rows = dataclasses.replace(table.rows, names=names)
    _, found, _ = environment_regressions(rows, table.memberships)
    assert found == [f"(({LEVEL}))", *names]
