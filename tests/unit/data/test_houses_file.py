"""The file of house prices: reading it, refusing another one, and what the real one
says."""

import os

import numpy as np
import pytest
from housetools import least_squares
from numpy.testing import assert_array_equal

from kerhrm_paper.data.king_county import BUILT_BEFORE, ROWS, Houses
from kerhrm_paper.data.sources import RawDataUnavailable

REAL_FILES = os.environ.get("KERHRM_RAW_DIR")  # read before the tests' settings hide it


def test_the_fallback_has_the_shape_of_the_file_and_a_market_that_drifts() -> None:
    houses = Houses.fallback()
    assert houses.is_fallback
    sizes = np.bincount(houses.period)
    assert sizes.tolist() == list(ROWS)
    for year, count in BUILT_BEFORE.items():  # training houses, by the options
        is_older = houses.yr_built < year
        assert is_older.sum() == count
    assert houses.predictors.shape == (21613, 17)
    assert np.isfinite(houses.predictors).all()
    assert (houses.price > 0).all()
    expected = Houses.fallback().price
    assert_array_equal(houses.price, expected)
    deviation = houses.price.std()
    centred = houses.price - houses.price.mean()
    price = centred / deviation
    is_first = houses.period == 0
    is_last = houses.period == 5
    errors = least_squares(houses, price, is_first)
    own = least_squares(houses, price, is_last)
    assert errors[-1] > 1.5 * own[5]


@pytest.fixture(scope="module")
def real() -> Houses:
    if REAL_FILES is None:
        pytest.skip("KERHRM_RAW_DIR is not set")
    try:
        return Houses.fetch(REAL_FILES, on_missing="fail")
    except RawDataUnavailable as error:
        pytest.skip(str(error))


MEAN = (1.31, 1.12, 0.91, 0.76, 1.02, 1.32)
LEAST_SQUARES = (0.29, 0.29, 0.39, 0.57, 1.13, 1.25)


def test_the_file(real: Houses) -> None:
    assert real.source == "king_county"
    assert real.predictors.shape == (21613, 17)
    sizes = np.bincount(real.period)
    assert sizes.tolist() == list(ROWS)
    assert real.price.min() == 75_000
    assert real.price.max() == 7_700_000
    # The factor by which other code on these data turns errors into dollars.
    deviation = real.price.std()
    assert deviation == pytest.approx(367118.7031813722, abs=1e-6)
    assert real.predictors[0].tolist() == [
        3,
        1,
        1180,
        5650,
        1,
        0,
        0,
        3,
        7,
        1180,
        0,
        1955,
        0,
        47.5112,
        -122.257,
        1340,
        5650,
    ]


def test_mean_and_least_squares_of_the_first_period(real: Houses) -> None:
    deviation = real.price.std()
    centred = real.price - real.price.mean()
    price = centred / deviation
    first = real.period == 0
    mean_of_first = price[first].mean()
    squares = (price - mean_of_first) ** 2
    mean = []
    for number in range(6):
        here = real.period == number
        mean.append(squares[here].mean())
    assert mean == pytest.approx(MEAN, abs=0.006)
    errors = least_squares(real, price, first)
    assert errors == pytest.approx(LEAST_SQUARES, abs=0.006)
