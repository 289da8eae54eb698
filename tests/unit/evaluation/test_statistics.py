"""Statistics over seeds, against the standard library, SciPy's tests and
simulations."""

import math
import statistics
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from kerhrm_paper.evaluation.statistics import holm, summarise, tail

NAN = float("nan")
KEYS = ["mean", "std", "n_seeds", "ci_low", "ci_high"]
single_precision = st.floats(0, 1, width=32)
accuracies = st.lists(single_precision, min_size=2, max_size=12)
#: of several values that are not all the same up to rounding
spread = accuracies.filter(lambda values: np.ptp(values) > 1e-3)
p_values = st.floats(0, 1)


# mean, deviation, interval


@given(values=accuracies)
def test_mean_and_deviation_are_the_textbooks(values: list[float]) -> None:
    got = summarise(np.array(values))
    mean = statistics.fmean(values)
    deviation = statistics.stdev(values)
    assert list(got) == KEYS
    assert got["mean"] == pytest.approx(mean, abs=1e-12)
    assert got["std"] == pytest.approx(deviation, rel=1e-9, abs=1e-12)
    assert got["n_seeds"] == len(values)
    assert got["ci_low"] <= got["mean"] <= got["ci_high"]


@given(values=spread)
def test_the_interval_is_students(values: list[float]) -> None:
    got = summarise(values)
    test = scipy.stats.ttest_1samp(values, 0.0)
    expected = test.confidence_interval(0.95)
    assert got["ci_low"] == pytest.approx(expected.low, abs=1e-9)
    assert got["ci_high"] == pytest.approx(expected.high, abs=1e-9)


def test_a_single_seed_has_neither_deviation_nor_interval() -> None:
    got = summarise(np.array([0.7]))
    assert got["mean"] == 0.7
    assert got["n_seeds"] == 1
    for key in ("std", "ci_low", "ci_high"):
        assert math.isnan(got[key])


def test_equal_seeds_have_a_point_for_an_interval() -> None:
    equal = np.array([0.7] * 3)
    got = summarise(equal)
    assert got["std"] == 0
    assert got["mean"] == pytest.approx(0.7)
    assert got["ci_low"] == got["mean"]
    assert got["ci_high"] == got["mean"]


@pytest.mark.parametrize("values", [[0.7, NAN, 0.9], [NAN], [NAN, NAN]])
def test_a_seed_without_a_value_leaves_none(values: list[float]) -> None:
    got = summarise(np.array(values))
    assert list(got) == KEYS
    assert got.pop("n_seeds") == len(values)
    for number in got.values():
        assert math.isnan(number)


SAMPLES = 2000
Size = tuple[int, int]  # (samples, seeds)


def two_levels(rng: np.random.Generator, size: Size) -> np.ndarray:
    level = 2 * rng.integers(0, 2, size)
    noise = rng.normal(0, 0.2, size)
    return level + noise


DRAW: dict[str, Callable[[np.random.Generator, Size], np.ndarray]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed": lambda rng, size: rng.lognormal(0, 0.5, size),
    "very skewed": lambda rng, size: rng.exponential(size=size),
    "two levels": two_levels,
}
MEAN = {
    "normal": 0.0,
    "skewed": math.exp(0.125),
    "very skewed": 1.0,
    "two levels": 1.0,
}


@pytest.mark.parametrize(
    ("name", "seeds", "least"),
    [
        ("normal", 5, 0.94),
        ("normal", 10, 0.94),
        ("skewed", 5, 0.90),
        ("skewed", 10, 0.90),
        ("very skewed", 5, 0.86),
        ("very skewed", 10, 0.88),
        ("two levels", 5, 0.92),
        ("two levels", 10, 0.93),
    ],
)
def test_the_interval_covers_the_mean(name: str, seeds: int, least: float) -> None:
    """The nominal 95 % of 2 000 samples, with a standard error of .5 %."""
    rng = np.random.default_rng(0)
    samples = DRAW[name](rng, (SAMPLES, seeds))
    mean = MEAN[name]
    covered = 0
    for values in samples:
        got = summarise(values)
        covered += got["ci_low"] <= mean <= got["ci_high"]
    coverage = covered / SAMPLES
    assert coverage >= least
    if name == "normal":
        assert coverage <= 0.96


# against a reference


@given(values=spread, reference=st.floats(0, 1))
def test_a_reference_without_error_is_the_one_sample_test(
    values: list[float], reference: float
) -> None:
    got = summarise(values)
    expected = scipy.stats.ttest_1samp(values, reference)
    distance = abs(got["mean"] - reference)
    n = len(values)
    one_sided = tail(distance, got["std"], n)
    p = 2 * one_sided
    assert p == pytest.approx(expected.pvalue, abs=1e-9)


@given(values=spread, reference=st.floats(0, 1), margin=st.floats(0.01, 0.5))
def test_equivalence_is_two_one_sided_tests_and_an_interval_inside(
    values: list[float], reference: float, margin: float
) -> None:
    got = summarise(values)
    distance = abs(got["mean"] - reference)
    n = len(values)
    p = tail(margin - distance, got["std"], n)

    least = reference - margin
    most = reference + margin
    above = scipy.stats.ttest_1samp(values, least, alternative="greater")
    below = scipy.stats.ttest_1samp(values, most, alternative="less")
    less_sure = max(above.pvalue, below.pvalue)
    assert p == pytest.approx(less_sure, abs=1e-9)

    test = scipy.stats.ttest_1samp(values, reference)
    interval = test.confidence_interval(0.90)
    low = interval.low - reference
    high = interval.high - reference
    if abs(p - 0.05) > 1e-9:
        inside = -margin < low and high < margin
        assert (p < 0.05) == inside


@pytest.mark.parametrize(("seeds", "runs"), [(5, 5), (10, 10), (10, 5)])
def test_both_tests_have_their_size_beside_the_papers_own_error(
    seeds: int, runs: int
) -> None:
    """The paper's mean of ``runs`` is drawn like ours, and its spread is taken from
    ours."""
    rng = np.random.default_rng(0)
    margin = 2.0
    ours = rng.normal(size=(SAMPLES, seeds))
    of_runs = rng.normal(size=(SAMPLES, runs))
    papers = of_runs.mean(axis=1)
    different = 0
    equivalent = 0
    for values, reference in zip(ours, papers, strict=True):
        distance = values.mean() - reference
        std = values.std(ddof=1)
        error = std / runs**0.5
        one_sided = tail(abs(distance), std, seeds, error)
        p_different = 2 * one_sided
        different += p_different <= 0.05
        # truly a margin apart: to call that equal is the error of the other kind
        apart = abs(distance - margin)
        p_equivalent = tail(margin - apart, std, seeds, error)
        equivalent += p_equivalent <= 0.05
    share_different = different / SAMPLES
    share_equivalent = equivalent / SAMPLES
    assert share_different == pytest.approx(0.05, abs=0.015)
    assert share_equivalent == pytest.approx(0.05, abs=0.015)


def test_a_single_seed_is_no_test() -> None:
    assert math.isnan(tail(0.3, NAN, 1))


@pytest.mark.parametrize(("distance", "p"), [(0.0, 0.5), (0.05, 0.0), (-0.1, 1.0)])
def test_without_any_spread_all_is_certain(distance: float, p: float) -> None:
    assert tail(distance, 0.0, 5) == p


# several tests


def test_holm_by_hand() -> None:
    # .005 x 4, .01 x 3, .03 x 2, and .04 x 1, which may not fall below the one before
    corrected = holm([0.01, 0.04, 0.03, 0.005])
    assert corrected == pytest.approx([0.03, 0.06, 0.06, 0.02])
    above_one = holm([0.6, 0.7])
    assert above_one == pytest.approx([1.0, 1.0])
    assert list(holm([0.04])) == [0.04]
    assert len(holm([])) == 0


@given(p=st.lists(p_values, min_size=1, max_size=6))
def test_holm_closes_bonferroni(p: list[float]) -> None:
    """A hypothesis falls if every set of hypotheses with it falls by
    Bonferroni's rule."""
    hypotheses = range(len(p))
    expected = [0.0] * len(p)
    for size in range(1, len(p) + 1):
        for tested in combinations(hypotheses, size):
            smallest = min(p[i] for i in tested)
            bonferroni = min(1, size * smallest)
            for i in tested:
                expected[i] = max(expected[i], bonferroni)
    corrected = list(holm(p))
    assert corrected == pytest.approx(expected)


some_p_values = hnp.arrays(float, st.integers(1, 20), elements=p_values)


@given(p=some_p_values, data=st.data())
def test_holm_knows_no_order_and_ignores_what_is_no_test(
    p: np.ndarray, data: st.DataObject
) -> None:
    adjusted = holm(p)
    orders = st.permutations(range(len(p)))
    permutation = data.draw(orders)
    order = np.array(permutation)
    p_in_order = p[order]
    assert_array_equal(holm(p_in_order), adjusted[order])
    with_holes = holm([NAN, *p, NAN])
    assert_array_equal(with_holes, [NAN, *adjusted, NAN])
    corrected = len(p) * p
    bonferroni = np.minimum(1, corrected)
    assert (adjusted >= p).all()
    assert (adjusted <= bonferroni).all()
    ascending = adjusted[np.argsort(p)]
    assert (np.diff(ascending) >= 0).all()
    another = data.draw(p_values)
    with_another = holm([*p, another])
    p_before = adjusted - 1e-12
    assert (with_another[:-1] >= p_before).all()
