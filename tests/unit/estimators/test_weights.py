"""Weights of rows: closed forms against repeated rows, and an estimator that heeds
them."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import adjusted_rand_score
from torch import Tensor
from torch.testing import assert_close

from kerhrm import (
    KerHRMClassifier,
    KerhrmError,
    KerHRMOptions,
    KerHRMRegressor,
    TangentRidge,
)
from kerhrm.algorithm.em import EM
from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.algorithm.problem import Problem
from kerhrm.features.ridge_path import RidgePath

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
SMALL: dict[str, Any] = {"k": 5, "n_init": 2, "network": (64,), "random_state": 3}
ERM_IN_CLOSED_FORM = TangentRidge(task="regression", network=(64,), random_state=3)


@pytest.fixture
def counts() -> np.ndarray:
    return np.random.default_rng(0).integers(1, 4, 200)


def data(n: int = 200) -> tuple[Tensor, Tensor]:
    random = np.random.default_rng(1)
    psi = random.normal(size=(n, 3))
    y = psi[:, 0] + random.choice([-2, 2], n) * psi[:, 1] + 0.3 * random.normal(size=n)
    return torch.from_numpy(psi), torch.from_numpy(y)


@pytest.mark.parametrize("per_cluster", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_the_mixture_of_weighted_rows_is_that_of_repeated_rows(
    counts: np.ndarray, per_cluster: bool, hard: bool
) -> None:
    psi, y = data()
    start = torch.from_numpy(np.random.default_rng(2).dirichlet([1, 1], (2, 200)))
    rows = torch.from_numpy(np.repeat(np.arange(200), counts))
    share = torch.from_numpy(counts / counts.mean())
    # the ridge is relative to it
    scale = float((psi**2).mean() / (psi[rows] ** 2).mean())
    em = EM(per_cluster=per_cluster, hard=hard, max_iter=20, tol=-1.0)
    many = fit_mixture(psi[rows], y[rows], start[:, rows], ridge=0.01 * scale, em=em)
    weighted = fit_mixture(psi, y, start, ridge=0.01, point_weights=share, em=em)
    for name in ("theta", "weights", "sigma", "objective"):
        assert_close(getattr(weighted, name), getattr(many, name))


def test_directions_of_weighted_points_are_those_of_repeated_points(
    counts: np.ndarray,
) -> None:
    psi, y = data()
    rows = torch.from_numpy(np.repeat(np.arange(200), counts))
    share = torch.from_numpy(counts / counts.mean())
    zero = torch.zeros_like(y)
    one = torch.ones(3, dtype=torch.float64)
    options = KerHRMOptions(k=[3], alpha=[0.0, 1.0], ridge=0.0)

    def problem(at: Any, *weights: Tensor) -> Problem:
        parts = psi[at], one, psi[at], zero[at], zero[at], y[at], y[at]
        return Problem(*parts, "regression", 0, *weights)

    single = problem(slice(None), share, share)
    environments = learn_environments(single, options, 1, [], [])
    repeated = learn_environments(single, options, 1, [], [])
    for name in ("train", "validation"):
        members = getattr(environments, name) / share[:, None]
        object.__setattr__(repeated, name, members[:, rows])
    found = learn_directions(single, [environments], options)
    unit = PENALTIES[options.penalty]().unit  # alpha is relative to it
    alpha = float(unit(psi) / unit(psi[rows]))
    options = options.model_copy(update={"alpha": [0.0, alpha]})
    expected = learn_directions(problem(rows), [repeated], options)
    assert_close(found.theta, expected.theta, rtol=1e-6, atol=1e-6)
    assert_close(found.score, expected.score)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_the_weighted_ridge_is_scikit_learn_s(counts: np.ndarray, ridge: float) -> None:
    psi, y = (part.numpy() for part in data())
    share = counts / counts.mean()
    path = RidgePath.decompose(psi, share)
    beta, intercept = path.solve(y, ridge)
    penalty = ridge * path.values.sum() / 200
    model = (Ridge(penalty) if ridge else LinearRegression()).fit(psi, y, share)
    assert_allclose(beta, model.coef_)
    assert intercept == pytest.approx(model.intercept_)


def test_leaving_one_weighted_row_out_is_a_refit(counts: np.ndarray) -> None:
    psi, y = (part.numpy()[:30] for part in data())
    share = counts[:30] / counts[:30].mean()
    path = RidgePath.decompose(psi, share)
    predictions, error, ridge = path.leave_one_out(y)
    penalty = ridge * path.values.sum() / 30
    for i in range(30):
        rest = np.arange(30) != i
        model = Ridge(penalty).fit(psi[rest], y[rest], share[rest])
        assert predictions[i] == pytest.approx(model.predict(psi[i : i + 1])[0])
    assert error == pytest.approx(np.average((y - predictions) ** 2, weights=share))


@pytest.mark.parametrize(
    "model",
    [KerHRMRegressor(**SMALL), ERM_IN_CLOSED_FORM],
)
def test_rows_count_by_their_weight(model: Any, slopes: Any) -> None:
    """Weights 0 and 1 select rows, fractions and millions are only units."""
    noise = np.random.default_rng(0)
    x = np.concatenate([slopes.x, noise.normal(size=(200, 3))])
    y = np.concatenate([slopes.y, 50 * noise.normal(size=200)])
    weights = np.repeat([1.0, 0.0], [500, 200])
    model = clone(model).fit(x, y, sample_weight=weights)
    alone = clone(model).fit(slopes.x, slopes.y)
    spoiled = clone(model).fit(x, y)
    expected = alone.predict(slopes.x)

    def distance(other: Any) -> float:
        return float(np.mean((other.predict(slopes.x) - expected) ** 2))

    assert distance(model) < 0.1 * distance(spoiled)
    assert_allclose(
        clone(model).fit(x, y, sample_weight=1e6 * weights).predict(x),
        model.predict(x),
        1e-4,
        1e-3,
    )
    if isinstance(model, KerHRMRegressor):
        assert model.predictor_ == alone.predictor_ == "linear"
        clear = np.abs(slopes.x[:, 1]) > 0.5
        found = adjusted_rand_score(
            slopes.hidden[clear], model.environments_[:500][clear]
        )
        assert found > 0.8


@pytest.mark.parametrize("how", ["fit", "erm"])
@pytest.mark.parametrize("kind", ["regression", "classification", "ridge"])
def test_a_row_of_weight_zero_is_no_row_of_the_fit(kind: str, how: str) -> None:
    """Whatever it holds: predictions and memberships are those without it."""
    random = np.random.default_rng(0)
    x = random.normal(size=(160, 3))
    slope = np.where(random.random(160) < 0.2, -2.0, 2.0)
    y = x[:, 0] + slope * x[:, 1] + 0.3 * random.normal(size=160)
    y = np.sign(y) if kind == "classification" else y
    far = np.arange(160) % 3 == 0
    spoiled = np.where(far[:, None], 50 * x, x)
    small = {"k": 3, "n_init": 1, "n_iterations": 1, "network": (8,), "random_state": 0}
    if kind == "ridge":
        model: Any = TangentRidge(task="regression", network=(8,), random_state=0)
    else:
        fit = KerHRMRegressor if kind == "regression" else KerHRMClassifier
        model = fit(**small, if_not_detected=how, if_not_better=how)
    weighted = clone(model).fit(spoiled, y, sample_weight=np.where(far, 0.0, 1.0))
    alone = clone(model).fit(x[~far], y[~far], sample_weight=np.ones(sum(~far)))
    assert_array_equal(weighted._outputs(x), alone._outputs(x))
    if kind != "ridge":
        proba = weighted.environment_proba_
        assert_array_equal(proba[~far], alone.environment_proba_)
        others = alone.predict_environment_proba(spoiled[far], y[far])
        assert_allclose(proba[far], others, atol=1e-12)


def test_weights_that_leave_one_class(labels: Any) -> None:
    weights = (labels.y == labels.y[0]).astype(float)
    with pytest.raises(KerhrmError, match="above 0 have only one class; give more"):
        TangentRidge(network=(8,)).fit(labels.x, labels.y, sample_weight=weights)


@pytest.mark.parametrize(
    "weights",
    [np.zeros(400), np.ones(3), -np.ones(400), np.full(400, np.nan), ["a"] * 400],
)
def test_weights_that_are_refused(weights: Any, labels: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        TangentRidge(network=(8,)).fit(labels.x, labels.y, sample_weight=weights)
    assert isinstance(caught.value, KerhrmError) or "sklearn" in str(
        caught.traceback[-1].path
    )
