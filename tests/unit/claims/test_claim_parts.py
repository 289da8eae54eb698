"""One-sided tests of single statements, and the partial conjunction of several."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kerhrm.claims import parts
from kerhrm.claims.parts import Part, alike, all_of, at_least, exact, more, steady

probabilities = st.lists(st.floats(0.001, 0.999), min_size=1, max_size=8)


def of(p: float) -> Part:
    return Part(f"p={p}", 1.0, 0.5, 1.5, p, 1 - p)


def test_more_is_the_paired_t_test_one_sided() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.3, 1, 10), rng.normal(0, 1, 10)
    part = more("a - b", a, b)
    assert part.effect == pytest.approx((a - b).mean())
    assert part.p_for == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert part.p_against == pytest.approx(stats.ttest_rel(a, b, alternative="less").pvalue)
    assert part.p == pytest.approx(stats.ttest_rel(a, b).pvalue)


def test_more_by_a_margin_tells_the_whole_difference() -> None:
    a = np.array([0.5, 0.6, 0.7, 0.6])
    part = more("a", a, 0.0, by=0.55)
    assert part.effect == pytest.approx(0.6)
    assert part.ci_low < 0.6 < part.ci_high
    assert part.p_for == pytest.approx(stats.ttest_1samp(a, 0.55, alternative="greater").pvalue)


def test_alike_is_two_one_sided_tests() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(0.01, 0.01, 10)
    part = alike("a", a, 0.0, margin=0.02)
    above = stats.ttest_1samp(a, -0.02, alternative="greater").pvalue
    below = stats.ttest_1samp(a, 0.02, alternative="less").pvalue
    assert part.p_for == pytest.approx(max(above, below))
    far = alike("a", a + 1, 0.0, margin=0.02)
    assert far.p_against < 1e-6
    assert far.effect == pytest.approx(a.mean() + 1)


def test_steady_rejects_as_often_as_it_may_at_the_limit() -> None:
    draws = np.random.default_rng(2).normal(0, 0.02, (4000, 5))
    rejected = np.mean([steady("std", row, 0.02).p_for <= 0.05 for row in draws])
    assert rejected == pytest.approx(0.05, abs=0.015)


def test_the_interval_of_a_deviation_holds_it() -> None:
    draws = np.random.default_rng(3).normal(0, 2.0, (2000, 6))
    found = [steady("std", row, 1.0) for row in draws]
    assert np.mean([p.ci_low <= 2.0 <= p.ci_high for p in found]) == pytest.approx(0.95, abs=0.02)


def test_a_single_seed_tells_nothing() -> None:
    for part in (more("", [1.0]), alike("", [0.0], 0.0, 0.1), steady("", [1.0], 0.1)):
        assert np.isnan(part.p)


def test_an_identity_holds_or_fails_without_a_p_value() -> None:
    assert exact("", 1e-12).p_for == 0
    assert exact("", 1e-12).effect == 0
    assert exact("", 0.1).p_against == 0
    assert np.isnan(exact("", 0.1).p)
    assert exact("", float("nan")).p_against == 0


@given(probabilities)
def test_all_is_as_sure_as_the_least_sure(ps: list[float]) -> None:
    whole = all_of([of(p) for p in ps])
    assert whole.p_for == max(ps)
    assert whole.p_against == pytest.approx(min(1, len(ps) * min(1 - p for p in ps)))
    assert whole.name == of(max(ps)).name
    assert whole.n == len(ps)


@given(probabilities)
def test_one_of_many_is_bonferronis(ps: list[float]) -> None:
    whole = at_least(1, [of(p) for p in ps])
    assert whole.p_for == pytest.approx(min(1, len(ps) * min(ps)))
    assert whole.p_against == pytest.approx(max(1 - p for p in ps))


def test_false_alarms_of_five_out_of_six_stay_below_the_level() -> None:
    """Four of six statements hold by far, the others not at all."""
    rng = np.random.default_rng(5)
    rejected = []
    for _ in range(1000):
        found = [more("", rng.normal(mean, 1, 6)) for mean in (5, 5, 5, 5, 0, 0)]
        whole = at_least(5, found)
        rejected.append(whole.p <= 0.05 and whole.p_for < whole.p_against)
    assert np.mean(rejected) <= 0.05


def test_false_alarms_of_a_conjunction_stay_below_the_level() -> None:
    """Four of five statements hold by far; that all five do is wrong, but only just."""
    rng = np.random.default_rng(4)
    rejected = []
    for _ in range(1000):
        sure = [more("", rng.normal(5, 1, 6)) for _ in range(4)]
        whole = all_of([*sure, more("", rng.normal(0, 1, 6))])
        rejected.append(whole.p <= 0.05 and whole.p_for < whole.p_against)
    assert np.mean(rejected) <= 0.05


def test_parts_of_parts_are_counted() -> None:
    groups = [all_of([of(0.001), of(0.5)]), all_of([of(0.999), of(0.01)])]
    whole = at_least(1, groups)
    assert (whole.n, whole.n_for, whole.n_against) == (4, 2, 1)


def test_a_part_without_a_result_leaves_the_whole_without_one() -> None:
    whole = all_of([of(0.001), more("", [float("nan"), 1.0])])
    assert np.isnan(whole.p)


def test_only_parts_that_are_there_can_hold() -> None:
    with pytest.raises(ValueError, match="2 of 1"):
        at_least(2, [of(0.1)])


def test_rank_correlation_of_a_constant_is_zero() -> None:
    x = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    y = np.array([[5.0, 5.0, 5.0], [1.0, 3.0, 2.0]])
    assert parts.correlation(x, y) == pytest.approx([0.0, 0.5])
