"""The map from points to reduced features against the SVD of the explicit matrix."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import Tensor
from torch.testing import assert_close

from kerhrm.features.map import NTFMap
from kerhrm.networks.base import Network
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions

N = 25
D = 5
K = 4
NETWORKS = {
    "mlp": NetworkOptions(widths=[6, 4]),
    "module": NetworkOptions(module="factories:mlp"),
}


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Network:
    options = NETWORKS[request.param]
    network = build(options, 4, D)
    return network.to(torch.float64)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(N, D, dtype=torch.float64)


def gradients(network: Network, x: Tensor) -> np.ndarray:
    """Phi (n, p), one point after the other."""
    leaves = network.trainable()
    weights = list(leaves.weights.values())
    rows = []
    for i in range(len(x)):
        point = x[i : i + 1]
        output = leaves(point).sum()
        of_point = torch.autograd.grad(output, weights)
        flat = [gradient.flatten() for gradient in of_point]
        rows.append(torch.cat(flat))
    return torch.stack(rows).numpy()


def test_it_is_the_truncated_svd_of_the_explicit_matrix(
    network: Network, x: Tensor
) -> None:
    new = torch.randn(7, D, dtype=torch.float64)
    fitted = NTFMap.fit(network, x, K)
    psi, f0 = fitted.transform(new)
    assert_close(f0, network(new))
    phi = gradients(network, x)
    phi_of_new = gradients(network, new)
    u, s, vt = np.linalg.svd(phi, full_matrices=False)
    signs = []
    for column in u.T[:K]:
        largest = np.abs(column).argmax()
        signs.append(np.sign(column[largest]))
    s = s[:K]
    directions = vt[:K].T
    expected = u[:, :K] * s * signs
    expected_of_new = phi_of_new @ directions * signs
    assert_allclose(fitted.s, s, rtol=1e-9)
    assert_allclose(fitted.psi, expected, atol=1e-7)
    assert_allclose(psi, expected_of_new, atol=1e-7)
