"""Regressions of large mixtures by conjugate gradients, against direct solutions."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm import conjugate_gradients as module
from kerhrm.algorithm import em as em_module
from kerhrm.algorithm.conjugate_gradients import ConjugateGradients
from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.regressions import is_large


class Systems(NamedTuple):
    """J systems: points (n, k), labels (n,), weights (J, n) and penalties (J,)."""

    psi: Tensor
    y: Tensor
    r: Tensor
    penalty: Tensor

    def solution(self) -> Tensor:
        """(Psi^T R_j Psi + penalty_j I)^-1 Psi^T R_j y, by a direct solver."""
        rows = []
        for weights, penalty in zip(self.r, self.penalty, strict=True):
            weighted = weights[:, None] * self.psi
            second = weighted.T @ self.psi
            second.diagonal().add_(penalty)
            cross = weighted.T @ self.y
            rows.append(torch.linalg.solve(second, cross))
        return torch.stack(rows)

    def search(
        self, near: Tensor, tolerance: float, noise_sd: float | None = None
    ) -> Tensor:
        """Coefficients (J, k) of as many mixtures of one cluster."""
        counts = torch.ones_like(self.y)
        regressions = ConjugateGradients(
            self.psi, self.y, counts, tolerance=tolerance, noise_sd=noise_sd
        )
        of_mixtures = self.r[:, None]
        begin = near[:, None]
        theta, singular = regressions.solve(of_mixtures, self.penalty, begin)
        assert not bool(singular)
        return theta[:, 0]

    def loss(self, theta: Tensor) -> Tensor:
        """Penalised negative log-likelihood of each system in nats per point, up to a
        constant, of noise as large as the labels'."""
        residuals = self.y - theta @ self.psi.T
        errors = (self.r * residuals**2).sum(-1)
        length2 = (theta**2).sum(-1)
        total = errors + self.penalty * length2
        squares = (self.r * self.y**2).sum(-1)
        mean_square = squares / self.r.sum(-1)
        return total / (2 * len(self.y) * mean_square)

    def lacking(self, theta: Tensor) -> Tensor:
        """What coefficients lack of the solution, in nats per point: (J,)."""
        return self.loss(theta) - self.loss(self.solution())


def drawn(seed: int, n: int, k: int, n_systems: int) -> Systems:
    """Points of unequal scales, of which a fifth has no weight in each system."""
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.01, 10, k)
    psi = rng.standard_normal((n, k)) * scales
    y = rng.standard_normal(n)
    uniform = rng.random((n_systems, n))
    present = rng.random((n_systems, n)) < 0.8
    penalty = rng.uniform(0.01, 1, n_systems)
    r = uniform * present
    return Systems(
        psi=torch.from_numpy(psi),
        y=torch.from_numpy(y),
        r=torch.from_numpy(r),
        penalty=torch.from_numpy(penalty),
    )


def zeros(systems: Systems) -> Tensor:
    """Coefficients (J, k) to begin with."""
    n_systems = len(systems.r)
    _, k = systems.psi.shape
    return systems.psi.new_zeros(n_systems, k)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    k=st.integers(1, 6),
    n_systems=st.integers(1, 5),
    start=st.sampled_from([0.0, 1.0]),
)
def test_coefficients_are_those_of_a_direct_solver(
    seed: int, n: int, k: int, n_systems: int, start: float
) -> None:
    systems = drawn(seed, n, k, n_systems)
    systems.r[0] = 0.0  # an empty cluster
    near = zeros(systems) + start
    theta = systems.search(near, tolerance=1e-20)
    assert_close(theta, systems.solution(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_what_is_missing_is_of_the_order_of_the_tolerance(tolerance: float) -> None:
    systems = drawn(1, 2000, 30, 8)
    theta = systems.search(zeros(systems), tolerance)
    lacking = systems.lacking(theta)
    assert float(lacking.max()) < 2 * tolerance
    assert float(lacking.min()) > 0


def test_a_cluster_of_small_points_beside_outliers_is_solved() -> None:
    """The preconditioner is of all points, and poor for this cluster."""
    rng = np.random.default_rng(1)
    psi = rng.standard_normal((600, 30))
    is_outlier = rng.random(600) < 0.1
    psi[is_outlier] *= 100
    noise = rng.standard_normal(600)
    y = np.where(is_outlier, noise, psi[:, 0] + noise)
    members = np.stack([is_outlier, ~is_outlier])
    mean_square = (psi**2).mean()
    penalty = np.full(2, 0.6 * mean_square)
    systems = Systems(
        psi=torch.from_numpy(psi),
        y=torch.from_numpy(y),
        r=torch.from_numpy(members).double(),
        penalty=torch.from_numpy(penalty),
    )
    theta = systems.search(zeros(systems), tolerance=1e-7)
    assert float(systems.lacking(theta).max()) < 1e-6


def test_a_small_fixed_noise_is_solved_more_closely() -> None:
    systems = drawn(2, 500, 20, 2)
    begin = zeros(systems)
    coarse = systems.search(begin, tolerance=1e-4, noise_sd=10.0)
    fine = systems.search(begin, tolerance=1e-4, noise_sd=1e-3)
    lacks_more = float(systems.lacking(coarse).max())
    assert float(systems.lacking(fine).max()) < lacks_more / 100


def test_an_empty_cluster_has_no_coefficients() -> None:
    systems = drawn(3, 40, 5, 2)
    systems.r[0] = 0.0
    near = zeros(systems) + 1
    theta = systems.search(near, tolerance=1e-7)
    assert not theta[0].any()


def test_what_needs_many_steps_is_solved_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LEAST_STEPS", 2)
    systems = drawn(4, 60, 8, 3)
    theta = systems.search(zeros(systems), tolerance=1e-20)
    assert_close(theta, systems.solution(), rtol=1e-8, atol=1e-10)


def turned(n: int, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points whose first slope has another sign in a third; soft starts."""
    rng = np.random.default_rng(0)
    psi = rng.standard_normal((n, k))
    is_turned = rng.random(n) < 1 / 3
    slope = np.where(is_turned, -2.0, 2.0)
    noise = rng.standard_normal(n)
    y = slope * psi[:, 0] + 0.2 * noise
    concentration = np.ones(2)
    start = rng.dirichlet(concentration, (4, n))
    arrays = (psi, y, start)
    psi_drawn, y_drawn, start_drawn = map(torch.from_numpy, arrays)
    return psi_drawn, y_drawn, start_drawn


@pytest.fixture
def iterative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every system counts as large."""
    monkeypatch.setattr(em_module, "is_large", lambda psi: True)


@pytest.mark.usefixtures("iterative")
def test_copies_of_a_column_without_a_ridge_are_singular() -> None:
    psi, y, start = turned(200, 4)
    psi[:, 1] = psi[:, 0]
    with refusal("clustering's equations are singular; raise clustering_ridge"):
        fit_mixture(psi, y, start, ridge=1e-100)


@pytest.mark.usefixtures("iterative")
def test_a_label_that_is_missing_is_no_solution() -> None:
    psi, y, start = turned(200, 4)
    y[0] = torch.nan
    with refusal("clustering's equations are singular; raise clustering_ridge"):
        fit_mixture(psi, y, start, ridge=1e-2)


def mixtures(em: EM) -> Mixture:
    psi, y, start = turned(600, 12)
    ridges = psi.new_tensor([1e-3, 1e-3, 1e-1, 1e-1])
    return fit_mixture(psi, y, start, ridge=ridges, em=em)


@pytest.mark.parametrize("options", [{}, {"per_cluster": True}])
def test_mixtures_are_those_of_the_moments(
    options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    em = EM(**options)  # type: ignore[arg-type]
    expected = mixtures(em)
    monkeypatch.setattr(em_module, "is_large", lambda psi: True)
    fitted = mixtures(em)
    assert_close(fitted.objective, expected.objective, rtol=0, atol=1e-6)
    assert_close(fitted.theta, expected.theta, rtol=0, atol=1e-3)
    assert_close(fitted.weights, expected.weights, rtol=0, atol=1e-4)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.usefixtures("iterative")
def test_the_objective_never_rises(hard: bool) -> None:
    steps = []
    for n_steps in range(1, 15):
        em = EM(tol=1e-300, max_iter=n_steps, hard=hard)
        steps.append(mixtures(em).objective)
    rise = torch.stack(steps).diff(dim=0)
    assert float(rise.max()) < 1e-12


@pytest.mark.parametrize(
    ("shape", "large"),
    [
        ((50_000, 1000), True),
        ((50_000, 300), True),
        ((5000, 300), False),
        ((1_000_000, 100), False),
        ((2, 50_000, 300), False),
    ],
)
def test_large_systems_alone_are_solved_so(shape: tuple[int, ...], large: bool) -> None:
    psi = torch.empty(shape, device="meta")
    assert is_large(psi) is large
