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
    return build(NETWORKS[request.param], 4, D).to(torch.float64)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(N, D, dtype=torch.float64)


def gradients(network: Network, x: Tensor) -> np.ndarray:
    """Phi (n, p), one point after the other."""
    leaves = network.trainable()
    rows = [
        torch.autograd.grad(leaves(x[i : i + 1]).sum(), [*leaves.weights.values()])
        for i in range(len(x))
    ]
    return torch.stack([torch.cat([g.flatten() for g in row]) for row in rows]).numpy()


def test_it_is_the_truncated_svd_of_the_explicit_matrix(
    network: Network, x: Tensor
) -> None:
    new = torch.randn(7, D, dtype=torch.float64)
    fitted = NTFMap.fit(network, x, K)
    psi, f0 = fitted.transform(new)
    assert_close(f0, network(new))
    u, s, vt = np.linalg.svd(gradients(network, x), full_matrices=False)
    signs = np.array([np.sign(c[np.abs(c).argmax()]) for c in u.T[:K]])
    assert_allclose(fitted.s, s[:K], rtol=1e-9)
    assert_allclose(fitted.psi, u[:, :K] * s[:K] * signs, atol=1e-7)
    assert_allclose(psi, gradients(network, new) @ vt[:K].T * signs, atol=1e-7)
