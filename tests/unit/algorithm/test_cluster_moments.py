"""Moments of the clusters: sums over the points, however they are computed."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kerhrm.algorithm import problem as problem_module
from kerhrm.algorithm import regressions as regressions_module
from kerhrm.algorithm.problem import weighted_moments
from kerhrm.algorithm.regressions import ClusterMoments


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), chunk=st.integers(1, 50))
def test_moments_are_sums_over_the_points(seed: int, n: int, chunk: int) -> None:
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((n, 3))
    y = rng.standard_normal(n)
    weights = rng.random((4, n))
    given = (psi, y, weights)
    arrays = map(torch.from_numpy, given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem_module, "CHUNK", chunk)
        second, cross = weighted_moments(*arrays)
    expected_second = np.einsum("jn,na,nc->jac", weights, psi, psi)
    expected_cross = np.einsum("jn,na,n->ja", weights, psi, y)
    assert_allclose(second, expected_second, atol=1e-12)
    assert_allclose(cross, expected_cross, atol=1e-12)


@pytest.mark.parametrize("limit", [0, 10**9])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_both_ways_give_the_clusters_moments(
    limit: int, n_clusters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regressions_module, "PRODUCTS_LIMIT", limit)
    rng = np.random.default_rng(n_clusters)
    psi = rng.standard_normal((30, 4))
    y = rng.standard_normal(30)
    concentration = np.full(n_clusters, 0.3)
    shares = rng.dirichlet(concentration, (6, 30))
    by_environment = shares.transpose(0, 2, 1)
    r = by_environment.copy()
    ones = np.ones_like(y)
    given = (psi, y, ones)
    arrays = map(torch.from_numpy, given)
    moments = ClusterMoments(*arrays)
    assert (moments.products is None) == (limit == 0)
    memberships = torch.from_numpy(r)
    second, cross = moments.weighted(memberships)
    expected_second = np.einsum("rjn,na,nc->rjac", r, psi, psi)
    expected_cross = np.einsum("rjn,na,n->rja", r, psi, y)
    assert_allclose(second, expected_second, atol=1e-12)
    assert_allclose(cross, expected_cross, atol=1e-12)
