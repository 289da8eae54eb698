"""The dip against its definition as a linear programme."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from kerhrm.description.dip import LEVELS, QUANTILES, dip, dip_test


def least_distance(sample: np.ndarray) -> float:
    """Dip as a linear programme, by its definition, with the mode at each value."""
    values, counts = np.unique(sample, return_counts=True)
    shares = counts / counts.sum()
    above = np.cumsum(shares)
    below = above - shares
    m = len(values)
    steps = np.diff(values)
    least = 1.0
    for mode in range(m):
        rows, bounds = [], []

        def add(weights: dict[int, float], bound: float = 0.0) -> None:
            row = np.zeros(2 * m + 1)
            for position, weight in weights.items():
                row[position] += weight
            rows.append(row)  # noqa: B023  (called in this round alone)
            bounds.append(bound)  # noqa: B023

        distance = 2 * m
        for i in range(m):  # G before a value is i, at the value m + i
            at = m + i
            add({i: 1, distance: -1}, below[i])
            add({i: -1, distance: -1}, -below[i])
            add({at: 1, distance: -1}, above[i])
            add({at: -1, distance: -1}, -above[i])
            add({i: 1, at: -1})
            if i != mode:
                add({at: 1, i: -1})
            if i:
                add({at - 1: 1, i: -1})
        for i in range(1, m - 1):
            if i == mode:
                continue
            sign = 1 if i < mode else -1
            a = sign / steps[i - 1]
            b = sign / steps[i]
            before = i
            at = m + i
            here = before if i < mode else at
            add({here: a + b, at - 1: -a, i + 1: -b})
        cost = np.zeros(2 * m + 1)
        cost[-1] = 1
        inequalities = np.array(rows)
        solved = linprog(cost, inequalities, bounds, bounds=(0, 1))
        least = min(least, solved.fun)
    return least


@pytest.mark.parametrize("seed", range(12))
def test_the_dip_is_the_distance_to_the_nearest_unimodal_distribution(
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    sample = random.normal(size=12)
    if seed % 2:
        counts = random.integers(0, 6, 15)
        sample = counts.astype(float)
    expected = least_distance(sample)
    assert dip(sample) == pytest.approx(expected, abs=1e-7)


def test_two_modes_have_a_small_p_value_and_one_has_not() -> None:
    random = np.random.default_rng(0)
    one = random.normal(size=300)
    is_second = random.random(300) < 0.4
    two = one + np.where(is_second, 5, 0)
    assert dip_test(one).p_value > 0.2
    assert dip_test(two).p_value < 0.0011
    alarms = []
    for _ in range(300):
        uniform = random.random(100)
        alarms.append(dip_test(uniform).p_value < 0.05)
    assert 0.02 < np.mean(alarms) < 0.085
    many_ties = np.tile(two, 20)
    assert dip_test(many_ties).p_value < 0.0011


@given(st.floats(0.01, 100), st.floats(-100, 100))
def test_the_dip_has_no_unit(scale: float, shift: float) -> None:
    random = np.random.default_rng(0)
    sample = random.normal(size=50)
    moved = scale * sample + shift
    assert dip(moved) == pytest.approx(dip(sample))


@pytest.mark.parametrize("n", [20, 50, 200])
def test_the_levels_are_shares_of_uniform_samples(n: int) -> None:
    """The table, drawn again: a level is passed by its share of the samples."""
    random = np.random.default_rng(n)
    n_samples = 1000
    dips = []
    for _ in range(n_samples):
        sample = random.random(n)
        dips.append(dip(sample))
    statistics = np.sqrt(n) * np.array(dips)
    for level, quantile in zip(LEVELS, QUANTILES[n], strict=True):
        passed = float((statistics > quantile).mean())
        variance = level * (1 - level)
        standard_error = np.sqrt(variance / n_samples)
        # the table's own samples scatter as well
        tolerance = 4 * standard_error + 0.002
        assert passed == pytest.approx(level, abs=tolerance)
