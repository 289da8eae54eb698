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
    draws = random.standard_normal((40, 5))
    x = draws + np.arange(5)
    noise = random.standard_normal(40)
    product = x[:, 0] * x[:, 1]
    y = product + noise
    return x, y


@pytest.fixture
def network() -> Network:
    options = NetworkOptions(widths=[64])
    return build(options, seed=0, d=5)


@pytest.mark.parametrize("level", [0.0, 0.1, 1.0, 1e6])
@pytest.mark.parametrize("n_columns", [1, 5, 5000])
def test_constant_columns_predict_the_mean(level: float, n_columns: int) -> None:
    """The rounding of their mean is no direction."""
    for n in range(5, 60):
        random = np.random.default_rng(n)
        levels = level * random.random(n_columns)
        columns = np.tile(levels, (n, 1))
        weights = random.random(n)
        weights /= weights.mean()
        path = RidgePath.decompose(columns, weights)
        assert len(path.values) == 0
        y = random.normal(size=n)
        ridge, _ = path.choose(y)
        assert ridge == np.inf


@pytest.mark.parametrize("n", [50, 5000])
@pytest.mark.parametrize("level", [1.0, 1e6, 1e12])
def test_a_small_column_is_seen_next_to_a_large_constant(n: int, level: float) -> None:
    random = np.random.default_rng(0)
    z = random.normal(size=n)
    noise = random.normal(size=n)
    y = z + 0.1 * noise
    columns = np.column_stack([np.full(n, level), z])
    path = RidgePath.decompose(columns)
    alone = RidgePath.decompose(z[:, None])
    assert len(path.values) == 1
    assert path.choose(y) == pytest.approx(alone.choose(y))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_caller_may_switch_gradients_off(
    points: tuple[np.ndarray, np.ndarray], network: Network, mode: type[torch.no_grad]
) -> None:
    inputs, _ = points
    y = inputs[:, 0] ** 2  # of which tangent features know more than the inputs
    x = torch.from_numpy(inputs.astype(np.float32))
    columns = Columns.extract(network, x)
    model = columns.fit(y)
    with mode():
        same = columns.fit(y)
    assert model.tangents is not None
    assert same.tangents is not None
    for name, along in model.tangents.directions.items():
        assert torch.equal(same.tangents.directions[name], along)


def test_tangent_features_span_those_of_the_landmarks(
    points: tuple[np.ndarray, np.ndarray], network: Network
) -> None:
    """With all points as landmarks it is kernel ridge regression, the inputs a linear
    kernel."""
    inputs, y = points
    in_single = inputs.astype(np.float32)
    x = torch.from_numpy(in_single)
    columns = Columns.extract(network, x, n_landmarks=40)
    whole = columns.whole
    beta, intercept = whole.solve(y, 0.5)

    ntf, _ = extract(network, x)
    kernel = ntf.kernel(ntf).double()
    scaled = columns.scale * inputs
    with_inputs = kernel.numpy() + scaled @ scaled.T
    centre = np.eye(40) - 1 / 40
    centred = centre @ with_inputs @ centre
    penalty = 0.5 * whole.values.sum() / 40
    oracle = KernelRidge(alpha=penalty, kernel="precomputed")
    oracle.fit(centred, y - y.mean())

    scores = whole.u * np.sqrt(whole.values)
    design = centre @ scores
    coefficients = whole.v.T @ beta
    fitted = design @ coefficients
    expected = oracle.predict(centred)
    assert_allclose(fitted, expected, atol=1e-3)
    assert np.isfinite(intercept)


def test_a_model_predicts_what_it_has_fitted(
    points: tuple[np.ndarray, np.ndarray], network: Network
) -> None:
    inputs, y = points
    in_single = inputs.astype(np.float32)
    x = torch.from_numpy(in_single)
    columns = Columns.extract(network, x)
    whole = columns.whole
    model = columns.fit(y)
    assert model.tangents is not None  # the product of two inputs is not linear
    beta, intercept = whole.solve(y, model.ridge)
    scaled = whole.u * np.sqrt(whole.values)
    centred = scaled @ whole.v.T
    expected = (centred + whole.mean) @ beta + intercept
    outputs = model(x).numpy()
    assert_allclose(outputs, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("is_linear", [False, True])
def test_a_model_leaves_points_out_with_its_own_columns(
    points: tuple[np.ndarray, np.ndarray], network: Network, is_linear: bool
) -> None:
    inputs, y = points
    if is_linear:
        y = inputs[:, 0]
    in_single = inputs.astype(np.float32)
    x = torch.from_numpy(in_single)
    columns = Columns.extract(network, x)
    model = columns.fit(y)
    assert (model.tangents is None) == is_linear
    errors = (y - columns.left_out(model, y)) ** 2
    assert errors.mean() == pytest.approx(model.error)


def test_a_line_is_fitted_by_the_inputs_alone(network: Network) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 5, generator=generator)
    slopes_and_inputs = 2 * x[:, 0] - x[:, 3]
    y = slopes_and_inputs + 1
    model = fit_ridge(network, x, y)
    slopes = [2, 0, 0, -1, 0]
    assert_allclose(model.slopes, slopes, atol=1e-3)
    assert model.intercept == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("x", [torch.zeros(10, 5), torch.ones(2, 5)])
def test_without_information_the_mean_predicts(
    x: torch.Tensor, network: Network
) -> None:
    y = torch.arange(len(x)).double()
    model = fit_ridge(network, x, y)
    mean_of_y = float(y.mean())
    mean = np.full(len(x), mean_of_y)
    predictions = model(x).numpy()
    assert predictions == pytest.approx(mean)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_columns_of_few_points(weighted: bool) -> None:
    """Decomposed by the points, where one by the columns would take minutes."""
    random = np.random.default_rng(0)
    n = 30
    n_columns = MANY_COLUMNS + 1
    x = random.normal(size=(n, n_columns))
    y = random.normal(size=n)
    weights = np.ones(n)
    if weighted:
        weights = random.random(n)
    weights /= weights.mean()
    path = RidgePath.decompose(x, weights)
    assert path.v.shape == (n_columns, n - 1)
    products = path.v.T
    identity = np.eye(n - 1)
    assert_allclose(products @ path.v, identity, atol=1e-9)
    beta, intercept = path.solve(y, 0.1)
    penalty = 0.1 * path.values.sum() / n
    oracle = Ridge(alpha=penalty)
    oracle.fit(x, y, weights)
    assert_allclose(beta, oracle.coef_, atol=1e-9)
    assert intercept == pytest.approx(oracle.intercept_)
