"""Derivatives along directions of the weights are what the kernel says of the
features."""

import numpy as np
import pytest
import torch
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


@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_they_are_the_reduced_features(options: NetworkOptions) -> None:
    random = torch.Generator().manual_seed(0)
    x, new = (torch.randn(n, 4, generator=random) for n in (150, 80))
    features = NTFMap.fit(build(options, 0, 4), x, 5)
    psi, f0 = features.transform(new)
    outputs, along = features.linearise(torch.eye(5).double())(new)
    np.testing.assert_allclose(outputs, f0, atol=1e-5)
    np.testing.assert_allclose(along, psi, atol=2e-4 * float(psi.abs().max()))
    theta = torch.randn(5, 1).double()
    _, one = features.linearise(theta).to("cpu")(new)
    np.testing.assert_allclose(one, along @ theta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_they_are_products_with_the_jacobian(options: NetworkOptions) -> None:
    random = torch.Generator().manual_seed(0)
    x, new = (torch.randn(n, 4, generator=random) for n in (100, 70))
    network, c = build(options, 3, 4), torch.randn(100, 2, generator=random).double()

    def phi(points: torch.Tensor) -> torch.Tensor:
        """(n, p), by automatic differentiation."""
        weights = {name: w.double() for name, w in network.weights.items()}
        points = points.double().requires_grad_()  # which no kernel of a CPU takes
        jacobian = jacrev(lambda w: network.forward(w, points))(weights)
        return torch.cat([j.flatten(1) for j in jacobian.values()], 1).detach()

    _, along = Linearisation.along(network, x, c)(new)
    np.testing.assert_allclose(along, phi(new) @ phi(x).T @ c, rtol=1e-9, atol=1e-9)


def test_landmarks_are_carried_over_as_well() -> None:
    random = torch.Generator().manual_seed(0)
    x, new = (torch.randn(n, 4, generator=random) for n in (300, 50))
    found = NystroemMap.fit(
        build(NETWORKS["one layer"], 0, 4), x, 5, NystroemOptions(n_landmarks=100)
    )
    psi, _ = found.transform(new)
    _, along = found.linearise(torch.eye(5).double())(new)
    np.testing.assert_allclose(along, psi, atol=1e-3 * float(psi.abs().max()))


def test_blocks_make_no_difference() -> None:
    x, c = torch.randn(BLOCK + 3, 2), torch.randn(BLOCK + 3, 1).double()
    network = build(NetworkOptions(widths=[4]), 0, 2)
    whole = Linearisation.along(network, x, c)(x)[1]
    parts = [
        Linearisation.along(network, p, q)
        for p, q in zip(x.split(50), c.split(50), strict=True)
    ]
    last = x[-5:]
    np.testing.assert_allclose(
        sum(part(last)[1] for part in parts), whole[-5:], rtol=1e-9
    )
