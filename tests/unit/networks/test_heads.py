"""Outputs of several heads against double precision and automatic differentiation."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from kerhrm.networks.build import MIN_POINTS, MLP, init_mlp
from kerhrm.networks.heads import head_outputs, heads_at

H = 6  #: hidden units

pytestmark = pytest.mark.usefixtures("either_product", "small_blocks")


def heads_of(d: int, k: int, seed: int, hidden: tuple[int, ...] = (H,)) -> MLP:
    """A perceptron with k outputs."""
    torch.manual_seed(seed)
    network = init_mlp(seed, (d, *hidden, 1))
    number = len(hidden)
    weights = dict(network.weights)
    weights[f"weight_{number}"] = torch.randn(k, hidden[-1])
    weights[f"bias_{number}"] = torch.randn(k)
    return MLP(weights)


def points_with_zeros(n: int, d: int) -> Tensor:
    """Half of the points are zero in the first columns, the others in the last."""
    x = torch.randn(n, d)
    half = n // 2
    x[:half, : d // 2] = 0.0
    x[half:, d // 2 :] = 0.0
    return x


def gradients(network: MLP, f: Tensor) -> list[Tensor]:
    """By the weights, of a sum in which every output has a part of its own."""
    n, k = f.shape
    parts = torch.arange(n * k, dtype=f.dtype).reshape(n, k)
    total = (torch.sin(parts) * f).sum()
    weights = list(network.weights.values())
    return list(torch.autograd.grad(total, weights))


@settings(
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    n=st.sampled_from([MIN_POINTS, MIN_POINTS + 1, 5 * MIN_POINTS]),
    d=st.integers(1, 9),
    k=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_outputs_and_gradients_as_in_double_precision(
    n: int, d: int, k: int, seed: int
) -> None:
    network = heads_of(d, k, seed)
    x = points_with_zeros(n, d)
    exact = network.to(torch.float64).trainable()
    expected = head_outputs(exact, x.double())

    trained = network.trainable()
    f = heads_at(network, x)(trained)
    assert f.shape == (n, k)
    assert_close(f.double(), expected, rtol=1e-5, atol=1e-5)
    found = gradients(trained, f)
    by_autograd = gradients(exact, expected)
    atol = 1e-4 * n**0.5
    for gradient, exactly in zip(found, by_autograd, strict=True):
        assert_close(gradient.double(), exactly, rtol=1e-4, atol=atol)


def test_a_gradient_can_be_asked_for_twice() -> None:
    """What the first one wrote over must not enter the second."""
    x = torch.randn(5 * MIN_POINTS, 4)
    trained = heads_of(4, 3, 0).trainable()
    f = heads_at(trained, x)(trained)
    total = f.square().sum()
    weights = list(trained.weights.values())
    first = torch.autograd.grad(total, weights, retain_graph=True)
    second = torch.autograd.grad(total, weights)
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)


def test_one_head_is_the_network() -> None:
    x = points_with_zeros(5 * MIN_POINTS, 8)
    network = init_mlp(0, (8, H, 1))
    f = heads_at(network, x)(network)
    assert_close(f.squeeze(1), network(x))


@pytest.mark.parametrize("hidden", [(), (H, H)])
def test_other_depths_by_automatic_differentiation(hidden: tuple[int, ...]) -> None:
    x = torch.randn(5 * MIN_POINTS, 4)
    network = heads_of(4, 3, 0, hidden) if hidden else init_mlp(0, (4, 1))
    trained = network.trainable()
    f = heads_at(network, x)(trained)
    expected = head_outputs(trained, x)
    assert torch.equal(f, expected)
    found = gradients(trained, f)
    by_autograd = gradients(trained, expected)
    for gradient, exactly in zip(found, by_autograd, strict=True):
        assert torch.equal(gradient, exactly)


def test_few_points_have_the_same_outputs() -> None:
    x = torch.randn(MIN_POINTS - 1, 4)
    network = heads_of(4, 3, 0)
    f = heads_at(network, x)(network)
    expected = head_outputs(network, x)
    assert torch.equal(f, expected)
