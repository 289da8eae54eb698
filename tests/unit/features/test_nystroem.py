"""Reduction by landmarks, against the exact decomposition."""

import numpy as np
import pytest
import torch
from refusals import refusal
from torch import Tensor
from torch.testing import assert_close

from kerhrm.features import nystroem as module
from kerhrm.features.map import NTFMap
from kerhrm.features.nystroem import NystroemMap
from kerhrm.features.options import NystroemOptions
from kerhrm.networks.base import Network
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions

N = 300
D = 6
K = 5
NETWORKS = {
    "mlp": NetworkOptions(widths=[32]),
    "deep": NetworkOptions(widths=[16, 8]),
    "module": NetworkOptions(module="kerhrm.networks.modules:small_cnn"),
}


def points(seed: int, n: int = N, d: int = D) -> Tensor:
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((n, d))
    return torch.from_numpy(draws.astype(np.float32))


def landmarks(m: int, oversampling: float = 1.5) -> NystroemOptions:
    return NystroemOptions(n_landmarks=m, oversampling=oversampling)


@pytest.fixture
def network() -> Network:
    return build(NETWORKS["mlp"], 0, D)


@pytest.mark.parametrize("kind", NETWORKS)
def test_with_all_points_as_landmarks_it_is_the_exact_decomposition(kind: str) -> None:
    d = 2 * 14 * 14 if kind == "module" else D
    network = build(NETWORKS[kind], 0, d)
    x = points(0, 60, d)
    new = points(1, 20, d)
    exact = NTFMap.fit(network, x, K)
    every_point = landmarks(60, 60 / K)
    found = NystroemMap.fit(network, x, K, every_point)
    s = found.s.double()
    assert_close(s, exact.s, rtol=1e-4, atol=0)
    f0 = found.f0.double()
    assert_close(f0, exact.f0, rtol=0, atol=1e-6)
    psi_of_new, _ = found.transform(new)
    exact_of_new, _ = exact.transform(new)
    pairs = [(found.psi, exact.psi), (psi_of_new, exact_of_new)]
    for psi, expected in pairs:
        size = float(expected.abs().max())
        in_double = psi.double()
        tolerance = 2e-3 * size
        assert_close(in_double, expected, rtol=0, atol=tolerance)


def test_psi_is_the_projection_of_phi_onto_orthonormal_directions(
    network: Network,
) -> None:
    x = points(0)
    options = landmarks(40)
    found = NystroemMap.fit(network, x, K, options)
    ntf, _ = module.extract(network, found.z)
    kernel = ntf.kernel(ntf)
    inner = found.weights.mT @ kernel @ found.weights
    identity = torch.eye(K)
    psi, _ = found.transform(x)
    assert_close(inner, identity, rtol=0, atol=1e-3)
    assert_close(psi, found.psi, rtol=0, atol=1e-3)
    products = found.u.mT @ found.u
    assert_close(products, identity, rtol=0, atol=1e-3)


def test_more_landmarks_hold_more_and_none_too_much(network: Network) -> None:
    x = points(0)
    exact = NTFMap.fit(network, x, K).s
    shares = []
    for m in (20, 80, 300):
        options = landmarks(m)
        found = NystroemMap.fit(network, x, K, options)
        s = found.s.double()
        bound = exact * (1 + 1e-4)
        assert (s <= bound).all()  # singular values interlace
        held = (s**2).sum()
        share = held / (exact**2).sum()
        shares.append(float(share))
    few, many, every = shares
    assert few < many < every
    assert every > 0.9999


def test_landmarks_belong_to_the_seed_and_chunks_make_no_difference(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = points(0)
    options = landmarks(50)
    whole = NystroemMap.fit(network, x, K, options, 1)
    other = NystroemMap.fit(network, x, K, options, 2)
    monkeypatch.setattr(module, "CHUNK", 50 * 7)
    again = NystroemMap.fit(network, x, K, options, 1)
    assert torch.equal(again.z, whole.z)
    assert_close(again.psi, whole.psi, rtol=0, atol=1e-4)
    assert not torch.equal(other.z, whole.z)


def test_what_does_not_fit_is_refused(network: Network) -> None:
    x = points(0)
    too_few = landmarks(4)
    with refusal("k=5 needs 1 <= k <= 4 landmarks; choose k"):
        NystroemMap.fit(network, x, K, too_few)
    one_point = x[:1].repeat(N, 1)
    enough = landmarks(50)
    with refusal("rank 1, less than k=5; set k <= 1"):
        NystroemMap.fit(network, one_point, K, enough)


def test_a_first_point_without_features_wipes_nothing_out() -> None:
    """Features of the point zero are zero in a network without bias."""
    options = NetworkOptions(module="tests.unit.features.test_nystroem:without_bias")
    network = build(options, 0, D)
    x = points(0, 60)
    x[0] = 0
    every_point = landmarks(60, 60 / K)
    found = NystroemMap.fit(network, x, K, every_point)
    exact = NTFMap.fit(network, x, K)
    assert not found.psi[0].any()
    psi = found.psi.double()
    size = float(exact.psi.abs().max())
    assert_close(psi, exact.psi, rtol=0, atol=2e-3 * size)
    in_front = found.u.abs().argmax(0, keepdim=True)
    assert (found.u.gather(0, in_front) > 0).all()


def without_bias(d: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(d, 16, bias=False),
        torch.nn.ReLU(),
        torch.nn.Linear(16, 1, bias=False),
    )
