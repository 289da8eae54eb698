"""The contract of penalties: one that a package adds is minimised, or refused in one
line."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from pagetools import ROOT, blocks
from refusals import refusal
from soft_environments import Data, data
from torch import Tensor

from kerhrm import KerhrmError
from kerhrm.algorithm.minimisers import minimisers
from kerhrm.algorithm.penalties import GradientVariance, Penalty, solve
from kerhrm.algorithm.problem import Risks
from kerhrm.algorithm.registry import PENALTIES


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
            spread = risks.mean((losses - mean) ** 2)
            squared_length = (theta**2).sum()
            value = mean + alpha * spread
            value = value + risks.rho * squared_length
            value.backward()
            return value

        optimiser.step(objective)
        return theta


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
        copies = [one.clone() for one in d]
        d = Data(*copies)
        risks = d.risks()
        (theta,) = minimisers(v_rex, d.psi, risks, [alpha])
    assert not theta.requires_grad
    losses = []  # of a polynomial's coefficients, highest power first
    for r in d.r.T.numpy():
        x = d.psi[:, 0].numpy()
        y = d.y.numpy()
        square = r @ x**2
        linear = -2 * r @ (x * y)
        constant = r @ y**2
        coefficients = np.array([square, linear, constant])
        losses.append(coefficients / r.sum())
    w = d.r.mean(0).numpy()
    mean = w @ losses
    objective = np.polyadd(mean, [0.05, 0, 0])
    for weight, one in zip(w, losses, strict=True):
        spread = np.polysub(one, mean)
        squared_spread = np.polymul(spread, spread)
        objective = np.polyadd(objective, alpha * weight * squared_spread)
    roots = np.roots(np.polyder(objective))
    is_real = np.abs(roots.imag) < 1e-9
    stationary = roots[is_real].real
    values = np.polyval(objective, stationary)
    best = stationary[values.argmin()]
    assert float(theta) == pytest.approx(best, abs=1e-7)


def test_a_penalty_by_autograd_is_learned_with(v_rex: str) -> None:
    """By M_p, as a job of the workflow does; far out the losses are equal."""
    d = data(0, k=2, n_environments=2)
    with torch.inference_mode():
        risks = d.risks()
        psi = d.psi.clone()
        thetas = minimisers(v_rex, psi, risks, [0.0, 1e4])
    of_points = d.risks()
    spread = []
    for theta in thetas.clone():
        losses = of_points.losses(theta)
        largest_gap = losses.max() - losses.min()
        spread.append(float(largest_gap))
    assert spread[1] < 0.02 * spread[0]


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 100.0])
def test_the_penalty_of_the_page_is_minimised(alpha: float, unit: float) -> None:
    """Against the losses summed over the points, whatever the features' unit."""
    page = blocks(ROOT / "docs/extending.md", "python")
    (code,) = [block for block in page if "class RiskVariance" in block]
    names: dict[str, Any] = {}
    exec(code, names)
    d = data(4)
    in_unit = d._replace(psi=d.psi * unit)
    risks = in_unit.risks(rho=0.05 * unit**2)
    penalty = names["RiskVariance"]()
    theta = penalty.minimise(risks, alpha) * unit
    theta = theta.detach()
    theta.requires_grad_()
    shares = d.r / d.r.sum(0)
    squares = (d.psi @ theta - d.y) ** 2
    losses = shares.T @ squares
    w = d.r.mean(0)
    mean = w @ losses
    variance = w @ losses**2 - mean**2
    objective = mean + 0.05 * theta @ theta + alpha * variance
    (slope,) = torch.autograd.grad(objective, theta)
    steepest = float(slope.abs().max())
    largest_cross = d.risks().cross.abs().max()
    assert steepest < 1e-6 * float(largest_cross)


@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (4,)])
def test_a_penalty_that_gives_another_shape_is_one_line(
    v_rex: str, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    d = data(0)
    risks = d.risks()
    zeros = torch.zeros(shape)
    monkeypatch.setattr(RiskVariance, "minimise", lambda *_: zeros)
    with refusal(r"v_rex: minimise must return shape \(3,\)"):
        minimisers(v_rex, d.psi, risks, [1.0])


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
    risks = d.risks()
    monkeypatch.setattr(RiskVariance, "minimise", lambda *_: value)
    with refusal(f"v_rex: minimise {message}"):
        minimisers(v_rex, d.psi, risks, [1.0])


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
    risks = d.risks()
    monkeypatch.setattr(RiskVariance, "unit", lambda *_: unit)
    text = f"v_rex: unit must return a positive number; got {got}; return psi"
    with refusal(text):
        minimisers(v_rex, d.psi, risks, [1.0])


@pytest.mark.parametrize("unit", [2, 2.0, torch.tensor(2.0), torch.full((1,), 2.0)])
def test_a_unit_may_be_any_number(
    v_rex: str, monkeypatch: pytest.MonkeyPatch, unit: object
) -> None:
    d = data(0)
    risks = d.risks()
    (twice,) = minimisers(v_rex, d.psi, risks, [2.0])
    monkeypatch.setattr(RiskVariance, "unit", lambda *_: unit)
    (found,) = minimisers(v_rex, d.psi, risks, [1.0])
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
    d = data(0)
    risks = d.risks()
    kind = type("Mine", (GradientVariance,), {"metric": metric})
    monkeypatch.setattr(PENALTIES, "_plugins", {"mine": kind})
    text = rf"penalty Mine: metric must return a tensor of .*; got {got}; return M"
    with refusal(text):
        minimisers("mine", d.psi, risks, [1.0])


def test_built_in_penalties_need_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken one fails none of their fits."""

    def broken() -> None:
        raise KerhrmError("a package that is broken")

    d = data(0)
    monkeypatch.setattr(PENALTIES, "load", broken)
    for kind in ("gradient_variance", "whitened_gradient_variance"):
        risks = d.risks()
        thetas = minimisers(kind, d.psi, risks, [1.0])
        assert thetas.shape == (1, 3)


def test_a_singular_system_of_the_direction_is_an_error() -> None:
    matrix = torch.tensor([[1.0, 2.0], [2.0, 4.0]]).double()
    target = torch.ones(2).double()
    with refusal("invariant direction's equations are singular; raise ridge"):
        solve(matrix, target)
    identity = torch.eye(2).double()
    assert torch.equal(solve(identity, target), target)


@pytest.mark.parametrize(
    ("penalty", "corner"),
    [
        ("scale_gradient_variance", math.nextafter(1, 0)),  # of full rank by LU alone
        ("whitened_gradient_variance", 1.0),
    ],
)
def test_a_singular_pooled_risk_is_an_error(penalty: str, corner: float) -> None:
    second = torch.ones(2, 2).double()
    second[1, 1] = corner
    risks = Risks(
        second=second.expand(2, 2, 2),
        cross=torch.eye(2).double(),
        constant=torch.ones(2).double(),
        weights=torch.full((2,), 0.5).double(),
        rho=torch.tensor(0.0).double(),
    )
    psi = torch.ones(4, 2).double()
    with refusal("invariant direction's equations are singular; raise ridge"):
        minimisers(penalty, psi, risks, [1.0])


def test_a_penalty_of_other_arguments_is_refused() -> None:
    class Short(Penalty):
        def unit(self, psi: Tensor) -> Tensor:
            return psi.new_ones(())

        def minimise(self, risks: Risks) -> Tensor:  # type: ignore[override]
            return risks.pooled

    assert PENALTIES._check is not None
    with refusal(r"minimise must take \(self, risks, alpha\); it takes \(self, risks"):
        PENALTIES._check("short", Short)
