"""Outputs at points that stay: those of a call and of autograd, whatever is done once."""

import pytest
import torch
from torch import Tensor

from kerhrm.networks import blocks, products
from kerhrm.networks.mlp import FEW, MLP, forward, init_mlp

B, PIXELS = 2, 6


@pytest.fixture(autouse=True, params=[True, False], ids=["convolutions", "plain products"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "convolutions_pay", lambda: request.param)
    monkeypatch.setattr(blocks, "ENTRIES", 48 * 32)
    monkeypatch.setattr(blocks, "LEAST", 8)


@pytest.fixture(params=[FEW - 1, 150], ids=["few points", "blocks"])
def x(request: pytest.FixtureRequest) -> Tensor:
    """Images of two colours."""
    grey = torch.rand(B, request.param, PIXELS, dtype=torch.float64)
    colour = torch.randint(2, (B, request.param, 1))
    return torch.cat([grey * colour, grey * (1 - colour)], -1)


@pytest.fixture(params=[(), (32,), (32, 9), (32, 16, 8)], ids=str)
def mlp(request: pytest.FixtureRequest) -> MLP:
    return init_mlp(range(B), (2 * PIXELS, *request.param, 1)).to(torch.float64).trainable_copy()


def derivatives(f: Tensor, mlp: MLP) -> list[Tensor]:
    """First derivatives, and those of a penalty of them."""
    loss = (f**2).sum(-1).sin().sum()
    first = torch.autograd.grad(loss, mlp.parameters(), create_graph=True)
    second = torch.autograd.grad(sum((g**2).sum() for g in first), mlp.parameters())
    return [g.detach() for g in (*first, *second)]


def test_they_and_their_derivatives_are_those_of_a_call(mlp: MLP, x: Tensor) -> None:
    f, plain = mlp.on(x)(mlp), forward(mlp, x)[-1].squeeze(-1)
    torch.testing.assert_close(f, plain)
    torch.testing.assert_close(derivatives(f, mlp), derivatives(plain, mlp))


def test_single_precision_is_as_good_as_autograd_s(mlp: MLP, x: Tensor) -> None:
    exact = derivatives(forward(mlp, x)[-1].squeeze(-1), mlp)
    single, points = mlp.to(torch.float32).trainable_copy(), x.float()
    found = derivatives(single.on(points)(single), single)
    usual = derivatives(forward(single, points)[-1].squeeze(-1), single)
    for a, b, c in zip(found, usual, exact, strict=True):
        error, autograd, size = (float(t.norm()) for t in (a - c, b - c, c))
        assert error <= max(4 * autograd, 1e-5 * size)


def test_other_networks_of_the_architecture_may_be_asked(mlp: MLP, x: Tensor) -> None:
    other = mlp.each(lambda p: 0.5 * p)
    torch.testing.assert_close(mlp.on(x)(other), other(x))
