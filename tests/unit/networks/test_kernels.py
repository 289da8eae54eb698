"""The fast kernels against double precision, all columns and automatic
differentiation."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from kerhrm.networks import base
from kerhrm.networks.base import (
    affine,
    cross,
)
from kerhrm.networks.blocks import Block, blocks, blocks_by_zeros
from kerhrm.networks.build import (
    MIN_POINTS,
    MLP,
    activations,
    init_mlp,
)

EPS = torch.finfo(torch.float32).eps
H = 6
PIXELS = 6


pytestmark = pytest.mark.usefixtures("either_product", "small_blocks")


@pytest.mark.parametrize("n", [1, 15, 16, 17, 250])
@pytest.mark.parametrize(("k", "m"), [(1, 1), (3, 7), (40, 70)])
def test_products_up_to_rounding(n: int, k: int, m: int) -> None:
    """Each entry's error is at most as many rounding errors as it has terms (Higham
    2002, 3.5)."""
    x = torch.randn(n, k)
    g = torch.randn(n, m)
    weight = torch.randn(m, k)
    bias = torch.randn(m)

    def assert_near(result: Tensor, exact: Tensor, bound: Tensor) -> None:
        assert result.shape == exact.shape
        error = (result - exact).abs()
        assert (error <= bound).all()

    x_exact = x.double()
    exact = x_exact @ weight.double().T
    size = x.abs() @ weight.abs().T
    size += bias.abs()
    bound = (k + 1) * EPS * size + 1e-30
    assert_near(affine(x, weight), exact, bound)
    assert_near(affine(x, weight, bias), exact + bias, bound)

    exact = g.double().T @ x_exact
    size = g.abs().T @ x.abs()
    bound = (n + 1) * EPS * size
    assert_near(cross(g, x), exact, bound)


def test_products_of_doubles_and_of_strided_rows() -> None:
    double = torch.float64
    close = {"rtol": 1e-14, "atol": 1e-14}
    x = torch.randn(20, 5, dtype=double)
    weight = torch.randn(4, 5, dtype=double)
    product = x @ weight.T
    assert_close(affine(x, weight), product, **close)
    moments = x.T @ x
    assert_close(cross(x, x), moments, **close)

    x = torch.randn(6, 40).T  # (40, 6)
    wide = torch.randn(8, 12)
    weight = wide[:, ::2]
    product = x @ weight.T
    assert_close(affine(x, weight), product)
    some = x[:, :3]
    product = x.T @ some
    assert_close(cross(x, some), product)


def coloured(n: int, pixels: int, seed: int) -> Tensor:
    """Images with empty borders, each on one of two channels: (n, 2 pixels)."""
    rng = torch.Generator().manual_seed(seed)
    shape = (n, pixels)
    grey = torch.rand(shape, generator=rng, dtype=torch.float64)
    grey += 0.1
    grey[:, 0] = 0
    colour = torch.randint(2, (n, 1), generator=rng)
    first = grey * (1 - colour)
    second = grey * colour
    return torch.cat([first, second], 1)


def rows_of(parts: list[Block]) -> list[Any]:
    return [block.rows for block in parts]


def covered(parts: list[Block], n: int) -> list[int]:
    """Points of all blocks, sorted."""
    index = torch.arange(n)
    points: list[int] = []
    for block in parts:
        points += index[block.rows].tolist()
    return sorted(points)


@given(
    n=st.integers(1, 300),
    pixels=st.integers(2, 9),
    seed=st.integers(0, 50),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_cover_every_point_and_column(n: int, pixels: int, seed: int) -> None:
    x = coloured(n, pixels, seed)
    columns = x.shape[1] + 1  # the last one is the bias
    weight = torch.randn(H, columns, dtype=x.dtype)
    signal = torch.randn(n, H, dtype=x.dtype)
    ones = x.new_ones(n, 1)
    joined = torch.cat([x, ones], 1)
    outputs = joined @ weight.T

    for cut in (blocks, blocks_by_zeros):
        parts = cut(x, H)
        every_point = list(range(n))
        assert covered(parts, n) == every_point
        moments = x.new_zeros(columns, H)
        for block in parts:
            assert len(block.x) % base.ROWS == 0
            outputs_of_block = block.times(weight)
            found = outputs_of_block[: block.count]
            assert_close(found, outputs[block.rows])
            padded = [block.padded(column) for column in signal.T]
            columns_of_block = torch.stack(padded, 1)
            block.add_cross(columns_of_block, moments)
        expected = joined.T @ signal
        assert_close(moments, expected)


def test_zeros_are_left_out() -> None:
    x = coloured(400, 40, 0)
    parts = blocks_by_zeros(x, H)
    widths = {block.x.shape[1] for block in parts}
    assert widths == {39 + 1}  # one channel without its border, and the bias

    x = torch.rand(150, 5) + 0.1  # without zeros
    found = blocks_by_zeros(x, H)
    usual = blocks(x, H)
    assert rows_of(found) == rows_of(usual)

    nothing = torch.zeros(20, 3)
    (block,) = blocks_by_zeros(nothing, H)
    weight = torch.ones(H, 4)
    every_output = block.times(weight)
    outputs = every_output[:20]
    expected = torch.ones(20, H)
    assert torch.equal(outputs, expected)


@pytest.fixture(params=[MIN_POINTS - 1, 150], ids=["few points", "blocks"])
def x(request: pytest.FixtureRequest) -> Tensor:
    """Images of two colours."""
    return coloured(request.param, PIXELS, 1)


@pytest.fixture(params=[(), (32,), (32, 9), (32, 16, 8)], ids=str)
def mlp(request: pytest.FixtureRequest) -> MLP:
    widths = (2 * PIXELS, *request.param, 1)
    network = init_mlp(0, widths)
    return network.to(torch.float64).trainable()


def plain(mlp: MLP, x: Tensor) -> Tensor:
    """Outputs (n,), layer by layer."""
    last = activations(mlp.layers, x)[-1]
    return last.squeeze(-1)


def derivatives(f: Tensor, mlp: MLP) -> list[Tensor]:
    """First derivatives, and those of a penalty of them."""
    weights = list(mlp.weights.values())
    sum_of_squares = (f**2).sum()
    value = sum_of_squares.sin()
    first = torch.autograd.grad(value, weights, create_graph=True)
    squares = [(gradient**2).sum() for gradient in first]
    penalty = sum(squares)
    second = torch.autograd.grad(penalty, weights)
    both = (*first, *second)
    return [g.detach() for g in both]


Outputs = Callable[[MLP, Tensor], Tensor]
WAYS: list[Outputs] = [
    lambda mlp, x: mlp(x),
    lambda mlp, x: mlp.at(x)(mlp),
]


@pytest.mark.parametrize("outputs", WAYS, ids=["call", "at"])
def test_outputs_and_derivatives_are_those_of_autograd(
    outputs: Outputs, mlp: MLP, x: Tensor
) -> None:
    close = {"rtol": 1e-11, "atol": 1e-11}
    f = outputs(mlp, x)
    expected = plain(mlp, x)
    assert_close(f, expected, **close)
    exact = derivatives(expected, mlp)
    assert_close(derivatives(f, mlp), exact, **close)

    # in single precision, no worse than autograd
    single = mlp.to(torch.float32).trainable()
    points = x.float()
    found = derivatives(outputs(single, points), single)
    usual = derivatives(plain(single, points), single)
    of_each = zip(found, usual, exact, strict=True)
    for one, by_autograd, truth in of_each:
        error = float((one - truth).norm())
        autograd = float((by_autograd - truth).norm())
        size = float(truth.norm())
        assert error <= max(4 * autograd, 1e-5 * size)

    other = mlp.each(lambda w: 0.5 * w)
    prepared = mlp.at(x)
    assert_close(prepared(other), other(x))


def test_gradients_of_the_points_and_none(mlp: MLP, x: Tensor) -> None:
    with torch.no_grad():
        outputs = mlp(x)
    assert outputs.grad_fn is None

    points = x.requires_grad_(True)
    outputs = mlp(points)
    total = outputs.sum()
    (result,) = torch.autograd.grad(total, points)
    outputs = plain(mlp, points)
    total = outputs.sum()
    (expected,) = torch.autograd.grad(total, points)
    assert torch.equal(result, expected)
