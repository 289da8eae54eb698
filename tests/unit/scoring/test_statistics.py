"""Statistics over seeds, against the standard library and SciPy."""

import math
import statistics

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.scoring.statistics import summarise

accuracies = st.lists(st.floats(0, 1, width=32), min_size=2, max_size=12)


@given(values=accuracies)
def test_mean_and_deviation_are_the_textbooks(values: list[float]) -> None:
    got = summarise(np.array(values), resamples=50)
    assert list(got) == ["mean", "std", "ci_low", "ci_high"]
    assert got["mean"] == pytest.approx(statistics.fmean(values), abs=1e-12)
    assert got["std"] == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-12)


@given(values=accuracies)
def test_the_interval_lies_around_the_mean_and_within_the_values(values: list[float]) -> None:
    got = summarise(np.array(values), resamples=500)
    rounding = 1e-12
    assert min(values) - rounding <= got["ci_low"] <= got["mean"] + rounding
    assert got["mean"] - rounding <= got["ci_high"] <= max(values) + rounding


def test_the_interval_is_the_percentile_bootstrap() -> None:
    values = np.random.default_rng(0).normal(0.7, 0.03, 10)
    expected = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    # and by hand: quantiles of means of samples drawn with replacement
    draws = np.random.default_rng(2).choice(values, (20_000, 10)).mean(axis=1)
    got = summarise(values, resamples=20_000)
    for end, limit, quantile in (
        ("ci_low", expected.low, 0.025),
        ("ci_high", expected.high, 0.975),
    ):
        assert got[end] == pytest.approx(limit, abs=1e-3)
        assert got[end] == pytest.approx(np.quantile(draws, quantile), abs=1e-3)
    # for so many seeds it is nearly the normal interval
    values = np.random.default_rng(0).normal(0.7, 0.03, 400)
    got = summarise(values, resamples=5000)
    half = 1.96 * statistics.stdev(values) / 20
    assert got["ci_low"] == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert got["ci_high"] == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_a_single_seed_has_no_deviation() -> None:
    got = summarise(np.array([0.7]), resamples=50)
    assert math.isnan(got.pop("std"))
    assert got == {"mean": 0.7, "ci_low": 0.7, "ci_high": 0.7}


def test_equal_seeds_have_a_point_for_an_interval() -> None:
    got = summarise(np.array([0.7, 0.7, 0.7]), resamples=50)
    assert got["std"] == pytest.approx(0, abs=1e-15)
    assert got["ci_low"] == got["ci_high"] == got["mean"] == pytest.approx(0.7)


def test_the_same_values_give_the_same_bits() -> None:
    values = np.random.default_rng(0).random(10)
    assert summarise(values, 300) == summarise(values, 300)


@pytest.mark.parametrize("values", [[0.7, math.nan, 0.9], [math.nan], [math.nan, math.nan]])
def test_a_seed_without_a_value_leaves_none(values: list[float]) -> None:
    got = summarise(np.array(values), resamples=50)
    assert list(got) == ["mean", "std", "ci_low", "ci_high"]
    assert all(map(math.isnan, got.values()))
