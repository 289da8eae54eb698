"""The simulated market: its units, and the drift that it documents."""

import numpy as np
import pytest
from housetools import least_squares

from kerhrm.data.sources.king_county import PREDICTORS, ROWS, Houses


class TestStandIn:
    HOUSES = Houses.stand_in()

    def column(self, name: str) -> np.ndarray:
        return self.HOUSES.predictors[:, PREDICTORS.index(name)]

    def test_it_is_the_same_every_time(self) -> None:
        again = Houses.stand_in()
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
