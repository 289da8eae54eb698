"""More columns than the usual numbers of reduced features."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kerhrm import KerHRMClassifier, KerHRMRegressor, TangentRidge
from kerhrm.algorithm.options import KerHRMOptions

USUAL = tuple(KerHRMOptions().k)
TRAINING = 1000  #: rows of a table; others test
#: of a fit that takes a moment, and only has to count its features
SMALL: dict[str, Any] = {
    "network": (32,),
    "n_iterations": 1,
    "n_init": 1,
    "pretest": False,
    "random_state": 0,
}


def flipped(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of d unrelated columns; the effect of one flips in a fifth of the rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    is_flipped = rng.random(n) < 0.2
    slope = np.where(is_flipped, -1, 1)
    noise = 0.5 * rng.normal(size=n)
    first, second, third, *_ = x.T
    y = first + slope * second + 0.3 * third + noise
    return x, y, is_flipped


@pytest.mark.parametrize("seed", [0, 1])
def test_a_slope_that_flips_is_seen_among_forty_columns(seed: int) -> None:
    x, y, is_flipped = flipped(3000, 40, seed)
    x_train, x_test = np.split(x, [TRAINING])
    y_train, y_test = np.split(y, [TRAINING])
    flips = is_flipped[TRAINING:]

    def error(model: KerHRMRegressor | TangentRidge) -> float:
        """Mean squared error in the rows that flip."""
        model.fit(x_train, y_train)
        outputs = model.predict(x_test)
        residuals = y_test - outputs
        squares = residuals[flips] ** 2
        return float(squares.mean())

    kerhrm = KerHRMRegressor(random_state=0)
    erm = TangentRidge(task="regression", random_state=0)
    without_the_column = 1.0 + 0.5**2  # its variance, and that of the noise
    assert error(kerhrm) < without_the_column + 0.7
    assert error(erm) > without_the_column + 0.95
    assert kerhrm.predictor_ == "linear"
    assert kerhrm.selected_["k"] == 41


def n_features(model: KerHRMRegressor | KerHRMClassifier, n: int, d: int) -> int:
    """Number of reduced features of a fit to n rows of d columns."""
    x, y, _ = flipped(n, d, 0)
    is_classifier = isinstance(model, KerHRMClassifier)
    target = y > 0 if is_classifier else y
    model.fit(x, target)
    return len(model.singular_values_)


@pytest.mark.filterwarnings("ignore::kerhrm.errors.HeterogeneityNotDetectedWarning")
@pytest.mark.parametrize("kind", [KerHRMRegressor, KerHRMClassifier])
@pytest.mark.parametrize(("d", "expected"), [(24, 25), (25, 26), (60, 61), (130, 80)])
def test_none_is_enough_for_every_column(kind: Any, d: int, expected: int) -> None:
    """But no more than training rows per environment: 80."""
    model = kind(**SMALL)
    assert n_features(model, 200, d) == expected


@pytest.mark.filterwarnings("ignore::kerhrm.errors.HeterogeneityNotDetectedWarning")
@pytest.mark.parametrize(("k", "expected"), [(None, 100), (USUAL, 25), (120, 120)])
def test_none_has_at_most_a_hundred_and_what_is_given_stays(
    k: Any, expected: int
) -> None:
    model = KerHRMRegressor(k=k, **SMALL)
    assert n_features(model, 400, 130) == expected


def test_few_columns_have_the_usual_numbers() -> None:
    x, y, _ = flipped(200, 5, 0)
    default = KerHRMRegressor(network=(32,), random_state=0)
    usual = KerHRMRegressor(k=USUAL, network=(32,), random_state=0)
    default.fit(x, y)
    usual.fit(x, y)
    assert default.selected_ == usual.selected_
    outputs = default.predict(x)
    expected = usual.predict(x)
    assert_array_equal(outputs, expected)
