"""EM with a noise for each cluster and with hard assignments, against scikit-learn and
its two steps written out."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.mixture import GaussianMixture
from torch import Tensor

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import fit_mixture


def gaussians(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """A single constant feature: the mixture is one of plain Gaussians."""
    rng = np.random.default_rng(seed)
    low = rng.normal(-2, 0.4, 150)
    high = rng.normal(1.5, 1.3, 250)
    y = np.concatenate([low, high])
    is_low = y < 0
    of_low = np.where(is_low, 0.9, 0.2)
    of_high = np.where(is_low, 0.1, 0.8)
    start = np.stack([of_low, of_high], 1)
    psi = torch.ones(400, 1).double()
    labels = torch.from_numpy(y)
    starts = torch.from_numpy(start)[None]
    return psi, labels, starts


@pytest.mark.parametrize("each", [False, True])
def test_of_a_constant_feature_it_is_scikit_learns_mixture_of_gaussians(
    each: bool,
) -> None:
    psi, y, start = gaussians(0)
    em = EM(per_cluster=each, tol=1e-12, max_iter=5000)
    fit = fit_mixture(psi, y, start, ridge=1e-12, em=em)
    rows = y[:, None].numpy()
    expected = GaussianMixture(
        2,
        covariance_type="diag" if each else "tied",
        tol=1e-12,
        max_iter=5000,
        reg_covar=0,
        means_init=[[-2.0], [1.5]],
        random_state=0,
    )
    expected.fit(rows)
    centres = fit.theta[0, :, 0]
    sigma = fit.sigma[0]
    variances = expected.covariances_.flatten()
    variance_of_each = np.broadcast_to(variances, 2)
    assert_allclose(centres, expected.means_[:, 0], atol=1e-4)
    assert_allclose(fit.weights[0], expected.weights_, atol=1e-4)
    assert_allclose(sigma**2, variance_of_each, atol=1e-4)
    likelihood = float(fit.log_likelihood(psi, y))
    score = expected.score(rows)
    assert likelihood == pytest.approx(score, abs=1e-6)
    (r,) = fit.responsibilities(psi, y)
    probabilities = expected.predict_proba(rows)
    assert_allclose(r, probabilities, atol=1e-3)


@pytest.mark.parametrize(("each", "hard"), [(True, False), (False, True), (True, True)])
def test_the_objective_never_rises(each: bool, hard: bool) -> None:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((80, 3))
    psi = torch.from_numpy(features)
    labels = rng.normal(size=80)
    y = torch.from_numpy(labels)
    concentration = [1.0] * 3
    shares = rng.dirichlet(concentration, (5, 80))
    start = torch.from_numpy(shares)
    objectives = []
    for t in range(1, 30):
        em = EM(
            per_cluster=each,
            hard=hard,
            tol=-np.inf,
            max_iter=t,
        )
        fit = fit_mixture(psi, y, start, ridge=0.1, em=em)
        objectives.append(fit.objective)
    for before, after in pairwise(objectives):
        assert (after <= before + 1e-10).all()


def test_hard_steps_are_regressions_and_reassignments_by_turns() -> None:
    rng = np.random.default_rng(2)
    n = 60
    psi = rng.standard_normal((n, 3))
    sign = rng.choice([-1, 1], n)
    noise = 0.3 * rng.standard_normal(n)
    y = sign * psi[:, 0] + noise
    one_hot = np.eye(2)
    environment = rng.integers(0, 2, n)
    r = one_hot[environment]
    ridge = 0.05
    mean_square = (psi**2).sum() / psi.size
    rho = ridge * mean_square
    start = torch.from_numpy(r)[None]
    for steps in range(1, 6):
        model = Ridge(alpha=n * rho, fit_intercept=False)
        centres = []
        for j in range(2):
            weights = r[:, j]
            model.fit(psi, y, sample_weight=weights)
            centres.append(model.coef_)
        theta = np.stack(centres)
        residuals = y[:, None] - psi @ theta.T
        squares = r * residuals**2
        error = squares.sum() / n
        squared_length = (theta**2).sum()
        variance = error + rho * squared_length

        em = EM(hard=True, max_iter=steps, tol=-np.inf)
        features = torch.from_numpy(psi)
        labels = torch.from_numpy(y)
        fit = fit_mixture(features, labels, start, ridge=ridge, em=em)
        assert_allclose(fit.theta[0], theta, rtol=1e-8)
        sigma = fit.sigma[0, 0]
        assert_allclose(sigma**2, variance, rtol=1e-8)

        log_shares = np.log(r.mean(0))
        distance = residuals**2 / (2 * variance) - log_shares
        r = one_hot[distance.argmin(1)]
