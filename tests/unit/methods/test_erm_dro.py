"""ERM keeps its best weights; chi-square DRO against convex solvers, and its limits."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from torch import Tensor
from torch.testing import assert_close

from kerhrm import NetworkOptions, build
from kerhrm.methods.dro import DROOptions, train_dro, worst_mean, worst_weights
from kerhrm.methods.erm import ERMOptions, train_erm
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.base import Network
from kerhrm.networks.training import train
from kerhrm.options import Task

N = 12
RADII = [
    0.02,
    0.3,
    1.0,
    4.0,
    20.0,
]  # in the last one the ball holds a single point: 1 + 2 rho > n


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(
    ("steps", "every"),
    [
        (23, 5),
        (23, 1),
        (20, 5),
        (4, 9),
    ],
)
def test_erm_has_the_weights_of_the_best_look(
    draw: Callable[..., Inputs], task: Task, steps: int, every: int
) -> None:
    inputs = draw(task, n=30, noise=1.5, widths=(32,))  # soon overfits
    scores: dict[int, float] = {}

    def look(step: int, network: Network, loss: Tensor) -> None:
        f = network(inputs.x_validation).detach()
        y = inputs.y_validation
        if task == "classification":
            scores_of_points = (f > 0) == (y > 0)
        else:
            errors = (f - y).double()
            scores_of_points = -(errors**2)
        mean = scores_of_points.double().mean()
        scores[step] = float(mean)

    def squared_error(f: Tensor, network: Network, step: int) -> Tensor:
        errors = f - inputs.y
        return (errors**2).mean()

    def run(steps: int) -> Network:
        return train(
            inputs.network,
            inputs.x,
            squared_error,
            steps=steps,
            learning_rate=0.03,
            callbacks=[look],
        )

    run(steps)
    # the last step is looked at as well
    looks = sorted({*range(every, steps + 1, every), steps})
    best = max(looks, key=scores.__getitem__)  # the first one among equals
    options = ERMOptions(steps=steps, learning_rate=0.03, evaluate_every=every)
    fitted = train_erm(inputs, options)
    outputs = fitted.predict(inputs.x)["model"]
    expected = run(best)(inputs.x)
    assert_close(outputs, expected)


def draw_losses(seed: int, *shape: int) -> Tensor:
    """Squared normals, as losses are, in double precision."""
    rng = np.random.default_rng(seed)
    squares = rng.standard_normal(shape) ** 2
    return torch.from_numpy(squares)


@pytest.mark.parametrize("rho", RADII)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_primal_and_the_dual_by_solvers(rho: float, seed: int) -> None:
    losses = draw_losses(seed, N)
    values = losses.numpy()

    def divergence(p: np.ndarray) -> float:
        deviations = N * p - 1
        return (deviations**2).mean()

    sums_to_one = {
        "type": "eq",
        "fun": lambda p: p.sum() - 1,
        "jac": lambda p: np.ones(N),
    }
    lies_in_the_ball = {
        "type": "ineq",
        "fun": lambda p: 2 * rho - divergence(p),
        "jac": lambda p: -2 * (N * p - 1),
    }
    solution = minimize(
        lambda p: -p @ values,
        np.full(N, 1 / N),
        jac=lambda p: -values,
        method="SLSQP",
        bounds=[(0, 1)] * N,
        constraints=[sums_to_one, lies_in_the_ball],
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert solution.status in (0, 8)  # 8: no step improves any more, in rounding
    mean = float(worst_mean(losses, rho))
    weights = worst_weights(losses, rho).numpy()
    largest = -solution.fun
    assert mean == pytest.approx(largest, rel=1e-6)
    assert_allclose(weights, solution.x, atol=1e-3)

    def dual(eta: float) -> float:
        excess = np.maximum(values - eta, 0)
        root_mean_square = (excess**2).mean() ** 0.5
        factor = (1 + 2 * rho) ** 0.5
        return float(factor * root_mean_square + eta)

    best = minimize_scalar(
        dual,
        bounds=(-100, values.max()),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert mean == pytest.approx(best.fun, rel=1e-7)


@given(st.integers(0, 10**6), st.floats(0.01, 5), st.floats(1.0, 4.0))
@settings(max_examples=25)
def test_weights_lie_in_the_ball_and_a_larger_one_is_worse(
    seed: int, rho: float, factor: float
) -> None:
    losses = draw_losses(seed, N)
    p = worst_weights(losses, rho)
    total = float(p.sum())
    assert total == pytest.approx(1)
    assert p.min() >= 0
    vertex = (N - 1) / 2  # divergence of a single point
    divergences = (N * p - 1) ** 2
    radius = float((divergences).mean() / 2)
    expected = min(rho, vertex)
    assert radius == pytest.approx(expected, rel=1e-4)
    in_order_of_losses = p[losses.argsort()]
    assert (in_order_of_losses.diff() >= 0).all()
    rounding = 1e-9
    small = worst_mean(losses, rho)
    large = worst_mean(losses, factor * rho)
    assert losses.mean() - rounding <= small
    assert small <= large + rounding
    assert large <= losses.max() + rounding


@pytest.mark.parametrize("rho", [0.1, 1.0])
def test_the_gradient_by_differences(rho: float) -> None:
    losses = draw_losses(5, N).requires_grad_()
    # the weights are held fixed; that this is the derivative is the envelope theorem
    worst = worst_mean(losses, rho)
    (gradient,) = torch.autograd.grad(worst, losses)
    step = 1e-5
    shifts = step * torch.eye(N, dtype=torch.float64)
    for i in range(N):
        with torch.no_grad():
            above = worst_mean(losses + shifts[i], rho)
            below = worst_mean(losses - shifts[i], rho)
        rise = float(above - below)
        slope = rise / (2 * step)
        assert float(gradient[i]) == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("value", [0.0, 1e-12, 3.0, 1e6, 1e8, 1e30])
def test_equal_losses_weigh_equally(value: float) -> None:
    losses = torch.full((N,), value)
    equal = torch.full((N,), 1 / N)
    assert_close(worst_weights(losses, 0.5), equal)


def test_each_radius_does_best_by_its_own_measure() -> None:
    # few units and many points: nothing can be learned by heart
    x = torch.randn(300, 1).abs()
    options_of_network = NetworkOptions(widths=[4])
    network = build(options_of_network, 0, 1)
    noise = torch.randn(300)
    y = x[:, 0] + x[:, 0] * noise
    inputs = Inputs(x, y, x, y, "regression", 0, network)
    radii = (0.01, 2.0)
    losses = []
    for radius in radii:
        options = DROOptions(rho=radius, steps=200, learning_rate=2e-2)
        fitted = train_dro(inputs, options)
        residuals = fitted.predict(x)["model"] - y
        losses.append(residuals**2)
    for i, radius in enumerate(radii):
        values = []
        for losses_of_radius in losses:
            values.append(float(worst_mean(losses_of_radius, radius)))
        assert min(values) == values[i]
