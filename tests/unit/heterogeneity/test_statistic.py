"""Residuals in units of their scale, and the gain of two environments on them."""

from collections.abc import Iterator

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.mixture import Mixture
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.features.ridge import Columns
from kerhrm.heterogeneity.permutations import orthonormal
from kerhrm.heterogeneity.residuals import (
    normal_scores,
    rank_regression,
    scaled_residuals,
    spread_ties,
)
from kerhrm.heterogeneity.statistic import along_singled_out, gains, matched_likelihood
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions

FEW = HeterogeneityOptions(n_init=2)


different_numbers = st.lists(
    st.integers(-1000, 1000),
    min_size=2,
    max_size=30,
    unique=True,
)


@given(different_numbers)
def test_normal_scores_know_only_the_order(values: list[int]) -> None:
    numbers = np.array(values, dtype=float)
    scores = normal_scores(numbers)
    order = np.argsort(numbers)
    assert np.array_equal(np.argsort(scores), order)
    increasing = np.exp(numbers / 1000)
    assert_allclose(scores, normal_scores(increasing))
    assert abs(scores.sum()) < 1e-9


def test_the_scale_of_the_noise_is_learned() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((400, 2))
    true = np.exp(x[:, 0])
    noise = true * random.standard_normal(400)
    y = x[:, 1] + noise
    noise_model = scaled_residuals(x, y, 5, 0)
    assert noise_model is not None
    scores, scale, _ = noise_model
    assert stats.spearmanr(scale, true).statistic > 0.9
    assert stats.kstest(scores, "norm").pvalue > 0.99


def test_many_features_are_led_to_the_one_that_flips() -> None:
    random = np.random.default_rng(0)
    entries = random.standard_normal((2000, 40))
    columns = orthonormal(entries)
    psi = torch.from_numpy(columns)
    flipped = random.random(2000) < 0.2
    slope = np.where(flipped, -1.6, 0.4)
    noise = 0.5 * random.standard_normal(2000)
    e = psi[:, 7] * torch.from_numpy(slope)
    residuals = e + torch.from_numpy(noise)
    (found,) = along_singled_out(psi, residuals[None])
    assert found.shape == (2000, 8)
    seventh = psi[:, 7:8]
    span = torch.linalg.lstsq(found, seventh).solution
    projection = (found @ span)[:, 0]
    assert projection @ psi[:, 7] / 2000 > 0.9
    few = psi[:, :8]
    (unchanged,) = along_singled_out(few, e[None])
    assert unchanged.data_ptr() == few.data_ptr()


def test_a_rank_regression_is_better_than_least_squares_where_noise_has_an_edge() -> (
    None
):
    random = np.random.default_rng(0)
    x = random.standard_normal((500, 3))
    noise = random.pareto(1.5, 500)
    mean = x[:, 0]
    y = mean + noise
    inputs = x.astype(np.float32)
    points = torch.from_numpy(inputs)
    network = build(NetworkOptions(), 0, 3)
    columns = Columns.extract(network, points)
    ranks = rank_regression(columns, y)
    squares = columns.leave_one_out(y)
    deviation_of_ranks = np.std(ranks - mean)
    deviation_of_squares = np.std(squares - mean)
    assert deviation_of_ranks < deviation_of_squares / 3


def test_equal_labels_are_spread_up_to_half_way_to_their_neighbours() -> None:
    y = np.array([0.0, 0, 1, 1, 1, 3, 4])
    random = np.random.default_rng(0)
    spread = spread_ties(y, random)
    single = slice(5, None)
    assert_array_equal(spread[single], y[single])
    middle = [0, 0, 1.25, 1.25, 1.25, 3, 4]
    reach = [0.5, 0.5, 0.75, 0.75, 0.75, 0, 0]
    distance = np.abs(spread - middle)
    assert (distance <= reach).all()
    assert len(np.unique(spread)) == 7


def test_the_scale_of_mostly_equal_labels_is_finite() -> None:
    """Of labels that are mostly equal none is an outlier."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 2))
    first = x[:, 0]
    quantile = np.quantile(first, 0.6)
    mostly_equal = np.maximum(first, quantile)
    noise_model = scaled_residuals(x, mostly_equal, 3, 0)
    assert noise_model is not None
    scores, scale, _ = noise_model
    assert np.isfinite(scores).all()
    assert (scale > 0).all()


def test_the_matched_gaussian_has_the_moments_of_the_mixture() -> None:
    random = np.random.default_rng(0)
    psi = random.standard_normal((50, 2))
    y = random.standard_normal(50)
    theta = np.array([[1.0, 2.0], [-1.0, 0.5]])
    weights = np.array([0.3, 0.7])
    sigma = 0.8
    centres = psi @ theta.T
    mean = centres @ weights
    second_moment = centres**2 @ weights + sigma**2
    variance = second_moment - mean**2
    deviation = np.sqrt(variance)
    log_densities = stats.norm.logpdf(y, mean, deviation)
    expected = log_densities.mean()
    deviations = np.full(2, sigma)
    values = (theta, weights, deviations, 0.0, 1, True)
    arrays = [np.asarray(value) for value in values]
    tensors = [torch.from_numpy(array) for array in arrays]
    features = torch.from_numpy(psi)
    labels = torch.from_numpy(y)
    found = matched_likelihood(Mixture(*tensors), features, labels)
    assert_allclose(float(found), expected)


def test_a_cone_is_no_environment_and_two_lines_are() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal(500)
    constant = np.ones(500)
    columns = np.column_stack([x, constant])
    features = orthonormal(columns)
    noise = random.standard_normal(500)
    cone = np.abs(x) * noise
    sign = np.sign(random.standard_normal(500))
    lines = x * sign + 0.3 * noise
    unit_cone = cone / cone.std()
    unit_lines = lines / lines.std()
    residuals = np.stack([unit_cone, unit_lines])
    gain_of_cone, gain_of_lines = gains(features, residuals, 2, FEW, 0)
    assert gain_of_cone < 0.02
    assert gain_of_lines > 0.1


def test_environments_that_the_residual_alone_tells_are_not_set_aside() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal(800)
    flipped = random.random(800) < 0.2
    side = np.sign(x)
    noise = 0.05 * random.standard_normal(800)
    slope = np.where(flipped, -1.6, 0.4)
    residual = slope * side + noise
    constant = np.ones(800)
    columns = np.column_stack([side, constant])
    features = orthonormal(columns)
    e = normal_scores(residual)
    of_each = np.stack([~flipped, flipped], -1)
    memberships = torch.from_numpy(of_each.astype(float))
    distance = np.abs(e)
    bins = label_bins(torch.from_numpy(distance))
    information = label_information(memberships, bins)
    assert information > 0.5  # what a split by the label looks like
    copies = np.tile(e, (5, 1))
    permuted = random.permuted(copies, axis=1)
    every = np.vstack([e, permuted])
    gain, *others = gains(features, every, 6, FEW, 0)
    assert gain > 10 * max(others)


def test_without_a_usable_start_nothing_is_gained() -> None:
    random = np.random.default_rng(0)
    entries = random.standard_normal((60, 2))
    features = orthonormal(entries)
    never = HeterogeneityOptions(n_init=2, min_share=1.0)
    residuals = random.standard_normal((3, 60))
    gained = list(gains(features, residuals, 3, never, 0))
    assert gained == [0, 0, 0]


def test_a_test_that_ends_early_draws_few_permutations() -> None:
    """However many it may take: none of them is kept."""
    random = np.random.default_rng(0)
    entries = random.standard_normal((200, 2))
    features = orthonormal(entries)
    n_drawn = 0

    def sets() -> Iterator[np.ndarray]:
        nonlocal n_drawn
        while True:
            n_drawn += 1
            yield random.standard_normal(200)

    of_sets = gains(features, sets(), 1_000_000, FEW, 0)
    first_ten = [next(of_sets) for _ in range(10)]
    assert len(first_ten) == 10
    assert n_drawn <= 40
