"""Weighted moments in blocks, against their definition."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.algorithm import moments
from kerhrm.algorithm.moments import ClusterMoments, weighted_moments


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), chunk=st.integers(1, 50))
def test_moments_are_sums_over_the_points(seed: int, n: int, chunk: int) -> None:
    rng = np.random.default_rng(seed)
    psi, y, weights = (
        rng.standard_normal((2, n, 3)),
        rng.standard_normal((2, n)),
        rng.random((2, 4, n)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments, "CHUNK", chunk)
        second, cross = weighted_moments(*map(torch.from_numpy, (psi, y, weights)))
    np.testing.assert_allclose(
        second, np.einsum("bjn,bna,bnc->bjac", weights, psi, psi), atol=1e-12
    )
    np.testing.assert_allclose(cross, np.einsum("bjn,bna,bn->bja", weights, psi, y), atol=1e-12)


@pytest.mark.parametrize("limit", [0, 10**9])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_both_ways_give_the_clusters_moments(
    limit: int, n_clusters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "PRODUCTS_LIMIT", limit)
    rng = np.random.default_rng(n_clusters)
    psi, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    r = rng.dirichlet(np.full(n_clusters, 0.3), (6, 30)).transpose(0, 2, 1).copy()
    found = ClusterMoments(torch.from_numpy(psi), torch.from_numpy(y))
    assert (found.products is None) == (limit == 0)
    second, cross = found.of(torch.from_numpy(r))
    np.testing.assert_allclose(second, np.einsum("rjn,na,nc->rjac", r, psi, psi), atol=1e-12)
    np.testing.assert_allclose(cross, np.einsum("rjn,na,n->rja", r, psi, y), atol=1e-12)
