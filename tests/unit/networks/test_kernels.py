"""The fast kernels against double precision, all columns and automatic
differentiation."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from kerhrm.networks import kernels
from kerhrm.networks.kernels import Block, affine, blocks, blocks_by_zeros, cross
from kerhrm.networks.mlp import MIN_POINTS, MLP, activations, init_mlp

EPS = torch.finfo(torch.float32).eps
H, PIXELS = 6, 6


@pytest.fixture(
    autouse=True, params=[True, False], ids=["convolutions", "plain products"]
)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "convolutions_pay", lambda: request.param)
    monkeypatch.setattr(kernels, "ENTRIES", 64 * H)
    monkeypatch.setattr(kernels, "MIN_ROWS", 8)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 250])
@pytest.mark.parametrize(("k", "m"), [(1, 1), (3, 7), (40, 70)])
def test_products_up_to_rounding(n: int, k: int, m: int) -> None:
    """Each entry's error is at most as many rounding errors as it has terms (Higham
    2002, 3.5)."""
    x, g = torch.randn(n, k), torch.randn(n, m)
    weight, bias = torch.randn(m, k), torch.randn(m)
    exact = x.double() @ weight.double().T
    bound = (k + 1) * EPS * (x.abs() @ weight.abs().T + bias.abs()) + 1e-30
    for result, expected in (
        (affine(x, weight), exact),
        (affine(x, weight, bias), exact + bias),
    ):
        assert result.shape == (n, m)
        assert bool(((result - expected).abs() <= bound).all())
    error = (cross(g, x) - g.double().T @ x.double()).abs()
    assert error.shape == (m, k)
    assert bool((error <= (n + 1) * EPS * (g.abs().T @ x.abs())).all())


def test_products_of_doubles_and_of_strided_rows() -> None:
    x, weight = (
        torch.randn(20, 5, dtype=torch.float64),
        torch.randn(4, 5, dtype=torch.float64),
    )
    torch.testing.assert_close(affine(x, weight), x @ weight.T, rtol=1e-14, atol=1e-14)
    torch.testing.assert_close(cross(x, x), x.T @ x, rtol=1e-14, atol=1e-14)
    x, weight = torch.randn(6, 40).T, torch.randn(8, 12)[:, ::2]
    torch.testing.assert_close(affine(x, weight), x @ weight.T)
    torch.testing.assert_close(cross(x, x[:, :3]), x.T @ x[:, :3])


def coloured(n: int, pixels: int, seed: int) -> Tensor:
    """Images with empty borders, each on one of two channels: (n, 2 pixels)."""
    rng = torch.Generator().manual_seed(seed)
    grey = torch.rand(n, pixels, generator=rng, dtype=torch.float64) + 0.1
    grey[:, 0] = 0
    colour = torch.randint(2, (n, 1), generator=rng)
    return torch.cat([grey * (1 - colour), grey * colour], 1)


def covered(parts: list[Block], n: int) -> list[int]:
    index = torch.arange(n)
    return sorted(i for block in parts for i in index[block.rows].tolist())


@given(st.integers(1, 300), st.integers(2, 9), st.integers(0, 50))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_cover_every_point_and_column(n: int, pixels: int, seed: int) -> None:
    x = coloured(n, pixels, seed)
    weight = torch.randn(H, x.shape[1] + 1, dtype=x.dtype)
    signal = torch.randn(n, H, dtype=x.dtype)
    joined = torch.cat([x, x.new_ones(n, 1)], 1)
    for parts in (blocks(x, H), blocks_by_zeros(x, H)):
        assert covered(parts, n) == list(range(n))
        moments = x.new_zeros(x.shape[1] + 1, H)
        for block in parts:
            assert len(block.x) % kernels.ROWS == 0
            torch.testing.assert_close(
                block.times(weight)[: block.count], (joined @ weight.T)[block.rows]
            )
            block.add_cross(
                torch.stack([block.padded(c) for c in signal.T], 1), moments
            )
        torch.testing.assert_close(moments, joined.T @ signal)


def test_zeros_are_left_out() -> None:
    parts = blocks_by_zeros(coloured(400, 40, 0), H)
    assert {block.x.shape[1] for block in parts} == {39 + 1}
    x = torch.rand(150, 5) + 0.1  # without zeros
    assert [b.rows for b in blocks_by_zeros(x, H)] == [b.rows for b in blocks(x, H)]
    (block,) = blocks_by_zeros(torch.zeros(20, 3), H)
    assert torch.equal(block.times(torch.ones(H, 4))[:20], torch.ones(20, H))


@pytest.fixture(params=[MIN_POINTS - 1, 150], ids=["few points", "blocks"])
def x(request: pytest.FixtureRequest) -> Tensor:
    """Images of two colours."""
    return coloured(request.param, PIXELS, 1)


@pytest.fixture(params=[(), (32,), (32, 9), (32, 16, 8)], ids=str)
def mlp(request: pytest.FixtureRequest) -> MLP:
    return init_mlp(0, (2 * PIXELS, *request.param, 1)).to(torch.float64).trainable()


def plain(mlp: MLP, x: Tensor) -> Tensor:
    return activations(mlp.layers, x)[-1].squeeze(-1)


def derivatives(f: Tensor, mlp: MLP) -> list[Tensor]:
    """First derivatives, and those of a penalty of them."""
    weights = list(mlp.weights.values())
    first = torch.autograd.grad((f**2).sum().sin(), weights, create_graph=True)
    second = torch.autograd.grad(sum((g**2).sum() for g in first), weights)
    return [g.detach() for g in (*first, *second)]


WAYS: list[Callable[[MLP, Tensor], Tensor]] = [
    lambda mlp, x: mlp(x),
    lambda mlp, x: mlp.at(x)(mlp),
]


@pytest.mark.parametrize("outputs", WAYS, ids=["call", "at"])
def test_outputs_and_derivatives_are_those_of_autograd(
    outputs: Callable[[MLP, Tensor], Tensor], mlp: MLP, x: Tensor
) -> None:
    close = {"rtol": 1e-11, "atol": 1e-11}
    f, expected = outputs(mlp, x), plain(mlp, x)
    torch.testing.assert_close(f, expected, **close)
    exact = derivatives(expected, mlp)
    torch.testing.assert_close(derivatives(f, mlp), exact, **close)
    single, points = mlp.to(torch.float32).trainable(), x.float()
    usual = derivatives(plain(single, points), single)
    for a, b, c in zip(
        derivatives(outputs(single, points), single), usual, exact, strict=True
    ):
        error, autograd, size = (float(t.norm()) for t in (a - c, b - c, c))
        assert error <= max(4 * autograd, 1e-5 * size)
    other = mlp.each(lambda w: 0.5 * w)
    torch.testing.assert_close(mlp.at(x)(other), other(x))


def test_gradients_of_the_points_and_none(mlp: MLP, x: Tensor) -> None:
    with torch.no_grad():
        assert mlp(x).grad_fn is None
    points = x.requires_grad_(True)
    (result,) = torch.autograd.grad(mlp(points).sum(), points)
    (expected,) = torch.autograd.grad(plain(mlp, points).sum(), points)
    assert torch.equal(result, expected)
