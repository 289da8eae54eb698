"""Regressions of large mixtures by conjugate gradients, against direct solutions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm import conjugate_gradients as module
from kerhrm.algorithm import em as em_module
from kerhrm.algorithm.conjugate_gradients import ConjugateGradients
from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.regressions import is_large


def drawn(seed: int, n: int, k: int, n_systems: int) -> tuple[Tensor, ...]:
    """Points, weights of them in each system, some of which are 0, and penalties."""
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.01, 10, k)
    psi = rng.standard_normal((n, k)) * scales
    y = rng.standard_normal(n)
    uniform = rng.random((n_systems, n))
    present = rng.random((n_systems, n)) < 0.8
    r = uniform * present
    penalty = rng.uniform(0.01, 1, n_systems)
    arrays = (psi, y, r, penalty)
    return tuple(map(torch.from_numpy, arrays))


def solved(psi: Tensor, y: Tensor, r: Tensor, penalty: Tensor) -> Tensor:
    """(Psi^T R_j Psi + penalty_j I)^-1 Psi^T R_j y, by a direct solver."""
    identity = torch.eye(psi.shape[1]).double()
    rows = []
    for weights, ridge in zip(r, penalty, strict=True):
        second = psi.T @ torch.diag(weights) @ psi
        rows.append(
            torch.linalg.solve(second + ridge * identity, psi.T @ (weights * y))
        )
    return torch.stack(rows)


def searched(
    regressions: ConjugateGradients, r: Tensor, penalty: Tensor, near: Tensor
) -> Tensor:
    """Coefficients (J, k) of as many mixtures of one cluster."""
    theta, singular = regressions.solve(r[:, None], penalty, near[:, None])
    assert not bool(singular)
    return theta[:, 0]


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    k=st.integers(1, 6),
    n_systems=st.integers(1, 5),
)
def test_coefficients_are_those_of_a_direct_solver(
    seed: int, n: int, k: int, n_systems: int
) -> None:
    psi, y, r, penalty = drawn(seed, n, k, n_systems)
    r[0] = 0.0  # an empty cluster
    regressions = ConjugateGradients(psi, y, torch.ones(n).double(), tolerance=1e-20)
    expected = solved(psi, y, r, penalty)
    for start in (torch.zeros(n_systems, k), torch.ones(n_systems, k)):
        theta = searched(regressions, r, penalty, start.double())
        assert_close(theta, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_what_is_missing_is_of_the_order_of_the_tolerance(tolerance: float) -> None:
    n = 2000
    psi, y, r, penalty = drawn(1, n, 30, 8)
    regressions = ConjugateGradients(
        psi, y, torch.ones(n).double(), tolerance=tolerance
    )
    expected = solved(psi, y, r, penalty)
    theta = searched(regressions, r, penalty, torch.zeros_like(expected))
    missing = loss(psi, y, r, penalty, theta) - loss(psi, y, r, penalty, expected)
    assert bool((missing < 2 * tolerance).all())
    assert bool((missing > 0).all())


def test_a_cluster_of_small_points_beside_outliers_is_solved() -> None:
    """The preconditioner is of all points, and poor for this cluster."""
    generator = torch.Generator().manual_seed(1)
    n, k = 600, 30
    psi = torch.randn(n, k, generator=generator).double()
    is_outlier = torch.rand(n, generator=generator) < 0.1
    psi[is_outlier] *= 100
    noise = torch.randn(n, generator=generator).double()
    y = torch.where(is_outlier, noise, psi[:, 0] + noise)
    r = torch.stack([is_outlier, ~is_outlier]).double()
    penalty = (1e-3 * n * (psi**2).mean()).expand(2)
    regressions = ConjugateGradients(psi, y, torch.ones(n).double(), tolerance=1e-7)
    theta = searched(regressions, r, penalty, torch.zeros(2, k).double())
    expected = solved(psi, y, r, penalty)
    missing = loss(psi, y, r, penalty, theta) - loss(psi, y, r, penalty, expected)
    assert bool((missing < 1e-6).all())


def test_a_small_fixed_noise_is_solved_more_closely() -> None:
    psi, y, r, penalty = drawn(2, 500, 20, 2)
    expected = solved(psi, y, r, penalty)
    start = torch.zeros_like(expected)
    ones = torch.ones(500).double()
    lacking = []
    for noise_sd in (10.0, 1e-3):
        regressions = ConjugateGradients(
            psi, y, ones, tolerance=1e-4, noise_sd=noise_sd
        )
        theta = searched(regressions, r, penalty, start)
        missing = loss(psi, y, r, penalty, theta) - loss(psi, y, r, penalty, expected)
        lacking.append(float(missing.max()))
    coarse, fine = lacking
    assert fine < coarse / 100


def test_an_empty_cluster_has_no_coefficients() -> None:
    psi, y, r, penalty = drawn(3, 40, 5, 2)
    r[0] = 0.0
    regressions = ConjugateGradients(psi, y, torch.ones(40).double(), tolerance=1e-7)
    theta = searched(regressions, r, penalty, torch.ones(2, 5).double())
    assert torch.equal(theta[0], torch.zeros(5).double())


def test_what_needs_many_steps_is_solved_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LEAST_STEPS", 2)
    psi, y, r, penalty = drawn(4, 60, 8, 3)
    regressions = ConjugateGradients(psi, y, torch.ones(60).double(), tolerance=1e-20)
    expected = solved(psi, y, r, penalty)
    theta = searched(regressions, r, penalty, torch.zeros_like(expected))
    assert_close(theta, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("broken", ["copy", "nan"])
def test_singular_systems_are_refused(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(em_module, "is_large", lambda psi: True)
    psi, y, start = turned(200, 4)
    ridge = 1e-2
    if broken == "copy":
        psi[:, 1] = psi[:, 0]
        ridge = 1e-100
    else:
        y[0] = torch.nan
    with pytest.raises(torch.linalg.LinAlgError, match="singular systems"):
        fit_mixture(psi, y, start, ridge=ridge)


def loss(psi: Tensor, y: Tensor, r: Tensor, penalty: Tensor, theta: Tensor) -> Tensor:
    """Penalised negative log-likelihood of each system in nats per point, up to a
    constant, of noise as large as the labels'."""
    squares = (y - theta @ psi.T) ** 2
    mean_square = (r * y**2).sum(-1) / r.sum(-1)
    total = (r * squares).sum(-1) + penalty * (theta**2).sum(-1)
    return total / (2 * len(y) * mean_square)


def turned(n: int, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points whose first slope has another sign in a third; soft starts."""
    rng = np.random.default_rng(0)
    psi = rng.standard_normal((n, k))
    signs = np.where(rng.random(n) < 1 / 3, -1.0, 1.0)
    y = 2 * signs * psi[:, 0] + 0.2 * rng.standard_normal(n)
    start = rng.dirichlet(np.ones(2), (4, n))
    arrays = (psi, y, start)
    psi_drawn, y_drawn, start_drawn = map(torch.from_numpy, arrays)
    return psi_drawn, y_drawn, start_drawn


def mixtures(em: EM) -> Mixture:
    psi, y, start = turned(600, 12)
    ridges = torch.tensor([1e-3, 1e-3, 1e-1, 1e-1]).double()
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
def test_the_objective_never_rises(hard: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(em_module, "is_large", lambda psi: True)
    steps = []
    for n_steps in range(1, 15):
        em = EM(tol=1e-300, max_iter=n_steps, hard=hard)
        steps.append(mixtures(em).objective)
    fall = -torch.stack(steps).diff(dim=0)
    assert bool((fall > -1e-12).all())


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
