"""Effects against SciPy's tests, and what they decide against a margin."""

import math
import statistics

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from kerhrm_paper.evaluation.effects import NO_EFFECT, Effect, against, decide, paired

NAN = float("nan")
fractions = st.floats(0, 1)
single_precision = st.floats(0, 1, width=32)
several = st.lists(single_precision, min_size=2, max_size=12)
#: of several values that are not all the same up to rounding
spread = several.filter(lambda values: np.ptp(values) > 1e-3)


some_pairs = st.lists(st.tuples(fractions, fractions), min_size=2, max_size=12)


@given(pairs=some_pairs)
def test_a_pair_is_the_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    difference = a - b
    effect = paired(a, b)
    mean = statistics.fmean(difference)
    assert effect.estimate == pytest.approx(mean, abs=1e-12)
    assert effect.n == len(pairs)
    if np.ptp(difference) > 1e-3:
        two_sided = scipy.stats.ttest_rel(a, b)
        greater = scipy.stats.ttest_rel(a, b, alternative="greater")
        p = two_sided.pvalue
        p_for = greater.pvalue
        assert effect.p == pytest.approx(p, abs=1e-9)
        assert effect.p_for == pytest.approx(p_for, abs=1e-9)
        interval = two_sided.confidence_interval()
        assert effect.low == pytest.approx(interval.low)
        assert effect.high == pytest.approx(interval.high)
        significant = effect.p <= 0.05
        includes_zero = effect.low < 0 < effect.high
        assert significant == (not includes_zero)
    reverse = paired(b, a)
    estimate = -reverse.estimate
    assert estimate == pytest.approx(effect.estimate, abs=1e-9)
    assert -reverse.low == pytest.approx(effect.high, abs=1e-9)
    assert -reverse.high == pytest.approx(effect.low, abs=1e-9)
    assert reverse.p_for == effect.p_against
    assert reverse.p_against == effect.p_for


def test_pairs_without_a_spread_are_certain() -> None:
    higher = paired([0.5, 0.75], [0.25, 0.5])
    columns = list(higher.columns().values())
    assert columns == [0.25, 0.25, 0.25, 0.0]
    equal = paired([0.5, 0.75], [0.5, 0.75])
    columns = list(equal.columns().values())
    assert columns == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([0.5], [0.2]),
        ([0.5, NAN], [0.2, 0.1]),
    ],
)
def test_pairs_that_nothing_is_known_of(a: list[float], b: list[float]) -> None:
    effect = paired(a, b)
    assert math.isnan(effect.low)
    assert math.isnan(effect.high)
    assert math.isnan(effect.p)
    total = sum(a)
    assert math.isnan(effect.estimate) == math.isnan(total)


@given(values=spread, reference=fractions)
def test_a_reference_without_error_is_the_one_sample_test(
    values: list[float], reference: float
) -> None:
    effect = against(values, reference, 0.0)
    expected = scipy.stats.ttest_1samp(values, reference)
    interval = expected.confidence_interval()
    p = expected.pvalue
    assert effect.p == pytest.approx(p, abs=1e-9)
    low = interval.low - reference
    assert effect.low == pytest.approx(low, abs=1e-9)
    high = interval.high - reference
    assert effect.high == pytest.approx(high, abs=1e-9)


@given(values=spread, error=st.floats(0, 1))
def test_the_error_of_a_reference_widens_the_interval(
    values: list[float], error: float
) -> None:
    certain = against(values, 0.3, 0.0)
    uncertain = against(values, 0.3, error)
    student = scipy.stats.t(len(values) - 1)
    t = student.ppf(0.975)
    least = certain.high - certain.estimate
    half = uncertain.high - uncertain.estimate
    expected = math.hypot(least, t * error)
    assert half == pytest.approx(expected)


def effect_of(estimate: float, half: float) -> Effect:
    """An effect whose interval has that half, at ten degrees of freedom."""
    student = scipy.stats.t(10)
    standard_error = half / student.ppf(0.975)
    return Effect(
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        p_for=student.sf(estimate / standard_error),
        p_against=student.cdf(estimate / standard_error),
        n=11,
    )


@pytest.mark.parametrize(
    ("estimate", "half", "margin", "expected"),
    [
        (0.3, 0.1, 0.03, "better"),
        (-0.3, 0.1, 0.03, "worse"),
        (0.02, 0.01, 0.03, "equivalent"),  # although it is significant
        (0.025, 0.01, 0.03, "better"),  # the interval leaves the margin
        (0.05, 0.06, 0.03, "undecided"),
        (0.02, 0.01, None, "better"),
        (0.0, 0.01, None, "undecided"),
    ],
)
def test_decisions(
    estimate: float, half: float, margin: float | None, expected: str
) -> None:
    effect = effect_of(estimate, half)
    assert decide(effect, margin) == expected
    opposite = {"better": "worse", "worse": "better"}
    turned = opposite.get(expected, expected)
    assert decide(effect, margin, higher_is_better=False) == turned


def test_a_corrected_p_value_decides_in_place_of_the_effects_own() -> None:
    effect = effect_of(0.3, 0.1)
    assert decide(effect, 0.03, p=0.051) == "undecided"
    assert decide(effect, 0.03, p=NAN) == "undecided"
    assert decide(effect, 0.5, p=1.0) == "equivalent"


def test_a_seed_without_a_value_decides_nothing() -> None:
    failed = paired([0.5, NAN], [0.1, 0.1])
    single = paired([0.5], [0.1])
    assert decide(NO_EFFECT, 0.03) == "unknown"
    assert decide(failed, 0.03) == "unknown"
    assert decide(single, 0.03) == "undecided"
