"""Derivatives along directions of the weights are what the kernel says of the
features."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import Tensor
from torch.func import jacrev

from kerhrm.features.linearised import BLOCK, Linearisation
from kerhrm.features.map import NTFMap
from kerhrm.features.nystroem import NystroemMap
from kerhrm.features.options import NystroemOptions
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions

NETWORKS = {
    "one layer": NetworkOptions(widths=[64]),
    "two layers": NetworkOptions(widths=[32, 16]),
    "a module": NetworkOptions(module="factories:mlp"),
    "tied weights": NetworkOptions(module="factories:Tied"),
}


@pytest.fixture
def random() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_they_are_the_reduced_features(
    options: NetworkOptions, random: torch.Generator
) -> None:
    x = torch.randn(150, 4, generator=random)
    new = torch.randn(80, 4, generator=random)
    network = build(options, 0, 4)
    features = NTFMap.fit(network, x, 5)
    psi, f0 = features.transform(new)

    identity = torch.eye(5).double()
    every = features.linearise(identity)
    outputs, along = every(new)
    assert_allclose(outputs, f0, atol=1e-5)
    size = float(psi.abs().max())
    assert_allclose(along, psi, atol=2e-4 * size)

    theta = torch.randn(5, 1).double()
    single = features.linearise(theta).to("cpu")
    _, one = single(new)
    expected = along @ theta
    assert_allclose(one, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_they_are_products_with_the_jacobian(
    options: NetworkOptions, random: torch.Generator
) -> None:
    x = torch.randn(100, 4, generator=random)
    new = torch.randn(70, 4, generator=random)
    network = build(options, 3, 4)
    c = torch.randn(100, 2, generator=random)
    c = c.double()

    def phi(points: Tensor) -> Tensor:
        """(n, p), by automatic differentiation."""
        in_double = network.to(torch.float64)
        points = points.double().requires_grad_()  # which no kernel of a CPU takes

        def outputs(weights: dict[str, Tensor]) -> Tensor:
            return network.forward(weights, points)

        jacobian = jacrev(outputs)(in_double.weights)
        columns = [part.flatten(1) for part in jacobian.values()]
        return torch.cat(columns, 1).detach()

    linear = Linearisation.along(network, x, c)
    _, along = linear(new)
    kernel = phi(new) @ phi(x).T
    expected = kernel @ c
    assert_allclose(along, expected, rtol=1e-9, atol=1e-9)


def test_landmarks_are_carried_over_as_well(random: torch.Generator) -> None:
    x = torch.randn(300, 4, generator=random)
    new = torch.randn(50, 4, generator=random)
    network = build(NETWORKS["one layer"], 0, 4)
    options = NystroemOptions(n_landmarks=100)
    found = NystroemMap.fit(network, x, 5, options)
    psi, _ = found.transform(new)

    identity = torch.eye(5).double()
    every = found.linearise(identity)
    _, along = every(new)
    size = float(psi.abs().max())
    assert_allclose(along, psi, atol=1e-3 * size)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_a_caller_may_switch_gradients_off(
    options: NetworkOptions, mode: type[torch.no_grad], random: torch.Generator
) -> None:
    x = torch.randn(20, 4, generator=random)
    c = torch.randn(20, 2, generator=random)
    network = build(options, 0, 4)
    _, expected = Linearisation.along(network, x, c)(x)
    with mode():
        linear = Linearisation.along(network, x, c)
        _, along = linear(x)
    assert torch.equal(along, expected)


def test_blocks_make_no_difference() -> None:
    n = BLOCK + 3
    x = torch.randn(n, 2)
    c = torch.randn(n, 1).double()
    options = NetworkOptions(widths=[4])
    network = build(options, 0, 2)
    linear = Linearisation.along(network, x, c)
    _, whole = linear(x)

    last = x[-5:]
    total = np.zeros((5, 1))
    blocks = zip(x.split(50), c.split(50), strict=True)
    for points, weights in blocks:
        part = Linearisation.along(network, points, weights)
        _, along = part(last)
        total += along.numpy()
    expected = whole[-5:]
    assert_allclose(total, expected, rtol=1e-9)
