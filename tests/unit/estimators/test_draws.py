"""Tables of few different rows, each of which stands for many draws; and of many."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.tables.distinct import DistinctRows
from kerhrm.tables.held_out import split_rows

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
    columns = [
        np.where(agrees, y, -y),
        np.where(flips, -y, y),
        random.integers(0, 3, n),
    ]
    return np.column_stack(columns).astype(float), y


def test_validation_rows_weigh_as_many_draws_as_they_are() -> None:
    x, y = few_categories()
    table = np.column_stack([y, x])
    distinct = DistinctRows.find(table, None)
    assert distinct.units.max() > 1
    points = split_rows(distinct, y, "classification", 0.2, hold_out=True, weighs=True)
    assert points.weights is not None
    assert points.held_out_weights is not None
    assert points.weights.mean() == pytest.approx(1)
    n_draws = 400 / points.weights.sum() * 0.8
    assert n_draws * points.weights.sum() == pytest.approx(320)
    assert n_draws * points.held_out_weights.sum() == pytest.approx(80)


def test_so_do_they_where_kerhrm_and_erm_are_compared() -> None:
    x, y = few_categories()
    model = KerHRMClassifier(**SMALL, if_not_better="fit").fit(x, y)
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
    distinct = DistinctRows.find(np.column_stack([y, x]), weights)
    points = split_rows(distinct, y, "regression", 0.2, hold_out=True, weighs=True)
    both = [points.weights, points.held_out_weights]
    rows = [points.train, points.held_out]
    unit = weights[points.train].mean()
    for of_part, numbers in zip(both, rows, strict=True):
        assert_allclose(of_part, weights[numbers] / unit)


def test_rows_that_differ_have_no_weights() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(50, 2))
    y = random.normal(size=50)
    distinct = DistinctRows.find(np.column_stack([y, x]), None)
    points = split_rows(distinct, y, "regression", 0.2, hold_out=True, weighs=True)
    assert points.weights is None
    assert points.held_out_weights is None


def test_the_number_of_environments_is_chosen_by_landmarks_too() -> None:
    """Of more rows than ``max_exact``, as of the file of a check."""
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 2))
    slope = np.where(random.random(200) < 0.2, -2.0, 2.0)
    y = x[:, 0] + slope * x[:, 1] + 0.3 * random.normal(size=200)
    model = KerHRMRegressor(
        **SMALL,
        pretest=False,
        n_environments=None,
        options={"max_exact": 50},
        if_not_better="fit",
    )
    model.fit(x, y)
    assert np.isfinite(model.predict(x)).all()


@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
def test_the_unit_of_a_survey_s_weights_does_not_matter(unit: float) -> None:
    """Equal rows are as many draws by weights that are no whole numbers; powers of two
    round nothing."""
    x, y = few_categories()
    random = np.random.default_rng(1)
    weights = random.uniform(0.5, 1.5, len(y))
    model = KerHRMClassifier(**SMALL, if_not_better="fit")
    expected = clone(model).fit(x, y, sample_weight=weights)
    in_unit = clone(model).fit(x, y, sample_weight=unit * weights)
    assert_array_equal(in_unit.environment_proba_, expected.environment_proba_)
    outputs = expected.decision_function(x)
    assert_array_equal(in_unit.decision_function(x), outputs)


def test_a_number_that_is_chosen_is_the_fit_that_asks_for_it() -> None:
    """With no more features than rows for each environment."""
    random = np.random.default_rng(0)
    x = random.normal(size=(150, 2))
    slope = np.array([-6.0, 0.0, 6.0])[random.integers(3, size=150)]
    y = x[:, 0] + slope * x[:, 1] + 0.1 * random.normal(size=150)
    kept: dict[str, Any] = {"pretest": False, "if_not_better": "fit"}
    wide = SMALL | kept | {"k": [3, 60], "network": (256,), "n_init": 4}
    chosen = KerHRMRegressor(**wide, n_environments=None).fit(x, y)
    assert chosen.environment_proba_.shape[1] == 3
    asked = KerHRMRegressor(**wide, n_environments=3).fit(x, y)
    assert len(asked.singular_values_) == 40
    assert_array_equal(chosen.singular_values_, asked.singular_values_)
    assert_array_equal(chosen.environment_proba_, asked.environment_proba_)
    assert_array_equal(chosen.predict(x), asked.predict(x))
    assert chosen.history_ == asked.history_
