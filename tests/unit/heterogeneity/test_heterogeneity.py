"""The test of heterogeneity: exact under its null, blind to what does not matter, and
not blind."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import refusal
from scipy import stats

from kerhrm.algorithm.options import (
    AuxiliaryOptions,
    HeterogeneityOptions,
    KerHRMOptions,
)
from kerhrm.algorithm.problem import Problem
from kerhrm.heterogeneity.permutations import (
    against_permutations,
    in_sequence,
    orthonormal,
)
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.heterogeneity.test import (
    test_heterogeneity,
    test_problem,
    test_rows,
)

FEW = HeterogeneityOptions(folds=2, em_max_iter=30, em_tol=1e-3)
EXACT = FEW.model_copy(update={"min_gain": 0.0})


def flipped(n: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three inputs, a constant, and y, with the first coefficient flipped in a share of
    rows."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((n, 3))
    is_flipped = random.random(n) < share
    sign = np.where(is_flipped, -1, 1)
    noise = 0.3 * random.standard_normal(n)
    y = sign * x[:, 0] + x[:, 1] + noise
    constant = np.ones(n)
    return np.column_stack([x, constant]), y


def test_the_p_value_is_uniform_where_residuals_are_exchangeable() -> None:
    p_values = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        columns = random.standard_normal((60, 2))
        features = orthonormal(columns)
        residuals = random.standard_normal(60)
        test = against_permutations(features, residuals, EXACT, seed)
        p_values.append(float(test.p_value))
    # the second larger permutation of 39 comes as the l-th: P(p <= 2 / l) = 2 / l
    lengths = np.arange(40, 1, -1)
    possible = np.array([0, 1 / 40, *(2 / lengths)])
    below = np.array(p_values) - 1e-9
    cells = np.searchsorted(possible, below)
    assert_allclose(possible[cells], p_values)
    width = possible[cells] - possible[cells - 1]
    random = np.random.default_rng(0)
    shift = random.random(20)
    spread = p_values - width * shift
    assert stats.kstest(spread, "uniform").pvalue > 0.01


def test_at_level_0_nothing_is_detected() -> None:
    """Not even where no permutation has a larger gain."""
    features, y = flipped(300, 0.3)
    never = FEW.model_copy(update={"level": 0.0})
    test = test_heterogeneity(features, y, options=never)
    assert not test.detected
    assert 0 < test.p_value <= 1
    as_large = [1.0] * 39
    one_larger = iter([2.0, *as_large])
    low = in_sequence(one_larger, n_permutations=39, level=0.0)
    assert low.p_value == 1 / 40
    assert not low.detected


@pytest.mark.parametrize(
    ("gains", "p_value"),
    [
        ([2.0, 1.0, 3.0, 0.0], 1 / 2),  # the second draw is larger: it ends there
        ([2.0, 1.0, 1.0, 1.0], 1 / 4),
        ([2.0, 1.0, 1.0, 2.0], 1 / 3),
        ([2.0], 1 / 4),  # nothing is drawn
    ],
)
def test_draws_end_with_the_larger_ones_that_are_enough(
    gains: list[float], p_value: float
) -> None:
    result = in_sequence(iter(gains), n_permutations=3, level=0.25)
    assert result.p_value == p_value


@pytest.mark.parametrize("level", [-0.1, 7.0])
@pytest.mark.parametrize("kind", [HeterogeneityOptions, AuxiliaryOptions])
def test_a_level_is_a_probability(kind: Any, level: float) -> None:
    never = kind.parse({"level": 0})
    assert never.level == 0
    with refusal(r"level=.* must be"):
        kind.parse({"level": level})


def test_options_of_another_kind_are_refused() -> None:
    features, y = flipped(100, 0.3)
    by_name: Any = {"n_permutations": 19}
    test = test_heterogeneity(features, y, options=by_name)
    assert len(test.null) == 19
    of_another_kind = KerHRMOptions()
    others: tuple[Any, ...] = ("strict", 3, of_another_kind, {"level": 3})
    for given in others:
        with refusal(r"^options(: level=3:)? must be"):
            test_heterogeneity(features, y, options=given)


def test_a_flipped_coefficient_is_found() -> None:
    features, y = flipped(300, 0.3)
    test = test_heterogeneity(features, y, options=FEW)
    assert test.detected
    assert test.p_value == pytest.approx(1 / 40)
    mean_of_null = np.nanmean(test.null)
    assert test.gain - mean_of_null > 0.05
    assert not test.homogeneous


def test_many_columns_do_not_hide_a_flip() -> None:
    random = np.random.default_rng(0)
    entries = random.standard_normal((2400, 50))
    x = torch.from_numpy(entries)
    is_flipped = random.random(2400) < 0.2
    sign = np.where(is_flipped, -1.0, 1.0)
    slope = 2 * torch.from_numpy(sign)
    noise = 0.5 * random.standard_normal(2400)
    signal = x[:, 0] + slope * x[:, 49]
    y = signal + torch.from_numpy(noise)
    half_of_columns = x[:, :25]
    test = test_rows(half_of_columns, y, x, FEW, 0)
    assert test.detected


def test_units_of_the_label_and_maps_of_the_features_do_not_matter() -> None:
    features, y = flipped(200, 0.2)
    test = test_heterogeneity(features, y, options=FEW)
    moved_y = 4 * y - 3
    moved = test_heterogeneity(features, moved_y, options=FEW)
    assert moved.gain == pytest.approx(test.gain)
    assert_allclose(moved.null, test.null, rtol=1e-6, atol=1e-9)
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((4, 4))
    mixed = features @ matrix
    mapped = test_heterogeneity(mixed, y, x=features, options=FEW)
    assert mapped.gain == pytest.approx(test.gain)


def test_binary_labels_cannot_be_tested() -> None:
    features, y = flipped(200, 0.3)
    signs = np.sign(y)
    test = test_heterogeneity(features, signs, options=FEW)
    assert np.isnan(test.p_value)
    assert not test.detected
    assert not test.homogeneous


def test_a_test_ends_when_it_cannot_detect_anything() -> None:
    features, y = flipped(300, 0.0)
    test = test_heterogeneity(features, y, options=FEW)
    drawn = np.isfinite(test.null)
    assert drawn.sum() < 10
    n_drawn = drawn.sum()
    least = test.gain - FEW.min_gain / 300**0.5
    is_larger = test.null[drawn] >= least
    n_larger = int((is_larger).sum())
    assert n_larger == 2  # of 39 two are more than 5 %
    assert test.p_value == n_larger / n_drawn


def test_zeros_among_amounts_and_ties_of_counts_are_no_environments() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((600, 4))
    mean = x @ [1, -1, 0.5, 0.5]
    is_positive = random.random(600) < 0.4
    amounts = np.exp(mean / 2) * is_positive
    rates = np.exp(mean / 2 - 1)
    counts = random.poisson(rates).astype(float)
    of_amounts = test_heterogeneity(x, amounts, options=FEW)
    of_counts = test_heterogeneity(x, counts, options=FEW)
    assert of_amounts.homogeneous
    n_positive = int((amounts != 0).sum())
    assert of_amounts.n_points == n_positive
    assert of_counts.homogeneous
    assert of_counts.n_points == 600
    is_first = np.arange(600) < 60
    rate = np.exp(mean)
    few = np.where(is_first, rate, 0.0)
    of_few = test_heterogeneity(x, few, options=FEW)
    assert np.isnan(of_few.p_value)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_problem_is_tested_on_its_training_points(share: float) -> None:
    features, labels = flipped(200, share)
    x = torch.from_numpy(features)
    y = torch.from_numpy(labels)
    u, s, _ = torch.linalg.svd(x, full_matrices=False)
    nothing = torch.zeros_like(y)
    psi_v = x[:5]
    y_v = y[:5]
    nothing_v = nothing[:5]
    problem = Problem(
        u,
        s,
        psi_v,
        nothing,
        nothing_v,
        y,
        y_v,
        task="regression",
        seed=4,
    )
    test = test_problem(problem, x, FEW)
    assert test.homogeneous == (share == 0)
    alone = test_heterogeneity(features, labels, options=FEW, seed=4)
    assert_allclose(test.null, alone.null, rtol=1e-6)
    again = HeterogeneityResult.from_arrays(test.arrays())
    assert again.gain == test.gain
    assert again.p_value == test.p_value
    assert again.detected == test.detected


def test_what_cannot_be_tested_is_refused() -> None:
    features, y = flipped(200, 0.3)
    with refusal("too few"):
        test_heterogeneity(features[:79], y[:79])
    with refusal("do not fit"):
        test_heterogeneity(features, y[:-1])
    y[3] = np.nan
    with refusal("finite"):
        test_heterogeneity(features, y)


def test_what_would_be_seen_shrinks_with_the_number_of_points() -> None:
    def visible(n_points: int | None = None) -> float:
        given = {} if n_points is None else {"n_points": n_points}
        null = np.zeros(1)
        result = HeterogeneityResult(0.0, null, 1.0, detected=False, **given)
        return result.visible

    numbers = (80, 125, 700, 4000, 5000)
    shares = [visible(n) for n in numbers]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1
    assert np.isnan(visible())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": ["lo", "hi"] * 60}, "y must hold numbers"),
        ({"seed": None}, "seed must be a whole number; got None"),
        ({"features": np.zeros((120, 2))}, "features are all zero; give columns"),
        ({"seed": 1.5}, "seed must be a whole number; got 1.5"),
        ({"options": {"folds": 1}}, "options: folds=1"),
        ({"options": {"fold": 2}}, "options: fold"),
    ],
)
def test_what_is_no_argument(given: dict[str, Any], message: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    usual = {"features": x, "y": x[:, 0]}
    arguments = usual | given
    with refusal(message) as caught:
        test_heterogeneity(**arguments)
    assert "\n" not in str(caught.value)
