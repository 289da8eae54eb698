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
    above = np.cumsum(counts) / counts.sum()
    below, m = above - counts / counts.sum(), len(values)
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

        for i in range(m):  # G before a value is i, at the value m + i, the distance 2m
            add({i: 1, 2 * m: -1}, below[i])
            add({i: -1, 2 * m: -1}, -below[i])
            add({m + i: 1, 2 * m: -1}, above[i])
            add({m + i: -1, 2 * m: -1}, -above[i])
            add({i: 1, m + i: -1})
            if i != mode:
                add({m + i: 1, i: -1})
            if i:
                add({m + i - 1: 1, i: -1})
        for i in range(1, m - 1):
            if i == mode:
                continue
            sign = 1 if i < mode else -1
            a, b = sign / steps[i - 1], sign / steps[i]
            before, after = (i, m + i)
            here = before if i < mode else after
            add({here: a + b, m + i - 1: -a, i + 1: -b})
        cost = np.zeros(2 * m + 1)
        cost[-1] = 1
        solved = linprog(cost, np.array(rows), bounds, bounds=(0, 1))
        least = min(least, solved.fun)
    return least


@pytest.mark.parametrize("seed", range(12))
def test_the_dip_is_the_distance_to_the_nearest_unimodal_distribution(
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    sample = random.normal(size=12)
    if seed % 2:
        sample = random.integers(0, 6, 15).astype(float)
    assert dip(sample) == pytest.approx(least_distance(sample), abs=1e-7)


def test_two_modes_have_a_small_p_value_and_one_has_not() -> None:
    random = np.random.default_rng(0)
    one = random.normal(size=300)
    two = one + np.where(random.random(300) < 0.4, 5, 0)
    assert dip_test(one).p_value > 0.2
    assert dip_test(two).p_value < 0.0011
    alarms = [dip_test(random.random(100)).p_value < 0.05 for _ in range(300)]
    assert 0.02 < np.mean(alarms) < 0.085
    assert dip_test(np.tile(two, 20)).p_value < 0.0011


@given(st.floats(0.01, 100), st.floats(-100, 100))
def test_the_dip_has_no_unit(scale: float, shift: float) -> None:
    sample = np.random.default_rng(0).normal(size=50)
    assert dip(scale * sample + shift) == pytest.approx(dip(sample))


@pytest.mark.parametrize("n", [20, 50, 200])
def test_the_levels_are_shares_of_uniform_samples(n: int) -> None:
    """The table, drawn again: a level is passed by its share of the samples."""
    random = np.random.default_rng(n)
    n_samples = 1000
    dips = np.array([dip(random.random(n)) for _ in range(n_samples)])
    for level, quantile in zip(LEVELS, QUANTILES[n], strict=True):
        passed = float((np.sqrt(n) * dips > quantile).mean())
        standard_error = np.sqrt(level * (1 - level) / n_samples)
        # the table's own samples scatter as well
        assert passed == pytest.approx(level, abs=4 * standard_error + 0.002)
