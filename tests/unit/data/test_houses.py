"""House prices: reading the file, the stand-in, periods, scaling, and the real file's facts."""

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.data import houses as module
from kerhrm.data.dataset import Dataset, Split
from kerhrm.data.houses import (
    PERIODS,
    PREDICTORS,
    ROWS,
    Houses,
    generate,
    load_houses,
    load_saved,
    read_houses,
    stand_in,
)
from kerhrm.data.raw import RawDataUnavailable, RawFile, RawSet
from kerhrm.errors import KerhrmError

REAL_FILES = os.environ.get("KERHRM_RAW_DIR")  # read before the tests' settings hide it


def small(per_period: int = 40, source: str = "king_county", seed: int = 0) -> Houses:
    """``per_period`` houses of every period in a mixed order; column 0 holds the row number."""
    random = np.random.default_rng(seed)
    n = 6 * per_period
    predictors = random.normal(50, 10, (n, 17))
    predictors[:, 0] = np.arange(n)
    years = np.tile(np.arange(1900, 2016, 20), per_period) + random.integers(0, 16, n)
    predictors[:, PREDICTORS.index("yr_built")] = years
    return Houses(predictors, random.normal(500_000, 100_000, n), source)


def table(houses: Houses) -> pd.DataFrame:
    """The published layout: other columns around and between those that are used."""
    n = len(houses.price)
    frame = pd.DataFrame(houses.predictors, columns=PREDICTORS)
    frame.insert(0, "id", np.arange(n))
    frame.insert(1, "date", ["20141013T000000"] * n)
    frame.insert(2, "price", houses.price)
    frame.insert(16, "zipcode", ["98178"] * n)
    return frame


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Write a text into a raw folder and make its checksum the published one."""

    def write(text: str) -> Path:
        content = text.encode()
        file = RawFile("houses.csv", hashlib.sha256(content).hexdigest(), len(content))
        monkeypatch.setattr(module, "KING_COUNTY", RawSet("king_county", (file,)))
        path = tmp_path / "houses.csv"
        path.write_bytes(content)
        return path

    monkeypatch.setattr(module, "ROWS", (40,) * 6)
    return write


class TestReading:
    def test_columns_are_found_by_name(self, publish: Callable[[str], Path]) -> None:
        expected = small()
        path = publish(table(expected).iloc[:, ::-1].to_csv(index=False))
        houses = load_houses(path.parent, on_missing="fail")
        assert houses.source == "king_county"
        assert not houses.is_stand_in
        np.testing.assert_allclose(houses.predictors, expected.predictors, rtol=1e-12)
        np.testing.assert_allclose(houses.price, expected.price, rtol=1e-12)
        assert houses.predictors.dtype == houses.price.dtype == np.float64

    def test_numbers_may_be_quoted_or_written_with_an_exponent(self, tmp_path: Path) -> None:
        path = tmp_path / "houses.csv"
        cells = ['"1"', "1.225e+006", *["2"] * 15]
        path.write_text(f"{','.join(PREDICTORS)},price\n{','.join(cells)},3\n")
        houses = read_houses(path, 1)
        np.testing.assert_array_equal(houses.predictors, [[1, 1_225_000, *[2] * 15]])

    @pytest.mark.parametrize(
        ("damage", "problem"),
        [
            (
                lambda t: t.drop(columns=["lat", "price"]).to_csv(index=False),
                "no column price, lat",
            ),
            (lambda t: t[:-3].to_csv(index=False), "237 rows of data instead of 240"),
            (lambda t: t[:0].to_csv(index=False), "0 rows of data instead of 240"),
            (
                lambda t: t.assign(grade=["7"] * 5 + ["good"] + ["7"] * 234).to_csv(index=False),
                "data row 6: grade is 'good'",
            ),
            (
                lambda t: t.assign(view=[0, None] + [0] * 238).to_csv(index=False),
                "data row 2: view is ''",
            ),
            (lambda t: t.assign(price=np.inf).to_csv(index=False), "data row 1: price is 'inf'"),
            (lambda t: t.to_csv(index=False)[:-60], "data row 240: "),
            (lambda t: "", "cannot read"),
            (lambda t: t.to_csv(index=False) + "1,2" * 100 + "\n", "cannot read"),
        ],
        ids=[
            "columns",
            "rows",
            "header only",
            "word",
            "empty cell",
            "infinite",
            "cut",
            "empty",
            "ragged",
        ],
    )
    def test_damage_that_the_checksum_cannot_see(
        self, publish: Callable[[str], Path], damage: Callable[[pd.DataFrame], str], problem: str
    ) -> None:
        path = publish(damage(table(small())))
        with pytest.raises(KerhrmError, match=problem) as caught:
            load_houses(path.parent)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "houses.csv"
        path.write_bytes(b"\xff\xfe\x00price")
        with pytest.raises(KerhrmError, match="cannot read"):
            read_houses(path)
        with pytest.raises(KerhrmError, match="cannot read"):
            read_houses(tmp_path / "absent.csv")

    @pytest.mark.parametrize("on_missing", ["stand-in", "fail"])
    @pytest.mark.parametrize(
        ("other", "problem"),
        [
            (lambda t: t.assign(price=2 * t.price).to_csv(index=False), "altered|truncated"),
            # The checksum speaks before anyone looks for columns or rows.
            (lambda t: t.drop(columns="price").to_csv(index=False), "truncated"),
            (lambda t: t.to_csv(index=False)[:1000], "truncated"),
            (lambda t: t.to_csv(index=False) + "x", "altered"),
        ],
        ids=["other prices", "column missing", "cut", "longer"],
    )
    def test_another_file_under_the_same_name_is_refused(
        self,
        publish: Callable[[str], Path],
        on_missing: Any,
        other: Callable[[pd.DataFrame], str],
        problem: str,
    ) -> None:
        path = publish(table(small()).to_csv(index=False))
        path.write_text(other(table(small())))
        with pytest.raises(KerhrmError, match=problem) as caught:
            load_houses(path.parent, on_missing=on_missing)
        assert not isinstance(caught.value, RawDataUnavailable)
        assert "sha256" in str(caught.value)

    def test_a_missing_file_gives_a_stand_in_and_a_warning(
        self, publish: Callable[[str], Path], caplog: pytest.LogCaptureFixture
    ) -> None:
        path = publish(table(small()).to_csv(index=False))
        path.unlink()
        with caplog.at_level(logging.WARNING):
            houses = load_houses(path.parent)
        assert houses.is_stand_in
        assert "instead of King County's" in caplog.text
        with pytest.raises(RawDataUnavailable, match=r"houses\.csv"):
            load_houses(path.parent, on_missing="fail")

    def test_offline_gives_a_stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KERHRM_OFFLINE", "1")
        assert load_houses().source == "stand-in:simulated-houses"

    def test_unknown_choice(self) -> None:
        with pytest.raises(KerhrmError, match="on_missing='maybe'"):
            load_houses(on_missing="maybe")  # type: ignore[arg-type]

    def test_saved_houses_are_read_back(self, tmp_path: Path) -> None:
        houses = small(source="stand-in:test")
        houses.save(tmp_path / "houses.npz")
        loaded = load_saved(tmp_path / "houses.npz")
        np.testing.assert_array_equal(loaded.predictors, houses.predictors)
        np.testing.assert_array_equal(loaded.price, houses.price)
        assert loaded.source == houses.source
        assert loaded.is_stand_in


def test_periods_begin_and_end_where_they_should() -> None:
    years = [1900, 1919, 1920, 1939, 1940, 1959, 1960, 1979, 1980, 1999, 2000, 2015]
    predictors = np.zeros((12, 17))
    predictors[:, PREDICTORS.index("yr_built")] = years
    houses = Houses(predictors, np.ones(12), "king_county")
    assert houses.period.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    for (first, last), name in zip(np.reshape(years, (6, 2)), PERIODS, strict=True):
        assert name == f"{first}-{last}"
    for year in (1899, 2016):
        predictors[3, PREDICTORS.index("yr_built")] = year
        with pytest.raises(KerhrmError, match=f"was built in {year}"):
            _ = houses.period


def rows(split: Split, houses: Houses) -> np.ndarray:
    """Row numbers (B, n) of a split that is scaled on all houses, from column 0."""
    number = houses.predictors[:, 0]
    return np.rint(split.x[..., 0] * number.std() + number.mean()).astype(int)


def parts(data: Dataset) -> dict[str, Split]:
    return {"train": data.train, "validation": data.validation, "test": data.test}


class TestGenerate:
    HOUSES = small()

    def test_shapes_types_and_names(self) -> None:
        data = generate([3, 7], self.HOUSES)
        for split, n in ((data.train, 28), (data.validation, 6), (data.test, 6 + 200)):
            assert split.x.shape == (2, n, 17)
            assert split.y.shape == split.environment.shape == (2, n)
            assert (split.x.dtype, split.y.dtype) == (np.float32, np.float32)
            assert split.environment.dtype == np.int8
        assert data.task == "regression"
        assert data.source == "king_county"
        assert data.test_environments == [
            "1900-1919", "1920-1939", "1940-1959", "1960-1979", "1980-1999", "2000-2015",
        ]  # fmt: skip
        expected = np.repeat(np.arange(6), [6, 40, 40, 40, 40, 40])
        np.testing.assert_array_equal(data.test.environment, [expected] * 2)
        assert generate([0], small(source="stand-in:test")).source == "stand-in:test"

    def test_the_first_period_is_split_and_the_later_ones_are_shared(self) -> None:
        data = generate([3, 7], self.HOUSES, scale="all")
        period = self.HOUSES.period
        used = {name: rows(split, self.HOUSES) for name, split in parts(data).items()}
        for b in range(2):
            first = np.concatenate([used["train"][b], used["validation"][b], used["test"][b, :6]])
            assert sorted(first) == np.flatnonzero(period == 0).tolist()
            later = [np.flatnonzero(period == number) for number in range(1, 6)]
            np.testing.assert_array_equal(used["test"][b, 6:], np.concatenate(later))
        assert set(used["train"][0]) != set(used["train"][1])
        np.testing.assert_array_equal(data.test.x[0, 6:], data.test.x[1, 6:])
        for name, split in parts(data).items():
            price = self.HOUSES.price[used[name]]
            expected = (price - self.HOUSES.price.mean()) / self.HOUSES.price.std()
            np.testing.assert_allclose(split.y, expected, rtol=1e-5, atol=1e-6)

    def test_environments_are_decades_and_periods(self) -> None:
        data = generate([3], self.HOUSES, scale="all")
        for name, split in parts(data).items():
            year = self.HOUSES.yr_built[rows(split, self.HOUSES)]
            expected = (year >= 1910) if name != "test" else (year - 1900) // 20
            np.testing.assert_array_equal(split.environment, expected)
        assert set(np.unique(data.train.environment)) == {0, 1}

    @pytest.mark.parametrize("price_scale", ["train", "all"])
    @pytest.mark.parametrize("scale", ["train", "all"])
    def test_scaling(self, scale: Any, price_scale: Any) -> None:
        plain = generate([3, 7], self.HOUSES, scale="all")
        data = generate([3, 7], self.HOUSES, scale=scale, price_scale=price_scale)
        for b in range(2):
            training = rows(plain.train, self.HOUSES)[b]
            everything = np.arange(240)
            for values, base, got in (
                (self.HOUSES.predictors, scale, "x"),
                (self.HOUSES.price, price_scale, "y"),
            ):
                reference = values[training if base == "train" else everything]
                for name, split in parts(data).items():
                    chosen = values[rows(parts(plain)[name], self.HOUSES)[b]]
                    expected = (chosen - reference.mean(0)) / reference.std(0)
                    np.testing.assert_allclose(getattr(split, got)[b], expected, atol=1e-4)

    def test_train_scale_looks_at_training_points_alone(self) -> None:
        before = generate([3], self.HOUSES, price_scale="train")
        training = rows(generate([3], self.HOUSES, scale="all").train, self.HOUSES)[0]
        changed = self.HOUSES.predictors.copy()
        others = np.setdiff1d(np.arange(240), training)
        year = PREDICTORS.index("yr_built")
        columns = [c for c in range(17) if c != year]
        changed[np.ix_(others, columns)] *= 3
        price = self.HOUSES.price.copy()
        price[others] *= 3
        after = generate([3], Houses(changed, price, "king_county"), price_scale="train")
        np.testing.assert_array_equal(before.train.x, after.train.x)
        np.testing.assert_array_equal(before.train.y, after.train.y)
        assert not np.array_equal(before.validation.y, after.validation.y)

    def test_a_constant_predictor_is_only_centred(self) -> None:
        predictors = self.HOUSES.predictors.copy()
        waterfront = PREDICTORS.index("waterfront")
        predictors[:, waterfront] = self.HOUSES.period > 0
        data = generate([0], Houses(predictors, self.HOUSES.price, "king_county"))
        assert not data.train.x[..., waterfront].any()
        np.testing.assert_array_equal(
            data.test.x[..., waterfront], (data.test.environment > 0).astype(float)
        )

    @pytest.mark.parametrize(
        ("changed", "kept"),
        [("train_fraction", "validation"), ("validation_fraction", "train")],
    )
    def test_the_size_of_one_part_shifts_no_other(self, changed: str, kept: str) -> None:
        sizes = {"train_fraction": 0.5, "validation_fraction": 0.2}
        before = generate([5], self.HOUSES, **sizes, scale="all")  # type: ignore[arg-type]
        sizes[changed] += 0.1
        after = generate([5], self.HOUSES, **sizes, scale="all")  # type: ignore[arg-type]
        np.testing.assert_array_equal(parts(before)[kept].x, parts(after)[kept].x)
        np.testing.assert_array_equal(before.test.x[:, -200:], after.test.x[:, -200:])
        other = "train" if kept == "validation" else "validation"
        few, many = (rows(parts(data)[other], self.HOUSES)[0] for data in (before, after))
        np.testing.assert_array_equal(few, many[: len(few)])

    def test_a_seed_does_not_depend_on_its_company(self) -> None:
        together, alone = (parts(generate(seeds, self.HOUSES)) for seeds in ([4, 9], [9]))
        for name, split in alone.items():
            np.testing.assert_array_equal(split.x[0], together[name].x[1])
            np.testing.assert_array_equal(split.y[0], together[name].y[1])

    @pytest.mark.parametrize(
        ("changed", "problem"),
        [
            ({"train_fraction": 0.0}, "train_fraction=0 "),
            ({"validation_fraction": 1.2}, r"validation_fraction=1\.2"),
            ({"train_fraction": 0.8, "validation_fraction": 0.3}, r"fraction=1\.1"),
            ({"validation_fraction": 0.001}, "cannot be split into 28 for training, 0 for"),
            ({"scale": "period"}, "scale='period'"),
            ({"price_scale": None}, "price_scale=None"),
        ],
    )
    def test_bad_arguments(self, changed: dict[str, Any], problem: str) -> None:
        with pytest.raises(KerhrmError, match=problem) as caught:
            generate([0], self.HOUSES, **changed)
        assert "\n" not in str(caught.value)

    def test_bad_houses(self) -> None:
        with pytest.raises(KerhrmError, match="seeds is empty"):
            generate([], self.HOUSES)
        kept = self.HOUSES.period != 3
        fewer = Houses(self.HOUSES.predictors[kept], self.HOUSES.price[kept], "king_county")
        with pytest.raises(KerhrmError, match="no house of 1960-1979"):
            generate([0], fewer)


def least_squares(houses: Houses, target: np.ndarray, fit: np.ndarray) -> np.ndarray:
    """Errors (6,) per period of least squares fitted to the houses ``fit``."""
    x = houses.predictors - houses.predictors[fit].mean(axis=0)
    x = np.column_stack([x / np.where(x[fit].std(axis=0) > 0, x[fit].std(axis=0), 1), x[:, 0] ** 0])
    squares = (target - x @ np.linalg.lstsq(x[fit], target[fit], rcond=1e-10)[0]) ** 2
    return np.array([squares[houses.period == number].mean() for number in range(6)])


class TestStandIn:
    HOUSES = stand_in()

    def column(self, name: str) -> np.ndarray:
        return self.HOUSES.predictors[:, PREDICTORS.index(name)]

    def test_it_is_the_same_every_time(self) -> None:
        again = stand_in()
        np.testing.assert_array_equal(again.predictors, self.HOUSES.predictors)
        np.testing.assert_array_equal(again.price, self.HOUSES.price)
        assert self.HOUSES.is_stand_in

    def test_it_has_the_shape_and_units_of_the_file(self) -> None:
        assert np.bincount(self.HOUSES.period).tolist() == list(ROWS)
        assert self.HOUSES.predictors.shape == (21613, 17)
        assert np.isfinite(self.HOUSES.predictors).all()
        for name, least, most, step in (
            ("bedrooms", 1, 9, 1),
            ("bathrooms", 0.75, 7, 0.25),
            ("floors", 1, 3, 0.5),
            ("waterfront", 0, 1, 1),
            ("view", 0, 4, 1),
            ("condition", 1, 5, 1),
            ("grade", 4, 13, 1),
            ("yr_built", 1900, 2015, 1),
        ):
            column = self.column(name)
            assert column.min() >= least, name
            assert column.max() <= most, name
            assert not (column / step % 1).any(), name
            assert len(np.unique(column)) > 1, name
        np.testing.assert_array_equal(
            self.column("sqft_above") + self.column("sqft_basement"), self.column("sqft_living")
        )
        year = self.column("yr_renovated")
        assert ((year == 0) | (year > self.column("yr_built"))).all()
        assert 50_000 < self.HOUSES.price.min() < self.HOUSES.price.max() < 8_000_000
        assert 200_000 < np.median(self.HOUSES.price) < 600_000

    def test_its_market_drifts_as_documented(self) -> None:
        u = (self.column("yr_built") - 1900) / 115
        distance = (
            np.hypot((self.column("lat") - 47.61) * 111, (self.column("long") + 122.33) * 75) / 10
        )
        size, grade = np.log(self.column("sqft_living") / 1800), self.column("grade") - 7
        terms = [
            np.ones(len(u)), u, size, u * size, grade, u * grade, distance, u * distance,
            self.column("waterfront"), self.column("view"), self.column("condition") - 3,
            self.column("yr_renovated") > 0,
        ]  # fmt: skip
        x = np.stack(terms, axis=1).astype(float)
        log_price = np.log(self.HOUSES.price)
        slope = np.linalg.lstsq(x, log_price, rcond=None)[0]
        residual = log_price - x @ slope
        deviation = residual.std() * np.sqrt(np.diag(np.linalg.inv(x.T @ x)))
        documented = [13.1, -0.15, 1.0, -0.5, 0.08, 0.1, -0.5, 0.35, 0.5, 0.06, 0.05, 0.1]
        assert (np.abs(slope - documented) < 5 * deviation).all()
        assert residual.std() == pytest.approx(0.2, rel=0.03)

    def test_a_model_of_the_first_period_ages(self) -> None:
        price = (self.HOUSES.price - self.HOUSES.price.mean()) / self.HOUSES.price.std()
        errors = least_squares(self.HOUSES, price, self.HOUSES.period == 0)
        assert (np.diff(errors) > 0).all()
        own = [
            least_squares(self.HOUSES, price, self.HOUSES.period == number)[number]
            for number in range(6)
        ]
        assert errors[-1] > 1.7 * own[-1]


@pytest.fixture(scope="module")
def real() -> Houses:
    if REAL_FILES is None:
        pytest.skip("KERHRM_RAW_DIR is not set")
    try:
        return load_houses(REAL_FILES, on_missing="fail")
    except RawDataUnavailable as error:
        pytest.skip(str(error))


class TestRealFile:
    MEAN = (1.31, 1.12, 0.91, 0.76, 1.02, 1.32)
    LEAST_SQUARES = (0.29, 0.29, 0.39, 0.57, 1.13, 1.25)

    def test_the_file(self, real: Houses) -> None:
        assert real.source == "king_county"
        assert real.predictors.shape == (21613, 17)
        assert np.bincount(real.period).tolist() == list(ROWS)
        assert real.price.min() == 75_000
        assert real.price.max() == 7_700_000
        # The factor by which other code on these data turns errors into dollars.
        assert real.price.std() == pytest.approx(367118.7031813722, abs=1e-6)
        assert real.predictors[0].tolist() == [
            3, 1, 1180, 5650, 1, 0, 0, 3, 7, 1180, 0, 1955, 0, 47.5112, -122.257, 1340, 5650,
        ]  # fmt: skip

    def test_mean_and_least_squares_of_the_first_period(self, real: Houses) -> None:
        price = (real.price - real.price.mean()) / real.price.std()
        first = real.period == 0
        squares = (price - price[first].mean()) ** 2
        mean = [squares[real.period == number].mean() for number in range(6)]
        assert mean == pytest.approx(self.MEAN, abs=0.006)
        assert least_squares(real, price, first) == pytest.approx(self.LEAST_SQUARES, abs=0.006)

    def test_the_same_from_generated_data(self, real: Houses) -> None:
        data = generate(range(10), real, train_fraction=0.9, validation_fraction=0.05)
        assert data.train.x.shape == (10, 1306, 17)
        mean, least_squares = np.empty((2, 10, 6))
        for b in range(10):
            x, y = data.train.x[b].astype(float), data.train.y[b]
            # Float32 blurs sqft_living = sqft_above + sqft_basement, hence the cut.
            slope = np.linalg.lstsq(x, y - y.mean(), rcond=1e-5)[0]
            for errors, prediction in (
                (mean, y.mean()),
                (least_squares, y.mean() + data.test.x[b] @ slope),
            ):
                squares = (data.test.y[b] - prediction) ** 2
                period = data.test.environment[b]
                errors[b] = [squares[period == number].mean() for number in range(6)]
        # 72 held-out houses of the first period say little; the last periods are extrapolated,
        # so that a tenth of the training points moves their errors by a tenth (deviation).
        assert mean.mean(axis=0)[1:] == pytest.approx(self.MEAN[1:], rel=0.02)
        assert least_squares.mean(axis=0)[1:] == pytest.approx(self.LEAST_SQUARES[1:], rel=0.1)
