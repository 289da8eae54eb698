"""EM of the mixture of regressions, against definitions and independent solvers.

The reference everywhere is L_c written with ``torch.distributions``, from the
parameters alone; the module under test writes it with log-sum-exp of its own.
"""

import math
from dataclasses import fields
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from refusals import refusal
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.testing import assert_close

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.starts import random_starts

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
        return fit_mixture(
            self.psi,
            self.y,
            self.start,
            ridge=self.ridge,
            em=em,
        )


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
    slopes = centres[cluster]
    signal = (psi * slopes).sum(-1)
    y = signal + rng.normal(0, 0.3, n)
    concentration = np.ones(n_clusters)
    start = rng.dirichlet(concentration, (2, n))
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
    log_weights = weights.log()
    logits = log_weights.expand(len(y), -1)
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
    objectives = [step.objective for step in steps]
    curves = torch.stack(objectives)
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
        expected = literal_objective(
            theta,
            weights,
            sigma,
            case.psi,
            case.y,
            case.rho,
        )
        objective = float(fit.objective[r])
        assert math.isclose(objective, expected, rel_tol=1e-9, abs_tol=1e-9)
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
        scale = torch.tensor(sigma, dtype=w.dtype)
        return theta, weights, scale

    def expected_objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        leaf = torch.from_numpy(w).requires_grad_()
        theta, weights, scale = unpack(leaf)
        density = Normal(psi @ theta.T, scale)
        log_density = density.log_prob(y[:, None])
        log_joint = weights.log() + log_density
        expected_log = (r * log_joint).sum(-1)
        likelihood = expected_log.mean()
        squared_length = (theta**2).sum()
        precision = 1 / scale**2
        penalty = case.rho / 2 * precision * squared_length
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
    minimum = torch.from_numpy(found.x)
    theta, weights, scale = unpack(minimum)
    step = case.fit(max_iter=1)
    theta_of_step = step.theta[0]
    weights_of_step = step.weights[0]
    sigma_of_step = step.sigma[0, 0]
    assert_close(theta_of_step, theta, rtol=1e-5, atol=1e-6)
    assert_close(weights_of_step, weights, rtol=1e-5, atol=1e-6)
    assert_close(sigma_of_step, scale, rtol=1e-5, atol=1e-6)
    assert not step.converged.any()


@given(case=problems)
def test_responsibilities_are_bayes_rule(case: Problem) -> None:
    fits = case.fit(max_iter=3)
    fit = fits.take(1)
    responsibilities = fit.responsibilities(case.psi, case.y)
    got = responsibilities.numpy()
    psi = case.psi.numpy()
    y = case.y.numpy()
    theta = fit.theta.numpy()
    sigma = float(fit.sigma[0])
    centres = psi @ theta.T
    labels = y[:, None]
    density = scipy.stats.norm.pdf(labels, centres, sigma)
    joint = fit.weights.numpy() * density
    likelihood = joint.sum(-1)
    total = got.sum(-1)
    assert_allclose(total, 1, rtol=1e-12)
    seen = likelihood > 1e-250  # elsewhere the brute force underflows
    expected = joint[seen] / likelihood[seen, None]
    assert_allclose(got[seen], expected, atol=1e-9)
    if seen.all():
        log_likelihood = fit.log_likelihood(case.psi, case.y)
        mean = float(log_likelihood)
        expected_mean = np.log(likelihood).mean()
        assert math.isclose(mean, expected_mean, rel_tol=1e-9, abs_tol=1e-9)


def test_names_of_the_clusters_mean_nothing() -> None:
    case = problem(seed=2, n=40, k=3, n_clusters=3)
    fit = case.fit(max_iter=20)
    for numbers in permutations(range(3)):
        order = list(numbers)
        start = case.start[..., order]
        renamed = case._replace(start=start)
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
    psi = case.psi
    y = case.y
    batch = fit_mixture(psi, y, case.start, ridge=ridges, em=em)
    # starts leave the batch at different steps
    assert len(batch.n_iterations.unique()) > 1
    for r, ridge in enumerate(ridges.tolist()):
        start = case.start[r : r + 1]
        alone = fit_mixture(psi, y, start, ridge=ridge, em=em)
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
    of_first_start = fit.weights[0]
    assert of_first_start.tolist() == [1.0, 0.0, 0.0]
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


def test_a_single_point_has_a_mixture() -> None:
    """Ridge regression of one point, y psi / (psi^2 + ridge)."""
    psi = torch.tensor([[2.0]]).double()
    y = torch.tensor([3.0]).double()
    start = torch.ones(1, 1, 1).double()
    fitted = fit_mixture(psi, y, start, ridge=0.25)
    rho = 0.25 * 4
    slope = 3 * 2 / (4 + rho)
    expected = torch.full((1, 1, 1), slope).double()
    assert_close(fitted.theta, expected)
    squared_error = (3 - 2 * slope) ** 2
    variance = squared_error + rho * slope**2
    sigma = torch.full((1, 1), variance**0.5).double()
    assert_close(fitted.sigma, sigma)
    assert fitted.converged.all()


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
    with refusal(message):
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


def test_a_singular_system_is_an_error_and_no_result() -> None:
    """Two equal features, and a ridge that rounding loses."""
    psi = torch.ones(6, 2).double()
    y = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0, -1.0]).double()
    start = random_starts(0, 3, 6, 2, "singular")
    with refusal("clustering's equations are singular; raise clustering_ridge"):
        fit_mixture(psi, y, start, ridge=1e-300)
    tiny_noise = EM(noise_sd=1e-200)
    with refusal("clustering's equations are singular; raise noise_sd"):
        fit_mixture(psi, y, start, ridge=1e-300, em=tiny_noise)
