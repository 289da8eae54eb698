"""What M_c clusters: the features' columns without the directions taken out, and
residuals, labels or an intercept."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from planted_environments import (
    K_MAX,
    M,
    N,
    direction,
    first,
    later,
    planted,
    same,
    with_psi,
)
from refusals import refusal
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm.environments import choose_n_environments, learn_environments
from kerhrm.algorithm.options import KerHRMOptions


def test_a_candidate_uses_the_first_columns_alone() -> None:
    data = planted(0)
    psi = data.psi_train.clone()
    psi_v = data.psi_validation.clone()
    psi[:, 3:] = 100
    psi_v[:, 3:] = -100
    got = first(data, 2, 3, n_init=3)
    other_columns = with_psi(data, psi, psi_v)
    of_other_columns = first(other_columns, 2, 3, n_init=3)
    same(got, of_other_columns)
    slopes_of_2 = got.slopes[0]
    assert not slopes_of_2[:, 2:].any()
    alone = first(data, 3, n_init=3)
    of_3 = got.candidate(3)
    train = alone.train[0]
    assert torch.equal(train, of_3.train)


@pytest.mark.parametrize("projection", ["newest", "all"])
def test_directions_are_taken_out(
    projection: str, seen: list[tuple[Tensor, Tensor]]
) -> None:
    data = planted(0)
    rng = np.random.default_rng(0)
    thetas = []
    projections = []
    for _ in range(3):
        theta = rng.standard_normal(K_MAX)
        outer = np.outer(theta, theta)
        along_theta = outer / (theta @ theta)
        thetas.append(torch.from_numpy(theta))
        projections.append(np.eye(4) - along_theta)
    got = later(data, *thetas, n_init=3, projection=projection)
    used = projections if projection == "all" else projections[-1:]
    expected = data.psi_train.numpy()
    for matrix in used:
        expected = expected @ matrix
    psi, _ = seen[-1]
    assert_allclose(psi, expected, atol=1e-12)
    if projection == "newest":  # what points have along theta does not matter
        newest = thetas[-1]
        lengths = torch.from_numpy(rng.standard_normal((N, 1)))
        lengths_v = torch.from_numpy(rng.standard_normal((M, 1)))
        psi = data.psi_train + lengths * newest
        psi_v = data.psi_validation + lengths_v * newest
        moved = with_psi(data, psi, psi_v)
        again = later(moved, *thetas, n_init=3)
        same(got, again)


def test_what_the_iterations_before_left_is_needed() -> None:
    data = planted(0)
    options = KerHRMOptions(k=[4])
    message = "iteration 3 needs the environments and directions"
    with refusal(message):
        learn_environments(data, options, 3, [], [])
    message = "k=9 exceeds the 4 reduced features; lower k"
    with refusal(message):
        first(data, 2, 9)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_unit_of_psi_does_not_matter(intercept: bool) -> None:
    data = planted(0)
    psi = 1e3 * data.psi_train
    psi_v = 1e3 * data.psi_validation
    scaled = with_psi(data, psi, psi_v)
    # one start: two would end at the same optimum, and rounding choose
    options = {
        "n_init": 1,
        "clustering_ridge": [1e-2],
        "clustering_intercept": intercept,
    }
    plain = first(data, 2, 4, **options)
    of_scaled = first(scaled, 2, 4, **options)
    same(plain, of_scaled)


def test_labels_as_targets_are_residuals_of_an_offset_of_zero() -> None:
    data = planted(3, 0.5)
    without_offset = replace(
        data,
        f0_train=torch.zeros(N).double(),
        f0_validation=torch.zeros(M).double(),
    )
    labels = first(data, 2, 4, clustering_target="label")
    same(labels, first(without_offset, 2, 4))
    residuals = first(data, 2, 4)
    assert not torch.allclose(residuals.held_out, labels.held_out)


def test_an_intercept_makes_a_shift_of_all_labels_harmless() -> None:
    data = planted(0, 0.5, intercept=0.0)
    psi = data.psi_train.clone()
    psi_v = data.psi_validation.clone()
    psi[:, 2] = psi[:, 1] ** 2
    psi_v[:, 2] = psi_v[:, 1] ** 2
    data = with_psi(data, psi, psi_v)
    shifted = replace(
        data,
        f0_train=data.f0_train - 3,
        f0_validation=data.f0_validation - 3,
    )
    free: dict[str, Any] = {
        "clustering_ridge": [1e-9],
        "noise_sd": 0.5,
        "n_init": 4,
    }
    with_intercept = free | {"clustering_intercept": True}
    one = first(data, 2, 4, **with_intercept)
    other = first(shifted, 2, 4, **with_intercept)
    same(one, other)
    assert_close(other.intercept, one.intercept + 3)
    plain = first(data, 4, **free)
    moved = first(shifted, 4, **free)
    assert not torch.allclose(plain.held_out, moved.held_out)


def test_the_first_kernel_may_be_that_of_the_inputs() -> None:
    data = planted(0)
    other = planted(5)
    x = other.psi_train.float()
    x_v = other.psi_validation.float()
    inputs = (x, x_v)
    settings = KerHRMOptions(k=[2, 4], first_kernel="inputs")
    got = learn_environments(data, settings, 1, [], [], inputs=inputs)
    assert got.k.tolist() == [2, 4]
    of_inputs = with_psi(data, x.double(), x_v.double())
    expected = first(of_inputs, 4)
    for k in (2, 4):  # one clustering serves every k: that of all 4 inputs
        train = got.candidate(k).train
        assert_close(train, expected.train[0])
    # the second iteration is about features
    ones = torch.ones(K_MAX).double()
    theta = direction(ones, 4)
    again = learn_environments(data, settings, 2, [got], [theta], inputs=inputs)
    of_features = KerHRMOptions(k=[4])
    expected = learn_environments(data, of_features, 2, [expected], [theta])
    same(again, expected)
    with refusal("first_kernel='inputs' needs the points x"):
        learn_environments(data, settings, 1, [], [])


def test_the_number_of_environments_is_that_of_what_is_clustered() -> None:
    data = planted(0)
    inputs = (data.psi_train.float(), data.psi_validation.float())
    # features that have nothing to do with the labels
    noise = torch.Generator().manual_seed(0)
    psi = torch.randn(data.psi_train.shape, generator=noise).double()
    psi_v = torch.randn(data.psi_validation.shape, generator=noise).double()
    unrelated = with_psi(data, psi, psi_v)
    of_features = KerHRMOptions(k=[4], n_init=3)
    of_inputs = KerHRMOptions(k=[4], n_init=3, first_kernel="inputs")
    expected = choose_n_environments(data, of_features, 3)
    assert expected != choose_n_environments(unrelated, of_features, 3)
    assert choose_n_environments(unrelated, of_inputs, 3, inputs) == expected
    with refusal("first_kernel='inputs' needs the points x"):
        choose_n_environments(unrelated, of_inputs, 3)
