"""House prices: periods, the split of the first one, scaling, clipping and the
logarithm."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from housetools import small

from kerhrm.paper.data.dataset import Dataset, Split
from kerhrm.paper.data.houses import PERIODS, PREDICTORS, Houses, HousesData, generate


def test_periods_begin_and_end_where_they_should() -> None:
    years = [1900, 1919, 1920, 1939, 1940, 1959, 1960, 1979, 1980, 1999, 2000, 2015]
    predictors = np.zeros((12, 17))
    predictors[:, PREDICTORS.index("yr_built")] = years
    houses = Houses(predictors, np.ones(12), "king_county")
    assert houses.period.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    for (first, last), name in zip(np.reshape(years, (6, 2)), PERIODS, strict=True):
        assert name == f"{first}-{last}"


def rows(split: Split, houses: Houses) -> np.ndarray:
    """Row numbers (B, n) of a split that is scaled on all houses, from column 0."""
    number = houses.predictors[:, 0]
    return np.rint(split.x[..., 0] * number.std() + number.mean()).astype(int)


def parts(data: Dataset) -> dict[str, Split]:
    return {"train": data.train, "validation": data.validation, "test": data.test}


def made(seeds: Sequence[int], houses: Houses, **changed: Any) -> Dataset:
    return generate(HousesData(**changed), seeds, houses)


HOUSES = small()


def test_the_first_period_is_split_and_the_later_ones_are_shared() -> None:
    data = made([3, 7], HOUSES, scale="all", price_scale="all")
    period = HOUSES.period
    used = {name: rows(split, HOUSES) for name, split in parts(data).items()}
    for b in range(2):
        first = np.concatenate(
            [used["train"][b], used["validation"][b], used["test"][b, :6]]
        )
        assert sorted(first) == np.flatnonzero(period == 0).tolist()
        later = [np.flatnonzero(period == number) for number in range(1, 6)]
        np.testing.assert_array_equal(used["test"][b, 6:], np.concatenate(later))
    assert set(used["train"][0]) != set(used["train"][1])
    np.testing.assert_array_equal(data.test.x[0, 6:], data.test.x[1, 6:])
    for name, split in parts(data).items():
        price = HOUSES.price[used[name]]
        expected = (price - HOUSES.price.mean()) / HOUSES.price.std()
        np.testing.assert_allclose(split.y, expected, rtol=1e-5, atol=1e-6)


def test_environments_are_decades_and_periods() -> None:
    data = made([3], HOUSES, scale="all")
    for name, split in parts(data).items():
        year = HOUSES.yr_built[rows(split, HOUSES)]
        expected = (year >= 1910) if name != "test" else (year - 1900) // 20
        np.testing.assert_array_equal(split.environment, expected)
    assert set(np.unique(data.train.environment)) == {0, 1}


@pytest.mark.parametrize("price_scale", ["train", "all"])
@pytest.mark.parametrize("scale", ["train", "all"])
def test_scaling(scale: Any, price_scale: Any) -> None:
    plain = made([3, 7], HOUSES, scale="all")
    data = made([3, 7], HOUSES, scale=scale, price_scale=price_scale)
    for b in range(2):
        training = rows(plain.train, HOUSES)[b]
        everything = np.arange(240)
        for values, base, got in (
            (HOUSES.predictors, scale, "x"),
            (HOUSES.price, price_scale, "y"),
        ):
            reference = values[training if base == "train" else everything]
            for name, split in parts(data).items():
                chosen = values[rows(parts(plain)[name], HOUSES)[b]]
                expected = (chosen - reference.mean(0)) / reference.std(0)
                np.testing.assert_allclose(getattr(split, got)[b], expected, atol=1e-4)


@pytest.mark.parametrize("price", ["linear", "log"])
def test_an_error_is_the_same_whatever_scales_the_training_prices(price: Any) -> None:
    """Of predictions that are fixed in dollars, in units of all houses' deviation."""
    target = np.log(HOUSES.price) if price == "log" else HOUSES.price
    for price_scale in ("train", "all"):
        data = made([3, 7], HOUSES, price_scale=price_scale, price=price)
        assert data.unit is not None
        difference = (data.test.y[:, 0] - data.test.y[:, -1]) * data.unit
        place = np.stack(
            [made([3, 7], HOUSES, scale="all").test.x[:, i] for i in (0, -1)]
        )
        number = HOUSES.predictors[:, 0]
        at = np.rint(place[..., 0] * number.std() + number.mean()).astype(int)
        expected = (target[at[0]] - target[at[1]]) / target.std()
        np.testing.assert_allclose(difference, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scale", ["train", "all"])
def test_clipping_moves_predictors_into_their_training_range(scale: Any) -> None:
    plain = made([3, 7], HOUSES, scale=scale)
    data = made([3, 7], HOUSES, scale=scale, clip="train")
    np.testing.assert_array_equal(data.train.x, plain.train.x)
    for b in range(2):
        least, most = plain.train.x[b].min(axis=0), plain.train.x[b].max(axis=0)
        for name, split in parts(data).items():
            before, after = parts(plain)[name].x[b], split.x[b]
            below, above = before < least, before > most
            expected = np.where(below, least, np.where(above, most, before))
            np.testing.assert_array_equal(after, expected)
            assert name == "train" or below.any() or above.any()
            np.testing.assert_array_equal(split.y[b], parts(plain)[name].y[b])
        # every later house is newer than all training points
        year = data.test.x[
            b, data.test.environment[b] > 0, PREDICTORS.index("yr_built")
        ]
        assert set(year.tolist()) == {most[PREDICTORS.index("yr_built")]}


@pytest.mark.parametrize("price_scale", ["train", "all"])
def test_the_logarithm_of_the_price(price_scale: Any) -> None:
    """Whatever the currency, in its own unit, and the same houses as without it."""
    plain = made([3, 7], HOUSES, scale="all")
    data = made([3, 7], HOUSES, scale="all", price_scale=price_scale, price="log")
    for b in range(2):
        training = rows(plain.train, HOUSES)[b]
        logs = [math.log(p) for p in HOUSES.price]
        base = [logs[i] for i in training] if price_scale == "train" else logs
        for name, split in parts(data).items():
            np.testing.assert_array_equal(split.x, parts(plain)[name].x)
            chosen = [logs[i] for i in rows(split, HOUSES)[b]]
            expected = (np.array(chosen) - statistics.fmean(base)) / statistics.pstdev(
                base
            )
            np.testing.assert_allclose(split.y[b], expected, atol=1e-5)
    yen = Houses(HOUSES.predictors, 150 * HOUSES.price, "king_county")
    other = made([3, 7], yen, scale="all", price_scale=price_scale, price="log")
    np.testing.assert_allclose(other.test.y, data.test.y, atol=1e-5)


@pytest.mark.parametrize("fractions", [(0.7, 0.0003), (0.0003, 0.1), (0.8, 0.2)])
def test_a_part_without_a_house(fractions: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="leave a house for each part"):
        HousesData(train_fraction=fractions[0], validation_fraction=fractions[1])


def test_a_constant_predictor_is_only_centred() -> None:
    predictors = HOUSES.predictors.copy()
    waterfront = PREDICTORS.index("waterfront")
    predictors[:, waterfront] = HOUSES.period > 0
    data = made([0], Houses(predictors, HOUSES.price, "king_county"))
    assert not data.train.x[..., waterfront].any()
    np.testing.assert_array_equal(
        data.test.x[..., waterfront], (data.test.environment > 0).astype(float)
    )
