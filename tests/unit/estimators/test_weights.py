"""Weights of rows: closed forms against repeated rows, and an estimator that heeds
them."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusal
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
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.registry import PENALTIES
from kerhrm.features.ridge_path import RidgePath

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
SMALL: dict[str, Any] = {
    "k": 5,
    "n_init": 2,
    "network": (64,),
    "random_state": 3,
}
ERM_IN_CLOSED_FORM = TangentRidge(task="regression", network=(64,), random_state=3)


@pytest.fixture
def counts() -> np.ndarray:
    """How often each of 200 rows is repeated."""
    rng = np.random.default_rng(0)
    return rng.integers(1, 4, 200)


def data(n: int = 200) -> tuple[Tensor, Tensor]:
    """Features and target of two regressions that differ in one slope."""
    random = np.random.default_rng(1)
    psi = random.normal(size=(n, 3))
    slope = random.choice([-2, 2], n)
    normal = random.normal(size=n)
    noise = 0.3 * normal
    signal = psi[:, 0] + slope * psi[:, 1]
    y = signal + noise
    return torch.from_numpy(psi), torch.from_numpy(y)


def repeated_rows(counts: np.ndarray) -> Tensor:
    """Numbers of the rows, each as often as counted."""
    rows = np.arange(len(counts))
    return torch.from_numpy(np.repeat(rows, counts))


@pytest.mark.parametrize("per_cluster", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_the_mixture_of_weighted_rows_is_that_of_repeated_rows(
    counts: np.ndarray, per_cluster: bool, hard: bool
) -> None:
    psi, y = data()
    rng = np.random.default_rng(2)
    memberships = rng.dirichlet([1, 1], (2, 200))
    start = torch.from_numpy(memberships)
    rows = repeated_rows(counts)
    relative = counts / counts.mean()
    share = torch.from_numpy(relative)
    # the ridge is relative to it
    mean_square = (psi**2).mean()
    mean_square_of_rows = (psi[rows] ** 2).mean()
    scale = float(mean_square / mean_square_of_rows)
    em = EM(
        per_cluster=per_cluster,
        hard=hard,
        max_iter=20,
        tol=-1.0,
    )
    many = fit_mixture(
        psi[rows],
        y[rows],
        start[:, rows],
        ridge=0.01 * scale,
        em=em,
    )
    weighted = fit_mixture(
        psi,
        y,
        start,
        ridge=0.01,
        point_weights=share,
        em=em,
    )
    for name in ("theta", "weights", "sigma", "objective"):
        of_weights = getattr(weighted, name)
        of_repeated_rows = getattr(many, name)
        assert_close(of_weights, of_repeated_rows)


def test_directions_of_weighted_points_are_those_of_repeated_points(
    counts: np.ndarray,
) -> None:
    psi, y = data()
    rows = repeated_rows(counts)
    relative = counts / counts.mean()
    share = torch.from_numpy(relative)
    zero = torch.zeros_like(y)
    one = torch.ones(3, dtype=torch.float64)
    options = KerHRMOptions(k=[3], alpha=[0.0, 1.0], ridge=0.0)

    def problem(at: Any, *weights: Tensor) -> Problem:
        psi_at = psi[at]
        zero_at = zero[at]
        y_at = y[at]
        return Problem(
            psi_at,
            one,
            psi_at,
            zero_at,
            zero_at,
            y_at,
            y_at,
            "regression",
            0,
            *weights,
        )

    single = problem(slice(None), share, share)
    environments = learn_environments(single, options, 1, [], [])
    repeated = learn_environments(single, options, 1, [], [])
    for name in ("train", "validation"):
        memberships = getattr(environments, name)
        members = memberships / share[:, None]
        members_of_rows = members[:, rows]
        object.__setattr__(repeated, name, members_of_rows)
    found = learn_directions(single, [environments], options)
    unit = PENALTIES[options.penalty]().unit  # alpha is relative to it
    unit_of_rows = unit(psi[rows])
    ratio = unit(psi) / unit_of_rows
    alpha = float(ratio)
    alphas = [0.0, alpha]
    options = options.model_copy(update={"alpha": alphas})
    of_repeated_points = problem(rows)
    expected = learn_directions(of_repeated_points, [repeated], options)
    assert_close(found.theta, expected.theta, rtol=1e-6, atol=1e-6)
    assert_close(found.score, expected.score)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_the_weighted_ridge_is_scikit_learn_s(counts: np.ndarray, ridge: float) -> None:
    psi, y = data()
    psi = psi.numpy()
    y = y.numpy()
    share = counts / counts.mean()
    path = RidgePath.decompose(psi, share)
    beta, intercept = path.solve(y, ridge)
    penalty = ridge * path.values.sum() / 200
    model = Ridge(penalty) if ridge else LinearRegression()
    model.fit(psi, y, share)
    assert_allclose(beta, model.coef_)
    assert intercept == pytest.approx(model.intercept_)


def test_leaving_one_weighted_row_out_is_a_refit(counts: np.ndarray) -> None:
    psi, y = data()
    psi = psi.numpy()[:30]
    y = y.numpy()[:30]
    counts = counts[:30]
    share = counts / counts.mean()
    path = RidgePath.decompose(psi, share)
    ridge, _ = path.choose(y)
    predictions, error = path.leave_one_out(y)
    penalty = ridge * path.values.sum() / 30
    for i in range(30):
        rest = np.arange(30) != i
        model = Ridge(penalty)
        x_rest = psi[rest]
        y_rest = y[rest]
        model.fit(x_rest, y_rest, share[rest])
        left_out = psi[i : i + 1]
        (expected,) = model.predict(left_out)
        assert predictions[i] == pytest.approx(expected)
    squares = (y - predictions) ** 2
    mean_square = np.average(squares, weights=share)
    assert error == pytest.approx(mean_square)


@pytest.mark.parametrize(
    "model",
    [KerHRMRegressor(**SMALL), ERM_IN_CLOSED_FORM],
)
def test_rows_count_by_their_weight(model: Any, slopes: Any) -> None:
    """Weights 0 and 1 select rows, fractions and millions are only units."""
    noise = np.random.default_rng(0)
    noise_in_x = noise.normal(size=(200, 3))
    noise_in_y = 50 * noise.normal(size=200)
    x = np.concatenate([slopes.x, noise_in_x])
    y = np.concatenate([slopes.y, noise_in_y])
    numbers = [500, 200]
    weights = np.repeat([1.0, 0.0], numbers)
    model = clone(model)
    model.fit(x, y, sample_weight=weights)
    alone = clone(model)
    alone.fit(slopes.x, slopes.y)
    spoiled = clone(model)
    spoiled.fit(x, y)
    expected = alone.predict(slopes.x)

    def distance(other: Any) -> float:
        predictions = other.predict(slopes.x)
        differences = predictions - expected
        return np.mean(differences**2)

    distance_of_spoiled = distance(spoiled)
    assert distance(model) < 0.1 * distance_of_spoiled
    millions = 1e6 * weights
    in_millions = clone(model)
    in_millions.fit(x, y, sample_weight=millions)
    predictions = model.predict(x)
    predictions_in_millions = in_millions.predict(x)
    assert_allclose(predictions_in_millions, predictions, rtol=1e-4, atol=1e-3)
    if isinstance(model, KerHRMRegressor):
        assert model.predictor_ == "linear"
        assert alone.predictor_ == "linear"
        size = np.abs(slopes.x[:, 1])
        is_clear = size > 0.5
        hidden = slopes.hidden[is_clear]
        of_rows = model.environments_[:500]
        environments = of_rows[is_clear]
        agreement = adjusted_rand_score(hidden, environments)
        assert agreement > 0.8


@pytest.mark.parametrize("how", ["fit", "erm"])
@pytest.mark.parametrize("kind", ["regression", "classification", "ridge"])
def test_a_row_of_weight_zero_is_no_row_of_the_fit(kind: str, how: str) -> None:
    """Whatever it holds: predictions and memberships are those without it."""
    random = np.random.default_rng(0)
    x = random.normal(size=(160, 3))
    draws = random.random(160)
    turned = draws < 0.2
    slope = np.where(turned, -2.0, 2.0)
    noise = 0.3 * random.normal(size=160)
    signal = x[:, 0] + slope * x[:, 1]
    y = signal + noise
    if kind == "classification":
        y = np.sign(y)
    numbers = np.arange(160)
    far = numbers % 3 == 0
    is_far = far[:, None]
    spoiled = np.where(is_far, 50 * x, x)
    small = {
        "k": 3,
        "n_init": 1,
        "n_iterations": 1,
        "network": (8,),
        "random_state": 0,
    }
    if kind == "ridge":
        model: Any = TangentRidge(
            task="regression",
            network=(8,),
            random_state=0,
        )
    else:
        estimator = KerHRMRegressor if kind == "regression" else KerHRMClassifier
        model = estimator(**small, if_not_detected=how, if_not_better=how)
    weights = np.where(far, 0.0, 1.0)
    near = ~far
    weighted = clone(model)
    weighted.fit(spoiled, y, sample_weight=weights)
    alone = clone(model)
    x_near = x[near]
    y_near = y[near]
    weights_near = weights[near]
    alone.fit(x_near, y_near, sample_weight=weights_near)
    expected = alone._outputs(x)
    outputs = weighted._outputs(x)
    assert_array_equal(outputs, expected)
    if kind != "ridge":
        proba = weighted.environment_proba_
        assert_array_equal(proba[near], alone.environment_proba_)
        x_far = spoiled[far]
        others = alone.predict_environment_proba(x_far, y[far])
        assert_allclose(proba[far], others, atol=1e-12)


def test_weights_that_leave_one_class(labels: Any) -> None:
    is_first_class = labels.y == labels.y[0]
    weights = (is_first_class).astype(float)
    model = TangentRidge(network=(8,))
    with refusal("above 0 have only one class; give more"):
        model.fit(labels.x, labels.y, sample_weight=weights)


def test_weights_that_leave_too_few_rows(labels: Any) -> None:
    weights = np.zeros(len(labels.y))
    weights[0] = 1.0
    model = TangentRidge(network=(8,), task="regression")
    numbers = labels.x[:, 0]
    with refusal(
        "n_samples=1 .*the others of 400 are copies or have hardly any weight"
    ):
        model.fit(labels.x, numbers, sample_weight=weights)


@pytest.mark.parametrize(
    "weights",
    [
        pytest.param(np.zeros(400), id="zeros"),
        pytest.param(np.ones(3), id="too few"),
        pytest.param(-np.ones(400), id="negative"),
        pytest.param(np.full(400, np.nan), id="missing"),
        pytest.param(["a"] * 400, id="text"),
    ],
)
def test_weights_that_are_refused(weights: Any, labels: Any) -> None:
    model = TangentRidge(network=(8,))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        model.fit(labels.x, labels.y, sample_weight=weights)
    raised_in = str(caught.traceback[-1].path)
    is_ours = isinstance(caught.value, KerhrmError)
    assert is_ours or "sklearn" in raised_in


def test_scores_of_iterations_are_those_of_weighted_rows() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    label = x[:, 0] + random.normal(size=60) > 0
    weights = np.where(label, 9.0, 0.1)
    others = x + 0.1, label
    chosen = SMALL | {"k": 2, "n_iterations": 1, "if_not_better": "fit"}
    model = KerHRMClassifier(**chosen)
    model.fit(x, label, sample_weight=weights, validation=others)
    (row,) = model.history_
    assert row["train_score"] == pytest.approx(model.score(x, label, weights))
    assert row["train_score"] != pytest.approx(model.score(x, label))
    assert row["validation_score"] == pytest.approx(model.score(*others))


def test_one_weight_beyond_all_others_leaves_one_row(labels: Any) -> None:
    """That is told, not a number of environments."""
    n = len(labels.y)
    weights = np.ones(n)
    weights[0] = 1e12
    numbers = np.arange(n, dtype=float)
    model = KerHRMRegressor(**SMALL, pretest=False)
    with refusal("1 different training rows are too few for 2 .* hardly any weight"):
        model.fit(labels.x, numbers, sample_weight=weights)
