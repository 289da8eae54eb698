"""Scatter of residuals along a column: tables whose law is known."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm

from kerhrm import KerHRMRegressor
from kerhrm.description.describe import ONE_MODE
from kerhrm.description.rows import DescribedRows
from kerhrm.description.spread import LEVEL, Spread, spread_along


def rows_of(x: np.ndarray, names: list[str]) -> DescribedRows:
    n = len(x)
    return DescribedRows(
        x=x,
        y=np.zeros(n),
        names=names,
        labels=np.arange(n),
        counts=np.ones(n),
        weights=np.ones(n),
        order=np.arange(n),
        draws=np.arange(n),
    )


def found_in(x: np.ndarray, residuals: np.ndarray) -> Spread | None:
    names = [f"column {j}" for j in range(x.shape[1])]
    return spread_along(rows_of(x, names), residuals)


@pytest.mark.parametrize("direction", [1, -1])
def test_noise_that_grows_with_a_column(direction: int) -> None:
    """Standard deviations at both ends are those of the law."""
    random = np.random.default_rng(0)
    n = 20_000
    x = random.random((n, 3))
    size = 1 + 2 * x[:, 1]
    residuals = size * random.normal(size=n)
    x[:, 1] *= direction
    found = found_in(x, residuals)
    assert found is not None
    assert found.column == "column 1"
    ends = np.array([1.2, 2.8])  # medians of the size in both fifths
    at_ends = [found.low, found.high]
    assert at_ends[::direction] == pytest.approx(ends, rel=0.03)


def test_two_sizes_of_noise_by_a_category() -> None:
    random = np.random.default_rng(0)
    n = 2_000
    rare = random.random(n) < 0.1
    x = rare[:, None].astype(float)
    residuals = np.where(rare, 3.0, 1.0) * random.normal(size=n)
    found = found_in(x, residuals)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((1, 3), rel=0.1)


def test_noise_of_one_size_is_seldom_told() -> None:
    """In at most twice the share of tables that the level allows."""
    random = np.random.default_rng(0)
    n_tables = 400
    told = 0
    for _ in range(n_tables):
        x = random.normal(size=(300, 5))
        residuals = random.standard_t(4, size=300)
        told += found_in(x, residuals) is not None
    assert told <= 2 * LEVEL * n_tables


def test_constant_columns_and_no_residuals_say_nothing() -> None:
    random = np.random.default_rng(0)
    residuals = random.normal(size=50)
    assert found_in(np.ones((50, 1)), residuals) is None
    x = random.normal(size=(50, 1))
    assert found_in(x, np.zeros(50)) is None


@pytest.mark.parametrize(
    ("share", "factor", "modes"),
    [(0.05, 0.99, 1), (0.2, 0.99, 1), (0.5, 0.99, 1), (0.5, 1.02, 2)],
)
def test_a_small_shift_of_the_level_has_one_mode(
    share: float, factor: float, modes: int
) -> None:
    """Modes of the density of two normal groups whose rows together have an sd of 1.

    The bound is sharp where both groups are as large.
    """
    shift = factor * ONE_MODE
    noise = np.sqrt(1 - share * (1 - share) * shift**2)
    places = np.linspace(-4, shift + 4, 20_001)
    first = norm.pdf(places, 0, noise)
    second = norm.pdf(places, shift, noise)
    density = (1 - share) * first + share * second
    rises = np.diff(density) > 0
    falls_after_rise = rises[:-1] & ~rises[1:]
    assert falls_after_rise.sum() == modes


def test_a_description_names_the_column() -> None:
    random = np.random.default_rng(0)
    n = 300
    x = random.random((n, 2))
    y = x[:, 0] + (0.2 + x[:, 1]) * random.normal(size=n)
    model = KerHRMRegressor(k=3, network=(16,), random_state=0, pretest={"level": 0.01})
    with warnings.catch_warnings(action="ignore"):  # none are detected
        model.fit(x, y)
    notes = "; ".join(model.describe(stability=0).notes)
    assert "residuals of ERM scatter along column 1: sd " in notes
    assert "one mode (dip 0.0" in notes
