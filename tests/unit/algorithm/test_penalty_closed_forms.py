"""Closed forms of the penalties against their literal objectives and their limits."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from soft_environments import Data, data
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.penalties import (
    PENALTIES,
    GradientVariance,
    Penalty,
    WhitenedGradientVariance,
    solve,
)

METRICS = {False: GradientVariance(), True: WhitenedGradientVariance()}


@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.1, 10.0, 240.0]))
def test_scale_gradients_are_those_of_a_factor_before_the_prediction(
    seed: int, alpha: float
) -> None:
    d = data(seed)
    penalty = PENALTIES["scale_gradient_variance"]()
    risks = d.risks()
    weights = d.r.mean(0)

    def literal(theta: Tensor) -> tuple[Tensor, Tensor]:
        """Pooled risk, and the variance of what autograd says of the factor."""
        scale = torch.ones((), dtype=torch.float64, requires_grad=True)
        losses = (d.r / d.r.sum(0)).T @ (scale * (d.psi @ theta) - d.y) ** 2
        slopes = torch.stack(
            [torch.autograd.grad(loss, scale, create_graph=True)[0] for loss in losses]
        )
        variance = weights @ slopes**2 - (weights @ slopes) ** 2
        return weights @ losses + risks.rho * theta @ theta, variance

    start = penalty.minimise(risks, 0.0)
    theta = penalty.minimise(risks, alpha).requires_grad_()
    risk, variance = literal(theta)
    (slope,) = torch.autograd.grad(risk + alpha * variance, theta)
    assert float(slope.abs().max()) < 1e-6 * float(risks.cross.abs().max())
    before = literal(start)
    assert bool(risk + alpha * variance <= before[0] + alpha * before[1] + 1e-9)


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


def invariant_direction(
    psi: Tensor,
    y: Tensor,
    r: Tensor,
    alpha: float,
    penalty: Penalty = METRICS[False],
    *,
    ridge: float = 0.0,
    by_size: bool = False,
) -> Tensor:
    return penalty.minimise(
        environment_risks(psi, y, r, ridge=ridge, by_size=by_size), alpha
    )


def literal_objective(
    theta: Tensor, d: Data, alpha: float, ridge: float, whiten: bool, by_size: bool
) -> Tensor:
    """The formula of M_p, every derivative by autograd."""
    n, k = d.psi.shape
    rho = ridge * torch.linalg.eigvalsh(d.psi.T @ d.psi / n).mean()
    environments = range(d.r.shape[1])
    w = [d.r[:, e].sum() / n if by_size else 1 / d.r.shape[1] for e in environments]

    def risk(theta: Tensor, e: int) -> Tensor:
        return (d.r[:, e] * (d.psi @ theta - d.y) ** 2).sum() / d.r[:, e].sum()

    def pooled(theta: Tensor) -> Tensor:
        return sum(w[e] * risk(theta, e) for e in environments) + rho * (theta**2).sum()

    gradients = [
        torch.autograd.grad(risk(theta, e), theta, create_graph=True)[0]
        for e in environments
    ]
    mean = sum(w[e] * gradients[e] for e in environments)
    hessian = torch.autograd.functional.hessian(pooled, theta.detach())
    metric = torch.linalg.inv(hessian) if whiten else torch.eye(k, dtype=theta.dtype)
    variance = sum(
        w[e] * (g - mean) @ metric @ (g - mean) for e, g in enumerate(gradients)
    )
    return pooled(theta) + alpha * variance


@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.0, 0.01, 1.0, 100.0]),
    ridge=st.sampled_from([0.0, 0.1]),
    whiten=st.booleans(),
    by_size=st.booleans(),
)
def test_closed_form_minimises_the_literal_objective(
    seed: int, alpha: float, ridge: float, whiten: bool, by_size: bool
) -> None:
    d = data(seed)

    def objective(theta: Tensor) -> Tensor:
        return literal_objective(theta, d, alpha, ridge, whiten, by_size)

    # the objective is quadratic: one Newton step from anywhere ends at its minimum
    start = torch.from_numpy(
        np.random.default_rng(seed).standard_normal(3)
    ).requires_grad_()
    (gradient,) = torch.autograd.grad(objective(start), start)
    hessian = torch.autograd.functional.hessian(objective, start.detach())
    assert float(torch.linalg.eigvalsh(hessian)[0]) > 0
    expected = start.detach() - torch.linalg.solve(hessian, gradient)
    got = invariant_direction(*d, alpha, METRICS[whiten], ridge=ridge, by_size=by_size)
    assert_close(got, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("whiten", [False, True])
def test_as_alpha_grows_the_gradients_agree(whiten: bool) -> None:
    d = data(1, k=3, n_environments=2)
    psi, y, r = (t.numpy() for t in d)
    shares = (r / r.sum(0)).T
    second = np.einsum("en,na,nb->eab", shares, psi, psi)
    cross = np.einsum("en,na,n->ea", shares, psi, y)
    # two environments, k equations: there the variance is zero whatever the metric
    equal = np.linalg.solve(second[0] - second[1], cross[0] - cross[1])
    far = [
        np.abs(invariant_direction(*d, a, METRICS[whiten]).numpy() - equal).max()
        for a in (1e2, 1e4, 1e6)
    ]
    assert far[0] > far[1] > far[2]
    assert far[2] < 1e-3 * np.abs(equal).max()


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 1e6])
def test_one_environment_is_least_squares_whatever_alpha(
    alpha: float, whiten: bool
) -> None:
    psi, y, _ = data(2)
    expected = np.linalg.lstsq(psi.numpy(), y.numpy())[0]
    for r in (
        torch.ones(40, 1),
        torch.full((40, 3), 1 / 3),
    ):  # also: thrice the same one
        got = invariant_direction(psi, y, r.double(), alpha, METRICS[whiten])
        np.testing.assert_allclose(got, expected, rtol=1e-6)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-3, 1e3]))
def test_the_whitened_penalty_has_no_unit(seed: int, scale: float) -> None:
    d = data(seed)
    scaled = d._replace(psi=d.psi * scale)
    got = invariant_direction(*scaled, 0.7, METRICS[True], ridge=0.01) * scale
    assert_close(got, invariant_direction(*d, 0.7, METRICS[True], ridge=0.01))
    # nor, without ridge, any notion of axes
    mix = torch.from_numpy(
        np.random.default_rng(seed).standard_normal((3, 3))
    ) + 3 * torch.eye(3)
    got = mix @ invariant_direction(*d._replace(psi=d.psi @ mix), 0.7, METRICS[True])
    assert_close(got, invariant_direction(*d, 0.7, METRICS[True]), rtol=1e-5, atol=1e-7)
    # the printed penalty has one
    plain = invariant_direction(*scaled, 0.7) * scale
    assert float((plain - invariant_direction(*d, 0.7)).abs().max()) > 1e-3


def test_the_losses_are_those_of_the_points() -> None:
    d = data(3)
    theta = torch.tensor([0.3, -1.0, 2.0]).double()
    errors = (d.psi @ theta - d.y) ** 2
    literal = (d.r * errors[:, None]).sum(0) / d.r.sum(0)
    assert_close(d.risks().losses(theta), literal)
