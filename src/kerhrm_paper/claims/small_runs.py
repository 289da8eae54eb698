"""Small runs of the library that claims are tested on: numbers of one seed, by name.

Seeds count from 100 on, so that no table has them; searches have the first ones.  How
well environments bring out what varies is measured by the divergence of P(Y | A)
between them, A being the spurious attribute
(:func:`kerhrm_paper.evaluation.metrics.divergence`).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from kerhrm.algorithm.igd import train_igd
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.variant import orthogonal_update
from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import extract
from kerhrm.methods.eiil import train_eiil
from kerhrm.methods.erm import train_erm
from kerhrm.methods.options import EIILOptions, ERMOptions
from kerhrm.randomness import stream
from kerhrm_paper.claims.comparison import rank_correlation
from kerhrm_paper.claims.lab import SMOKE, Lab, Size
from kerhrm_paper.claims.settings import CORRUPTED, TURNED
from kerhrm_paper.data import regression
from kerhrm_paper.evaluation.metrics import accuracy

Numbers = dict[str, float]
FIRST_SEED = 100
COSINE_WEIGHT = 100.0
BIASES = (1.1, 1.5, 1.9, 2.3, 2.9)
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  #: in units of the kernel's mean eigenvalue


def eiil_reference(lab: Lab) -> Numbers:
    """Test accuracy of EIIL, its reference trained for a quarter or for 2.5 of the
    steps."""
    steps = lab.size.steps
    shares = {"short": 0.25, "long": 2.5}
    numbers = {}
    for name, share in shares.items():
        options = EIILOptions(
            reference_steps=int(share * steps),
            steps=steps,
            inference_steps=5 * steps,
        )
        fitted = train_eiil(lab.inputs, options)
        network = fitted.networks["model"]
        numbers[f"{name} reference"] = lab.accuracy(network)
    return numbers


def variant_part(lab: Lab) -> Numbers:
    """Psi_V, the invariant part, and Psi.

    Environments learned, and R2 of A, of S's sum and of the invariant part.
    """
    psi = lab.problem.psi_train
    theta = lab.direction(lab.perfect)
    left = orthogonal_update(psi, theta)
    unit = theta / theta.norm()
    along = psi @ unit
    of_left = lab.explore(left)
    of_along = lab.explore(along[:, None])
    attribute = lab.v.sign()
    return {
        "divergence from Psi_V": lab.divergence(of_left),
        "divergence from psi^T theta_inv": lab.divergence(of_along),
        "Psi_V on A": _explained(left, attribute),
        "Psi_V on S": _explained(left, lab.s),
        "Psi_V on psi^T theta_inv": _explained(left, along),
        "Psi on A": _explained(psi, attribute),
        "Psi on S": _explained(psi, lab.s),
    }


def _explained(features: Tensor, target: Tensor) -> float:
    """R2 of least squares with a constant."""
    features = features - features.mean(0)
    target = target - target.mean()
    inverse = torch.linalg.pinv(features, rtol=1e-8)
    coefficients = inverse @ target
    fitted = features @ coefficients
    residuals = target - fitted
    residual_squares = (residuals**2).sum()
    squares = (target**2).sum()
    unexplained = residual_squares / squares
    return float(1 - unexplained)


def iterations(lab: Lab) -> Numbers:
    """The first and the last iteration of Algorithm 1."""
    positions = {"first": 0, "last": -1}
    numbers = {}
    for name, position in positions.items():
        directions = lab.fit.directions[position]
        winner = directions.winner(1)
        environments = lab.fit.environments[position]
        counts = environments.k.tolist()
        clustering = counts.index(winner.k)
        memberships = environments.train[clustering]
        numbers[f"{name} divergence"] = lab.divergence(memberships)
        numbers[f"{name} accuracy"] = lab.accuracy(winner.theta)
    return numbers


def low_rank(lab: Lab) -> Numbers:
    """Ridge regression on k and on all directions, and the network by ERM.

    On validation points.
    """
    regressed = Lab("regression", lab.seed, lab.size)
    steps = 2 * lab.size.steps
    options = ERMOptions(steps=steps)
    fitted = train_erm(regressed.inputs, options)
    network = fitted.networks["model"]
    with torch.no_grad():
        outputs = network(regressed.inputs.x_validation)
        outputs = outputs.double()
    errors = outputs - regressed.problem.y_validation
    mean_error = (errors**2).mean()
    accuracy_with_k, _ = _best_ridge(lab, reduced=True)
    accuracy_with_all, _ = _best_ridge(lab, reduced=False)
    _, error_with_k = _best_ridge(regressed, reduced=True)
    _, error_with_all = _best_ridge(regressed, reduced=False)
    return {
        "accuracy with k": accuracy_with_k,
        "accuracy with all": accuracy_with_all,
        "error with k": error_with_k,
        "error with all": error_with_all,
        "error of the trained network": float(mean_error),
    }


def _best_ridge(lab: Lab, *, reduced: bool) -> tuple[float, float]:
    """Accuracy and mean squared error at the ridge with the least error."""
    problem = lab.problem
    inputs = lab.inputs
    y = problem.y_validation
    if reduced:
        psi = problem.psi_train
        kernel = psi @ psi.mT
        cross = problem.psi_validation @ psi.mT
    else:
        features, _ = extract(inputs.network, inputs.x)
        new, _ = extract(inputs.network, inputs.x_validation)
        kernel = features.kernel(features).double()
        cross = new.kernel(features).double()
    n = len(kernel)
    identity = torch.eye(n, dtype=kernel.dtype)
    mean_eigenvalue = kernel.diagonal().mean()
    units = mean_eigenvalue * identity
    weights = []
    for ridge in RIDGES:
        regularised = kernel + ridge * units
        of_ridge = torch.linalg.solve(regularised, problem.target)
        weights.append(of_ridge)
    every_weight = torch.stack(weights)
    changes = every_weight @ cross.mT
    outputs = problem.f0_validation + changes
    squared = (outputs - y) ** 2
    errors = squared.mean(-1)
    best = int(errors.argmin())
    best_outputs = outputs[best].numpy()
    share = accuracy(best_outputs, y.numpy())
    error = errors[best]
    return float(share), float(error)


def cosine_penalty(lab: Lab) -> Numbers:
    """Networks trained along theta_inv of the last iteration, with the penalty and
    without."""
    problem = lab.problem
    x = lab.inputs.x
    start = lab.inputs.network
    last = lab.fit.directions[-1]
    end = last.winner(1)
    steps = lab.size.steps
    options = KerHRMOptions(steps=steps, check_every=None)
    penalised, _ = train_igd(start, x, problem, end, COSINE_WEIGHT, options)
    free, _ = train_igd(start, x, problem, end, 0.0, options)
    rotated = end.theta / problem.s
    coefficients = problem.u @ rotated
    as_column = coefficients[:, None]
    linearised = Linearisation.along(start, x, as_column)
    changes = []
    directions = []
    for name, weight in penalised.weights.items():
        change = weight - start.weights[name]
        change = change.double()
        changes.append(change.flatten())
        (along,) = linearised.directions[name]
        along = along.double()
        directions.append(along.flatten())
    change = torch.cat(changes)
    direction = torch.cat(directions)
    cosine = torch.cosine_similarity(change, direction, dim=0)
    with torch.no_grad():
        outputs = penalised(x).double()
    of_outputs = outputs - problem.f0_train
    reduced = problem.u.mT @ of_outputs / problem.s
    cosine_reduced = torch.cosine_similarity(reduced, end.theta, dim=0)
    return {
        "share along V theta": float(cosine**2),
        "cosine in reduced directions": float(cosine_reduced.abs()),
        "accuracy with penalty": lab.accuracy(penalised),
        "accuracy without": lab.accuracy(free),
    }


def corrupted(lab: Lab) -> Numbers:
    """Environments ever more corrupted: the rank correlation of what is learned."""
    random = stream(lab.seed, "claims", "corruption")
    n = len(lab.perfect)
    uniform = random.random(n)
    draws = torch.from_numpy(uniform)
    accuracies = []
    for share in CORRUPTED:
        is_wrong = draws[:, None] < share
        perfect = lab.perfect
        memberships = torch.where(is_wrong, 1 - perfect, perfect)
        direction = lab.direction(memberships)
        share_right = lab.accuracy(direction)
        accuracies.append(share_right)
    right = -np.array(CORRUPTED)
    correlation = rank_correlation(right, accuracies)
    return {"accuracy with right points": correlation}


def turned(lab: Lab) -> Numbers:
    """Environments learned without theta, turned from theta_inv to that of ERM."""
    psi = lab.problem.psi_train
    invariant = lab.direction(lab.perfect)
    invariant = invariant / invariant.norm()
    one_environment = lab.perfect[:, :1]
    pooled = torch.ones_like(one_environment)
    erm = lab.direction(pooled, 0.0)
    erm = erm / erm.norm()
    distances = []
    for turn in TURNED:
        of_invariant = (1 - turn) * invariant
        of_erm = turn * erm
        theta = of_invariant + of_erm
        left = orthogonal_update(psi, theta)
        memberships = lab.explore(left)
        distance = lab.divergence(memberships)
        distances.append(distance)
    invariance = -np.array(TURNED)
    correlation = rank_correlation(invariance, distances)
    return {"divergence with invariance": correlation}


def selection_bias(lab: Lab) -> Numbers:
    """Correlation of V_b and Y over r in the regression."""
    options = regression.RegressionData()
    n = 4 * lab.size.points
    numbers = {}
    for bias in BIASES:
        for r in (bias, -bias):
            name = f"r={r:g}"
            random = stream(lab.seed, "claims", name)
            _, v, y = regression.draw(random, n, r, options)
            last = v[:, -1]
            correlations = np.corrcoef(last, y)
            correlation = correlations[0, 1]
            numbers[name] = float(correlation)
    return numbers


MEASURES: dict[str, Callable[[Lab], Numbers]] = {
    measure.__name__: measure
    for measure in (
        eiil_reference,
        variant_part,
        iterations,
        low_rank,
        cosine_penalty,
        corrupted,
        turned,
        selection_bias,
    )
}


_lab = lru_cache(maxsize=16)(partial(Lab, "classification"))


def run(measure: str, smoke: bool = False, **sizes: int) -> pd.DataFrame:
    """Numbers of a small run: a row per seed, a column per name.

    ``sizes`` are fields of :class:`~kerhrm_paper.claims.lab.Size` that differ.
    """
    base = SMOKE if smoke else Size()
    size = replace(base, **sizes)
    end = FIRST_SEED + size.seeds
    seeds = range(FIRST_SEED, end)
    rows = []
    for seed in seeds:
        lab = _lab(seed, size)
        measured = MEASURES[measure]
        numbers = measured(lab)
        rows.append(numbers)
    return pd.DataFrame(rows, index=[*seeds])
