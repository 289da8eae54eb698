"""House prices: periods, the split of the first one, scaling, clipping and the
logarithm."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from drawtools import parts
from housetools import small
from numpy.testing import assert_allclose, assert_array_equal

from kerhrm_paper.data.draws import Draws
from kerhrm_paper.data.houses import HousesData, generate
from kerhrm_paper.data.king_county import PERIODS, PREDICTORS, Houses

HOUSES = small()
SEEDS = [3, 7]
YR_BUILT = PREDICTORS.index("yr_built")
WATERFRONT = PREDICTORS.index("waterfront")


def test_periods_begin_and_end_where_they_should() -> None:
    years = [1900, 1919, 1920, 1939, 1940, 1959, 1960, 1979, 1980, 1999, 2000, 2015]
    predictors = np.zeros((12, 17))
    predictors[:, YR_BUILT] = years
    price = np.ones(12)
    houses = Houses(predictors, price, "king_county")
    numbers = range(6)
    expected = np.repeat(numbers, 2)
    assert houses.period.tolist() == expected.tolist()
    pairs = np.reshape(years, (6, 2))
    named_pairs = zip(pairs, PERIODS, strict=True)
    for (first, last), name in named_pairs:
        assert name == f"{first}-{last}"


def row_numbers(x: np.ndarray) -> np.ndarray:
    """Row numbers (...) of points (..., d) that are scaled on all houses.

    They are column 0.
    """
    number = HOUSES.predictors[:, 0]
    deviation = number.std()
    scaled = x[..., 0]
    unscaled = scaled * deviation + number.mean()
    return np.rint(unscaled).astype(int)


def rows(data: Draws) -> dict[str, np.ndarray]:
    """Row numbers (B, n) of each part, of data that are scaled on all houses."""
    numbers = {}
    for name, split in parts(data).items():
        numbers[name] = row_numbers(split.x)
    return numbers


def made(seeds: Sequence[int], houses: Houses = HOUSES, **changed: Any) -> Draws:
    options = HousesData(**changed)
    return generate(options, seeds, houses)


def test_the_first_period_is_split_and_the_later_ones_are_shared() -> None:
    data = made(SEEDS, scale="all", price_scale="all")
    used = rows(data)
    first = np.flatnonzero(HOUSES.period == 0)
    later = []
    for number in range(1, 6):
        is_later = HOUSES.period == number
        later.append(np.flatnonzero(is_later))
    for b in range(2):
        tested = used["test"][b]
        split = [
            used["train"][b],
            used["validation"][b],
            tested[:6],
        ]
        together = np.concatenate(split)
        assert sorted(together) == first.tolist()
        houses_of_later = np.concatenate(later)
        assert_array_equal(tested[6:], houses_of_later)

    one, other = used["train"]
    assert set(one) != set(other)
    one, other = data.test.x
    assert_array_equal(one[6:], other[6:])

    price = HOUSES.price
    centred = price - price.mean()
    scaled = centred / price.std()
    for name, split in parts(data).items():
        expected = scaled[used[name]]
        assert_allclose(split.y, expected, rtol=1e-5, atol=1e-6)


def test_environments_are_decades_and_periods() -> None:
    data = made([3], scale="all")
    used = rows(data)
    for name, split in parts(data).items():
        year = HOUSES.yr_built[used[name]]
        decade = year >= 1910
        period = (year - 1900) // 20
        expected = period if name == "test" else decade
        assert_array_equal(split.environment, expected)
    environments = np.unique(data.train.environment)
    assert environments.tolist() == [0, 1]


@pytest.mark.parametrize("price_scale", ["train", "all"])
@pytest.mark.parametrize("scale", ["train", "all"])
def test_scaling(scale: Any, price_scale: Any) -> None:
    plain = made(SEEDS, scale="all")
    data = made(SEEDS, scale=scale, price_scale=price_scale)
    used = rows(plain)
    cases = [
        ("x", HOUSES.predictors, scale),
        ("y", HOUSES.price, price_scale),
    ]
    for b in range(2):
        training = used["train"][b]
        for field, values, base in cases:
            reference = values[training] if base == "train" else values
            mean = reference.mean(0)
            deviation = reference.std(0)
            for name, split in parts(data).items():
                chosen = values[used[name][b]]
                expected = (chosen - mean) / deviation
                got = getattr(split, field)[b]
                assert_allclose(got, expected, atol=1e-4)


@pytest.mark.parametrize("price", ["linear", "log"])
def test_an_error_is_the_same_whatever_scales_the_training_prices(price: Any) -> None:
    """Of predictions that are fixed in dollars, in units of all houses' deviation."""
    target = HOUSES.price
    if price == "log":
        target = np.log(target)
    tested = made(SEEDS, scale="all").test.x  # (B, n, d)
    first = row_numbers(tested[:, 0])
    last = row_numbers(tested[:, -1])
    difference_in_dollars = target[first] - target[last]
    expected = difference_in_dollars / target.std()
    for price_scale in ("train", "all"):
        data = made(SEEDS, price_scale=price_scale, price=price)
        assert data.unit is not None
        first_y = data.test.y[:, 0]
        last_y = data.test.y[:, -1]
        difference = (first_y - last_y) * data.unit
        assert_allclose(difference, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scale", ["train", "all"])
def test_clipping_moves_predictors_into_their_training_range(scale: Any) -> None:
    plain = made(SEEDS, scale=scale)
    data = made(SEEDS, scale=scale, clip="train")
    assert_array_equal(data.train.x, plain.train.x)
    unclipped = parts(plain)
    for b in range(2):
        training = plain.train.x[b]
        least = training.min(axis=0)
        most = training.max(axis=0)
        for name, split in parts(data).items():
            before = unclipped[name].x[b]
            below = before < least
            above = before > most
            expected = np.where(above, most, before)
            expected = np.where(below, least, expected)
            assert_array_equal(split.x[b], expected)
            is_moved = below.any() or above.any()
            assert name == "train" or is_moved
            expected = unclipped[name].y[b]
            assert_array_equal(split.y[b], expected)
        # every later house is newer than all training points
        later = data.test.environment[b] > 0
        years = data.test.x[b, later, YR_BUILT]
        newest = most[YR_BUILT]
        assert set(years.tolist()) == {newest}


@pytest.mark.parametrize("price_scale", ["train", "all"])
def test_the_logarithm_of_the_price(price_scale: Any) -> None:
    """Whatever the currency, in its own unit, and the same houses as without it."""
    plain = made(SEEDS, scale="all")
    options = {
        "scale": "all",
        "price_scale": price_scale,
        "price": "log",
    }
    data = made(SEEDS, **options)
    unchanged = parts(plain)
    used = rows(plain)
    logs = [math.log(p) for p in HOUSES.price]
    for b in range(2):
        trained = used["train"][b]
        training = [logs[i] for i in trained]
        base = training if price_scale == "train" else logs
        mean = statistics.fmean(base)
        deviation = statistics.pstdev(base)
        for name, split in parts(data).items():
            assert_array_equal(split.x, unchanged[name].x)
            numbers = used[name][b]
            chosen = [logs[i] for i in numbers]
            centred = np.array(chosen) - mean
            expected = centred / deviation
            assert_allclose(split.y[b], expected, atol=1e-5)

    price = 150 * HOUSES.price
    yen = Houses(HOUSES.predictors, price, "king_county")
    other = made(SEEDS, yen, **options)
    assert_allclose(other.test.y, data.test.y, atol=1e-5)


@pytest.mark.parametrize(
    "fractions",
    [
        (0.7, 0.0003),
        (0.0003, 0.1),
        (0.8, 0.2),
    ],
)
def test_a_part_without_a_house(fractions: tuple[float, float]) -> None:
    train, validation = fractions
    with pytest.raises(ValueError, match="leave a house for each part"):
        HousesData(train_fraction=train, validation_fraction=validation)


def test_a_constant_predictor_is_only_centred() -> None:
    predictors = HOUSES.predictors.copy()
    predictors[:, WATERFRONT] = HOUSES.period > 0  # constant in training data
    houses = Houses(predictors, HOUSES.price, "king_county")
    data = made([0], houses)
    training = data.train.x[..., WATERFRONT]
    assert not training.any()
    later = data.test.environment > 0
    tested = data.test.x[..., WATERFRONT]
    assert_array_equal(tested, later.astype(float))
