"""Tables whose rows share their inputs, as those of ratings and categories do."""

import numpy as np
import pytest

from kerhrm import test_heterogeneity
from kerhrm.heterogeneity.residuals import scaled_residuals

N = 600


def inputs(seed: int, d: int) -> np.ndarray:
    """Of five levels in every column."""
    random = np.random.default_rng(seed)
    return random.integers(-2, 3, size=(N, d)).astype(float)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_flipped_slope_is_found(d: int, seed: int) -> None:
    random = np.random.default_rng(100 + seed)
    x = inputs(seed, d)
    slope = np.where(random.random(N) < 0.15, -1.5, 1.5)
    y = slope * x[:, 0] + x[:, 1:].sum(1) + 0.7 * random.normal(size=N)
    for seed_of_test in (0, 1):
        assert test_heterogeneity(x, y, seed=seed_of_test).detected


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_skewed_noise_is_no_environment(seed: int) -> None:
    random = np.random.default_rng(200 + seed)
    x = inputs(seed, 2)
    y = x.sum(1) + random.exponential(size=N)
    assert not test_heterogeneity(x, y).detected


def test_the_mean_is_a_function_of_the_inputs() -> None:
    """Leave-one-out predictions would tell the label of their row."""
    random = np.random.default_rng(0)
    x = inputs(0, 1)
    y = x[:, 0] + random.normal(size=N)
    noise = scaled_residuals(x, y, folds=2, seed=0)
    assert noise is not None
    _, _, mean = noise
    for level in range(-2, 3):
        assert np.ptp(mean[x[:, 0] == level]) == 0
