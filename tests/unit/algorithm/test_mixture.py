"""EM of the mixture of regressions, against definitions and independent solvers.

The reference everywhere is L_c written with ``torch.distributions``, from the parameters
alone; the module under test writes it with log-sum-exp of its own.
"""

import math
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, Normal

from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.errors import KerhrmError


class Problem(NamedTuple):
    """One data set, R random soft starts, and the settings; psi (1, n, k)."""

    psi: Tensor
    y: Tensor
    start: Tensor
    ridge: float
    sigma: float | None

    @property
    def rho(self) -> float:
        """``ridge`` times the mean eigenvalue of Psi^T Psi / n."""
        psi = self.psi[0].numpy()
        return float(self.ridge * np.linalg.eigvalsh(psi.T @ psi / len(psi)).mean())

    def fit(self, **options: object) -> Mixture:
        return fit_mixture(
            self.psi, self.y, self.start, ridge=self.ridge, sigma=self.sigma,
            **options,  # type: ignore[arg-type]
        )  # fmt: skip


def problem(
    seed: int, n: int, k: int, n_clusters: int, ridge: float = 0.01, sigma: float | None = None
) -> Problem:
    """A noisy mixture of regressions, k features of unequal scale."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((1, n, k)) * rng.uniform(0.1, 10, k)
    centres = rng.standard_normal((n_clusters, k))
    y = (psi[0] * centres[rng.integers(n_clusters, size=n)]).sum(-1) + rng.normal(0, 0.3, n)
    start = rng.dirichlet(np.ones(n_clusters), (1, 2, n))
    psi, y, start = (torch.from_numpy(a) for a in (psi, y[None], start))
    return Problem(psi, y, start, ridge, sigma)


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
    mixing = Categorical(logits=weights.log().expand(len(y), -1))  # probs would be clamped
    density = MixtureSameFamily(mixing, centres)
    return -density.log_prob(y).mean() + rho / (2 * sigma**2) * (theta**2).sum()


@given(case=problems)
def test_every_step_lowers_the_objective_down_to_its_definition(case: Problem) -> None:
    fit = case.fit(max_iterations=40)
    steps = [case.fit(max_iterations=t) for t in range(1, int(fit.n_iterations.max()) + 1)]
    curves = torch.stack([step.objective[0] for step in steps])  # (steps, R), constant at the end
    assert float(curves.diff(dim=0).clamp_min(0).sum()) <= 1e-9 * (1 + float(curves.abs().max()))
    for r in range(2):
        last = int(fit.n_iterations[0, r])
        counts = [int(step.n_iterations[0, r]) for step in steps]
        assert counts == [min(t, last) for t in range(1, len(steps) + 1)]
        expected = literal_objective(
            fit.theta[0, r], fit.weights[0, r], fit.sigma[0, r], case.psi[0], case.y[0], case.rho
        )
        assert math.isclose(fit.objective[0, r], expected, rel_tol=1e-9, abs_tol=1e-9)
    if case.sigma is not None:
        assert bool((fit.sigma == case.sigma).all())


@pytest.mark.parametrize("sigma", [None, 0.5])
def test_one_m_step_minimises_the_expected_objective(sigma: float | None) -> None:
    case = problem(seed=3, n=30, k=3, n_clusters=2, ridge=0.05, sigma=sigma)
    psi, y, r = case.psi[0], case.y[0], case.start[0, 0]

    def unpack(w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        free = w[6].exp() if sigma is None else torch.tensor(sigma, dtype=w.dtype)
        return w[:6].reshape(2, 3), torch.softmax(w[7:], 0), free

    def expected_objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        leaf = torch.from_numpy(w).requires_grad_()
        theta, weights, scale = unpack(leaf)
        log_joint = weights.log() + Normal(psi @ theta.T, scale).log_prob(y[:, None])
        value = -(r * log_joint).sum(-1).mean() + case.rho / (2 * scale**2) * (theta**2).sum()
        value.backward()
        assert leaf.grad is not None
        return value.item(), leaf.grad.numpy()

    found = scipy.optimize.minimize(
        expected_objective, np.zeros(9), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    theta, weights, scale = unpack(torch.from_numpy(found.x))
    step = case.fit(max_iterations=1)
    torch.testing.assert_close(step.theta[0, 0], theta, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(step.weights[0, 0], weights, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(step.sigma[0, 0], scale, rtol=1e-5, atol=1e-6)
    assert not bool(step.converged.any())


@pytest.mark.parametrize("sigma", [None, 0.3])
def test_the_gradient_vanishes_at_the_fit(sigma: float | None) -> None:
    case = problem(seed=5, n=200, k=3, n_clusters=3, sigma=sigma)
    fit = case.fit(max_iterations=5000, tolerance=1e-15)
    assert bool(fit.converged.all())
    for r in range(2):
        theta = fit.theta[0, r].clone().requires_grad_()
        log_sigma = fit.sigma[0, r].log().requires_grad_()
        logits = fit.weights[0, r].log().requires_grad_()  # the simplex without its edges
        objective = literal_objective(
            theta, torch.softmax(logits, 0), log_sigma.exp(), case.psi[0], case.y[0], case.rho
        )
        parameters = [theta, logits] + ([log_sigma] if sigma is None else [])
        for gradient in torch.autograd.grad(objective, parameters):
            assert float(gradient.abs().max()) < 1e-6


@given(case=problems)
def test_primal_ridge_is_kernel_ridge_regression(case: Problem) -> None:
    """Theta_j = Psi^T (R_j kappa_c + n rho I)^-1 R_j y, kappa_c = Psi Psi^T."""
    psi, y = case.psi[0].numpy(), case.y[0].numpy()
    step = case.fit(max_iterations=1)
    for r, weights in enumerate(case.start[0].numpy()):
        for j, r_j in enumerate(weights.T):
            system = r_j[:, None] * (psi @ psi.T) + len(y) * case.rho * np.eye(len(y))
            dual = np.linalg.solve(system, r_j * y)
            np.testing.assert_allclose(
                psi @ step.theta[0, r, j].numpy(), psi @ psi.T @ dual, rtol=1e-6, atol=1e-6
            )


@given(case=problems)
def test_responsibilities_are_bayes_rule(case: Problem) -> None:
    fit = case.fit(max_iterations=3).take([0], [1])
    got = fit.responsibilities(case.psi, case.y)[0].numpy()
    density = scipy.stats.norm.pdf(
        case.y[0].numpy()[:, None], case.psi[0].numpy() @ fit.theta[0].numpy().T, fit.sigma.item()
    )
    joint = fit.weights[0].numpy() * density
    likelihood = joint.sum(-1)
    np.testing.assert_allclose(got.sum(-1), 1, rtol=1e-12)
    seen = likelihood > 1e-250  # elsewhere the brute force underflows
    np.testing.assert_allclose(got[seen], joint[seen] / likelihood[seen, None], atol=1e-9)
    if seen.all():
        mean = float(fit.log_likelihood(case.psi, case.y))
        assert math.isclose(mean, np.log(likelihood).mean(), rel_tol=1e-9, abs_tol=1e-9)


def test_one_cluster_is_ridge_regression() -> None:
    case = problem(seed=0, n=50, k=4, n_clusters=1, ridge=0.1)
    psi, y = case.psi[0].numpy(), case.y[0].numpy()
    fit = case.fit()
    ridge = Ridge(alpha=len(y) * case.rho, fit_intercept=False).fit(psi, y)
    np.testing.assert_allclose(fit.theta[0, 0, 0], ridge.coef_, rtol=1e-9)
    variance = np.mean((y - ridge.predict(psi)) ** 2) + case.rho * np.sum(ridge.coef_**2)
    np.testing.assert_allclose(fit.sigma[0, 0], variance**0.5, rtol=1e-9)
    assert fit.weights.flatten().tolist() == [1.0, 1.0]
    assert fit.n_iterations.flatten().tolist() == [2, 2]


def test_finds_the_points_where_a_spurious_feature_agrees_with_the_label() -> None:
    n = 400
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], n)
    agrees = rng.random(n) < 0.7
    spurious = np.where(agrees, y, -y) * 2 + 0.2 * rng.standard_normal(n)
    psi = torch.from_numpy(np.stack([spurious, rng.standard_normal(n)], -1))[None]
    labels = torch.from_numpy(y)[None]
    starts = random_starts([0], 5, n, 2)
    fits = fit_mixture(psi, labels, starts, ridge=1e-3)
    fit = fits.take(torch.arange(len(starts)), fits.objective.argmin(-1))
    first = int(fit.weights[0].argmax())
    found = fit.responsibilities(psi, labels)[0, :, first] > 0.5
    assert np.mean(found.numpy() == agrees) > 0.99
    expected = torch.tensor([[0.5, 0.0], [-0.5, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(fit.theta[0, [first, 1 - first]], expected, rtol=0, atol=0.05)
    assert math.isclose(fit.weights[0, first], agrees.mean(), abs_tol=0.01)


def test_names_of_the_clusters_mean_nothing() -> None:
    case = problem(seed=2, n=40, k=3, n_clusters=3)
    fit = case.fit(max_iterations=20)
    for order in map(list, permutations(range(3))):
        other = case._replace(start=case.start[..., order]).fit(max_iterations=20)
        torch.testing.assert_close(other.theta, fit.theta[:, :, order], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(other.weights, fit.weights[:, :, order], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(other.objective, fit.objective, rtol=1e-10, atol=1e-10)


def test_a_batch_is_its_runs_one_by_one() -> None:
    cases = [problem(seed, n=60, k=3, n_clusters=2) for seed in range(3)]
    psi, y, start = (torch.cat([c[i] for c in cases]) for i in range(3))
    ridges = torch.tensor([0.01, 1.0], dtype=torch.float64)  # one a restart
    batch = fit_mixture(psi, y, start, ridge=ridges, max_iterations=50)
    assert len(batch.n_iterations.unique()) > 1  # restarts leave the batch at different steps
    for b, case in enumerate(cases):
        for r, ridge in enumerate(ridges.tolist()):
            alone = fit_mixture(
                case.psi, case.y, case.start[:, r : r + 1], ridge=ridge, max_iterations=50
            )
            picked = batch.take(slice(None), r)
            for name in Mixture.names():
                torch.testing.assert_close(
                    getattr(picked, name)[b], getattr(alone, name)[0, 0], rtol=1e-9, atol=1e-9
                )


@pytest.mark.parametrize("sigma", [None, 1e-3])
def test_outliers_and_empty_clusters_leave_no_nan(sigma: float | None) -> None:
    case = problem(seed=1, n=20, k=2, n_clusters=3, sigma=sigma)
    y = case.y.clone()
    y[0, 4] = 1e6
    start = case.start.clone()
    start[:, 0] = torch.tensor([1.0, 0.0, 0.0])  # nobody in two of the three clusters
    fit = case._replace(y=y, start=start).fit()
    for name in Mixture.names():
        assert bool(torch.isfinite(getattr(fit, name)).all()), name
    assert fit.weights[0, 0].tolist() == [1.0, 0.0, 0.0]  # an outlier fills no empty cluster
    shares = fit.responsibilities(case.psi[:, None], y[:, None])
    torch.testing.assert_close(shares.sum(-1), torch.ones_like(shares[..., 0]))
    assert bool(torch.isfinite(fit.log_likelihood(case.psi[:, None], y[:, None])).all())


def test_sigma_stays_positive_on_an_exact_fit() -> None:
    case = problem(seed=0, n=20, k=2, n_clusters=1, ridge=1e-30)
    y = case.psi @ torch.tensor([2.0, -1.0], dtype=torch.float64)
    fit = case._replace(y=y).fit()
    torch.testing.assert_close(fit.sigma, 1e-6 * y.std().expand(1, 2))
    assert bool(torch.isfinite(fit.objective).all())


def test_stopping_early_is_told() -> None:
    case = problem(seed=0, n=30, k=2, n_clusters=2)
    first = case.fit(max_iterations=1)
    assert not bool(first.converged.any())
    assert first.n_iterations.flatten().tolist() == [1, 1]
    last = case.fit(max_iterations=5000)
    assert bool(last.converged.all())
    again = case.fit(max_iterations=int(last.n_iterations.max()))
    assert bool(again.converged.all())


@pytest.mark.parametrize(
    ("n_clusters", "ridge", "message"),
    [(6, 0.1, "K=6 clusters exceed n=5 training points; lower K"), (2, 0.0, "ridge=0.0 must be")],
)
def test_impossible_settings_are_refused(n_clusters: int, ridge: float, message: str) -> None:
    case = problem(seed=0, n=5, k=2, n_clusters=n_clusters, ridge=ridge)
    with pytest.raises(KerhrmError, match=message):
        case.fit()


def test_random_starts_are_hard_and_belong_to_their_seed() -> None:
    starts = random_starts([4, 9], 3, 50, 4, "k=15")
    assert starts.shape == (2, 3, 50, 4)
    assert bool((starts.sum(-1) == 1).all() and (starts.amax(-1) == 1).all())
    assert torch.equal(starts[1:], random_starts([9], 3, 50, 4, "k=15"))
    assert not torch.equal(starts[0], starts[1])
    assert not torch.equal(starts[0, 0], starts[0, 1])
    assert not torch.equal(starts, random_starts([4, 9], 3, 50, 4, "k=20"))
