"""Tables of few different rows, each of which stands for many draws; and of many."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.options import Task
from kerhrm.tables.distinct import DistinctRows
from kerhrm.tables.held_out import Split, split_rows

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.errors.KerhrmWarning")
SMALL: dict[str, Any] = {
    "k": 3,
    "network": (8,),
    "n_init": 1,
    "random_state": 0,
}


def few_categories(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Three columns of two or three values, and two labels."""
    random = np.random.default_rng(0)
    y = random.choice([-1, 1], n)
    agrees = random.random(n) < 0.8
    flips = random.random(n) < 0.3
    often_right = np.where(agrees, y, -y)
    sometimes_turned = np.where(flips, -y, y)
    unrelated = random.integers(0, 3, n)
    x = np.column_stack([often_right, sometimes_turned, unrelated])
    return x.astype(float), y


def distinct_rows(x: np.ndarray, y: np.ndarray, weights: Any = None) -> DistinctRows:
    """Different rows of a table with its target."""
    table = np.column_stack([y, x])
    return DistinctRows.find(table, weights)


def split(distinct: DistinctRows, y: np.ndarray, task: Task) -> Split:
    """Training rows, and a fifth of the draws held out."""
    return split_rows(distinct, y, task, 0.2, hold_out=True, weighs=True)


def test_validation_rows_weigh_as_many_draws_as_they_are() -> None:
    """A fifth of 400 draws is held out: a quarter as many as train."""
    x, y = few_categories()
    distinct = distinct_rows(x, y)
    assert distinct.units.max() > 1
    points = split(distinct, y, "classification")
    assert points.weights is not None
    assert points.held_out_weights is not None
    assert points.weights.mean() == pytest.approx(1)
    of_training = points.weights.sum()
    of_held_out = points.held_out_weights.sum()
    assert of_training / of_held_out == pytest.approx(320 / 80)


def test_so_do_they_where_kerhrm_and_erm_are_compared() -> None:
    x, y = few_categories()
    model = KerHRMClassifier(**SMALL, if_not_better="fit")
    model.fit(x, y)
    weights = model._losses["weights"]
    n_train = len(model._inferred._chosen.train)
    of_train = weights[:n_train].sum()
    of_validation = weights[n_train:].sum()
    assert of_train / of_validation == pytest.approx(4)


def test_weights_of_both_parts_have_one_unit() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(50, 2))
    y = random.normal(size=50)
    weights = random.uniform(0.5, 3, 50)
    distinct = distinct_rows(x, y, weights)
    points = split(distinct, y, "regression")
    of_training = weights[points.train]
    of_held_out = weights[points.held_out]
    unit = of_training.mean()
    assert_allclose(points.weights, of_training / unit)
    assert_allclose(points.held_out_weights, of_held_out / unit)


def test_rows_that_differ_have_no_weights() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(50, 2))
    y = random.normal(size=50)
    distinct = distinct_rows(x, y)
    points = split(distinct, y, "regression")
    assert points.weights is None
    assert points.held_out_weights is None


def test_the_number_of_environments_is_chosen_by_landmarks_too() -> None:
    """Of more rows than ``max_exact``, as of the file of a check."""
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 2))
    is_rare = random.random(200) < 0.2
    slope = np.where(is_rare, -2.0, 2.0)
    noise = random.normal(size=200)
    y = x[:, 0] + slope * x[:, 1] + 0.3 * noise
    model = KerHRMRegressor(
        **SMALL,
        pretest=False,
        n_environments=None,
        options={"max_exact": 50},
        if_not_better="fit",
    )
    model.fit(x, y)
    predictions = model.predict(x)
    assert np.isfinite(predictions).all()


@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
def test_the_unit_of_a_survey_s_weights_does_not_matter(unit: float) -> None:
    """Also where weights are no whole numbers; powers of two round nothing."""
    x, y = few_categories()
    random = np.random.default_rng(1)
    weights = random.uniform(0.5, 1.5, len(y))
    expected = KerHRMClassifier(**SMALL, if_not_better="fit")
    in_unit = clone(expected)
    expected.fit(x, y, sample_weight=weights)
    in_unit.fit(x, y, sample_weight=unit * weights)
    assert_array_equal(in_unit.environment_proba_, expected.environment_proba_)
    outputs = in_unit.decision_function(x)
    expected_outputs = expected.decision_function(x)
    assert_array_equal(outputs, expected_outputs)


def test_a_number_that_is_chosen_is_the_fit_that_asks_for_it() -> None:
    """With no more features than rows for each environment."""
    random = np.random.default_rng(0)
    x = random.normal(size=(150, 2))
    slopes = np.array([-6.0, 0.0, 6.0])
    environment = random.integers(3, size=150)
    noise = random.normal(size=150)
    y = x[:, 0] + slopes[environment] * x[:, 1] + 0.1 * noise
    wide: dict[str, Any] = SMALL | {
        "k": [3, 60],
        "network": (256,),
        "n_init": 4,
        "pretest": False,
        "if_not_better": "fit",
    }
    chosen = KerHRMRegressor(**wide, n_environments=None)
    chosen.fit(x, y)
    _, n_environments = chosen.environment_proba_.shape
    assert n_environments == 3
    asked = KerHRMRegressor(**wide, n_environments=3)
    asked.fit(x, y)
    assert len(asked.singular_values_) == 40
    assert_array_equal(chosen.singular_values_, asked.singular_values_)
    assert_array_equal(chosen.environment_proba_, asked.environment_proba_)
    predictions = chosen.predict(x)
    expected = asked.predict(x)
    assert_array_equal(predictions, expected)
    assert chosen.history_ == asked.history_
    # nor does it matter that a pre-test has detected nothing, if KerHRM is fitted
    anyway = wide | {"pretest": {"min_gain": 1e3}, "if_not_detected": "fit"}
    untold = KerHRMRegressor(**anyway, n_environments=None)
    untold.fit(x, y)
    assert untold.heterogeneity_ is not None
    assert not untold.heterogeneity_.detected
    assert_array_equal(untold.environment_proba_, asked.environment_proba_)
