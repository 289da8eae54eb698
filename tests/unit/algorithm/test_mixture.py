"""EM of the mixture of regressions, against definitions and independent solvers.

The reference everywhere is L_c written with ``torch.distributions``, from the
parameters alone; the module under test writes it with log-sum-exp of its own.
"""

import math
from dataclasses import fields
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.mixture import GaussianMixture
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.testing import assert_close

from kerhrm.algorithm import em as em_module
from kerhrm.algorithm import problem as problem_module
from kerhrm.algorithm.em import EM, ClusterMoments
from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.algorithm.problem import weighted_moments
from kerhrm.errors import KerhrmError

NAMES = [f.name for f in fields(Mixture)]


class Problem(NamedTuple):
    """One data set, R random soft starts, and the settings; psi (n, k)."""

    psi: Tensor
    y: Tensor
    start: Tensor
    ridge: float
    sigma: float | None

    @property
    def rho(self) -> float:
        """``ridge`` times the mean eigenvalue of Psi^T Psi / n."""
        psi = self.psi.numpy()
        second = psi.T @ psi / len(psi)
        eigenvalues = np.linalg.eigvalsh(second)
        return float(self.ridge * eigenvalues.mean())

    def fit(self, **options: object) -> Mixture:
        em = EM(noise_sd=self.sigma, **options)  # type: ignore[arg-type]
        return fit_mixture(self.psi, self.y, self.start, ridge=self.ridge, em=em)


def problem(
    seed: int,
    n: int,
    k: int,
    n_clusters: int,
    ridge: float = 0.01,
    sigma: float | None = None,
) -> Problem:
    """A noisy mixture of regressions, k features of unequal scale."""
    rng = np.random.default_rng(seed)
    scale = rng.standard_normal((n, k))
    psi = scale * rng.uniform(0.1, 10, k)
    centres = rng.standard_normal((n_clusters, k))
    cluster = rng.integers(n_clusters, size=n)
    signal = (psi * centres[cluster]).sum(-1)
    y = signal + rng.normal(0, 0.3, n)
    start = rng.dirichlet(np.ones(n_clusters), (2, n))
    return Problem(
        psi=torch.from_numpy(psi),
        y=torch.from_numpy(y),
        start=torch.from_numpy(start),
        ridge=ridge,
        sigma=sigma,
    )


problems = st.builds(
    problem,
    seed=st.integers(0, 10**6),
    n=st.integers(5, 40),
    k=st.integers(1, 6),
    n_clusters=st.integers(1, 5),
    ridge=st.sampled_from([1e-4, 1e-2, 1.0]),
    sigma=st.sampled_from([None, None, 0.05, 1.0]),
)


def literal_objective(
    theta: Tensor, weights: Tensor, sigma: Tensor, psi: Tensor, y: Tensor, rho: float
) -> Tensor:
    """L_c of one mixture, (K, k), (K,), (), on one data set, (n, k), (n,)."""
    centres = Normal(psi @ theta.T, sigma)
    # probs would be clamped
    logits = weights.log().expand(len(y), -1)
    mixing = Categorical(logits=logits)
    density = MixtureSameFamily(mixing, centres)
    squared_length = (theta**2).sum()
    penalty = rho / (2 * sigma**2) * squared_length
    return -density.log_prob(y).mean() + penalty


@given(case=problems)
def test_every_step_lowers_the_objective_down_to_its_definition(case: Problem) -> None:
    fit = case.fit(max_iter=40)
    most_steps = int(fit.n_iterations.max())
    steps = []
    for t in range(1, most_steps + 1):
        steps.append(case.fit(max_iter=t))
    # (steps, R), constant at the end
    curves = torch.stack([step.objective for step in steps])
    rises = curves.diff(dim=0).clamp_min(0)
    size = 1 + curves.abs().max()
    assert rises.sum() <= 1e-9 * size
    for r in range(2):
        last = int(fit.n_iterations[r])
        counts = [int(step.n_iterations[r]) for step in steps]
        numbers = range(1, len(steps) + 1)
        expected_counts = [min(t, last) for t in numbers]
        assert counts == expected_counts
        theta = fit.theta[r]
        weights = fit.weights[r]
        sigma = fit.sigma[r, 0]
        expected = literal_objective(theta, weights, sigma, case.psi, case.y, case.rho)
        assert math.isclose(fit.objective[r], expected, rel_tol=1e-9, abs_tol=1e-9)
    if case.sigma is not None:
        assert (fit.sigma == case.sigma).all()


@pytest.mark.parametrize("sigma", [None, 0.5])
def test_one_m_step_minimises_the_expected_objective(sigma: float | None) -> None:
    case = problem(seed=3, n=30, k=3, n_clusters=2, ridge=0.05, sigma=sigma)
    psi = case.psi
    y = case.y
    r = case.start[0]

    def unpack(w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        theta = w[:6].reshape(2, 3)
        weights = torch.softmax(w[7:], 0)
        if sigma is None:
            return theta, weights, w[6].exp()
        return theta, weights, torch.tensor(sigma, dtype=w.dtype)

    def expected_objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        leaf = torch.from_numpy(w).requires_grad_()
        theta, weights, scale = unpack(leaf)
        density = Normal(psi @ theta.T, scale)
        log_density = density.log_prob(y[:, None])
        log_joint = weights.log() + log_density
        likelihood = (r * log_joint).sum(-1).mean()
        squared_length = (theta**2).sum()
        penalty = case.rho / (2 * scale**2) * squared_length
        value = penalty - likelihood
        value.backward()
        assert leaf.grad is not None
        return value.item(), leaf.grad.numpy()

    found = scipy.optimize.minimize(
        expected_objective,
        x0=np.zeros(9),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-9},
    )
    theta, weights, scale = unpack(torch.from_numpy(found.x))
    step = case.fit(max_iter=1)
    assert_close(step.theta[0], theta, rtol=1e-5, atol=1e-6)
    assert_close(step.weights[0], weights, rtol=1e-5, atol=1e-6)
    sigma_of_step = step.sigma[0, 0]
    assert_close(sigma_of_step, scale, rtol=1e-5, atol=1e-6)
    assert not step.converged.any()


@given(case=problems)
def test_responsibilities_are_bayes_rule(case: Problem) -> None:
    fit = case.fit(max_iter=3).take(1)
    got = fit.responsibilities(case.psi, case.y).numpy()
    psi = case.psi.numpy()
    y = case.y.numpy()
    theta = fit.theta.numpy()
    sigma = float(fit.sigma[0])
    centres = psi @ theta.T
    density = scipy.stats.norm.pdf(y[:, None], centres, sigma)
    joint = fit.weights.numpy() * density
    likelihood = joint.sum(-1)
    assert_allclose(got.sum(-1), 1, rtol=1e-12)
    seen = likelihood > 1e-250  # elsewhere the brute force underflows
    expected = joint[seen] / likelihood[seen, None]
    assert_allclose(got[seen], expected, atol=1e-9)
    if seen.all():
        mean = float(fit.log_likelihood(case.psi, case.y))
        expected_mean = np.log(likelihood).mean()
        assert math.isclose(mean, expected_mean, rel_tol=1e-9, abs_tol=1e-9)


def test_names_of_the_clusters_mean_nothing() -> None:
    case = problem(seed=2, n=40, k=3, n_clusters=3)
    fit = case.fit(max_iter=20)
    for order in map(list, permutations(range(3))):
        renamed = case._replace(start=case.start[..., order])
        other = renamed.fit(max_iter=20)
        permuted = fit.theta[:, order]
        assert_close(other.theta, permuted, rtol=1e-8, atol=1e-10)
        permuted_weights = fit.weights[:, order]
        assert_close(other.weights, permuted_weights, rtol=1e-8, atol=1e-10)
        assert_close(other.objective, fit.objective, rtol=1e-10, atol=1e-10)


def test_a_batch_is_its_runs_one_by_one() -> None:
    case = problem(0, n=60, k=3, n_clusters=2)
    ridges = torch.tensor([0.01, 1.0], dtype=torch.float64)  # one a start
    em = EM(max_iter=50)
    batch = fit_mixture(case.psi, case.y, case.start, ridge=ridges, em=em)
    # starts leave the batch at different steps
    assert len(batch.n_iterations.unique()) > 1
    for r, ridge in enumerate(ridges.tolist()):
        start = case.start[r : r + 1]
        alone = fit_mixture(case.psi, case.y, start, ridge=ridge, em=em)
        for name in NAMES:
            in_batch = getattr(batch, name)[r]
            by_itself = getattr(alone, name)[0]
            assert_close(in_batch, by_itself, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("sigma", "each"), [(None, False), (1e-3, False), (None, True)]
)
def test_outliers_and_empty_clusters_leave_no_nan(
    sigma: float | None, each: bool
) -> None:
    case = problem(seed=1, n=20, k=2, n_clusters=3, sigma=sigma)
    y = case.y.clone()
    y[4] = 1e6
    start = case.start.clone()
    start[0] = torch.tensor([1.0, 0.0, 0.0])  # nobody in two of the three clusters
    disturbed = case._replace(y=y, start=start)
    fit = disturbed.fit(per_cluster=each)
    for name in NAMES:
        values = getattr(fit, name)
        assert torch.isfinite(values).all(), name
    # an outlier fills no empty cluster
    assert fit.weights[0].tolist() == [1.0, 0.0, 0.0]
    shares = fit.responsibilities(case.psi, y)
    total = shares.sum(-1)
    assert_close(total, torch.ones_like(total))
    likelihood = fit.log_likelihood(case.psi, y)
    assert torch.isfinite(likelihood).all()


def test_sigma_stays_positive_on_an_exact_fit() -> None:
    case = problem(seed=0, n=20, k=2, n_clusters=1, ridge=1e-30)
    theta = torch.tensor([2.0, -1.0], dtype=torch.float64)
    y = case.psi @ theta
    fit = case._replace(y=y).fit()
    smallest_sigma = 1e-6 * y.std()
    expected = smallest_sigma.expand(2, 1)
    assert_close(fit.sigma, expected)
    assert torch.isfinite(fit.objective).all()


@pytest.mark.parametrize(
    ("n_clusters", "ridge", "message"),
    [
        (6, 0.1, "n_environments=6 exceeds n=5 training points; lower"),
        (2, 0.0, "must be positive; got 0.0"),
    ],
)
def test_impossible_settings_are_refused(
    n_clusters: int, ridge: float, message: str
) -> None:
    case = problem(seed=0, n=5, k=2, n_clusters=n_clusters, ridge=ridge)
    with pytest.raises(KerhrmError, match=message):
        case.fit()


def test_random_starts_are_hard_and_belong_to_their_seed() -> None:
    starts = random_starts(4, 3, 50, 4, "k=15")
    assert starts.shape == (3, 50, 4)
    total = starts.sum(-1)
    largest = starts.amax(-1)
    assert (total == 1).all()
    assert (largest == 1).all()
    again = random_starts(4, 3, 50, 4, "k=15")
    assert torch.equal(starts, again)
    assert not torch.equal(starts[0], starts[1])
    other_seed = random_starts(9, 3, 50, 4, "k=15")
    other_dimension = random_starts(4, 3, 50, 4, "k=20")
    assert not torch.equal(starts, other_seed)
    assert not torch.equal(starts, other_dimension)


def gaussians(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """A single constant feature: the mixture is one of plain Gaussians."""
    rng = np.random.default_rng(seed)
    low = rng.normal(-2, 0.4, 150)
    high = rng.normal(1.5, 1.3, 250)
    y = np.concatenate([low, high])
    is_low = (y < 0)[:, None]
    start = np.where(is_low, [0.9, 0.1], [0.2, 0.8])
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
    assert_allclose(centres, expected.means_[:, 0], atol=1e-4)
    assert_allclose(fit.weights[0], expected.weights_, atol=1e-4)
    variances = np.broadcast_to(expected.covariances_.flatten(), 2)
    assert_allclose(fit.sigma[0] ** 2, variances, atol=1e-4)
    likelihood = float(fit.log_likelihood(psi, y))
    assert likelihood == pytest.approx(expected.score(rows), abs=1e-6)
    r = fit.responsibilities(psi, y)[0]
    assert_allclose(r, expected.predict_proba(rows), atol=1e-3)


@pytest.mark.parametrize(("each", "hard"), [(True, False), (False, True), (True, True)])
def test_the_objective_never_rises(each: bool, hard: bool) -> None:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((80, 3))
    psi = torch.from_numpy(features)
    y = torch.from_numpy(rng.normal(size=80))
    shares = rng.dirichlet([1.0] * 3, (5, 80))
    start = torch.from_numpy(shares)
    objectives = []
    for t in range(1, 30):
        em = EM(per_cluster=each, hard=hard, tol=-np.inf, max_iter=t)
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
    r = one_hot[rng.integers(0, 2, n)]
    ridge = 0.05
    rho = ridge * (psi**2).sum() / psi.size
    start = torch.from_numpy(r)[None]
    for steps in range(1, 6):
        model = Ridge(alpha=n * rho, fit_intercept=False)
        centres = []
        for j in range(2):
            model.fit(psi, y, sample_weight=r[:, j])
            centres.append(model.coef_)
        theta = np.stack(centres)
        residuals = y[:, None] - psi @ theta.T
        error = (r * residuals**2).sum() / n
        variance = error + rho * (theta**2).sum()

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


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), chunk=st.integers(1, 50))
def test_moments_are_sums_over_the_points(seed: int, n: int, chunk: int) -> None:
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((n, 3))
    y = rng.standard_normal(n)
    weights = rng.random((4, n))
    arrays = map(torch.from_numpy, (psi, y, weights))
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
    monkeypatch.setattr(em_module, "PRODUCTS_LIMIT", limit)
    rng = np.random.default_rng(n_clusters)
    psi = rng.standard_normal((30, 4))
    y = rng.standard_normal(30)
    concentration = np.full(n_clusters, 0.3)
    shares = rng.dirichlet(concentration, (6, 30))
    r = shares.transpose(0, 2, 1).copy()
    ones = np.ones_like(y)
    arrays = map(torch.from_numpy, (psi, y, ones))
    moments = ClusterMoments(*arrays)
    assert (moments.products is None) == (limit == 0)
    second, cross = moments.weighted(torch.from_numpy(r))
    expected_second = np.einsum("rjn,na,nc->rjac", r, psi, psi)
    expected_cross = np.einsum("rjn,na,n->rja", r, psi, y)
    assert_allclose(second, expected_second, atol=1e-12)
    assert_allclose(cross, expected_cross, atol=1e-12)
