"""Reduced features against numpy's SVD of the explicit matrix."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.features import reduction
from kerhrm.features.reduction import fix_signs, reduce

K = 5


def features(n: int, p: int = 40, seed: int = 0, decay: float = 0.8) -> np.ndarray:
    """A matrix Phi (n, p) of full column rank with decaying singular values."""
    rng = np.random.default_rng(seed)
    left, right = np.linalg.qr(rng.standard_normal((n, p)))[0], rng.standard_normal((p, p))
    return left * (10 * decay ** np.arange(left.shape[1])) @ np.linalg.qr(right)[0][: left.shape[1]]


def gram(*phi: np.ndarray) -> Tensor:
    return torch.from_numpy(np.stack([f @ f.T for f in phi]))


@pytest.mark.parametrize("n", [30, 200], ids=["dense solver", "block Lanczos"])
def test_reduction_is_the_truncated_svd(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if n == 200:  # the iteration, without its fallback
        monkeypatch.delattr(reduction, "_dense_eigenpairs")
    phi = [features(n, seed=seed) for seed in (0, 1)]
    reduced = reduce(gram(*phi), K)
    new = features(6, p=40, seed=2)
    for b in range(2):
        u, s, vt = np.linalg.svd(phi[b], full_matrices=False)
        signs = np.array([np.sign(c[np.abs(c).argmax()]) for c in u.T[:K]])
        u, s, v = u[:, :K] * signs, s[:K], (vt[:K].T * signs)
        np.testing.assert_allclose(reduced.s[b], s, rtol=1e-9)
        np.testing.assert_allclose(reduced.u[b], u, atol=1e-7)
        np.testing.assert_allclose(reduced.psi[b], u * s, atol=1e-6)
        # a new point goes to phi(x)^T V
        kappa = torch.from_numpy(np.stack([new @ f.T for f in phi]))
        np.testing.assert_allclose(reduced.project(kappa)[b], new @ v, atol=1e-6)
    # and the training points to their own Psi
    torch.testing.assert_close(reduced.project(gram(*phi)), reduced.psi, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("rows", "k"), [(300, 3), (24, 2)], ids=["one space", "fresh starts"])
def test_residuals_where_the_spectrum_decays_slowly(
    rows: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(reduction, "_dense_eigenpairs")
    monkeypatch.setattr(reduction, "MOST_ROWS", rows)
    kappa = gram(features(240, p=240, decay=0.97))
    reduced = reduce(kappa, k)
    values, expected = reduced.s[0] ** 2, np.linalg.eigvalsh(kappa[0].numpy())[::-1][:k]
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    residual = (kappa[0] @ reduced.u[0] - reduced.u[0] * values).norm(dim=0)
    assert bool((residual <= 2e-9 * values).all())
    eye = torch.eye(k, dtype=torch.float64)
    torch.testing.assert_close(reduced.u[0].T @ reduced.u[0], eye, rtol=0, atol=1e-12)


def test_signs_depend_on_the_subspace_alone() -> None:
    u = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 8, 3)))
    fixed = fix_signs(u)
    flips = torch.tensor([1.0, -1.0, -1.0], dtype=u.dtype)
    assert torch.equal(fixed, fix_signs(u * flips))
    assert torch.equal(fixed.abs(), u.abs())
    assert torch.equal(fixed.amax(-2), u.abs().amax(-2))


@pytest.mark.parametrize("k", [0, 13])
def test_dimension_outside_the_data_is_refused(k: int) -> None:
    with pytest.raises(KerhrmError, match=rf"k={k} needs 1 <= k <= n=12; lower k"):
        reduce(gram(features(12)), k)


@given(
    rank=st.integers(1, 6),
    n=st.sampled_from([12, 150]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 10**6),
)
def test_more_dimensions_than_rank_are_refused(
    rank: int, n: int, dtype: torch.dtype, seed: int
) -> None:
    kappa = gram(features(n, p=rank, seed=seed)).to(dtype)
    assert reduce(kappa, rank).s.shape == (1, rank)
    with pytest.raises(KerhrmError, match=rf"rank {rank}, less than k={rank + 1}; set k <= {rank}"):
        reduce(kappa, rank + 1)
