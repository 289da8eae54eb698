"""More columns than the usual numbers of reduced features."""

import numpy as np
import pytest
import torch

from kerhrm import KerHRMClassifier, KerHRMRegressor, TangentRidge
from kerhrm.algorithm.options import KerHRMOptions

USUAL = tuple(KerHRMOptions().k)


def flipped(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of d unrelated columns; the effect of one flips in a fifth of the rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    is_flipped = rng.random(n) < 0.2
    slope = np.where(is_flipped, -1, 1)
    noise = 0.5 * rng.normal(size=n)
    y = x[:, 0] + slope * x[:, 1] + 0.3 * x[:, 2] + noise
    return x, y, is_flipped


@pytest.mark.parametrize("seed", [0, 1])
def test_a_slope_that_flips_is_seen_among_forty_columns(seed: int) -> None:
    x, y, is_flipped = flipped(3000, 40, seed)
    fitted, rest = slice(1000), slice(1000, None)
    kerhrm = KerHRMRegressor(random_state=0).fit(x[fitted], y[fitted])
    erm = TangentRidge(task="regression", random_state=0).fit(x[fitted], y[fitted])
    flips = is_flipped[rest]

    def error(model: KerHRMRegressor | TangentRidge) -> float:
        residuals = y[rest][flips] - model.predict(x[rest][flips])
        return float(np.mean(residuals**2))

    assert kerhrm.predictor_ == "linear"
    assert kerhrm.selected_["k"] == 41
    # the best without the column: its slope and the noise
    assert error(kerhrm) < 1.25 + 0.7
    assert error(erm) > 2.2


def numbers(model: KerHRMRegressor | KerHRMClassifier, d: int, n: int = 200) -> int:
    """Reduced features of a fit."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    y = x[:, 0] + np.where(rng.random(n) < 0.2, -1, 1) * x[:, 1]
    target = y > 0 if isinstance(model, KerHRMClassifier) else y
    model.set_params(network=(32,), n_iterations=1, n_init=1, random_state=0)
    model.fit(x, target)
    return len(model.singular_values_)


@pytest.mark.filterwarnings("ignore::kerhrm.errors.HeterogeneityNotDetectedWarning")
@pytest.mark.parametrize("kind", [KerHRMRegressor, KerHRMClassifier])
@pytest.mark.parametrize(("d", "expected"), [(24, 25), (25, 26), (60, 61), (130, 80)])
def test_none_is_enough_for_every_column(
    kind: type[KerHRMRegressor], d: int, expected: int
) -> None:
    """But no more than training rows per environment: 80."""
    assert numbers(kind(pretest=False), d) == expected


@pytest.mark.filterwarnings("ignore::kerhrm.errors.HeterogeneityNotDetectedWarning")
def test_none_has_at_most_a_hundred_and_what_is_given_stays() -> None:
    assert numbers(KerHRMRegressor(pretest=False), 130, 400) == 100
    assert numbers(KerHRMRegressor(pretest=False, k=USUAL), 130, 400) == 25


def test_few_columns_have_the_usual_numbers() -> None:
    x, y, _ = flipped(200, 5, 0)
    default, usual = (
        KerHRMRegressor(k=k, network=(32,), random_state=0).fit(x, y)
        for k in (None, USUAL)
    )
    assert default.selected_ == usual.selected_
    assert torch.equal(*(torch.tensor(m.predict(x)) for m in (default, usual)))
