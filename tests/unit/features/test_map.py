"""The map from points to reduced features against the SVD of the explicit matrix."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.features.map import NTFMap
from kerhrm.networks.build import build
from kerhrm.networks.mlp import MLP
from kerhrm.networks.modules import Modules
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network

B, N, D, K = 2, 25, 5, 4
NETWORKS = {
    "mlp": NetworkOptions(widths=[6, 4]),
    "module": NetworkOptions(module="factories:mlp"),
}


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Network:
    return build(NETWORKS[request.param], [4, 101], D).to(torch.float64)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(B, N, D, dtype=torch.float64)


def gradients(network: Network, x: Tensor) -> np.ndarray:
    """Phi (B, n, p), one point of one network after the other."""
    leaves = network.trainable_copy()
    matrix = np.empty((*x.shape[:2], network.n_parameters))
    for b, i in np.ndindex(*x.shape[:2]):
        found = torch.autograd.grad(leaves(x)[b, i], leaves.parameters())
        matrix[b, i] = torch.cat([g[b].flatten() for g in found]).numpy()
    return matrix


def test_it_is_the_truncated_svd_of_the_explicit_matrix(network: Network, x: Tensor) -> None:
    new = torch.randn(B, 7, D, dtype=torch.float64)
    fitted = NTFMap.fit(network, x, K)
    psi, f0 = fitted.transform(new)
    assert psi.shape == (B, 7, K)
    torch.testing.assert_close(f0, network(new))
    phi, phi_new = gradients(network, x), gradients(network, new)
    for b in range(B):
        u, s, vt = np.linalg.svd(phi[b], full_matrices=False)
        signs = np.array([np.sign(c[np.abs(c).argmax()]) for c in u.T[:K]])
        np.testing.assert_allclose(fitted.reduction.s[b], s[:K], rtol=1e-9)
        np.testing.assert_allclose(fitted.reduction.psi[b], u[:, :K] * s[:K] * signs, atol=1e-7)
        np.testing.assert_allclose(psi[b], phi_new[b] @ vt[:K].T * signs, atol=1e-7)


def test_training_points_are_mapped_to_their_own_features(network: Network, x: Tensor) -> None:
    fitted = NTFMap.fit(network, x, K)
    psi, f0 = fitted.transform(x)
    torch.testing.assert_close(psi, fitted.reduction.psi, rtol=0, atol=1e-8)
    assert torch.equal(f0, fitted.f0)


def test_modules_and_factors_give_the_same_map(x: Tensor) -> None:
    mlp, module = (build(options, [4, 101], D).to(torch.float64) for options in NETWORKS.values())
    assert isinstance(mlp, MLP)
    assert isinstance(module, Modules)
    pairs = zip(mlp.weights, mlp.biases, strict=True)
    same = module.replace([t for pair in pairs for t in pair])
    left, right = (NTFMap.fit(f, x, K).transform(x + 0.1) for f in (mlp, same))
    for a, b in zip(left, right, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_round_trip_through_a_file_bit_for_bit(options: NetworkOptions, tmp_path: Path) -> None:
    x, new = torch.randn(B, N, D), torch.randn(B, 7, D)
    fitted = NTFMap.fit(build(options, range(B), D), x, K)
    fitted.save(tmp_path / "map.npz")
    again = NTFMap.load(tmp_path / "map.npz")
    assert torch.equal(again.reduction.psi, fitted.reduction.psi)
    assert torch.equal(again.f0, fitted.f0)
    for a, b in zip(again.transform(new), fitted.transform(new), strict=True):
        assert torch.equal(a, b)
    with np.load(tmp_path / "map.npz", allow_pickle=False) as content:
        assert not any(content[name].dtype.hasobject for name in content.files)


def test_more_dimensions_than_points_are_refused(network: Network, x: Tensor) -> None:
    with pytest.raises(KerhrmError, match=f"k={N + 1} needs 1 <= k <= n={N}"):
        NTFMap.fit(network, x, N + 1)
