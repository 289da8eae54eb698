"""Reduced features against numpy's SVD of the explicit matrix."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from refusals import refusal
from torch import Tensor

from kerhrm.features.map import fix_signs, reduce

K = 5


def features(n: int, p: int = 40, seed: int = 0, decay: float = 0.8) -> np.ndarray:
    """A matrix Phi (n, p) of full column rank with decaying singular values."""
    rng = np.random.default_rng(seed)
    entries = rng.standard_normal((n, p))
    left, _ = np.linalg.qr(entries)
    entries = rng.standard_normal((p, p))
    right, _ = np.linalg.qr(entries)
    rank = left.shape[1]
    singular_values = 10 * decay ** np.arange(rank)
    return left * singular_values @ right[:rank]


def gram(phi: np.ndarray) -> Tensor:
    return torch.from_numpy(phi @ phi.T)


@pytest.mark.parametrize("n", [30, 200], ids=["dense solver", "ARPACK"])
def test_reduction_is_the_truncated_svd(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if n == 200:
        monkeypatch.delattr(torch.linalg, "eigh")
    phi = features(n)
    got_u, got_s = reduce(gram(phi), K)
    u, s, _ = np.linalg.svd(phi, full_matrices=False)
    signs = []
    for column in u.T[:K]:
        largest = np.abs(column).argmax()
        signs.append(np.sign(column[largest]))
    assert_allclose(got_s, s[:K], rtol=1e-9)
    expected = u[:, :K] * signs
    assert_allclose(got_u, expected, atol=1e-7)


def test_signs_depend_on_the_subspace_alone() -> None:
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((8, 3))
    u = torch.from_numpy(columns)
    fixed = fix_signs(u)
    flips = torch.tensor([1.0, -1.0, -1.0])
    expected = fix_signs(u * flips)
    assert torch.equal(fixed, expected)
    sizes = u.abs()
    assert torch.equal(fixed.abs(), sizes)
    largest = sizes.amax(0)
    assert torch.equal(fixed.amax(0), largest)


@pytest.mark.parametrize("k", [0, 13])
def test_dimension_outside_the_data_is_refused(k: int) -> None:
    kappa = gram(features(12))
    with refusal(rf"k={k} needs 1 <= k <= n=12; choose k"):
        reduce(kappa, k)


@given(
    rank=st.integers(1, 6),
    n=st.sampled_from([12, 150]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 10**6),
)
def test_more_dimensions_than_rank_are_refused(
    rank: int, n: int, dtype: torch.dtype, seed: int
) -> None:
    phi = features(n, p=rank, seed=seed)
    kappa = gram(phi).to(dtype)
    _, s = reduce(kappa, rank)
    assert s.shape == (rank,)
    message = rf"rank {rank}, less than k={rank + 1}; set k <= {rank}"
    with refusal(message):
        reduce(kappa, rank + 1)
