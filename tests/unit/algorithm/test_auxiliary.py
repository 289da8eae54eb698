"""Environments that are functions of an auxiliary variable."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from kerhrm import KerhrmError, Problem
from kerhrm.algorithm import auxiliary as a
from kerhrm.algorithm.cells import CELL_POINTS, Cells
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.randomness import stream

OPTIONS = a.AuxiliaryOptions(k=[3])


def problem(n: int) -> tuple[Problem, np.ndarray]:
    """Points whose second slope has another sign in the second half of the time."""
    random = np.random.default_rng(0)
    x, t = random.standard_normal((n, 3)), random.random(n)
    y = (
        x[:, 0]
        + x[:, 1] * np.where(t < 0.5, 1.0, -1.0)
        + 0.5 * random.standard_normal(n)
    )
    psi, half = torch.from_numpy(x), n // 2
    u, s, v = torch.linalg.svd(psi[:half], full_matrices=False)
    zeros, target = torch.zeros(half, dtype=torch.float64), torch.from_numpy(y)
    parts = psi[half:] @ v.mT, zeros, zeros, target[:half], target[half:]
    return Problem(u, s, *parts, "regression", 0), t[:, None]


def cells_of(t: np.ndarray, half: int, n_cells: int = 10) -> tuple[Tensor, Tensor, int]:
    cells = Cells.fit(t[:half], n_cells)
    return cells.of(t[:half]), cells.of(t[half:]), len(cells)


def starts(n: int, k: int = 2, count: int = 3) -> Tensor:
    draw = np.random.default_rng(1).dirichlet([1.0] * k, (count, n))
    return torch.from_numpy(draw)


@pytest.mark.parametrize("per_cluster", [False, True])
def test_em_with_cells_ends_where_a_general_optimiser_does_and_never_rises(
    per_cluster: bool,
) -> None:
    one, t = problem(240)
    psi, _ = one.reduced(3)
    cells, _, count = cells_of(t, 120, 3)
    n, k, ridge = len(psi), 2, 1e-2
    how = {"ridge": ridge, "cells": cells, "per_cluster": per_cluster}
    found = [
        fit_mixture(
            psi, one.y, starts(n)[:1], max_iter=m, tol=0.0, **how
        ).objective.item()
        for m in (1, 2, 5, 20, 1000)
    ]
    assert all(after <= before + 1e-12 for before, after in pairwise(found))
    fit = fit_mixture(psi, one.y, starts(n)[:1], max_iter=1000, tol=0.0, **how).take(0)
    rho = ridge * float((psi**2).mean())

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = torch.from_numpy(flat).requires_grad_(True)
        theta, level = w[: k * 3].view(k, 3), w[k * 3 :]
        sigma = level.exp() if per_cluster else level.mean().exp().expand(k)
        points = torch.distributions.Normal(psi @ theta.mT, sigma).log_prob(
            one.y[:, None]
        )
        joint = torch.stack([points[cells == c].sum(0) for c in range(count)])
        value = -(joint.logsumexp(-1) - np.log(k)).sum() / n
        value = value + (rho * (theta**2).sum(-1) / (2 * sigma**2)).sum()
        value.backward()
        return value.item(), w.grad.numpy()

    at = torch.cat([fit.theta.flatten(), fit.sigma.log()]).numpy()
    value, slope = objective(at)
    assert value == pytest.approx(fit.objective.item(), abs=1e-10)
    assert np.abs(slope).max() < 1e-4
    assert value - minimize(objective, at, jac=True).fun < 1e-6


def test_environments_follow_the_cells_and_not_the_labels() -> None:
    one, t = problem(1000)
    cells, held_out, _ = cells_of(t, 500)
    found, tables = a.cell_environments(one, cells, held_out, OPTIONS)
    assert tables.shape == (1, 10, 2)
    late = tables[0, :, 0] == tables[0, -1, 0]
    assert late.tolist() == [False] * 5 + [True] * 5
    assert torch.equal(found.train[0], tables[0][cells])
    # whatever their labels are
    assert torch.equal(found.validation[0], tables[0][held_out])


def test_em_finds_the_likeliest_of_all_splits_of_the_cells() -> None:
    """By trying them all, with labels and more features than the split needs."""
    random = np.random.default_rng(0)
    x, t = random.standard_normal((600, 20)), random.integers(8, size=600)
    y = np.sign(
        x[:, 0] + x[:, 1] * np.where(t < 5, 1, -1) + random.standard_normal(600)
    )
    psi, labels, cells = (torch.from_numpy(array) for array in (x, y, t))
    draw = torch.from_numpy(random.dirichlet([0.5] * 2, (5, 8)))[:, cells]
    found = fit_mixture(psi, labels, draw, ridge=1e-9, cells=cells, per_cluster=True)
    values = {}
    for numbers in product((0, 1), repeat=7):
        split = np.array([0, *numbers])
        parts = [split[t] == j for j in (0, 1) if (split[t] == j).any()]
        rests = [np.linalg.lstsq(x[part], y[part])[1][0] for part in parts]
        sizes = [int(part.sum()) for part in parts]
        values[tuple(split)] = sum(
            n * np.log(2 * np.pi * np.e * rest / n)
            for n, rest in zip(sizes, rests, strict=True)
        )
    best = min(values, key=values.__getitem__)
    assert best == (0, 0, 0, 0, 0, 1, 1, 1)
    winner = found.objective.argmin()
    expected = values[best] / 1200 + 8 * np.log(2) / 600
    assert float(found.objective[winner]) == pytest.approx(expected, abs=1e-6)
    assert len(set(found.weights[winner, 0].round().tolist()[:5])) == 1


def test_weights_count_as_repeated_rows() -> None:
    one, t = problem(400)
    cells, held_out, _ = cells_of(t, 200, 4)
    options = a.AuxiliaryOptions(
        k=[3], clustering_ridge=1e-9, ridge=0.0, alpha=[0.0, 2.0]
    )
    times = torch.arange(200) % 3
    parts = (part.repeat_interleave(times, 0) for part in (one.u, one.f0_train, one.y))
    u, f0, y = parts
    repeated = replace(one, u=u, f0_train=f0, y=y)
    weighted = replace(one, weights=times / times.double().mean())
    found = [
        a.cell_environments(p, c, held_out, options)
        for p, c in ((repeated, cells.repeat_interleave(times)), (weighted, cells))
    ]
    (first, table), (second, other) = found
    assert torch.equal(table, other)
    torch.testing.assert_close(first.slopes, second.slopes, rtol=0, atol=1e-5)
    thetas = [
        a.cell_directions(p, e.train, e.validation, options).theta
        for p, (e, _) in zip((repeated, weighted), found, strict=True)
    ]
    torch.testing.assert_close(*thetas, rtol=0, atol=1e-5)


def test_direction_minimises_the_penalised_risk_and_scores_are_out_of_fold() -> None:
    one, t = problem(300)
    cells, held_out, _ = cells_of(t, 150)
    options = OPTIONS.model_copy(
        update={"alpha": [0.0, 2.0], "folds": 3, "penalty": "gradient_variance"}
    )
    found, _ = a.cell_environments(one, cells, held_out, options)
    directions = a.cell_directions(one, found.train, found.validation, options)
    psi, psi_validation = one.reduced(3)
    r, r_validation = found.train[0], found.validation[0]
    unit = float(GradientVariance().unit(psi))

    def learn(rows: Tensor, alpha: float) -> Tensor:
        rho = 1e-6 * float((psi[rows] ** 2).mean())

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            theta = torch.from_numpy(flat).requires_grad_(True)
            losses = (psi[rows] @ theta - one.y[rows]) ** 2
            risks = (losses @ r[rows]) / r[rows].sum(0)
            slopes = torch.stack(
                [
                    torch.autograd.grad(risk, theta, create_graph=True)[0]
                    for risk in risks
                ]
            )
            spread = ((slopes - slopes.mean(0)) ** 2).sum(-1).mean()
            value = risks.mean() + alpha * unit * spread + rho * (theta**2).sum()
            return value.item(), torch.autograd.grad(value, theta)[0].numpy()

        return torch.from_numpy(minimize(objective, np.zeros(3), jac=True, tol=1e-12).x)

    fold = stream(one.seed, "auxiliary", "folds").permutation(150) % 3
    for number, alpha in enumerate(options.alpha):
        whole = learn(torch.ones(150, dtype=torch.bool), alpha)
        torch.testing.assert_close(directions.theta[number], whole, rtol=0, atol=1e-5)
        errors = torch.zeros(150, dtype=torch.float64)
        for f in range(3):
            out = torch.from_numpy(fold == f)
            errors[out] = (psi[out] @ learn(~out, alpha) - one.y[out]) ** 2
        errors = torch.cat([errors, (psi_validation @ whole - one.y_validation) ** 2])
        members = torch.cat([r, r_validation])
        risks = (errors @ members) / members.sum(0)
        expected = -(risks.max() + 4 * (risks.max() - risks.min()))
        assert float(directions.score[number]) == pytest.approx(
            float(expected), abs=1e-5
        )
    assert directions.chosen == int(directions.score.argmax())


def test_cells() -> None:
    random = np.random.default_rng(0)
    numbers = random.standard_normal((500, 1))
    cells = Cells.fit(numbers)
    assert torch.bincount(cells.of(numbers)).tolist() == [50] * 10
    assert cells.of(np.array([[-99.0], [99.0]])).tolist() == [0, 9]
    assert len(Cells.fit(numbers[: 3 * CELL_POINTS])) == 3
    categories = np.repeat([[2.0], [7.0], [9.0]], 4, axis=0)
    assert Cells.fit(categories).of(categories).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    crossed = np.array([[i, j] for i in (0, 1) for j in (0, 5)] * 3, dtype=float)
    assert len(Cells.fit(crossed)) == 4
    assert Cells.fit(crossed).of(crossed).tolist() == [0, 1, 2, 3] * 3
    group = random.integers(3, size=300)
    places = random.standard_normal((300, 2)) + 20 * group[:, None]
    found = Cells.fit(places, 3).of(places)
    assert len({*zip(found.tolist(), group.tolist(), strict=True)}) == 3
    for bad, match in (
        (np.ones((5, 1)), "constant"),
        (np.array([[1.0], [np.nan]]), "row 1 .* is not"),
        (np.ones(5), r"shape \(5,\)"),
        (np.ones((5, 0)), "shape"),
    ):
        with pytest.raises(KerhrmError, match=match):
            Cells.fit(bad)
    with pytest.raises(KerhrmError, match="must have 1 columns; got 2"):
        cells.of(places)
