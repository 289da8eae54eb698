"""Small runs of the library that claims are tested on: numbers of one seed, by name.

Seeds count from 100 on, so that no table has them.  How well environments bring out
what varies is measured by the divergence of P(Y | A) between them, A being the spurious
attribute (:func:`kerhrm_paper.evaluation.metrics.divergence`).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from kerhrm.algorithm.igd import train_igd
from kerhrm.algorithm.mixture import orthogonal_update
from kerhrm.algorithm.options import KerHRMOptions
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
    steps, numbers = lab.size.steps, {}
    for name, share in (("short", 0.25), ("long", 2.5)):
        options = EIILOptions(
            reference_steps=int(share * steps), steps=steps, inference_steps=5 * steps
        )
        network = train_eiil(lab.inputs, options).networks["model"]
        numbers[f"{name} reference"] = lab.accuracy(network)
    return numbers


def variant_part(lab: Lab) -> Numbers:
    """Psi_V, the invariant part, and Psi.

    Environments learned, and R2 of A, of S's sum and of the invariant part.
    """
    psi, theta = lab.problem.psi_train, lab.direction(lab.perfect)
    left, along = orthogonal_update(psi, theta), (psi @ (theta / theta.norm()))[:, None]
    return {
        "divergence from Psi_V": lab.divergence(lab.explore(left)),
        "divergence from psi^T theta_inv": lab.divergence(lab.explore(along)),
        "Psi_V on A": _explained(left, lab.v.sign()),
        "Psi_V on S": _explained(left, lab.s),
        "Psi_V on psi^T theta_inv": _explained(left, along[:, 0]),
        "Psi on A": _explained(psi, lab.v.sign()),
        "Psi on S": _explained(psi, lab.s),
    }


def _explained(features: Tensor, target: Tensor) -> float:
    """R2 of least squares with a constant."""
    features, target = features - features.mean(0), target - target.mean()
    fitted = features @ (torch.linalg.pinv(features, rtol=1e-8) @ target)
    return float(1 - ((target - fitted) ** 2).sum() / (target**2).sum())


def iterations(lab: Lab) -> Numbers:
    """The first and the last iteration of Algorithm 1."""
    numbers = {}
    for name, i in (("first", 0), ("last", -1)):
        winner = lab.fit.directions[i].winner(1)
        environments = lab.fit.environments[i]
        memberships = environments.train[environments.k.tolist().index(winner.k)]
        numbers[f"{name} divergence"] = lab.divergence(memberships)
        numbers[f"{name} accuracy"] = lab.accuracy(winner.theta)
    return numbers


def low_rank(lab: Lab) -> Numbers:
    """Ridge regression on k and on all directions, and the network by ERM.

    On validation points.
    """
    regressed = Lab("regression", lab.seed, lab.size)
    options = ERMOptions(steps=2 * lab.size.steps)
    network = train_erm(regressed.inputs, options).networks["model"]
    with torch.no_grad():
        outputs = network(regressed.inputs.x_validation).double()
    numbers = {
        "accuracy with k": _best_ridge(lab, reduced=True)[0],
        "accuracy with all": _best_ridge(lab, reduced=False)[0],
        "error with k": _best_ridge(regressed, reduced=True)[1],
        "error with all": _best_ridge(regressed, reduced=False)[1],
    }
    error = ((outputs - regressed.problem.y_validation) ** 2).mean()
    return numbers | {"error of the trained network": float(error)}


def _best_ridge(lab: Lab, *, reduced: bool) -> tuple[float, float]:
    """Accuracy and mean squared error at the ridge with the least error."""
    problem, inputs = lab.problem, lab.inputs
    if reduced:
        kernel = problem.psi_train @ problem.psi_train.mT
        cross = problem.psi_validation @ problem.psi_train.mT
    else:
        (ntf, _), (new, _) = (
            extract(inputs.network, x) for x in (inputs.x, inputs.x_validation)
        )
        kernel, cross = ntf.kernel(ntf).double(), new.kernel(ntf).double()
    units = kernel.diagonal().mean() * torch.eye(len(kernel), dtype=kernel.dtype)
    weights = [
        torch.linalg.solve(kernel + ridge * units, problem.target) for ridge in RIDGES
    ]
    outputs = problem.f0_validation + torch.stack(weights) @ cross.mT
    squares = ((outputs - problem.y_validation) ** 2).mean(-1)
    best = int(squares.argmin())
    right = accuracy(outputs[best].numpy(), problem.y_validation.numpy())
    return float(right), float(squares[best])


def cosine_penalty(lab: Lab) -> Numbers:
    """Networks trained along theta_inv of the last iteration, with the penalty and
    without."""
    problem, start = lab.problem, lab.inputs.network
    end = lab.fit.directions[-1].winner(1)
    options = KerHRMOptions(steps=lab.size.steps, check_every=None)
    networks = [
        train_igd(start, lab.inputs.x, problem, end, weight, options)[0]
        for weight in (COSINE_WEIGHT, 0.0)
    ]
    coefficients = problem.u @ (end.theta / problem.s)
    along = Linearisation.along(start, lab.inputs.x, coefficients[:, None]).directions
    pairs = [
        (w - start.weights[name], along[name][0])
        for name, w in networks[0].weights.items()
    ]
    change, v_theta = (
        torch.cat([w.double().flatten() for w in ws]) for ws in zip(*pairs, strict=True)
    )
    return {
        "share along V theta": float(
            torch.cosine_similarity(change, v_theta, dim=0) ** 2
        ),
        "accuracy with penalty": lab.accuracy(networks[0]),
        "accuracy without": lab.accuracy(networks[1]),
    }


def corrupted(lab: Lab) -> Numbers:
    """Environments ever more corrupted: the rank correlation of what is learned."""
    draws = torch.from_numpy(
        stream(lab.seed, "claims", "corruption").random(len(lab.perfect))
    )
    memberships = [
        torch.where(draws[:, None] < share, 1 - lab.perfect, lab.perfect)
        for share in CORRUPTED
    ]
    accuracies = [lab.accuracy(lab.direction(r)) for r in memberships]
    return {
        "accuracy with right points": rank_correlation(-np.array(CORRUPTED), accuracies)
    }


def turned(lab: Lab) -> Numbers:
    """Environments learned without theta, turned from theta_inv to that of ERM."""
    psi = lab.problem.psi_train
    ends = (
        lab.direction(lab.perfect),
        lab.direction(torch.ones_like(lab.perfect[:, :1]), 0.0),
    )
    invariant, erm = (theta / theta.norm() for theta in ends)
    distances = [
        lab.divergence(
            lab.explore(orthogonal_update(psi, (1 - turn) * invariant + turn * erm))
        )
        for turn in TURNED
    ]
    return {
        "divergence with invariance": rank_correlation(-np.array(TURNED), distances)
    }


def selection_bias(lab: Lab) -> Numbers:
    """Correlation of V_b and Y over r in the regression."""
    options, n = regression.RegressionData(), 4 * lab.size.points
    numbers = {}
    for r in (sign * bias for bias in BIASES for sign in (1, -1)):
        random = stream(lab.seed, "claims", f"r={r:g}")
        _, v, y = regression.draw(random, n, r, options)
        numbers[f"r={r:g}"] = float(np.corrcoef(v[:, -1], y)[0, 1])
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
    size = replace(SMOKE if smoke else Size(), **sizes)
    seeds = range(FIRST_SEED, FIRST_SEED + size.seeds)
    return pd.DataFrame(
        [MEASURES[measure](_lab(seed, size)) for seed in seeds], [*seeds]
    )
