"""The divergence of counted_worlds.py against draws of the generator."""

import numpy as np
import pytest
from counted_worlds import divergence_of_x

from kerhrm_paper.data import classification


@pytest.mark.parametrize(("r", "other"), [(0.9, 0.7), (0.8, 0.1)])
def test_divergence_by_draws_of_the_generator(r: float, other: float) -> None:
    data = classification.ClassificationData()
    rng = np.random.default_rng(0)
    s, v, y = classification.draw(rng, 200_000, r, data)

    a = np.sign(v.sum(1))
    sum_of_s = s.sum(1)
    log_odds_by_s = 2 * sum_of_s / data.sigma_s**2

    def log_posterior(rate: float) -> np.ndarray:
        log_odds_by_a = a * np.log(rate / (1 - rate))
        log_odds = log_odds_by_s + log_odds_by_a
        return -np.logaddexp(0, -y * log_odds)

    drawn = log_posterior(r) - log_posterior(other)
    divergence = divergence_of_x(r, other)
    mean = drawn.mean()
    assert divergence == pytest.approx(mean, rel=0.03)
