"""Chi-square DRO against a convex solver on the primal, and its limits."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from torch import Tensor

from kerhrm.data.samples import Samples
from kerhrm.methods.dro.options import DRO
from kerhrm.methods.dro.train import train_dro, worst_mean, worst_weights
from kerhrm.networks.mlp import init_mlp
from kerhrm.networks.training import train

N = 12
RADII = [0.02, 0.3, 1.0, 4.0, 20.0]  # in the last one the ball holds a single point: 1 + 2 rho > n


def draw(seed: int, *shape: int) -> Tensor:
    """Squared normals, as losses are, in double precision."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape) ** 2)


def divergence(p: Tensor) -> Tensor:
    """(1 / 2n) sum_i (n p_i - 1)^2."""
    return ((p.shape[-1] * p - 1) ** 2).mean(-1) / 2


@pytest.mark.parametrize("rho", RADII)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_primal_by_a_convex_solver(rho: float, seed: int) -> None:
    losses = draw(seed, N)
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
    np.testing.assert_allclose(worst_weights(losses, rho).numpy(), solution.x, atol=1e-3)


@pytest.mark.parametrize("rho", RADII)
def test_the_dual_by_a_scalar_solver(rho: float) -> None:
    losses = draw(3, 5, N)
    for got, values in zip(worst_mean(losses, rho), losses.numpy(), strict=True):

        def dual(eta: float, values: np.ndarray = values) -> float:
            excess = np.maximum(values - eta, 0)
            return float((1 + 2 * rho) ** 0.5 * (excess**2).mean() ** 0.5 + eta)

        best = minimize_scalar(
            dual, bounds=(-100, values.max()), method="bounded", options={"xatol": 1e-10}
        )
        assert float(got) == pytest.approx(best.fun, rel=1e-7)


@given(seed=st.integers(0, 10**6), rho=st.floats(0.01, 10))
def test_weights_lie_in_the_ball_and_grow_linearly_above_eta(seed: int, rho: float) -> None:
    losses = draw(seed, N)
    p = worst_weights(losses, rho)
    assert float(p.sum()) == pytest.approx(1)
    assert float(p.min()) >= 0
    vertex = (N - 1) / 2  # divergence of a single point
    assert float(divergence(p)) == pytest.approx(min(rho, vertex), rel=1e-4)
    order = losses.argsort()
    assert bool((p[order].diff() >= 0).all())
    active = order[p[order] > 1e-9]
    if len(active) >= 2:
        low, high = active[0], active[-1]
        slope = (p[high] - p[low]) / (losses[high] - losses[low])
        eta = losses[high] - p[high] / slope
        torch.testing.assert_close(p, slope * (losses - eta).clamp_min(0), rtol=1e-6, atol=1e-9)


@given(seed=st.integers(0, 10**6), rho=st.floats(0.01, 5), factor=st.floats(1.0, 4.0))
def test_a_larger_ball_is_worse(seed: int, rho: float, factor: float) -> None:
    losses = draw(seed, 3, N)
    small, large = worst_mean(losses, rho), worst_mean(losses, factor * rho)
    assert bool((losses.mean(-1) <= small + 1e-9).all())
    assert bool((small <= large + 1e-9).all())
    assert bool((large <= losses.amax(-1) + 1e-9).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_vanishing_ball_is_the_mean(dtype: torch.dtype) -> None:
    losses = draw(4, 2, 50).to(dtype).requires_grad_()
    value = worst_mean(losses, 1e-10)
    torch.testing.assert_close(value, losses.mean(-1), rtol=1e-4, atol=0)
    (gradient,) = torch.autograd.grad(value.sum(), losses)
    torch.testing.assert_close(gradient, torch.full_like(losses, 1 / 50), rtol=1e-3, atol=0)


@pytest.mark.parametrize("rho", [0.1, 1.0])
def test_the_gradient_by_differences(rho: float) -> None:
    losses = draw(5, N).requires_grad_()
    # the weights are held fixed; that this is the derivative is the envelope theorem
    (gradient,) = torch.autograd.grad(worst_mean(losses, rho), losses)
    step = 1e-5
    for i in range(N):
        shift = step * torch.eye(N, dtype=torch.float64)[i]
        with torch.no_grad():
            slope = (worst_mean(losses + shift, rho) - worst_mean(losses - shift, rho)) / (2 * step)
        assert float(gradient[i]) == pytest.approx(float(slope), abs=1e-5)


@pytest.mark.parametrize("value", [0.0, 1e-12, 3.0, 1e6])
def test_equal_losses_weigh_equally(value: float) -> None:
    p = worst_weights(torch.full((2, N), value), 0.5)
    torch.testing.assert_close(p, torch.full((2, N), 1 / N))


def test_seeds_do_not_mix() -> None:
    losses = torch.stack([draw(6, N), 1e4 * draw(7, N)])
    for b in range(2):
        torch.testing.assert_close(worst_weights(losses, 0.5)[b], worst_weights(losses[b], 0.5))


B, D = 3, 4


def test_a_vanishing_ball_trains_as_erm(draw_samples: Callable[..., Samples]) -> None:
    samples, mlp = draw_samples(seeds=range(B), d=D), init_mlp(range(B), (D, 32, 1))
    options = DRO(rho=1e-8, steps=30, learning_rate=1e-2)
    (network,) = train_dro(samples, mlp, options, [30])
    erm = train(
        mlp,
        samples.x,
        lambda f, rows: ((f - samples.y[rows]) ** 2).mean(-1),
        steps=30,
        learning_rate=1e-2,
    )
    torch.testing.assert_close(network(samples.x), erm(samples.x), rtol=1e-2, atol=1e-2)


def test_each_radius_does_best_by_its_own_measure() -> None:
    # few units and many points: nothing can be learned by heart
    x, mlp = torch.randn(B, 300, 1).abs(), init_mlp(range(B), (1, 4, 1))
    y = x[..., 0] + x[..., 0] * torch.randn(B, 300)
    samples = Samples(x, y, x, y, None, range(B), "regression")
    rho = [0.01, 2.0]
    losses = []
    for radius in rho:
        options = DRO(rho=radius, steps=200, learning_rate=2e-2)
        (network,) = train_dro(samples, mlp, options, [200])
        losses.append((network(x) - y) ** 2)
    for own, radius in enumerate(rho):
        values = torch.stack([worst_mean(loss, radius) for loss in losses])  # (C, B)
        assert values.argmin(0).tolist() == [own] * B
