"""One-sided tests, and the partial conjunction of several."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kerhrm_paper.claims.comparison import (
    Comparison,
    alike,
    all_of,
    at_least,
    correlated,
    more,
    rank_correlation,
    steady,
)

probability = st.floats(0.001, 0.999)
probabilities = st.lists(probability, min_size=1, max_size=8)


def with_p_value(p: float) -> Comparison:
    """A single test with that p-value of the one-sided test for the claim."""
    return Comparison(
        estimate=1.0,
        low=0.5,
        high=1.5,
        p_for=p,
        p_against=1 - p,
        n=10,
        measure=f"p={p}",
        tests=1,
        tests_for=int(p <= 0.025),
        tests_against=int(1 - p <= 0.025),
    )


def test_more_is_the_paired_t_test_one_sided() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(0.3, 1, 10)
    b = rng.normal(0, 1, 10)
    test = more("a - b", a - b)
    greater = stats.ttest_rel(a, b, alternative="greater")
    less = stats.ttest_rel(a, b, alternative="less")
    two_sided = stats.ttest_rel(a, b)
    difference = (a - b).mean()
    assert test.estimate == pytest.approx(difference)
    assert test.p_for == pytest.approx(greater.pvalue)
    assert test.p_against == pytest.approx(less.pvalue)
    assert test.p == pytest.approx(two_sided.pvalue)


def test_more_than_a_margin_has_the_whole_mean_as_effect() -> None:
    a = np.array([0.5, 0.6, 0.7, 0.6])
    test = more("a", a, 0.55)
    expected = stats.ttest_1samp(a, 0.55, alternative="greater")
    assert test.estimate == pytest.approx(0.6)
    assert test.low < 0.6 < test.high
    assert test.p_for == pytest.approx(expected.pvalue)


def test_alike_is_two_one_sided_tests() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(0.01, 0.01, 10)
    above = stats.ttest_1samp(a, -0.02, alternative="greater")
    below = stats.ttest_1samp(a, 0.02, alternative="less")
    near = alike("a", a, 0.02)
    less_sure = max(above.pvalue, below.pvalue)
    assert near.p_for == pytest.approx(less_sure)
    far = alike("a", a + 1, 0.02)
    assert far.p_against < 1e-6
    expected = a.mean() + 1
    assert far.estimate == pytest.approx(expected)


def test_steady_rejects_as_often_as_it_may_at_the_limit() -> None:
    rng = np.random.default_rng(2)
    draws = rng.normal(0, 0.02, (2000, 5))
    tests = [steady("std", seeds, 0.02) for seeds in draws]
    p_values = np.array([test.p_for for test in tests])
    rejected = np.mean(p_values <= 0.05)
    assert rejected == pytest.approx(0.05, abs=0.02)


def test_the_interval_of_a_deviation_covers_it() -> None:
    rng = np.random.default_rng(3)
    draws = rng.normal(0, 2.0, (1000, 6))
    tests = [steady("std", seeds, 1.0) for seeds in draws]
    covers = []
    for test in tests:
        covers.append(test.low <= 2.0 <= test.high)
    covered = np.mean(covers)
    assert covered == pytest.approx(0.95, abs=0.02)


def test_a_single_seed_is_no_evidence() -> None:
    tests = [
        more("", [1.0]),
        alike("", [0.0], 0.1),
        steady("", [1.0], 0.1),
    ]
    for test in tests:
        assert np.isnan(test.p)


@given(probabilities)
def test_a_conjunction_is_as_sure_as_its_least_sure_part(ps: list[float]) -> None:
    parts = [with_p_value(p) for p in ps]
    whole = all_of(parts)
    least_sure = max(ps)
    assert whole.p_for == least_sure
    bound = len(ps) * (1 - least_sure)
    expected = min(1, bound)
    assert whole.p_against == pytest.approx(expected)
    assert whole.measure == with_p_value(least_sure).measure
    assert whole.tests == len(ps)


@given(probabilities)
def test_one_of_many_is_bonferronis(ps: list[float]) -> None:
    parts = [with_p_value(p) for p in ps]
    whole = at_least(1, parts)
    bound = len(ps) * min(ps)
    expected = min(1, bound)
    assert whole.p_for == pytest.approx(expected)
    expected = 1 - min(ps)
    assert whole.p_against == pytest.approx(expected)


@pytest.mark.parametrize(
    ("m", "means"),
    [
        (5, (5, 5, 5, 5, 0, 0)),
        (5, (5, 5, 5, 5, 0)),
    ],
)
def test_false_alarms_of_a_partial_conjunction(
    m: int, means: tuple[float, ...]
) -> None:
    """All but one of the required parts hold by far, the others not at all."""
    rng = np.random.default_rng(5)
    false_alarms = 0
    for _ in range(600):
        tests = []
        for mean in means:
            seeds = rng.normal(mean, 1, 6)
            tests.append(more("", seeds))
        whole = at_least(m, tests)
        is_for = whole.p_for < whole.p_against
        false_alarms += whole.p <= 0.05 and is_for
    assert false_alarms / 600 <= 0.05


def test_tests_of_groups_are_counted() -> None:
    first = all_of([with_p_value(0.001), with_p_value(0.5)])
    second = all_of([with_p_value(0.999), with_p_value(0.01)])
    whole = at_least(1, [first, second])
    assert whole.tests == 4
    assert whole.tests_for == 2
    assert whole.tests_against == 1


def test_a_test_without_a_result_leaves_the_whole_without_one() -> None:
    nan = float("nan")
    without_result = more("", [nan, 1.0])
    whole = all_of([with_p_value(0.001), without_result])
    assert np.isnan(whole.p)


def test_rank_correlation() -> None:
    x = [1.0, 2.0, 3.0]
    ties = [5.0, 5.0, 5.0]
    assert rank_correlation(x, ties) == 0
    correlation = rank_correlation(x, [1.0, 3.0, 2.0])
    assert correlation == pytest.approx(0.5)


@pytest.mark.parametrize(("points", "n_seeds"), [(5, 8), (6, 8), (6, 3)])
def test_correlations_of_points_in_random_order_are_no_evidence(
    points: int, n_seeds: int
) -> None:
    """At 5 % as often as it says; and equal correlations leave a p-value above 0."""
    random = np.random.default_rng(0)
    order = np.arange(points)

    def of_random_orders() -> float:
        rows = []
        for _ in range(n_seeds):
            drawn = random.permutation(points)
            rows.append(rank_correlation(order, drawn))
        return correlated("c", rows, points).p_for

    p_values = np.array([of_random_orders() for _ in range(600)])
    wrong = np.mean(p_values <= 0.05)
    assert 0.02 < wrong < 0.08
    certain = correlated("c", [1.0] * n_seeds, points)
    # all of n_seeds orders right, of points! each, is less likely than it says
    chance = math.factorial(points) ** -n_seeds
    assert chance < certain.p_for < 0.01
