"""The written-out derivatives of a network with one hidden layer against autograd's."""

import pytest
import torch
from torch import Tensor

from kerhrm.networks import blocks
from kerhrm.networks.mlp import FEW, MLP, forward, init_mlp

D, H, B = 5, 48, 2


@pytest.fixture(params=[FEW, 333], ids=["one block", "blocks, the last one short"])
def x(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    monkeypatch.setattr(blocks, "ENTRIES", 128 * H)
    return torch.randn(B, request.param, D, dtype=torch.float64)


def network(dtype: torch.dtype) -> MLP:
    return init_mlp(range(B), (D, H, 1)).to(dtype).trainable_copy()


def plain(mlp: MLP, x: Tensor) -> Tensor:
    return forward(mlp, x)[-1].squeeze(-1)


def gradients(f: Tensor, mlp: MLP, signal: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad((f * signal).sum(), mlp.parameters()))


def penalty_gradients(f: Tensor, mlp: MLP, weights: Tensor) -> list[Tensor]:
    """Of a penalty of gradients, and of the outputs besides."""
    loss = (weights * f**2).sum()
    first = torch.autograd.grad(loss, mlp.parameters(), create_graph=True)
    return list(torch.autograd.grad(sum((g**2).sum() for g in first) + loss, mlp.parameters()))


def test_outputs_and_derivatives_are_those_of_autograd(x: Tensor) -> None:
    mlp, signal = network(torch.float64), torch.randn(x.shape[:2], dtype=torch.float64)
    close = {"rtol": 1e-11, "atol": 1e-11}
    torch.testing.assert_close(mlp(x), plain(mlp, x), **close)
    for derivatives in (gradients, penalty_gradients):
        found, expected = (derivatives(f, mlp, signal) for f in (mlp(x), plain(mlp, x)))
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, **close)


@pytest.mark.parametrize("derivatives", [gradients, penalty_gradients])
def test_single_precision_is_as_good_as_autograd_s(derivatives, x: Tensor) -> None:  # type: ignore[no-untyped-def]
    signal = torch.randn(x.shape[:2])
    single, double = network(torch.float32), network(torch.float64)
    x = x.float()
    exact = derivatives(plain(double, x.double()), double, signal.double())
    found, usual = (derivatives(f, single, signal) for f in (single(x), plain(single, x)))
    for a, b, c in zip(found, usual, exact, strict=True):
        error, autograd, size = (float(t.norm()) for t in (a - c, b - c, c))
        assert error <= max(4 * autograd, 1e-6 * size)


def test_without_gradient_nothing_is_kept(x: Tensor) -> None:
    mlp = network(torch.float64)
    with torch.no_grad():
        f = mlp(x)
    assert f.grad_fn is None
    assert torch.equal(f, mlp(x).detach())


def test_a_gradient_of_the_points_takes_the_usual_way(x: Tensor) -> None:
    mlp = network(torch.float64)
    points = x.requires_grad_(True)
    (found,) = torch.autograd.grad(mlp(points).sum(), points)
    (expected,) = torch.autograd.grad(plain(mlp, points).sum(), points)
    assert torch.equal(found, expected)
