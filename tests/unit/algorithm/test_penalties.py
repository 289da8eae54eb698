"""The contract of every registered penalty, and the paper's against autograd."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import PENALTIES, GradientVariance, Penalty, Risks, solve
from kerhrm.errors import KerhrmError

N, K = 40, 3
QUADRATIC = [name for name in PENALTIES if issubclass(PENALTIES[name], GradientVariance)]


class Data(NamedTuple):
    """psi (n, k), y (n,), soft environments (n, E)."""

    psi: Tensor
    y: Tensor
    r: Tensor

    def risks(self, rho: float = 0.05) -> Risks:
        risks = environment_risks(*self, by_size=True)
        return replace(risks, rho=torch.tensor(rho).double())


def data(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((N, K)) * rng.uniform(0.3, 3, K)
    r = rng.dirichlet([0.5, 1.0, 1.5], N)
    y = (r @ rng.standard_normal((3, K)) * psi).sum(-1) + rng.standard_normal(N)
    return Data(*(torch.from_numpy(a) for a in (psi, y, r)))


@pytest.fixture(params=PENALTIES)
def penalty(request: pytest.FixtureRequest) -> Penalty:
    made: Penalty = PENALTIES[request.param]()
    return made


@given(seed=st.integers(0, 10**6), name=st.sampled_from(QUADRATIC))
def test_the_value_is_the_quadratic_form_plus_a_constant(seed: int, name: str) -> None:
    penalty, risks = PENALTIES[name](), data(seed).risks()
    matrix, vector = penalty.quadratic(risks)
    thetas = torch.from_numpy(np.random.default_rng(seed).standard_normal((6, K)))
    constants = [penalty.value(risks, t) - t @ matrix @ t + 2 * vector @ t for t in thetas]
    torch.testing.assert_close(torch.stack(constants), constants[0].expand(6))
    torch.testing.assert_close(matrix, matrix.mT)
    assert float(torch.linalg.eigvalsh(matrix)[0]) > -1e-9 * float(matrix.abs().max())
    assert all(float(penalty.value(risks, t)) >= 0 for t in thetas)


@given(seed=st.integers(0, 10**6))
def test_the_printed_penalty_is_the_variance_of_autograds_gradients(seed: int) -> None:
    d, theta = data(seed), torch.randn(K, dtype=torch.float64, requires_grad=True)
    shares = d.r / d.r.sum(0)
    risks = [(shares[:, e] * (d.psi @ theta - d.y) ** 2).sum() for e in range(3)]
    gradients = torch.stack([torch.autograd.grad(risk, theta)[0] for risk in risks])
    weights = d.r.mean(0)
    expected = (weights @ gradients**2 - (weights @ gradients) ** 2).sum()
    got = PENALTIES["gradient_variance"]().value(d.risks(), theta.detach())
    torch.testing.assert_close(got, expected)


@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.1, 10.0, 240.0]))
def test_scale_gradients_are_those_of_a_factor_before_the_prediction(
    seed: int, alpha: float
) -> None:
    d, penalty = data(seed), PENALTIES["scale_gradient_variance"]()
    risks, weights = d.risks(), d.r.mean(0)

    def literal(theta: Tensor) -> tuple[Tensor, Tensor]:
        """Pooled risk, and the variance of what autograd says of the factor."""
        scale = torch.ones((), dtype=torch.float64, requires_grad=True)
        losses = (d.r / d.r.sum(0)).T @ (scale * (d.psi @ theta) - d.y) ** 2
        slopes = torch.stack(
            [torch.autograd.grad(loss, scale, create_graph=True)[0] for loss in losses]
        )
        variance = weights @ slopes**2 - (weights @ slopes) ** 2
        return weights @ losses + risks.rho * theta @ theta, variance

    anywhere = torch.randn(K, dtype=torch.float64)
    torch.testing.assert_close(penalty.value(risks, anywhere), literal(anywhere)[1])
    start = penalty.minimise(risks, 0.0)
    theta = penalty.minimise(risks, alpha).requires_grad_()
    risk, variance = literal(theta)
    (slope,) = torch.autograd.grad(risk + alpha * variance, theta)
    assert float(slope.abs().max()) < 1e-6 * float(risks.cross.abs().max())
    before = literal(start)
    assert bool(risk + alpha * variance <= before[0] + alpha * before[1] + 1e-9)


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_the_closed_form_is_an_optimisers_argmin(penalty: Penalty, alpha: float) -> None:
    d, ridge = data(5), 0.01
    rho = ridge * float((d.psi**2).sum()) / (N * K)
    risks, weights = d.risks(rho), d.r.mean(0)

    def objective(values: np.ndarray) -> float:
        theta = torch.from_numpy(values)
        errors = (d.r / d.r.sum(0)).T @ (d.psi @ theta - d.y) ** 2
        return float(weights @ errors + alpha * penalty.value(risks, theta) + rho * theta @ theta)

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000}
    start = np.zeros(K)
    found = scipy.optimize.minimize(objective, start, method="Nelder-Mead", options=options)
    got = penalty.minimise(environment_risks(*d, ridge=ridge, by_size=True), alpha)
    np.testing.assert_allclose(got, found.x, rtol=1e-4, atol=1e-5)


def test_units_make_alpha_free_of_the_scale_of_psi(penalty: Penalty) -> None:
    d = data(1)
    for scale in (1e-3, 1e3):
        scaled = d._replace(psi=scale * d.psi)
        thetas = [
            penalty.minimise(environment_risks(*e), 0.7 * float(penalty.unit(e.psi)))
            for e in (d, scaled)
        ]
        torch.testing.assert_close(scale * thetas[1], thetas[0])


def test_an_unknown_penalty_is_refused() -> None:
    with pytest.raises(KerhrmError, match=r"penalty='gradient_varianc'.*did you mean 'gradient"):
        KerHRMOptions.parse({"penalty": "gradient_varianc"})


def system(condition: float, k: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """A of that condition number (2-norm), b and the solution."""
    rng = np.random.default_rng(0)
    q = np.linalg.qr(rng.standard_normal((k, k)))[0]
    matrix = q * np.geomspace(1, 1 / condition, k) @ q.T
    x = rng.standard_normal(k)
    right = (matrix.astype(np.longdouble) @ x).astype(float)
    return torch.from_numpy(matrix), torch.from_numpy(right), torch.from_numpy(x)


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8, 1e14])
def test_the_error_is_the_condition_times_rounding(
    condition: float, caplog: pytest.LogCaptureFixture
) -> None:
    matrix, right, x = system(condition)
    error = (solve(matrix, right) - x).norm() / x.norm()
    assert float(error) <= 20 * condition * torch.finfo(torch.float64).eps
    assert len(caplog.records) == (condition > 1e12)
