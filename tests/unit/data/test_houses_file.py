"""The file of house prices: reading it, refusing another one, and what the real one says."""

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from housetools import least_squares, small

from kerhrm.data.houses.generator import generate
from kerhrm.data.houses.options import HousesData
from kerhrm.data.sources import king_county
from kerhrm.data.sources.fetch import RawDataUnavailable, RawFile, RawSet
from kerhrm.data.sources.king_county import PREDICTORS, ROWS, Houses, read_table
from kerhrm.errors import KerhrmError

REAL_FILES = os.environ.get("KERHRM_RAW_DIR")  # read before the tests' settings hide it


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
        monkeypatch.setattr(Houses, "published", RawSet("king_county", (file,)))
        path = tmp_path / "houses.csv"
        path.write_bytes(content)
        return path

    monkeypatch.setattr(king_county, "ROWS", (40,) * 6)
    return write


class TestReading:
    def test_columns_are_found_by_name(self, publish: Callable[[str], Path]) -> None:
        expected = small()
        path = publish(table(expected).iloc[:, ::-1].to_csv(index=False))
        houses = Houses.fetch(path.parent, on_missing="fail")
        assert houses.source == "king_county"
        assert not houses.is_stand_in
        np.testing.assert_allclose(houses.predictors, expected.predictors, rtol=1e-12)
        np.testing.assert_allclose(houses.price, expected.price, rtol=1e-12)
        assert houses.predictors.dtype == houses.price.dtype == np.float64

    def test_numbers_may_be_quoted_or_written_with_an_exponent(self, tmp_path: Path) -> None:
        path = tmp_path / "houses.csv"
        cells = ['"1"', "1.225e+006", *["2"] * 15]
        path.write_text(f"{','.join(PREDICTORS)},price\n{','.join(cells)},3\n")
        predictors, price = read_table(path, 1)
        np.testing.assert_array_equal(predictors, [[1, 1_225_000, *[2] * 15]])
        assert price.tolist() == [3]

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
            Houses.fetch(path.parent)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "houses.csv"
        path.write_bytes(b"\xff\xfe\x00price")
        with pytest.raises(KerhrmError, match="cannot read"):
            read_table(path, 1)
        with pytest.raises(KerhrmError, match="cannot read"):
            read_table(tmp_path / "absent.csv", 1)

    @pytest.mark.parametrize("on_missing", ["stand-in", "fail"])
    @pytest.mark.parametrize(
        ("other", "problem"),
        [
            (lambda t: t.assign(price=2 * t.price).to_csv(index=False), "altered|truncated"),
            # The checksum speaks before anyone looks for columns or rows.
            (lambda t: t.drop(columns="price").to_csv(index=False), "truncated"),
            (lambda t: t[:-3].to_csv(index=False), "truncated"),
            (lambda t: t.to_csv(index=False)[:1000], "truncated"),
            (lambda t: t.to_csv(index=False) + "x", "altered"),
        ],
        ids=["other prices", "column missing", "rows missing", "cut", "longer"],
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
            Houses.fetch(path.parent, on_missing=on_missing)
        assert not isinstance(caught.value, RawDataUnavailable)
        assert "sha256" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_missing_file_gives_a_stand_in_and_a_warning(
        self, publish: Callable[[str], Path], caplog: pytest.LogCaptureFixture
    ) -> None:
        path = publish(table(small()).to_csv(index=False))
        path.unlink()
        with caplog.at_level(logging.WARNING):
            houses = Houses.fetch(path.parent)
        assert houses.is_stand_in
        assert "instead of king_county" in caplog.text
        with pytest.raises(RawDataUnavailable, match=r"houses\.csv"):
            Houses.fetch(path.parent, on_missing="fail")

    def test_offline_gives_a_stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KERHRM_OFFLINE", "1")
        assert Houses.fetch().source == "stand-in:simulated-houses"

    def test_saved_houses_are_read_back(self, tmp_path: Path) -> None:
        houses = small(source="stand-in:test")
        houses.save(tmp_path / "houses.npz")
        loaded = Houses.load(tmp_path / "houses.npz")
        np.testing.assert_array_equal(loaded.predictors, houses.predictors)
        np.testing.assert_array_equal(loaded.price, houses.price)
        assert loaded.source == houses.source
        assert loaded.is_stand_in


@pytest.fixture(scope="module")
def real() -> Houses:
    if REAL_FILES is None:
        pytest.skip("KERHRM_RAW_DIR is not set")
    try:
        return Houses.fetch(REAL_FILES, on_missing="fail")
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
        fractions = {"train_fraction": 0.9, "validation_fraction": 0.05}
        data = generate(HousesData(generator="houses", **fractions), range(10), real)
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
                squares = ((data.test.y[b] - prediction) * data.unit[b]) ** 2
                period = data.test.environment[b]
                errors[b] = [squares[period == number].mean() for number in range(6)]
        # 72 held-out houses of the first period say little; the last periods are extrapolated,
        # so that a tenth of the training points moves their errors by a tenth (deviation).
        assert mean.mean(axis=0)[1:] == pytest.approx(self.MEAN[1:], rel=0.02)
        assert least_squares.mean(axis=0)[1:] == pytest.approx(self.LEAST_SQUARES[1:], rel=0.1)
