"""Spurious correlation: distribution, streams and scrambling."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from kerhrm_paper.data.classification import ClassificationData, generate
from kerhrm_paper.data.drawing import mixing_matrix
from kerhrm_paper.data.draws import Draws, Split

SMALL: dict[str, Any] = {
    "r2": 0.7,
    "n_train_per_environment": 30,
    "n_validation_per_environment": 20,
    "n_test": 40,
}


def made(seeds: Sequence[int], **changed: Any) -> Draws:
    options = ClassificationData(**SMALL | changed)
    return generate(options, seeds)


def split_sv(split: Split, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S and V of every point, by inverting X = H [S, V]^T."""
    s, v = np.split(
        np.linalg.solve(h, split.x[..., None].astype(float))[..., 0], 2, axis=-1
    )
    return s, v


def assert_rate(hits: np.ndarray, rate: float) -> None:
    """The number of hits is likely (two-sided p above 1e-4) at this rate."""
    assert stats.binomtest(int(hits.sum()), hits.size, rate).pvalue > 1e-4


@pytest.mark.parametrize("r2", [0.70, 0.80])
def test_bias_rates_and_gaussians(r2: float) -> None:
    sizes = ("n_train_per_environment", "n_validation_per_environment", "n_test")
    data = made([0, 1], r2=r2, **dict.fromkeys(sizes, 4000))
    h = mixing_matrix("fixed", 10, 0)
    for split, rates in (
        (data.train, (0.9, r2)),
        (data.validation, (0.9, r2)),
        (data.test, (0.1,)),
    ):
        s, v = split_sv(split, h)
        # V is N(A 1, 0.09 I): its mean over 5 columns gives A away (error rate below
        # 1e-13).
        a = np.sign(v.mean(axis=-1))
        assert_rate(split.y == 1, 0.5)
        for environment, rate in enumerate(rates):
            here = split.environment == environment
            assert_rate(a[here] == split.y[here], rate)
        for noise, sigma in (
            (s - split.y[..., None], 3.0),
            (v - a[..., None], 0.3),
        ):
            assert stats.kstest(noise.ravel(), "norm", (0, sigma)).pvalue > 1e-4
            columns = np.corrcoef(noise.reshape(-1, 5), rowvar=False)
            assert np.abs(columns - np.eye(5)).max() < 5 / np.sqrt(noise.size / 5)


def test_parts_swap_roles_and_test_environments_differ() -> None:
    """S follows the bias rates, and V agrees with the label alike everywhere."""
    n = dict.fromkeys(("n_train_per_environment", "n_test"), 4000)
    options = {"spurious": "S", "agreement": 0.8, "sigma_s": 0.3, "r_test": [0.1, 0.6]}
    data = made([0], **n, **options)
    for split, rates in ((data.train, (0.9, 0.7)), (data.test, (0.1, 0.6))):
        s, v = (
            np.sign(x.mean(-1)) for x in split_sv(split, mixing_matrix("fixed", 10, 0))
        )
        assert_rate(v == split.y, 0.8)
        for environment, rate in enumerate(rates):
            here = split.environment == environment
            assert_rate(s[here] == split.y[here], rate)


def test_units_of_the_noise() -> None:
    h = mixing_matrix("fixed", 10, 0)
    for unit, deviations in (("std", (3.0, 0.3)), ("variance", (3.0**0.5, 0.3**0.5))):
        data = made([0], n_train_per_environment=4000, noise_unit=unit)
        s, v = split_sv(data.train, h)
        a = np.sign(v.mean(axis=-1))
        for noise, sigma in (
            (s - data.train.y[..., None], deviations[0]),
            (v - a[..., None], deviations[1]),
        ):
            # chi^2: the standard deviation of the estimate is sigma / sqrt(2 N).
            assert noise.std() == pytest.approx(sigma, rel=5 / np.sqrt(2 * noise.size))


def test_the_fixed_scrambling_is_that_of_the_released_code() -> None:
    released = np.float32(stats.ortho_group.rvs(size=1, dim=10, random_state=1))
    plain = made([0], scramble="identity")
    mixed = made([0], scramble="fixed")
    np.testing.assert_allclose(mixed.train.x, plain.train.x @ released, atol=1e-5)


def test_settings_share_labels_and_the_first_environment() -> None:
    one = made([5], r2=0.7).train
    other = made([5], r2=0.8).train
    assert_array_equal(one.y, other.y)
    assert_array_equal(one.x[:, :30], other.x[:, :30])
