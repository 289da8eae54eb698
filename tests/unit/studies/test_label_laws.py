"""Laws of two labels: shares that are known without a draw."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from kerhrm_paper.studies.label_laws import INPUTS, LOG_ODDS, logistic
from kerhrm_paper.studies.noises import Rows

N = 40_000


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("d", [4, 10])
def test_inputs_have_mean_zero_and_variance_one(name: str, d: int) -> None:
    rows = Rows(np.random.default_rng(0), N)
    x = INPUTS[name](rows, d)
    assert x.shape == (N, d)
    assert x.mean(0) == pytest.approx(np.zeros(d), abs=0.03)
    assert x.var(0) == pytest.approx(np.ones(d), abs=0.06)


def test_labels_err_near_the_boundary_alone() -> None:
    """The best rule is wrong in E min(p, 1 - p) of the rows, by numeric integration."""
    rows = Rows(np.random.default_rng(0), N)
    x, y = logistic(rows, INPUTS["normal"], 4)
    slopes = np.linspace(1, 0.3, 4)
    score = x @ slopes / np.linalg.norm(slopes)
    predicted = score > 0
    is_wrong = predicted != y

    def density_of_errors(z: float) -> float:
        chance = expit(-LOG_ODDS * abs(z))
        return float(chance * norm.pdf(z))

    expected, _ = quad(density_of_errors, -10, 10)
    assert is_wrong.mean() == pytest.approx(expected, abs=0.005)
    far = np.abs(score) > 1
    assert is_wrong[far].mean() < 0.01
