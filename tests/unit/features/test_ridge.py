"""Closed-form ERM: against scikit-learn, and against fits without a point."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from kerhrm.features.ntf import extract
from kerhrm.features.ridge import Columns, fit_ridge
from kerhrm.features.ridge_path import MANY_COLUMNS, RidgePath
from kerhrm.networks.base import Network
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions


@pytest.fixture
def points() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    x = random.standard_normal((40, 5)) + np.arange(5)
    return x, x[:, 0] * x[:, 1] + random.standard_normal(40)


@pytest.fixture
def network() -> Network:
    return build(NetworkOptions(widths=[64]), seed=0, d=5)


def test_tangent_features_span_those_of_the_landmarks(
    points: tuple[np.ndarray, np.ndarray], network: Network
) -> None:
    """With all points as landmarks it is kernel ridge regression, the inputs a linear
    kernel."""
    x = torch.from_numpy(points[0].astype(np.float32))
    y = points[1]
    columns = Columns.extract(network, x, n_landmarks=40)
    beta, intercept = columns.whole.solve(y, 0.5)
    kernel = extract(network, x)[0].kernel(extract(network, x)[0]).double().numpy()
    kernel = kernel + columns.scale**2 * points[0] @ points[0].T
    centre = np.eye(40) - 1 / 40
    penalty = 0.5 * columns.whole.values.sum() / 40
    expected = KernelRidge(alpha=penalty, kernel="precomputed").fit(
        centre @ kernel @ centre, y - y.mean()
    )
    design = centre @ columns.whole.u * np.sqrt(columns.whole.values)
    fitted = design @ (columns.whole.v.T @ beta)
    assert_allclose(fitted, expected.predict(centre @ kernel @ centre), atol=1e-3)
    assert np.isfinite(intercept)


def test_a_model_predicts_what_it_has_fitted(
    points: tuple[np.ndarray, np.ndarray], network: Network
) -> None:
    x = torch.from_numpy(points[0].astype(np.float32))
    y = points[1]
    columns = Columns.extract(network, x)
    model = columns.fit(y)
    assert model.tangents is not None  # the product of two inputs is not linear
    beta, intercept = columns.whole.solve(y, model.ridge)
    inside = columns.whole.u * np.sqrt(columns.whole.values) @ columns.whole.v.T
    assert_allclose(
        model(x).numpy(),
        (inside + columns.whole.mean) @ beta + intercept,
        rtol=1e-3,
        atol=1e-3,
    )


def test_a_line_is_fitted_by_the_inputs_alone(network: Network) -> None:
    x = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    model = fit_ridge(network, x, 2 * x[:, 0] - x[:, 3] + 1)
    assert_allclose(model.slopes, [2, 0, 0, -1, 0], atol=1e-3)
    assert model.intercept == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("x", [torch.zeros(10, 5), torch.ones(2, 5)])
def test_without_information_the_mean_predicts(
    x: torch.Tensor, network: Network
) -> None:
    y = torch.arange(len(x)).double()
    assert fit_ridge(network, x, y)(x).numpy() == pytest.approx(
        np.full(len(x), float(y.mean()))
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_many_columns_of_few_points(weighted: bool) -> None:
    """Decomposed by the points, where one by the columns would take minutes."""
    random = np.random.default_rng(0)
    n = 30
    x = random.normal(size=(n, MANY_COLUMNS + 1))
    y = random.normal(size=n)
    weights = random.random(n) if weighted else np.ones(n)
    weights /= weights.mean()
    path = RidgePath.decompose(x, weights)
    assert path.v.shape == (MANY_COLUMNS + 1, n - 1)
    assert_allclose(path.v.T @ path.v, np.eye(n - 1), atol=1e-9)
    beta, intercept = path.solve(y, 0.1)
    oracle = Ridge(alpha=0.1 * path.values.sum() / n).fit(x, y, weights)
    assert_allclose(beta, oracle.coef_, atol=1e-9)
    assert intercept == pytest.approx(oracle.intercept_)
