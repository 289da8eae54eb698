"""Equal rows are one row with a weight, and nothing depends on the order of rows,
columns or seeds that should not."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

from kerhrm import EIIL, ERM, KerHRMClassifier, KerHRMRegressor, TangentRidge
from kerhrm.estimators._start import GivenRows, points_of, read_rows
from kerhrm.features.ridge_path import RidgePath
from kerhrm.tables.distinct import DistinctRows, alike_by_chance, column_order
from tests.unit.estimators.conftest import Table, flipped_labels, flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
SMALL: dict[str, Any] = {"k": 5, "n_init": 2, "network": (64,), "random_state": 3}
WEIGHED = [
    (KerHRMRegressor(**SMALL), "numbers"),
    (KerHRMRegressor(**SMALL, pretest=False, if_not_better="fit"), "numbers"),
    (KerHRMClassifier(**SMALL, if_not_better="fit"), "labels"),
    (TangentRidge(task="regression", network=(64,), random_state=3), "numbers"),
    (TangentRidge(network=(64,), random_state=3), "labels"),
]


def table_of(kind: str) -> Table:
    return flipped_slopes(200, 5) if kind == "numbers" else flipped_labels(200, 5)


def copies(how: str, y: np.ndarray) -> np.ndarray:
    """Number of copies of each row (n,)."""
    random = np.random.default_rng(1)
    return {
        "each twice": np.full(len(y), 2),
        "three tenths repeated": np.where(random.random(len(y)) < 0.3, 3, 1),
        "a join": random.geometric(0.4, len(y)),
        "one side oversampled": np.where(y > np.median(y) - 1e-9, 4, 1),
        "some left out": random.integers(0, 3, len(y)),
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
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), number))
    repeated = clone(model).fit(x[rows], y[rows])
    weighted = clone(model).fit(x, y, sample_weight=number)
    assert_array_equal(repeated.predict(x), weighted.predict(x))
    if hasattr(model, "predict_environment_proba"):
        assert_array_equal(
            repeated.environment_proba_, weighted.environment_proba_[rows]
        )


@pytest.mark.parametrize(
    "model", [ERM(steps=5, network=(8,)), EIIL(steps=5, network=(8,))]
)
def test_copies_train_or_validate_together(model: Any) -> None:
    """Also where a method takes no weights."""
    x, y, _ = flipped_labels(100, 0)
    rows = np.repeat(np.arange(100), copies("a join", y))
    model = clone(model).set_params(random_state=0)
    table = read_rows(model, GivenRows(x[rows], y[rows]))
    inputs, positions = points_of(model, table, weighs=False)
    trains = positions < len(inputs.x)
    assert len(inputs.x) + len(inputs.x_validation) == len(rows)
    for number in range(100):
        assert len(set(trains[rows == number])) == 1
    points = torch.cat([inputs.x, inputs.x_validation])[positions]
    torch.testing.assert_close(points, model._units.inputs(x[rows]))


@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_the_order_of_rows_and_columns_changes_nothing(kind: str) -> None:
    x, y, _ = table_of(kind)
    make = KerHRMRegressor if kind == "numbers" else KerHRMClassifier
    model = make(**SMALL, if_not_better="fit", if_not_detected="fit").fit(x, y)
    random = np.random.default_rng(0)
    for _ in range(3):
        rows = random.permutation(len(y))
        columns = random.permutation(x.shape[1])
        other = clone(model).fit(x[rows][:, columns], y[rows])
        assert_array_equal(model.predict(x), other.predict(x[:, columns]))
        assert_array_equal(model.environment_proba_[rows], other.environment_proba_)


@pytest.mark.parametrize("seed", [0, 1])
def test_one_verdict_for_every_seed(seed: int) -> None:
    x, y, _ = flipped_slopes(150, seed, share=0.1)
    y = y + 3 * np.random.default_rng(seed).normal(size=150)
    models = [
        KerHRMRegressor(**SMALL | {"random_state": s}).fit(x, y) for s in range(4)
    ]
    p_values = {model.heterogeneity_.p_value for model in models}
    assert len(p_values) == 1
    assert len({model.predictor_ for model in models}) == 1


rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([0.0, 0.5, 1, 2])),
    min_size=1,
    max_size=30,
)


@given(rows, st.randoms())
def test_distinct_rows_are_those_of_any_order(drawn: Any, random: Any) -> None:
    table = np.array(drawn, dtype=float)
    if not table[:, 2].any():
        return
    distinct = DistinctRows.find(table[:, :2], table[:, 2])
    expected: dict[tuple[float, ...], float] = {}
    for *values, weight in table:
        if weight:
            expected[tuple(values)] = expected.get(tuple(values), 0.0) + weight
    found = [tuple(row) for row in table[distinct.first, :2]]
    assert dict(zip(found, distinct.weights, strict=True)) == expected
    counted = distinct.of >= 0
    assert_array_equal(counted, table[:, 2] > 0)
    assert_array_equal(
        table[distinct.first[distinct.of[counted]], :2], table[counted, :2]
    )
    order = random.sample(range(len(table)), len(table))
    other = DistinctRows.find(table[order, :2], table[order, 2])
    assert [tuple(row) for row in table[order][other.first, :2]] == found
    assert_array_equal(other.weights, distinct.weights)
    assert_array_equal(other.units, distinct.units)


def test_a_few_categories_are_alike_by_chance_and_copies_are_not() -> None:
    random = np.random.default_rng(0)
    few = np.unique(random.integers(0, 4, (500, 3)).astype(float), axis=0)
    assert alike_by_chance(few)
    assert not alike_by_chance(random.normal(size=(500, 3)))
    table = random.integers(0, 4, (500, 3)).astype(float)
    distinct = DistinctRows.find(table, None)
    assert_array_equal(distinct.units, distinct.weights)
    twice = np.repeat(random.normal(size=(100, 3)), 2, axis=0)
    assert_array_equal(DistinctRows.find(twice, None).units, 1)


def test_columns_are_ordered_by_what_they_hold() -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 2, (60, 5)).astype(float)
    y = random.normal(size=60)
    order = column_order(x, y)
    for _ in range(5):
        columns = random.permutation(5)
        rows = random.permutation(60)
        other = column_order(x[rows][:, columns], y[rows])
        assert_array_equal(x[:, columns][:, other], x[:, order])


def test_leaving_a_unit_out_leaves_one_of_equal_draws_out() -> None:
    """As with rows that stand there several times."""
    random = np.random.default_rng(0)
    x = random.normal(size=(30, 3))
    y = random.normal(size=30)
    units = random.integers(1, 5, 30)
    rows = np.repeat(np.arange(30), units)
    many = RidgePath.decompose(x[rows])
    one = RidgePath.decompose(x, units / units.mean(), units.astype(float))
    predictions = many.left_out(y[rows], 0.1)
    # weights of mean 1 make squared singular values smaller, and their mean is the same
    expected = one.left_out(y, 0.1 / units.mean())
    np.testing.assert_allclose(predictions, expected[rows], rtol=1e-6)
