"""Closed forms of the penalties against their literal objectives and their limits."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize
from soft_environments import Data, data
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.penalties import (
    GradientVariance,
    Penalty,
    ScaleGradientVariance,
    WhitenedGradientVariance,
    solve,
)
from kerhrm.algorithm.problem import Risks
from kerhrm.algorithm.registry import PENALTIES

METRICS = {False: GradientVariance(), True: WhitenedGradientVariance()}


@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.0, 0.1, 10.0, 240.0]),
)
def test_scale_gradients_are_those_of_a_factor_before_the_prediction(
    seed: int, alpha: float
) -> None:
    d = data(seed)
    penalty = PENALTIES["scale_gradient_variance"]()
    risks = d.risks()
    weights = d.r.mean(0)

    def literal(theta: Tensor) -> tuple[Tensor, Tensor]:
        """Pooled risk, and the variance of what autograd says of the factor."""
        scale = torch.ones(()).double().requires_grad_()
        outputs = scale * (d.psi @ theta)
        shares = d.r / d.r.sum(0)
        squares = (outputs - d.y) ** 2
        losses = shares.T @ squares
        slopes = []
        for loss in losses:
            (slope,) = torch.autograd.grad(loss, scale, create_graph=True)
            slopes.append(slope)
        gradients = torch.stack(slopes)
        mean = weights @ gradients
        variance = weights @ gradients**2 - mean**2
        risk = weights @ losses + risks.rho * theta @ theta
        return risk, variance

    start = penalty.minimise(risks, 0.0)
    theta = penalty.minimise(risks, alpha).requires_grad_()
    risk, variance = literal(theta)
    objective = risk + alpha * variance
    (slope,) = torch.autograd.grad(objective, theta)
    size = risks.cross.abs().max()
    assert slope.abs().max() < 1e-6 * size
    risk_before, variance_before = literal(start)
    objective_before = risk_before + alpha * variance_before
    assert objective <= objective_before + 1e-9


def system(condition: float, k: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """A of that condition number (2-norm), b and the solution."""
    rng = np.random.default_rng(0)
    entries = rng.standard_normal((k, k))
    q, _ = np.linalg.qr(entries)
    eigenvalues = np.geomspace(1, 1 / condition, k)
    matrix = q * eigenvalues @ q.T
    x = rng.standard_normal(k)
    exact = matrix.astype(np.longdouble) @ x
    right = exact.astype(float)
    tensors = [torch.from_numpy(array) for array in (matrix, right, x)]
    a, b, solution = tensors
    return a, b, solution


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8, 1e14])
def test_the_error_is_the_condition_times_rounding(
    condition: float, caplog: pytest.LogCaptureFixture
) -> None:
    matrix, right, x = system(condition)
    difference = solve(matrix, right) - x
    error = difference.norm() / x.norm()
    rounding = torch.finfo(torch.float64).eps
    assert error <= 20 * condition * rounding
    is_warned = len(caplog.records)
    assert is_warned == (condition > 1e12)


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
    risks = environment_risks(psi, y, r, ridge=ridge, by_size=by_size)
    return penalty.minimise(risks, alpha)


def literal_objective(
    theta: Tensor, d: Data, alpha: float, ridge: float, whiten: bool, by_size: bool
) -> Tensor:
    """The formula of M_p, every derivative by autograd."""
    n, k = d.psi.shape
    n_environments = d.r.shape[1]
    second = d.psi.T @ d.psi / n
    mean_eigenvalue = torch.linalg.eigvalsh(second).mean()
    rho = ridge * mean_eigenvalue
    shares = [d.r[:, e] for e in range(n_environments)]
    weights = [1 / n_environments] * n_environments
    if by_size:
        weights = [share.sum() / n for share in shares]

    def risk(theta: Tensor, share: Tensor) -> Tensor:
        squares = (d.psi @ theta - d.y) ** 2
        total = (share * squares).sum()
        return total / share.sum()

    def pooled(theta: Tensor) -> Tensor:
        total = rho * (theta**2).sum()
        for weight, share in zip(weights, shares, strict=True):
            total = total + weight * risk(theta, share)
        return total

    gradients = []
    for share in shares:
        loss = risk(theta, share)
        (gradient,) = torch.autograd.grad(loss, theta, create_graph=True)
        gradients.append(gradient)
    weighted = list(zip(weights, gradients, strict=True))
    mean = sum(weight * gradient for weight, gradient in weighted)
    metric = torch.eye(k, dtype=theta.dtype)
    if whiten:
        at = theta.detach()
        hessian = torch.autograd.functional.hessian(pooled, at)
        metric = torch.linalg.inv(hessian)
    variance = 0.0
    for weight, gradient in weighted:
        deviation = gradient - mean
        variance = variance + weight * deviation @ metric @ deviation
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
    rng = np.random.default_rng(seed)
    entries = torch.from_numpy(rng.standard_normal(3))
    start = entries.requires_grad_()
    value = objective(start)
    (gradient,) = torch.autograd.grad(value, start)
    at = start.detach()
    hessian = torch.autograd.functional.hessian(objective, at)
    smallest_eigenvalue = torch.linalg.eigvalsh(hessian)[0]
    assert smallest_eigenvalue > 0
    newton_step = torch.linalg.solve(hessian, gradient)
    expected = start.detach() - newton_step
    penalty = METRICS[whiten]
    got = invariant_direction(*d, alpha, penalty, ridge=ridge, by_size=by_size)
    assert_close(got, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("whiten", [False, True])
def test_as_alpha_grows_the_gradients_agree(whiten: bool) -> None:
    d = data(1, k=3, n_environments=2)
    psi, y, r = (tensor.numpy() for tensor in d)
    shares = (r / r.sum(0)).T
    second = np.einsum("en,na,nb->eab", shares, psi, psi)
    cross = np.einsum("en,na,n->ea", shares, psi, y)
    # two environments, k equations: there the variance is zero whatever the metric
    difference = second[0] - second[1]
    difference_of_cross = cross[0] - cross[1]
    equal = np.linalg.solve(difference, difference_of_cross)
    distances = []
    for alpha in (1e2, 1e4, 1e6):
        theta = invariant_direction(*d, alpha, METRICS[whiten])
        apart = np.abs(theta.numpy() - equal)
        distances.append(apart.max())
    near, nearer, nearest = distances
    assert near > nearer > nearest
    size = np.abs(equal).max()
    assert nearest < 1e-3 * size


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 1e6])
def test_one_environment_is_least_squares_whatever_alpha(
    alpha: float, whiten: bool
) -> None:
    psi, y, _ = data(2)
    rows = psi.numpy()
    labels = y.numpy()
    expected, *_ = np.linalg.lstsq(rows, labels)
    one = torch.ones(40, 1)
    thrice_the_same = torch.full((40, 3), 1 / 3)
    for r in (one, thrice_the_same):
        memberships = r.double()
        got = invariant_direction(psi, y, memberships, alpha, METRICS[whiten])
        assert_allclose(got, expected, rtol=1e-6)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-3, 1e3]))
def test_the_whitened_penalty_has_no_unit(seed: int, scale: float) -> None:
    whitened = METRICS[True]
    d = data(seed)
    scaled = d._replace(psi=d.psi * scale)
    with_ridge = invariant_direction(*d, 0.7, whitened, ridge=0.01)
    with_ridge_of_scaled = invariant_direction(*scaled, 0.7, whitened, ridge=0.01)
    assert_close(with_ridge_of_scaled * scale, with_ridge)

    # nor, without ridge, any notion of axes
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((3, 3))
    entries = torch.from_numpy(draws)
    mix = entries + 3 * torch.eye(3)
    mixed = d._replace(psi=d.psi @ mix)
    theta = invariant_direction(*d, 0.7, whitened)
    theta_of_mixed = invariant_direction(*mixed, 0.7, whitened)
    assert_close(mix @ theta_of_mixed, theta, rtol=1e-5, atol=1e-7)

    # the printed penalty has one
    printed = invariant_direction(*d, 0.7)
    printed_of_scaled = invariant_direction(*scaled, 0.7) * scale
    difference = printed_of_scaled - printed
    assert difference.abs().max() > 1e-3


def test_the_losses_are_those_of_the_points() -> None:
    d = data(3)
    theta = torch.tensor([0.3, -1.0, 2.0]).double()
    errors = (d.psi @ theta - d.y) ** 2
    weighted = d.r * errors[:, None]
    totals = (weighted).sum(0)
    literal = totals / d.r.sum(0)
    losses = d.risks().losses(theta)
    assert_close(losses, literal)


@pytest.mark.parametrize("ends_early", [False, True])
def test_a_search_that_fails_is_logged(
    ends_early: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    minimize = optimize.minimize

    def one_step(*args: Any, options: dict[str, Any], **more: Any) -> Any:
        return minimize(*args, options=options | {"maxiter": 1}, **more)

    if ends_early:
        monkeypatch.setattr(optimize, "minimize", one_step)
    draw = torch.Generator().manual_seed(0)
    psi = torch.randn(2, 30, 3, generator=draw).double()
    risks = Risks(
        second=psi.mT @ psi / 30,
        cross=torch.randn(2, 3, generator=draw).double(),
        constant=torch.ones(2).double(),
        weights=torch.ones(2).double() / 2,
        rho=torch.tensor(0.0).double(),
    )
    theta = ScaleGradientVariance().minimise(risks, alpha=240.0)
    assert theta.isfinite().all()
    assert len(caplog.records) == ends_early
    if ends_early:
        assert "search ended with a gradient of" in caplog.text
