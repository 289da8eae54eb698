"""Penalties: their contract, their closed forms against the literal objectives, Theorem
4.2."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kerhrm import KerhrmError
from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.mixture import fit_mixture, orthogonal_update, random_starts
from kerhrm.algorithm.penalties import (
    PENALTIES,
    GradientVariance,
    Penalty,
    Risks,
    WhitenedGradientVariance,
    minimisers,
    solve,
)

N, K = 40, 3
METRICS = {False: GradientVariance(), True: WhitenedGradientVariance()}


class Data(NamedTuple):
    """psi (n, k), y (n,), soft environments (n, E)."""

    psi: Tensor
    y: Tensor
    r: Tensor

    def risks(self, rho: float = 0.05) -> Risks:
        risks = environment_risks(*self, by_size=True)
        return replace(risks, rho=torch.tensor(rho).double())


class RiskVariance(Penalty):
    """V-REx: the variance of the environments' losses (Krueger et al., ICML 2021)."""

    def unit(self, psi: Tensor) -> Tensor:
        return torch.tensor(1.0, requires_grad=True)

    def minimise(self, risks: Risks, alpha: float) -> Tensor:
        theta = solve(*risks.pooled).requires_grad_()
        optimiser = torch.optim.LBFGS(
            [theta],
            max_iter=500,
            tolerance_grad=1e-10,
            tolerance_change=0,
            line_search_fn="strong_wolfe",
        )

        def objective() -> Tensor:
            optimiser.zero_grad()
            losses = risks.losses(theta)
            mean = risks.mean(losses)
            value = mean + alpha * risks.mean((losses - mean) ** 2)
            value = value + risks.rho * (theta**2).sum()
            value.backward()
            return value

        optimiser.step(objective)
        return theta


def data(seed: int, n: int = 40, k: int = 3, n_environments: int = 3) -> Data:
    """Environments that disagree about the regression; none of equal size."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((n, k)) * rng.uniform(0.3, 3, k)
    r = rng.dirichlet(np.arange(1, n_environments + 1) / 2, n)
    y = (r @ rng.standard_normal((n_environments, k)) * psi).sum(
        -1
    ) + rng.standard_normal(n)
    return Data(*(torch.from_numpy(a) for a in (psi, y, r)))


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
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-8)


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
    torch.testing.assert_close(
        got, invariant_direction(*d, 0.7, METRICS[True], ridge=0.01)
    )
    # nor, without ridge, any notion of axes
    mix = torch.from_numpy(
        np.random.default_rng(seed).standard_normal((3, 3))
    ) + 3 * torch.eye(3)
    got = mix @ invariant_direction(*d._replace(psi=d.psi @ mix), 0.7, METRICS[True])
    torch.testing.assert_close(
        got, invariant_direction(*d, 0.7, METRICS[True]), rtol=1e-5, atol=1e-7
    )
    # the printed penalty has one
    plain = invariant_direction(*scaled, 0.7) * scale
    assert float((plain - invariant_direction(*d, 0.7)).abs().max()) > 1e-3


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 8),
    n_clusters=st.integers(1, 3),
    length=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_theorem_4_2(seed: int, k: int, n_clusters: int, length: float) -> None:
    """Span(Psi_V) and Span(Theta) lie in Ker(theta_inv)."""
    rng = np.random.default_rng(seed)
    psi = torch.from_numpy(rng.standard_normal((30, k)) * rng.uniform(0.1, 10, k))
    theta = torch.from_numpy(rng.standard_normal(k) * length)
    unit = theta / theta.norm()
    before = psi.clone()
    psi_v = orthogonal_update(psi, theta)
    size = float(psi.norm())

    assert float((psi_v @ unit).abs().max()) < 1e-13 * size
    # and nothing else is taken away
    torch.testing.assert_close(
        psi_v + torch.outer(psi @ unit, unit), psi, rtol=0, atol=1e-13 * size
    )

    y = torch.from_numpy(rng.standard_normal(30))
    starts = random_starts(0, 2, 30, n_clusters)
    centres = fit_mixture(psi_v, y, starts, ridge=1e-3, max_iter=10).theta
    assert float(centres.norm()) > 0
    assert float((centres @ unit).abs().max()) < 1e-9 * float(centres.norm())
    # the regressions as the paper prints them: least squares, of least norm
    printed = np.linalg.lstsq(psi_v.numpy(), y.numpy(), rcond=1e-10)[0]
    assert abs(printed @ unit.numpy()) < 1e-9 * np.linalg.norm(printed)

    close = {"rtol": 0.0, "atol": 1e-12 * size}
    torch.testing.assert_close(orthogonal_update(psi_v, theta), psi_v, **close)
    torch.testing.assert_close(orthogonal_update(psi, -3 * theta), psi_v, **close)
    assert torch.equal(psi, before)  # the next iteration starts from Psi again


def test_a_zero_direction_takes_nothing_away() -> None:
    psi = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 3)))
    assert torch.equal(orthogonal_update(psi, torch.zeros(3).double()), psi)


def test_the_losses_are_those_of_the_points() -> None:
    d = data(3)
    theta = torch.tensor([0.3, -1.0, 2.0]).double()
    errors = (d.psi @ theta - d.y) ** 2
    literal = (d.r * errors[:, None]).sum(0) / d.r.sum(0)
    torch.testing.assert_close(d.risks().losses(theta), literal)


@pytest.fixture
def v_rex(monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a penalty that another package adds."""
    monkeypatch.setattr(PENALTIES, "_plugins", {"v_rex": RiskVariance})
    return "v_rex"


@pytest.mark.parametrize("alpha", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_a_penalty_of_the_losses_by_autograd(
    v_rex: str, mode: type[torch.no_grad], alpha: float
) -> None:
    """Against the roots of the objective's derivative, a polynomial of one theta."""
    with mode():
        d = data(5, k=1, n_environments=2)
        d = Data(*(one.clone() for one in d))
        risks = d.risks()
        (theta,) = minimisers(v_rex, d.psi, risks, [alpha])
    assert not theta.requires_grad
    losses = []  # of a polynomial's coefficients, highest power first
    for r in d.r.T.numpy():
        x, y = d.psi[:, 0].numpy(), d.y.numpy()
        losses.append(np.array([r @ x**2, -2 * r @ (x * y), r @ y**2]) / r.sum())
    w = d.r.mean(0).numpy()
    mean = w @ losses
    objective = np.polyadd(mean, [0.05, 0, 0])
    for weight, one in zip(w, losses, strict=True):
        spread = np.polysub(one, mean)
        objective = np.polyadd(objective, alpha * weight * np.polymul(spread, spread))
    roots = np.roots(np.polyder(objective))
    real = roots[np.abs(roots.imag) < 1e-9].real
    best = min(real, key=lambda root: np.polyval(objective, root))
    assert float(theta) == pytest.approx(best, abs=1e-7)


def test_a_penalty_by_autograd_is_learned_with(v_rex: str) -> None:
    """By M_p, as a job of the workflow does; far out the losses are equal."""
    d = data(0, k=2, n_environments=2)
    with torch.inference_mode():
        thetas = minimisers(v_rex, d.psi.clone(), d.risks(), [0.0, 1e4])
    losses = [d.risks().losses(theta) for theta in thetas.clone()]
    spread = [float(one.max() - one.min()) for one in losses]
    assert spread[1] < 0.02 * spread[0]


@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (4,)])
def test_a_penalty_that_gives_another_shape_is_one_line(
    v_rex: str, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    d = data(0)
    monkeypatch.setattr(RiskVariance, "minimise", lambda *_: torch.zeros(shape))
    with pytest.raises(KerhrmError, match=r"v_rex: minimise must return shape \(3,\)"):
        minimisers(v_rex, d.psi, d.risks(), [1.0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3), "must return a tensor; got ndarray"),
        (0, "must return a tensor; got int"),
        (torch.full((3,), math.nan), "must return finite numbers"),
    ],
)
def test_a_penalty_that_gives_no_minimiser_is_one_line(
    v_rex: str, monkeypatch: pytest.MonkeyPatch, value: object, message: str
) -> None:
    d = data(0)
    monkeypatch.setattr(RiskVariance, "minimise", lambda *_: value)
    with pytest.raises(KerhrmError, match=f"v_rex: minimise {message}"):
        minimisers(v_rex, d.psi, d.risks(), [1.0])


@pytest.mark.parametrize(
    ("unit", "got"),
    [
        (None, "None"),
        (0, "0"),
        (-1.0, "-1.0"),
        (torch.tensor(0.0), "0.0"),
        (torch.ones(3), r"shape \(3,\)"),
        (math.nan, "nan"),
        ("much", "'much'"),
        ([], r"\[\]"),
    ],
)
def test_a_unit_that_is_no_positive_number_is_one_line(
    v_rex: str, monkeypatch: pytest.MonkeyPatch, unit: object, got: str
) -> None:
    d = data(0)
    monkeypatch.setattr(RiskVariance, "unit", lambda *_: unit)
    text = f"v_rex: unit must return a positive number; got {got}; return psi"
    with pytest.raises(KerhrmError, match=text):
        minimisers(v_rex, d.psi, d.risks(), [1.0])


@pytest.mark.parametrize("unit", [2, 2.0, torch.tensor(2.0), torch.full((1,), 2.0)])
def test_a_unit_may_be_any_number(
    v_rex: str, monkeypatch: pytest.MonkeyPatch, unit: object
) -> None:
    d = data(0)
    (twice,) = minimisers(v_rex, d.psi, d.risks(), [2.0])
    monkeypatch.setattr(RiskVariance, "unit", lambda *_: unit)
    (found,) = minimisers(v_rex, d.psi, d.risks(), [1.0])
    assert torch.equal(found, twice)


@pytest.mark.parametrize(
    ("metric", "got"),
    [
        (lambda self, risks, columns: None, "NoneType"),
        (lambda self, risks, columns: columns[0], r"\(3, 3\)"),
        (lambda self, risks, columns: columns[..., :1], r"\(\d, 3, 1\)"),
        (lambda self, risks, columns: 1.0, "float"),
    ],
)
def test_a_metric_of_another_shape_is_one_line(
    monkeypatch: pytest.MonkeyPatch, metric: object, got: str
) -> None:
    d, kind = data(0), type("Mine", (GradientVariance,), {"metric": metric})
    monkeypatch.setattr(PENALTIES, "_plugins", {"mine": kind})
    text = rf"penalty Mine: metric must return a tensor of .*; got {got}; return M"
    with pytest.raises(KerhrmError, match=text):
        minimisers("mine", d.psi, d.risks(), [1.0])


def test_built_in_penalties_need_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken one fails none of their fits."""

    def broken() -> None:
        raise KerhrmError("a package that is broken")

    d = data(0)
    monkeypatch.setattr(PENALTIES, "load", broken)
    for kind in ("gradient_variance", "whitened_gradient_variance"):
        assert minimisers(kind, d.psi, d.risks(), [1.0]).shape == (1, 3)
