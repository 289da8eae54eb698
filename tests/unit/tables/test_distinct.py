"""Equal rows are one row with a weight, and nothing depends on the order of rows,
columns or seeds that should not."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kerhrm import EIIL, ERM, KerHRMClassifier, KerHRMRegressor, TangentRidge
from kerhrm.estimators._start import GivenRows, learn_units, points_of, read_rows
from kerhrm.features.ridge_path import RidgePath
from kerhrm.tables.distinct import DistinctRows, alike_by_chance, column_order
from tests.unit.estimators.conftest import Table, flipped_labels, flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
SMALL: dict[str, Any] = {
    "k": 5,
    "n_init": 2,
    "network": (64,),
    "random_state": 3,
}
WEIGHED = [
    (KerHRMRegressor(**SMALL), "numbers"),
    (KerHRMRegressor(**SMALL, pretest=False, if_not_better="fit"), "numbers"),
    (KerHRMClassifier(**SMALL, if_not_better="fit"), "labels"),
    (TangentRidge(task="regression", network=(64,), random_state=3), "numbers"),
    (TangentRidge(network=(64,), random_state=3), "labels"),
]


def table_of(kind: str) -> Table:
    """200 rows with hidden environments."""
    if kind == "numbers":
        return flipped_slopes(200, 5)
    return flipped_labels(200, 5)


def copies(how: str, y: np.ndarray) -> np.ndarray:
    """Number of copies of each row (n,)."""
    random = np.random.default_rng(1)
    n = len(y)
    is_repeated = random.random(n) < 0.3
    matches = random.geometric(0.4, n)
    few = random.integers(0, 3, n)
    is_above = y > np.median(y) - 1e-9
    return {
        "each twice": np.full(n, 2),
        "three tenths repeated": np.where(is_repeated, 3, 1),
        "a join": matches,
        "one side oversampled": np.where(is_above, 4, 1),
        "some left out": few,
    }[how]


@pytest.mark.parametrize(
    "how",
    [
        "each twice",
        "three tenths repeated",
        "a join",
        "one side oversampled",
        "some left out",
    ],
)
@pytest.mark.parametrize(("model", "kind"), WEIGHED)
def test_copies_are_weights(model: Any, kind: str, how: str) -> None:
    x, y, _ = table_of(kind)
    number = copies(how, y)
    numbers = np.arange(len(y))
    repeated_rows = np.repeat(numbers, number)
    random = np.random.default_rng(2)
    rows = random.permutation(repeated_rows)
    repeated = clone(model)
    repeated.fit(x[rows], y[rows])
    weighted = clone(model)
    weighted.fit(x, y, sample_weight=number)
    expected = weighted.predict(x)
    assert_array_equal(repeated.predict(x), expected)
    if hasattr(model, "predict_environment_proba"):
        proba = weighted.environment_proba_
        assert_array_equal(repeated.environment_proba_, proba[rows])


@pytest.mark.parametrize(
    "model", [ERM(steps=5, network=(8,)), EIIL(steps=5, network=(8,))]
)
def test_copies_train_or_validate_together(model: Any) -> None:
    """Also where a method takes no weights."""
    x, y, _ = flipped_labels(100, 0)
    counts = copies("a join", y)
    numbers = np.arange(100)
    rows = np.repeat(numbers, counts)
    model = clone(model)
    model.set_params(random_state=0)
    given = GivenRows(x[rows], y[rows])
    table = read_rows(model, given)
    split = learn_units(model, table, weighs=False)
    inputs, positions = points_of(model, table, split)
    trains = positions < len(inputs.x)
    n_training = len(inputs.x)
    n_points = n_training + len(inputs.x_validation)
    assert n_points == len(rows)
    for number in range(100):
        is_copy = rows == number
        sides = set(trains[is_copy])
        assert len(sides) == 1
    points = torch.cat([inputs.x, inputs.x_validation])
    points_of_rows = x[rows]
    expected = model._units.inputs(points_of_rows)
    torch.testing.assert_close(points[positions], expected)


@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_the_order_of_rows_and_columns_changes_nothing(kind: str) -> None:
    x, y, _ = table_of(kind)
    estimator = KerHRMRegressor if kind == "numbers" else KerHRMClassifier
    model = estimator(**SMALL, if_not_better="fit", if_not_detected="fit")
    model.fit(x, y)
    random = np.random.default_rng(0)
    for _ in range(3):
        rows = random.permutation(len(y))
        columns = random.permutation(x.shape[1])
        permuted = x[rows][:, columns]
        other = clone(model)
        other.fit(permuted, y[rows])
        predictions = other.predict(x[:, columns])
        assert_array_equal(model.predict(x), predictions)
        memberships = model.environment_proba_[rows]
        assert_array_equal(memberships, other.environment_proba_)


@pytest.mark.parametrize("seed", [0, 1])
def test_one_verdict_for_every_seed(seed: int) -> None:
    x, y, _ = flipped_slopes(150, seed, share=0.1)
    rng = np.random.default_rng(seed)
    noise = 3 * rng.normal(size=150)
    p_values = set()
    predictors = set()
    for random_state in range(4):
        settings = SMALL | {"random_state": random_state}
        model = KerHRMRegressor(**settings)
        model.fit(x, y + noise)
        p_values.add(model.heterogeneity_.p_value)
        predictors.add(model.predictor_)
    assert len(p_values) == 1
    assert len(predictors) == 1


one_row = st.tuples(
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([0.0, 0.5, 1, 2]),
)
rows = st.lists(
    one_row,
    min_size=1,
    max_size=30,
)


@given(rows, st.randoms())
def test_distinct_rows_are_those_of_any_order(drawn: Any, random: Any) -> None:
    table = np.array(drawn, dtype=float)
    values = table[:, :2]
    weights = table[:, 2]
    if not weights.any():
        return
    distinct = DistinctRows.find(values, weights)
    expected: dict[tuple[float, ...], float] = {}
    for row, weight in zip(values, weights, strict=True):
        if weight:
            key = tuple(row)
            total = expected.get(key, 0.0)
            expected[key] = total + weight
    first_values = values[distinct.first]
    found = [tuple(row) for row in first_values]
    totals = dict(zip(found, distinct.weights, strict=True))
    assert totals == expected

    counted = distinct.numbers >= 0
    assert_array_equal(counted, weights > 0)
    first_of_counted = distinct.first[distinct.numbers[counted]]
    assert_array_equal(values[first_of_counted], values[counted])

    n_rows = len(table)
    order = random.sample(range(n_rows), n_rows)
    values_in_order = values[order]
    other = DistinctRows.find(values_in_order, weights[order])
    first_rows = values[order][other.first]
    found_in_order = [tuple(row) for row in first_rows]
    assert found_in_order == found
    assert_array_equal(other.weights, distinct.weights)
    assert_array_equal(other.units, distinct.units)


def test_a_few_categories_are_alike_by_chance_and_copies_are_not() -> None:
    random = np.random.default_rng(0)
    numbers_of_categories = random.integers(0, 4, (500, 3))
    categories = numbers_of_categories.astype(float)
    distinct_categories = np.unique(categories, axis=0)
    assert alike_by_chance(distinct_categories)
    numbers = random.normal(size=(500, 3))
    assert not alike_by_chance(numbers)

    few = random.integers(0, 4, (500, 3))
    table = few.astype(float)
    distinct = DistinctRows.find(table, None)
    assert_array_equal(distinct.units, distinct.weights)
    distinct_rows = random.normal(size=(100, 3))
    twice = np.repeat(distinct_rows, 2, axis=0)
    of_copies = DistinctRows.find(twice, None)
    assert_array_equal(of_copies.units, 1)


def test_weights_that_are_not_whole_are_in_units_of_their_mean() -> None:
    random = np.random.default_rng(0)
    table = random.integers(0, 3, (200, 2)).astype(float)
    counts = DistinctRows.find(table, None).units
    tenths = DistinctRows.find(table, np.full(200, 0.1))
    assert_array_equal(tenths.units, counts)
    twice = DistinctRows.find(table, np.full(200, 2.0))
    assert_array_equal(twice.units, 2 * counts)

    weights = random.uniform(0, 5, 200)
    draws = weights / weights.mean()
    expected = []
    for row in np.unique(table[:, ::-1], axis=0)[:, ::-1]:
        equal = (table == row).all(axis=1)
        expected.append(np.ceil(draws[equal].sum()))
    for unit in (1e-3, 1.0, 1000.0):
        distinct = DistinctRows.find(table, unit * weights)
        assert_array_equal(distinct.units, expected)


def test_columns_are_ordered_by_what_they_hold() -> None:
    random = np.random.default_rng(0)
    bits = random.integers(0, 2, (60, 5))
    x = bits.astype(float)
    y = random.normal(size=60)
    order = column_order(x, y)
    for _ in range(5):
        columns = random.permutation(5)
        rows = random.permutation(60)
        permuted = x[rows][:, columns]
        y_permuted = y[rows]
        other = column_order(permuted, y_permuted)
        in_order = x[:, columns][:, other]
        expected = x[:, order]
        assert_array_equal(in_order, expected)


def test_leaving_a_unit_out_leaves_one_of_equal_draws_out() -> None:
    """As with rows that stand there several times."""
    random = np.random.default_rng(0)
    x = random.normal(size=(30, 3))
    y = random.normal(size=30)
    units = random.integers(1, 5, 30)
    numbers = np.arange(30)
    rows = np.repeat(numbers, units)
    many = RidgePath.decompose(x[rows])
    mean_units = units.mean()
    weights = units / mean_units
    one = RidgePath.decompose(x, weights, units.astype(float))
    predictions = many.left_out(y[rows], 0.1)
    # weights of mean 1 make squared singular values smaller, and their mean is the same
    expected = one.left_out(y, 0.1 / mean_units)
    expected_of_rows = expected[rows]
    assert_allclose(predictions, expected_of_rows, rtol=1e-6)
