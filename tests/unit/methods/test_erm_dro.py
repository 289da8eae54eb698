"""ERM keeps its best weights; chi-square DRO against convex solvers, and its limits."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
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
@pytest.mark.parametrize(("steps", "every"), [(23, 5), (23, 1), (20, 5), (4, 9)])
def test_erm_has_the_weights_of_the_best_look(
    draw: Callable[..., Inputs], task: Task, steps: int, every: int
) -> None:
    inputs = draw(task, n=30, noise=1.5, widths=(32,))  # soon overfits
    scores: dict[int, float] = {}

    def look(step: int, network: Network, loss: Tensor) -> None:
        f = network(inputs.x_validation).detach()
        y = inputs.y_validation
        score = (
            (f > 0) == (y > 0) if task == "classification" else -((f - y).double() ** 2)
        )
        scores[step] = float(score.double().mean())

    def run(steps: int) -> Network:
        return train(
            inputs.network,
            inputs.x,
            lambda f, *_: ((f - inputs.y) ** 2).mean(),
            steps=steps,
            learning_rate=0.03,
            callbacks=[look],
        )

    run(steps)
    # the last step is looked at as well
    looks = sorted({*range(every, steps + 1, every), steps})
    best = max(looks, key=lambda step: scores[step])  # the first one among equals
    options = ERMOptions(steps=steps, learning_rate=0.03, evaluate_every=every)
    outputs = train_erm(inputs, options).predict(inputs.x)["model"]
    assert_close(outputs, run(best)(inputs.x))


def draw_losses(seed: int, *shape: int) -> Tensor:
    """Squared normals, as losses are, in double precision."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape) ** 2)


@pytest.mark.parametrize("rho", RADII)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_primal_and_the_dual_by_solvers(rho: float, seed: int) -> None:
    losses = draw_losses(seed, N)
    values = losses.numpy()
    solution = minimize(
        lambda p: -p @ values,
        np.full(N, 1 / N),
        jac=lambda p: -values,
        method="SLSQP",
        bounds=[(0, 1)] * N,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(N)},
            {
                "type": "ineq",
                "fun": lambda p: 2 * rho - ((N * p - 1) ** 2).mean(),
                "jac": lambda p: -2 * (N * p - 1),
            },
        ],
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert solution.status in (0, 8)  # 8: no step improves any more, in rounding
    assert float(worst_mean(losses, rho)) == pytest.approx(-solution.fun, rel=1e-6)
    np.testing.assert_allclose(
        worst_weights(losses, rho).numpy(), solution.x, atol=1e-3
    )

    def dual(eta: float) -> float:
        excess = np.maximum(values - eta, 0)
        return float((1 + 2 * rho) ** 0.5 * (excess**2).mean() ** 0.5 + eta)

    best = minimize_scalar(
        dual, bounds=(-100, values.max()), method="bounded", options={"xatol": 1e-10}
    )
    assert float(worst_mean(losses, rho)) == pytest.approx(best.fun, rel=1e-7)


@given(st.integers(0, 10**6), st.floats(0.01, 5), st.floats(1.0, 4.0))
@settings(max_examples=25)
def test_weights_lie_in_the_ball_and_a_larger_one_is_worse(
    seed: int, rho: float, factor: float
) -> None:
    losses = draw_losses(seed, N)
    p = worst_weights(losses, rho)
    assert float(p.sum()) == pytest.approx(1)
    assert float(p.min()) >= 0
    vertex = (N - 1) / 2  # divergence of a single point
    assert float(((N * p - 1) ** 2).mean() / 2) == pytest.approx(
        min(rho, vertex), rel=1e-4
    )
    assert (p[losses.argsort()].diff() >= 0).all()
    small = worst_mean(losses, rho)
    large = worst_mean(losses, factor * rho)
    assert float(losses.mean()) - 1e-9 <= float(small) <= float(large) + 1e-9
    assert float(large) <= float(losses.max()) + 1e-9


@pytest.mark.parametrize("rho", [0.1, 1.0])
def test_the_gradient_by_differences(rho: float) -> None:
    losses = draw_losses(5, N).requires_grad_()
    # the weights are held fixed; that this is the derivative is the envelope theorem
    (gradient,) = torch.autograd.grad(worst_mean(losses, rho), losses)
    step = 1e-5
    for i in range(N):
        shift = step * torch.eye(N, dtype=torch.float64)[i]
        with torch.no_grad():
            slope = (
                worst_mean(losses + shift, rho) - worst_mean(losses - shift, rho)
            ) / (2 * step)
        assert float(gradient[i]) == pytest.approx(float(slope), abs=1e-5)


@pytest.mark.parametrize("value", [0.0, 1e-12, 3.0, 1e6])
def test_equal_losses_weigh_equally(value: float) -> None:
    p = worst_weights(torch.full((N,), value), 0.5)
    assert_close(p, torch.full((N,), 1 / N))


def test_each_radius_does_best_by_its_own_measure() -> None:
    # few units and many points: nothing can be learned by heart
    x = torch.randn(300, 1).abs()
    network = build(NetworkOptions(widths=[4]), 0, 1)
    y = x[:, 0] + x[:, 0] * torch.randn(300)
    inputs = Inputs(x, y, x, y, "regression", 0, network)
    losses = []
    for radius in (0.01, 2.0):
        options = DROOptions(rho=radius, steps=200, learning_rate=2e-2)
        losses.append((train_dro(inputs, options).predict(x)["model"] - y) ** 2)
    for i, radius in enumerate((0.01, 2.0)):
        values = [float(worst_mean(loss, radius)) for loss in losses]
        assert min(values) == values[i]
