"""Numbers far from others, columns far from 0, and networks that are not trained."""

import re
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from torch import nn

from kerhrm import ERM, GroupDRO, KerHRMRegressor, TangentRidge
from kerhrm.estimators._guard import _told_apart, not_detected
from kerhrm.heterogeneity.result import impossible

SMALL: dict[str, Any] = {"k": 5, "network": (), "random_state": 0}


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    """A slope that is the opposite in a fifth of 200 rows."""
    random = np.random.default_rng(3)
    x = random.normal(size=(200, 3))
    slope = np.where(random.random(200) < 0.2, -2.0, 2.0)
    noise = 0.3 * random.normal(size=200)
    return x, x[:, 0] + slope * x[:, 1] + noise


@pytest.mark.filterwarnings("ignore::kerhrm.errors.KerhrmWarning")
@pytest.mark.parametrize("value", [1500.0, 99999.0, 1e12])
@pytest.mark.parametrize("row", [0, 7, 199])
def test_a_cell_far_from_all_others_is_survived(
    rows: tuple[np.ndarray, np.ndarray], row: int, value: float
) -> None:
    x, y = rows
    x[row, 0] = value
    model = KerHRMRegressor(**SMALL).fit(x, y)
    assert np.isfinite(model.predict(x)).all()
    assert 0 < model.heterogeneity_.p_value <= 1


@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_a_column_far_from_zero_is_no_constant(spread: float) -> None:
    """scikit-learn's rule for constant columns grows with their number of rows."""
    random = np.random.default_rng(0)
    z = random.normal(size=(50_000, 2))
    far = np.column_stack([1e9 + spread * z[:, 0], z[:, 1]])
    y = z.sum(1)
    model = TangentRidge(task="regression", network=(), random_state=0, n_landmarks=20)
    assert model.fit(far, y).score(far, y) > 0.999


def test_nor_is_a_target_far_from_zero(rows: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rows
    expected = KerHRMRegressor(**SMALL).fit(x, y)
    far = 1e11 + y
    model = KerHRMRegressor(**SMALL).fit(x, far)
    assert model.predictor_ == expected.predictor_
    assert_allclose(model.predict(x) - 1e11, expected.predict(x), atol=0.01)


def test_a_network_that_is_worse_than_a_constant_is_told() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 3))
    noise = 0.5 * random.normal(size=400)
    y = np.where(x[:, 0] + noise > 0, "hi", "lo")
    untrained = ERM(network=(), steps=1, learning_rate=1e-9, random_state=2)
    with pytest.warns(ConvergenceWarning) as caught:
        untrained.fit(x, y)
    text = str(caught[0].message)
    told = re.fullmatch(
        r"a constant does better on the training rows: share of wrong labels (\S+) "
        r"against (\S+); raise steps=1 or learning_rate: network=\(\) wants about 0.1",
        text,
    )
    assert told is not None
    assert float(told[1]) > float(told[2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained = ERM(network=(), learning_rate=0.1, random_state=2).fit(x, y)
        environments = np.arange(400) % 2
        GroupDRO(network=(), learning_rate=0.1, random_state=2).fit(
            x, y, environments=environments
        )
    assert trained.score(x, y) > 0.85


def test_so_is_one_of_a_regression() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 3))
    y = 10 + 0.1 * random.normal(size=300)
    untrained = ERM(task="regression", steps=1, learning_rate=10.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="mean squared error, standardised"):
        untrained.fit(x, y)


@pytest.mark.parametrize("n_low", [60, 40])
def test_an_output_of_0_is_wrong_where_its_prediction_is(n_low: int) -> None:
    """Of a network that is 0 everywhere, and so predicts the first class."""
    random = np.random.default_rng(0)
    x = random.normal(size=(100, 3))
    y = np.repeat(["first", "second"], [n_low, 100 - n_low])
    zero = nn.Sequential(nn.Linear(3, 1), nn.Hardshrink(100.0))
    model = ERM(network=zero, steps=1, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(x, y, validation=(x + 1e-3, y))
    assert_array_equal(model.decision_function(x), np.zeros(100))
    assert model.score(x, y) == n_low / 100
    texts = [str(warning.message) for warning in caught]
    if n_low > 50:
        assert texts == []
        return
    (text,) = texts
    assert "share of wrong labels 0.6 against 0.4" in text


def test_two_numbers_that_are_compared_differ_in_words() -> None:
    assert _told_apart(0.9004, 0.9, digits=3) == ("0.9004", "0.9")
    assert _told_apart(1.0001, 1.0, digits=2) == ("1.0001", "1")
    assert _told_apart(0.5, 0.5, digits=2) == ("0.5", "0.5")
    assert _told_apart(0.31, 0.9, digits=2) == ("0.31", "0.9")


def test_why_an_auxiliary_column_cannot_be_tested() -> None:
    text = not_detected(impossible(19), by_auxiliary=True)
    assert text is not None
    assert "fewer than 80 rows are left beside those that validate" in text
    assert "no value of the auxiliary columns has 10 rows" in text
