"""Reduction by landmarks, against the exact decomposition."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.features import landmarks as module
from kerhrm.features.landmarks import LandmarkMap
from kerhrm.features.map import NTFMap
from kerhrm.features.options import Landmarks
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network

B, N, D, K = 2, 300, 6, 5
NETWORKS = {
    "mlp": NetworkOptions(widths=[32]),
    "deep": NetworkOptions(widths=[16, 8]),
    "module": NetworkOptions(module="kerhrm.networks.examples:small_cnn"),
}


def points(seed: int, n: int = N, d: int = D) -> Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((B, n, d)).astype(np.float32))


@pytest.fixture
def network() -> Network:
    return build(NETWORKS["mlp"], [0, 1], D)


@pytest.mark.parametrize("kind", NETWORKS)
def test_with_all_points_as_landmarks_it_is_the_exact_decomposition(kind: str) -> None:
    d = 2 * 14 * 14 if kind == "module" else D
    network, x, new = build(NETWORKS[kind], [0, 1], d), points(0, 60, d), points(1, 20, d)
    exact = NTFMap.fit(network, x, K)
    everything = Landmarks(landmarks=60, oversampling=60 / K)
    found, reduction, f0 = LandmarkMap.fit(network, x, K, everything, [0, 1])
    torch.testing.assert_close(reduction.s.double(), exact.reduction.s, rtol=1e-4, atol=0)
    torch.testing.assert_close(f0.double(), exact.f0, rtol=0, atol=1e-6)
    for got, expected in (
        (reduction.psi, exact.reduction.psi),
        (found.transform(new)[0], exact.transform(new)[0]),
    ):
        scale = float(expected.abs().max())
        torch.testing.assert_close(got.double(), expected, rtol=0, atol=2e-3 * scale)


def test_psi_is_the_projection_of_phi_onto_orthonormal_directions(network: Network) -> None:
    x = points(0)
    found, reduction, _ = LandmarkMap.fit(network, x, K, Landmarks(landmarks=40), [0, 1])
    kernel = module.extract(network, found.z)[0]
    inner = found.weights.mT @ kernel.kernel(kernel) @ found.weights
    torch.testing.assert_close(inner, torch.eye(K).expand(B, K, K), rtol=0, atol=1e-3)
    torch.testing.assert_close(found.transform(x)[0], reduction.psi, rtol=0, atol=1e-3)
    second = reduction.u.mT @ reduction.u
    torch.testing.assert_close(second, torch.eye(K).expand(B, K, K), rtol=0, atol=1e-3)


def test_more_landmarks_hold_more_and_none_too_much(network: Network) -> None:
    x = points(0)
    exact = NTFMap.fit(network, x, K).reduction.s
    shares = []
    for m in (20, 80, 300):
        s = LandmarkMap.fit(network, x, K, Landmarks(landmarks=m), [0, 1])[1].s.double()
        assert bool((s <= exact * (1 + 1e-4)).all())  # singular values interlace
        shares.append(float((s**2).sum() / (exact**2).sum()))
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.9999


def test_passes_over_all_points_lead_to_the_exact_decomposition(network: Network) -> None:
    x, new = points(0), points(1, 30)
    exact = NTFMap.fit(network, x, K)
    errors = []
    for passes in (0, 1, 3):
        options = Landmarks(landmarks=30, oversampling=3, passes=passes)
        found, reduction, _ = LandmarkMap.fit(network, x, K, options, [0, 1])
        errors.append(float((reduction.s.double() / exact.reduction.s - 1).abs().max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4
    got, expected = found.transform(new)[0].double(), exact.transform(new)[0]
    torch.testing.assert_close(got, expected, rtol=0, atol=5e-3 * float(expected.abs().max()))


def test_seeds_are_separate_and_blocks_make_no_difference(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, options = points(0), Landmarks(landmarks=50)
    whole = LandmarkMap.fit(network, x, K, options, [0, 1])
    monkeypatch.setattr(module, "CHUNK", 50 * 7)
    second = slice(1, 2)
    alone = LandmarkMap.fit(network.take(second), x[second], K, options, [1])
    torch.testing.assert_close(alone[0].weights, whole[0].weights[second], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(alone[1].psi, whole[1].psi[second], rtol=0, atol=1e-4)
    assert torch.equal(alone[0].z, whole[0].z[second])


def test_it_comes_back_from_disk(network: Network, tmp_path: Path) -> None:
    found, _, _ = LandmarkMap.fit(network, points(0), K, Landmarks(landmarks=50), [0, 1])
    found.save(tmp_path / "map.npz")
    for got, expected in zip(
        LandmarkMap.load(tmp_path / "map.npz").transform(points(2)),
        found.transform(points(2)),
        strict=True,
    ):
        assert torch.equal(got, expected)


def test_what_does_not_fit_is_told(network: Network) -> None:
    with pytest.raises(KerhrmError, match="k=5 needs 1 <= k <= 4 landmarks; lower k"):
        LandmarkMap.fit(network, points(0), K, Landmarks(landmarks=4), [0, 1])
    same = points(0)[:, :1].expand(B, N, D).clone()
    with pytest.raises(KerhrmError, match="rank 1, less than k=5; set k <= 1"):
        LandmarkMap.fit(network, same, K, Landmarks(landmarks=50), [0, 1])
