"""Environments that are functions of an auxiliary variable."""

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.testing import assert_close

from kerhrm import Problem
from kerhrm.algorithm import auxiliary as a
from kerhrm.algorithm.cells import Cells
from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.randomness import stream

OPTIONS = a.AuxiliaryOptions(k=[3])


def problem(n: int) -> tuple[Problem, np.ndarray]:
    """Points whose second slope has another sign in the second half of the time.

    The first half of the points trains. The time is (n, 1).
    """
    random = np.random.default_rng(0)
    x = random.standard_normal((n, 3))
    t = random.random(n)
    is_early = t < 0.5
    slope = np.where(is_early, 1.0, -1.0)
    noise = 0.5 * random.standard_normal(n)
    signal = x[:, 0] + slope * x[:, 1]
    y = torch.from_numpy(signal + noise)

    half = n // 2
    psi = torch.from_numpy(x)
    trained = psi[:half]
    u, s, v = torch.linalg.svd(trained, full_matrices=False)
    zeros = torch.zeros(half, dtype=torch.float64)
    one = Problem(
        u=u,
        s=s,
        psi_validation=psi[half:] @ v.mT,
        f0_train=zeros,
        f0_validation=zeros,
        y=y[:half],
        y_validation=y[half:],
        task="regression",
        seed=0,
    )
    return one, t[:, None]


def cells_of(t: np.ndarray, half: int, n_cells: int = 10) -> tuple[Tensor, Tensor, int]:
    """Cells of the training points and of the others, and how many there are."""
    trained = t[:half]
    held_out = t[half:]
    cells = Cells.fit(trained, n_cells)
    cells_trained = cells.locate(trained)
    cells_held_out = cells.locate(held_out)
    return cells_trained, cells_held_out, len(cells)


def starts(n: int, k: int = 2, count: int = 3) -> Tensor:
    random = np.random.default_rng(1)
    concentration = [1.0] * k
    draw = random.dirichlet(concentration, (count, n))
    return torch.from_numpy(draw)


@pytest.mark.parametrize("per_cluster", [False, True])
def test_em_with_cells_ends_where_a_general_optimiser_does_and_never_rises(
    per_cluster: bool,
) -> None:
    one, t = problem(240)
    psi, _ = one.reduced(3)
    cells, _, count = cells_of(t, 120, 3)
    n = len(psi)
    k = 2
    ridge = 1e-2
    start = starts(n)[:1]

    def fitted(max_iter: int) -> Mixture:
        return fit_mixture(
            psi,
            one.y,
            start,
            ridge=ridge,
            cells=cells,
            em=EM(
                max_iter=max_iter,
                tol=0.0,
                per_cluster=per_cluster,
            ),
        )

    found = []
    steps = (1, 2, 5, 20, 1000)
    for max_iter in steps:
        objective_of_fit = fitted(max_iter).objective
        found.append(objective_of_fit.item())
    for before, after in pairwise(found):
        assert after <= before + 1e-12

    fit = fitted(1000).take(0)
    mean_square = float((psi**2).mean())
    rho = ridge * mean_square

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Of theta (k, 3) and log sigma (k,), and its gradient."""
        w = torch.from_numpy(flat).requires_grad_(True)
        n_slopes = k * 3
        theta = w[:n_slopes].view(k, 3)
        level = w[n_slopes:]
        shared = level.mean().exp()
        sigma = level.exp() if per_cluster else shared.expand(k)
        centres = psi @ theta.mT
        normal = torch.distributions.Normal(centres, sigma)
        labels = one.y[:, None]
        points = normal.log_prob(labels)  # (n, k)
        joint = []
        for c in range(count):
            of_cell = points[cells == c]
            joint.append(of_cell.sum(0))
        log_likelihoods = torch.stack(joint)
        likelihoods = log_likelihoods.logsumexp(-1) - np.log(k)
        lengths = (theta**2).sum(-1)
        penalty = rho * lengths / (2 * sigma**2)
        value = -likelihoods.sum() / n
        value = value + penalty.sum()
        value.backward()
        return value.item(), w.grad.numpy()

    levels = fit.sigma.log()
    parameters = [fit.theta.flatten(), levels]
    at = torch.cat(parameters).numpy()
    value, slope = objective(at)
    objective_of_fit = fit.objective.item()
    assert value == pytest.approx(objective_of_fit, abs=1e-10)
    assert np.abs(slope).max() < 1e-4
    best = minimize(objective, at, jac=True)
    assert value - best.fun < 1e-6


def test_environments_follow_the_cells_and_not_the_labels() -> None:
    one, t = problem(1000)
    cells, held_out, _ = cells_of(t, 500)
    found, tables = a.cell_environments(one, cells, held_out, OPTIONS)
    assert tables.shape == (1, 10, 2)
    (table,) = tables
    first = table[:, 0]
    late = first == first[-1]
    early_half = [False] * 5
    late_half = [True] * 5
    assert late.tolist() == early_half + late_half
    assert torch.equal(found.train[0], table[cells])
    # whatever their labels are
    expected = table[held_out]
    assert torch.equal(found.validation[0], expected)


def test_em_finds_the_likeliest_of_all_splits_of_the_cells() -> None:
    """By trying them all, with labels and more features than the split needs."""
    random = np.random.default_rng(0)
    x = random.standard_normal((600, 20))
    t = random.integers(8, size=600)
    slope = np.where(t < 5, 1, -1)
    noise = random.standard_normal(600)
    signal = x[:, 0] + slope * x[:, 1]
    y = np.sign(signal + noise)

    cells = torch.from_numpy(t)
    concentration = [0.5] * 2
    draw = random.dirichlet(concentration, (5, 8))
    found = fit_mixture(
        torch.from_numpy(x),
        torch.from_numpy(y),
        torch.from_numpy(draw)[:, cells],
        ridge=1e-9,
        cells=cells,
        em=EM(per_cluster=True),
    )

    def value(split: np.ndarray) -> float:
        """-2 log likelihood of the least squares of both sides."""
        total = 0.0
        for side in (0, 1):
            part = split[t] == side
            if not part.any():
                continue
            n = int(part.sum())
            x_side = x[part]
            y_side = y[part]
            _, squares, *_ = np.linalg.lstsq(x_side, y_side)
            variance = squares[0] / n
            constant = 2 * np.pi * np.e
            total += n * np.log(constant * variance)
        return total

    values = {}
    for numbers in product((0, 1), repeat=7):
        split = (0, *numbers)
        values[split] = value(np.array(split))
    best = min(values, key=values.__getitem__)
    assert best == (0, 0, 0, 0, 0, 1, 1, 1)

    winner = found.objective.argmin()
    objective = float(found.objective[winner])
    half_of_value = values[best] / 1200
    cost_of_cells = 8 * np.log(2) / 600
    expected = half_of_value + cost_of_cells
    assert objective == pytest.approx(expected, abs=1e-6)
    weights = found.weights[winner, 0].round()
    first = weights.tolist()[:5]
    assert len(set(first)) == 1


def test_weights_count_as_repeated_rows() -> None:
    one, t = problem(400)
    cells, held_out, _ = cells_of(t, 200, 4)
    options = a.AuxiliaryOptions(
        k=[3],
        clustering_ridge=1e-9,
        ridge=0.0,
        alpha=[0.0, 2.0],
    )
    times = torch.arange(200) % 3
    repeated = replace(
        one,
        u=one.u.repeat_interleave(times, 0),
        f0_train=one.f0_train.repeat_interleave(times, 0),
        y=one.y.repeat_interleave(times, 0),
    )
    repeated_cells = cells.repeat_interleave(times)
    mean = times.double().mean()
    weighted = replace(one, weights=times / mean)

    first, table = a.cell_environments(repeated, repeated_cells, held_out, options)
    second, other = a.cell_environments(weighted, cells, held_out, options)
    assert torch.equal(table, other)
    assert_close(first.slopes, second.slopes, rtol=0, atol=1e-5)

    thetas = []
    fits = [(repeated, first), (weighted, second)]
    for rows, found in fits:
        train = found.train
        validation = found.validation
        directions = a.cell_directions(rows, train, validation, options)
        thetas.append(directions.theta)
    assert_close(*thetas, rtol=0, atol=1e-5)


def literal_direction(points: Tensor, y: Tensor, r: Tensor, alpha: float) -> Tensor:
    """Minimiser of the penalised risk (3,), without a closed form."""
    shares = r / r.sum(0)
    mean_square = float((points**2).mean())
    rho = 1e-6 * mean_square

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        theta = torch.from_numpy(flat).requires_grad_(True)
        losses = (points @ theta - y) ** 2
        risks = losses @ shares
        slopes = []
        for risk in risks:
            (slope,) = torch.autograd.grad(risk, theta, create_graph=True)
            slopes.append(slope)
        gradients = torch.stack(slopes)  # (environments, 3)
        apart = gradients - gradients.mean(0)
        squared_distance = (apart**2).sum(-1)
        spread = squared_distance.mean()
        value = risks.mean() + alpha * spread
        squared_length = (theta**2).sum()
        value = value + rho * squared_length
        (gradient,) = torch.autograd.grad(value, theta)
        return value.item(), gradient.numpy()

    start = np.zeros(3)
    best = minimize(objective, start, jac=True, tol=1e-12)
    return torch.from_numpy(best.x)


def test_direction_minimises_the_penalised_risk_and_scores_are_out_of_fold() -> None:
    one, t = problem(300)
    cells, held_out, _ = cells_of(t, 150)
    changed: dict[str, Any] = {
        "alpha": [0.0, 2.0],
        "folds": 3,
        "penalty": "gradient_variance",
    }
    options = OPTIONS.model_copy(update=changed)
    found, _ = a.cell_environments(one, cells, held_out, options)
    train = found.train
    validation = found.validation
    directions = a.cell_directions(one, train, validation, options)
    psi, psi_validation = one.reduced(3)
    r = train[0]
    members = torch.cat([r, validation[0]])
    unit = float(GradientVariance().unit(psi))

    def learn(rows: Tensor, alpha: float) -> Tensor:
        return literal_direction(psi[rows], one.y[rows], r[rows], alpha * unit)

    permutations = stream(one.seed, "auxiliary", "folds")
    order = permutations.permutation(150)
    fold = torch.from_numpy(order % 3)
    every = torch.ones(150, dtype=torch.bool)
    for number, alpha in enumerate(options.alpha):
        whole = learn(every, alpha)
        learned = directions.theta[number]
        assert_close(learned, whole, rtol=0, atol=1e-5)

        outputs = torch.zeros(150, dtype=torch.float64)
        for f in range(3):
            out = fold == f
            theta = learn(~out, alpha)
            outputs[out] = psi[out] @ theta
        errors = (outputs - one.y) ** 2
        outputs_validation = psi_validation @ whole
        errors_validation = (outputs_validation - one.y_validation) ** 2
        both = torch.cat([errors, errors_validation])
        risks = (both @ members) / members.sum(0)
        worst = risks.max()
        gap = worst - risks.min()
        expected = -(worst + 4 * gap)
        score = float(directions.score[number])
        assert score == pytest.approx(float(expected), abs=1e-5)
    best = int(directions.score.argmax())
    assert directions.chosen == best


def test_validation_points_above_all_training_points_have_a_cell() -> None:
    one, t = problem(400)
    t = np.minimum(t, 0.7)
    t[300:303] = 0.9  # of the validation points alone
    cells, held_out, _ = cells_of(t, 200)
    found, (table,) = a.cell_environments(one, cells, held_out, OPTIONS)
    expected = table[cells.max()]
    above = found.validation[0, 100:103]
    assert torch.equal(above, expected.expand(3, -1))
