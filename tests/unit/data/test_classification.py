"""Spurious correlation: distribution, streams and scrambling."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from drawtools import assert_rate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from kerhrm_paper.data.classification import ClassificationData, generate
from kerhrm_paper.data.drawing import mixing_matrix
from kerhrm_paper.data.draws import Draws, Split
from kerhrm_paper.data.paper_data import PaperData, expected

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
    columns = split.x[..., None]
    numbers = columns.astype(float)
    unmixed = np.linalg.solve(h, numbers)
    rows = unmixed[..., 0]
    s, v = np.split(rows, 2, axis=-1)
    return s, v


def attribute(v: np.ndarray) -> np.ndarray:
    """A, which the mean of V gives away, as V is N(A 1, 0.09 I): an error in 1e13."""
    mean = v.mean(axis=-1)
    return np.sign(mean)


@pytest.mark.parametrize("r2", [0.70, 0.80])
def test_bias_rates_and_gaussians(r2: float) -> None:
    sizes = ("n_train_per_environment", "n_validation_per_environment", "n_test")
    many = dict.fromkeys(sizes, 4000)
    data = made([0, 1], r2=r2, **many)
    h = mixing_matrix("fixed", 10, 0)
    for split, rates in (
        (data.train, (0.9, r2)),
        (data.validation, (0.9, r2)),
        (data.test, (0.1,)),
    ):
        s, v = split_sv(split, h)
        a = attribute(v)
        assert_rate(split.y == 1, 0.5)
        for environment, rate in enumerate(rates):
            here = split.environment == environment
            agrees = a == split.y
            assert_rate(agrees[here], rate)
        noise_of_s = s - split.y[..., None]
        noise_of_v = v - a[..., None]
        noises = [(noise_of_s, 3.0), (noise_of_v, 0.3)]
        for noise, sigma in noises:
            values = noise.ravel()
            test = stats.kstest(values, "norm", (0, sigma))
            assert test.pvalue > 1e-4
            rows = noise.reshape(-1, 5)
            correlations = np.corrcoef(rows, rowvar=False)
            differences = correlations - np.eye(5)
            n_rows = noise.size / 5
            largest = np.abs(differences).max()
            bound = 5 / np.sqrt(n_rows)
            assert largest < bound


def test_parts_swap_roles_and_test_environments_differ() -> None:
    """S follows the bias rates, and V agrees with the label alike everywhere."""
    n = dict.fromkeys(("n_train_per_environment", "n_test"), 4000)
    options = {
        "spurious": "S",
        "agreement": 0.8,
        "sigma_s": 0.3,
        "r_test": [0.1, 0.6],
    }
    data = made([0], **n, **options)
    h = mixing_matrix("fixed", 10, 0)
    parts = [
        (data.train, (0.9, 0.7)),
        (data.test, (0.1, 0.6)),
    ]
    for split, rates in parts:
        s, v = split_sv(split, h)
        sign_of_s = np.sign(s.mean(-1))
        sign_of_v = np.sign(v.mean(-1))
        assert_rate(sign_of_v == split.y, 0.8)
        for environment, rate in enumerate(rates):
            here = split.environment == environment
            agrees = sign_of_s == split.y
            assert_rate(agrees[here], rate)


def test_units_of_the_noise() -> None:
    h = mixing_matrix("fixed", 10, 0)
    variances = (3.0**0.5, 0.3**0.5)
    standard = (3.0, 0.3)
    units = {"std": standard, "variance": variances}
    for unit, deviations in units.items():
        data = made([0], n_train_per_environment=4000, noise_unit=unit)
        s, v = split_sv(data.train, h)
        noise_of_s = s - data.train.y[..., None]
        sign = attribute(v)
        noise_of_v = v - sign[..., None]
        noises = (noise_of_s, noise_of_v)
        for noise, sigma in zip(noises, deviations, strict=True):
            # chi^2: the standard deviation of the estimate is sigma / sqrt(2 N).
            relative_error = 1 / np.sqrt(2 * noise.size)
            tolerance = 5 * relative_error
            assert noise.std() == pytest.approx(sigma, rel=tolerance)


def test_the_fixed_scrambling_is_that_of_the_released_code() -> None:
    matrix = stats.ortho_group.rvs(size=1, dim=10, random_state=1)
    released = np.float32(matrix)
    plain = made([0], scramble="identity")
    mixed = made([0], scramble="fixed")
    expected = plain.train.x @ released
    got = mixed.train.x
    assert_allclose(got, expected, atol=1e-5)


def test_settings_share_labels_and_the_first_environment() -> None:
    one = made([5], r2=0.7).train
    other = made([5], r2=0.8).train
    assert_array_equal(one.y, other.y)
    first_of_other = other.x[:, :30]
    assert_array_equal(one.x[:, :30], first_of_other)


@pytest.mark.parametrize("scramble", ["fixed", "per_seed", "identity"])
def test_what_clusters_should_find_is_read_through_the_scramble(scramble: Any) -> None:
    options = {**SMALL, "scramble": scramble}
    data = PaperData("classification", options).draw(5)
    sides = expected(data, scramble)
    (y,) = data.train.y
    h = mixing_matrix(scramble, data.train.x.shape[-1], 5)
    _, v = split_sv(data.train, h)
    agrees = attribute(v[0]) == y
    assert_array_equal(sides, agrees)
