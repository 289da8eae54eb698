"""Calibrated probabilities of two labels."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from kerhrm import KerHRMClassifier
from kerhrm.estimators._calibration import probabilities, sigmoid_slope

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

SMALL: dict[str, Any] = {
    "k": (3, 5),
    "n_init": 2,
    "network": (64,),
    "random_state": 0,
}
SIGMOID = {"calibration": "sigmoid"}


def rows(n: int, seed: int, flips: float) -> tuple[np.ndarray, np.ndarray]:
    """A feature agrees with the label, another one is turned in some rows."""
    random = np.random.default_rng(seed)
    y = random.choice([-1.0, 1.0], n)
    draws = random.random(n)
    turned = draws < flips
    noise = 0.1 * random.normal(size=n)
    sign = np.where(turned, -y, y)
    spurious = sign + noise
    stable = y + random.normal(size=n)
    x = np.column_stack([stable, spurious])
    return x, y


def noisy(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels by a logistic law, which leave ERM to predict."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 4))
    log_odds = 2 * x[:, 0] + x[:, 1]
    odds = np.exp(-log_odds)
    chance = 1 / (1 + odds)
    draws = random.random(n)
    is_positive = draws < chance
    return x, np.where(is_positive, 1.0, -1.0)


def flipped(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which a fifth is turned."""
    return rows(n, seed, 0.2)


def test_the_slope_is_that_of_logistic_regression() -> None:
    """Without a constant; Platt's targets change little in many rows."""
    random = np.random.default_rng(0)
    f = random.normal(size=20_000)
    chance = probabilities(f, 1.7)
    draws = random.random(20_000)
    positive = draws < chance
    expected = LogisticRegression(fit_intercept=False, C=np.inf)
    expected.fit(f[:, None], positive)
    slope = sigmoid_slope(f, positive)
    coefficient = expected.coef_[0, 0]
    assert slope == pytest.approx(coefficient, rel=1e-2)
    turned_slope = sigmoid_slope(-f, positive)
    assert turned_slope < 1e-3
    f_twice = np.tile(f, 2)
    positive_twice = np.tile(positive, 2)
    twice = sigmoid_slope(f_twice, positive_twice)
    two = np.full(20_000, 2.0)
    weighted = sigmoid_slope(f, positive, two)
    assert twice == pytest.approx(weighted, rel=1e-3)
    two_outputs = np.array([-1.0, 1.0])
    two_labels = np.array([False, True])
    apart = sigmoid_slope(two_outputs, two_labels)
    assert 0 < apart < 10


@pytest.mark.parametrize(
    ("draw", "predictor"),
    [(flipped, "linear"), (noisy, "erm")],
)
def test_probabilities_are_better_and_predictions_the_same(
    draw: Any, predictor: str
) -> None:
    x, y = draw(400, 1)
    x_new, y_new = draw(3000, 2)
    if_not_better = "fit" if predictor == "linear" else "erm"
    options = SMALL | {"if_not_better": if_not_better}
    plain = KerHRMClassifier(**options)
    plain.fit(x, y)
    calibrated = KerHRMClassifier(**options, options=SIGMOID)
    calibrated.fit(x, y)
    assert calibrated.predictor_ == predictor
    predictions = calibrated.predict(x_new)
    expected = plain.predict(x_new)
    assert_array_equal(predictions, expected)
    before = plain.predict_proba(x_new)
    after = calibrated.predict_proba(x_new)
    totals = after.sum(1)
    assert_allclose(totals, 1)
    columns = after.argmax(1)
    likeliest = calibrated.classes_[columns]
    assert_array_equal(likeliest, predictions)
    cut = np.clip(before, 1e-3, 1 - 1e-3)
    loss_before = log_loss(y_new, cut)
    assert log_loss(y_new, after) < loss_before


def test_by_default_nothing_changes() -> None:
    x, y = noisy(200, 0)
    model = KerHRMClassifier(**SMALL).fit(x, y)
    outputs = model.decision_function(x)
    share = (1 + outputs) / 2
    expected = np.clip(share, 0, 1)
    _, second = model.predict_proba(x).T
    assert_array_equal(second, expected)
