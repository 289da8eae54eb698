"""One-sided tests, and the partial conjunction of several."""

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
    more,
    rank_correlation,
    steady,
)

probabilities = st.lists(st.floats(0.001, 0.999), min_size=1, max_size=8)


def of(p: float) -> Comparison:
    supports, opposes = int(p <= 0.025), int(1 - p <= 0.025)
    measure = f"p={p}"
    return Comparison(1.0, 0.5, 1.5, p, 1 - p, 10, measure, 1, supports, opposes)


def test_more_is_the_paired_t_test_one_sided() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.3, 1, 10), rng.normal(0, 1, 10)
    test = more("a - b", a - b)
    assert test.estimate == pytest.approx((a - b).mean())
    assert test.p_for == pytest.approx(
        stats.ttest_rel(a, b, alternative="greater").pvalue
    )
    assert test.p_against == pytest.approx(
        stats.ttest_rel(a, b, alternative="less").pvalue
    )
    assert test.p == pytest.approx(stats.ttest_rel(a, b).pvalue)


def test_more_than_a_margin_has_the_whole_mean_as_effect() -> None:
    a = np.array([0.5, 0.6, 0.7, 0.6])
    test = more("a", a, 0.55)
    assert test.estimate == pytest.approx(0.6)
    assert test.low < 0.6 < test.high
    assert test.p_for == pytest.approx(
        stats.ttest_1samp(a, 0.55, alternative="greater").pvalue
    )


def test_alike_is_two_one_sided_tests() -> None:
    a = np.random.default_rng(1).normal(0.01, 0.01, 10)
    above = stats.ttest_1samp(a, -0.02, alternative="greater").pvalue
    below = stats.ttest_1samp(a, 0.02, alternative="less").pvalue
    assert alike("a", a, 0.02).p_for == pytest.approx(max(above, below))
    far = alike("a", a + 1, 0.02)
    assert far.p_against < 1e-6
    assert far.estimate == pytest.approx(a.mean() + 1)


def test_steady_rejects_as_often_as_it_may_at_the_limit() -> None:
    draws = np.random.default_rng(2).normal(0, 0.02, (2000, 5))
    rejected = np.mean([steady("std", row, 0.02).p_for <= 0.05 for row in draws])
    assert rejected == pytest.approx(0.05, abs=0.02)


def test_the_interval_of_a_deviation_covers_it() -> None:
    draws = np.random.default_rng(3).normal(0, 2.0, (1000, 6))
    found = [steady("std", row, 1.0) for row in draws]
    assert np.mean([p.low <= 2.0 <= p.high for p in found]) == pytest.approx(
        0.95, abs=0.02
    )


def test_a_single_seed_is_no_evidence() -> None:
    for test in (more("", [1.0]), alike("", [0.0], 0.1), steady("", [1.0], 0.1)):
        assert np.isnan(test.p)


@given(probabilities)
def test_a_conjunction_is_as_sure_as_its_least_sure_part(ps: list[float]) -> None:
    whole = all_of([of(p) for p in ps])
    assert whole.p_for == max(ps)
    assert whole.p_against == pytest.approx(min(1, len(ps) * min(1 - p for p in ps)))
    assert whole.measure == of(max(ps)).measure
    assert whole.tests == len(ps)


@given(probabilities)
def test_one_of_many_is_bonferronis(ps: list[float]) -> None:
    whole = at_least(1, [of(p) for p in ps])
    assert whole.p_for == pytest.approx(min(1, len(ps) * min(ps)))
    assert whole.p_against == pytest.approx(max(1 - p for p in ps))


@pytest.mark.parametrize(
    ("m", "means"), [(5, (5, 5, 5, 5, 0, 0)), (5, (5, 5, 5, 5, 0))]
)
def test_false_alarms_of_a_partial_conjunction(
    m: int, means: tuple[float, ...]
) -> None:
    """All but one of the required parts hold by far, the others not at all."""
    rng = np.random.default_rng(5)
    wholes = [
        at_least(m, [more("", rng.normal(mu, 1, 6)) for mu in means])
        for _ in range(600)
    ]
    assert np.mean([w.p <= 0.05 and w.p_for < w.p_against for w in wholes]) <= 0.05


def test_tests_of_groups_are_counted() -> None:
    groups = [all_of([of(0.001), of(0.5)]), all_of([of(0.999), of(0.01)])]
    whole = at_least(1, groups)
    assert (whole.tests, whole.tests_for, whole.tests_against) == (4, 2, 1)


def test_a_test_without_a_result_leaves_the_whole_without_one() -> None:
    assert np.isnan(all_of([of(0.001), more("", [float("nan"), 1.0])]).p)


def test_rank_correlation() -> None:
    x = [1.0, 2.0, 3.0]
    assert rank_correlation(x, [5.0, 5.0, 5.0]) == 0
    assert rank_correlation(x, [1.0, 3.0, 2.0]) == pytest.approx(0.5)
