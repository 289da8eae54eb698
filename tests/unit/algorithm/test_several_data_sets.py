"""Mixtures of several data sets, fitted at once, are those of each by itself."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from torch.testing import assert_close

from kerhrm.algorithm import regressions as regressions_module
from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.regressions import column_products
from kerhrm.algorithm.starts import random_starts
from kerhrm.heterogeneity import statistic
from kerhrm.heterogeneity.permutations import orthonormal

N = 40
STARTS = 3


@given(
    n_sets=st.integers(1, 5),
    n_clusters=st.integers(1, 3),
    k=st.integers(1, 4),
    per_cluster=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_each_as_by_itself(
    n_sets: int, n_clusters: int, k: int, per_cluster: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    features = random.standard_normal((n_sets, N, k))
    scales = 10.0 ** random.integers(-2, 3, size=n_sets)
    labels = random.standard_normal((n_sets, N)) * scales[:, None]
    psi = torch.from_numpy(features)
    y = torch.from_numpy(labels)
    starts = random_starts(seed, n_sets * STARTS, N, n_clusters)
    em = EM(per_cluster=per_cluster, max_iter=20, tol=1e-3)
    together = fit_mixture(psi, y, starts, ridge=0.1, em=em)
    likelihoods = together.log_likelihood(psi, y)
    matched = statistic.matched_likelihood(together, psi, y)
    for number in range(n_sets):
        of_set = slice(number * STARTS, (number + 1) * STARTS)
        points = (psi[number], y[number])
        alone = fit_mixture(*points, starts[of_set], ridge=0.1, em=em)
        assert_close(together.theta[of_set], alone.theta)
        assert_close(together.weights[of_set], alone.weights)
        assert_close(together.sigma[of_set], alone.sigma)
        assert_close(together.objective[of_set], alone.objective)
        assert together.n_iterations[of_set].equal(alone.n_iterations)
        assert together.converged[of_set].equal(alone.converged)
        assert_close(likelihoods[of_set], alone.log_likelihood(*points))
        of_alone = statistic.matched_likelihood(alone, *points)
        assert_close(matched[of_set], of_alone)


def test_what_one_of_them_lacks_is_refused() -> None:
    random = np.random.default_rng(0)
    features = random.standard_normal((2, N, 1))
    labels = random.standard_normal((2, N))
    psi = torch.from_numpy(features)
    y = torch.from_numpy(labels)
    starts = random_starts(0, 4, N, 2)
    labels[1] = 0
    with refusal("all labels of a data set are zero"):
        fit_mixture(psi, y, starts, ridge=0.1)
    labels[1] = 1
    with refusal("3 starts of 2 data sets"):
        fit_mixture(psi, y, starts[:3], ridge=0.1)


@pytest.mark.parametrize("n_features", [3, 12])
def test_gains_do_not_depend_on_how_many_sets_are_fitted_at_once(
    n_features: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    entries = random.standard_normal((200, n_features))
    features = orthonormal(entries)
    residuals = random.standard_normal((23, 200))
    options = statistic.HeterogeneityOptions()
    together = list(statistic.gains(features, residuals, 23, options, 0))
    monkeypatch.setattr(statistic, "AT_ONCE", 1)
    one_by_one = list(statistic.gains(features, residuals, 23, options, 0))
    assert len(together) == 23
    np.testing.assert_allclose(together, one_by_one, rtol=0, atol=1e-12)
    assert max(together) > 0


def test_few_sets_are_fitted_ahead_of_the_one_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted = []

    def watch(psi: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        fitted.append(len(e))
        return psi.expand(len(e), -1, -1)

    monkeypatch.setattr(statistic, "along_singled_out", watch)
    random = np.random.default_rng(0)
    features = random.standard_normal((100, 2))
    residuals = random.standard_normal((40, 100))
    options = statistic.HeterogeneityOptions()
    gains = statistic.gains(features, residuals, 40, options, 0)
    for _ in range(5):
        next(gains)
    assert sum(fitted) == 8


@pytest.mark.parametrize("shape", [(5,), (2, 5), (regressions_module.MANY_POINTS + 1,)])
@pytest.mark.parametrize("k", [1, 2, 6])
def test_products_of_columns(shape: tuple[int, ...], k: int) -> None:
    random = np.random.default_rng(k)
    entries = random.standard_normal((*shape, k))
    psi = torch.from_numpy(entries)
    rows, columns = torch.triu_indices(k, k)
    expected = psi[..., rows] * psi[..., columns]
    assert column_products(psi).equal(expected)
