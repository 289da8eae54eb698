"""Where EM's initialisations end, and what the network's weight on the direction does.

Table ``starts_splits``: 200 initialisations for each data set, seed and E step ("soft",
"hard", and "hard, intercept" as in the authors' code).  Does an optimum separate the
expected environments, copy the label, or leave one environment empty?  What is the test
result of the direction that follows from it?  And is the rule right that chooses among
them (``starts_results``)?
Table ``starts_lambda``: the network trained with several weights of the cosine, signed
and as printed (absolute).
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
import torch
from pandas import DataFrame
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import pad

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.loop import Fit, fit
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.algorithm.starts import random_starts
from kerhrm_paper.data.paper_data import expected
from kerhrm_paper.studies.starts_data import CASES, IMAGES, Replicate, Start
from kerhrm_paper.studies.starts_results import (
    LAMBDA,
    SPLITS,
    STARTS,
    figures,
    summaries,
)
from kerhrm_paper.studies.study import Files, Study, StudyRow, Unit

OPTIONS = KerHRMOptions()
K_MAX = max(OPTIONS.k)
RIDGE = max(OPTIONS.clustering_ridge)


@dataclass(frozen=True)
class EStep:
    """A variant of EM's E step."""

    hard: bool
    intercept: bool


E_STEPS = {
    "soft": EStep(hard=False, intercept=False),
    "hard": EStep(hard=True, intercept=False),
    "hard, intercept": EStep(hard=True, intercept=True),
}


#: steps at most of the network training
TRAINED = {
    "Table 1, r2=0.80": 1500,
    "Table 3, r=1.9": 1500,
    IMAGES: 300,
}
LAMBDAS = [0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5]


# --- units ----------------------------------------------------------------------------


def units(files: Files) -> Iterator[Unit]:
    """A unit for each clustering from many starts, then for each trained network."""
    raw_file = files["raw"]
    for name, case in CASES.items():
        for seed in range(case.seeds):
            start = Start(name, seed, raw_file)
            for e_step in E_STEPS:
                key = {
                    "case": name,
                    "seed": seed,
                    "e_step": e_step,
                }
                compute = partial(splits, start, e_step)
                yield Unit(SPLITS, key, compute)
    for name in TRAINED:
        n_seeds = CASES[name].seeds
        seeds = min(3, n_seeds)
        for seed in range(seeds):
            start = Start(name, seed, raw_file)
            for cosine, weight in weights(name):
                key = {
                    "case": name,
                    "seed": seed,
                    "cosine": cosine,
                    "lambda": weight,
                }
                compute = partial(trained, start, cosine, weight)
                yield Unit(LAMBDA, key, compute)


Cosine = Literal["signed", "absolute"]


def weights(name: str) -> Iterator[tuple[Cosine, float]]:
    """Variants of the cosine with their weights: all signed ones, some as printed."""
    for weight in LAMBDAS:
        yield "signed", weight
    printed = LAMBDAS[1:]
    if name == IMAGES:
        printed = LAMBDAS[2::2]
    for weight in printed:
        yield "absolute", weight


# --- optima ---------------------------------------------------------------------------


def splits(start: Start, e_step: str) -> DataFrame:
    """Optima of EM from many initialisations; equal ones are one row, counted in
    ``starts``."""
    k = start.case.k
    variant = E_STEPS[e_step]
    drawn = start.replicate(k)
    problem = drawn.problem
    psi, held_out = problem.reduced(k)
    if variant.intercept:
        squares = psi**2
        constant = float(squares.mean()) ** 0.5
        add = partial(pad, pad=(0, 1), value=constant)
        psi = add(psi)
        held_out = add(held_out)
    names = "t=1", f"k={k}"
    n = len(psi)
    drawn_starts = random_starts(start.seed, STARTS, n, 2, *names)
    mixtures = fit_mixture(
        psi,
        problem.target,
        drawn_starts,
        ridge=RIDGE,
        em=EM(
            hard=variant.hard,
            max_iter=OPTIONS.em_max_iter,
            tol=OPTIONS.em_tol,
        ),
    )
    target = problem.target_validation
    train = mixtures.responsibilities(psi, problem.target)
    validation = mixtures.responsibilities(held_out, target)
    occupied = mixtures.weights >= OPTIONS.min_share
    results = []
    of_starts = zip(occupied, train, validation, strict=True)
    for kept, *memberships in of_starts:
        of_train, of_validation = memberships
        environments = kept * of_train, kept * of_validation
        result = direction_result(drawn, k, *environments)
        results.append(result)
    sides = expected(drawn.data)
    area = areas(sides, train)
    bins = label_bins(problem.y)
    optima = {
        "label_information": label_information(train, bins),
        "empty": occupied.sum(-1) < 2,
        "auc": np.maximum(area, 1 - area),
        "objective": mixtures.objective,
        "held_out": mixtures.log_likelihood(held_out, target),
        "result": results,
    }
    rounded = DataFrame(optima)
    rounded = rounded.round(4)
    equal = rounded.value_counts(sort=False)
    counts = equal.rename("starts")
    return counts.reset_index()


def areas(sides: np.ndarray, memberships: Tensor) -> np.ndarray:
    """Areas under the ROC curve of the first environment of each clustering."""
    of_first = memberships[..., 0]
    scores = of_first.numpy()
    areas_of_starts = [roc_auc_score(sides, score) for score in scores]
    return np.array(areas_of_starts)


def direction_result(
    drawn: Replicate,
    k: int,
    train: Tensor,
    validation: Tensor,
) -> float:
    """Test result of M_p on these environments (n, K), (m, K), alpha chosen as
    usual."""
    one = torch.ones(1, dtype=torch.int64)
    names = [column.name for column in fields(Environments)]
    unread = dict.fromkeys(names, one)
    read = {
        "k": one * k,
        "train": train[None],
        "validation": validation[None],
        "degenerate": one < 0,
    }
    environments = Environments(**unread | read)
    directions = learn_directions(drawn.problem, [environments], OPTIONS)
    direction = directions.winner(1)
    outputs = direction.predict(*drawn.test)
    return drawn.result(outputs)


# --- networks -------------------------------------------------------------------------


@lru_cache(maxsize=1)
def algorithm(start: Start) -> Fit:
    """Algorithm 1 with its defaults, without the network."""
    drawn = start.replicate(K_MAX)
    return fit(drawn.problem, OPTIONS)


def trained(start: Start, cosine: Cosine, weight: float) -> DataFrame:
    """The network at the end of its training, next to the linear predictor."""
    drawn = start.replicate(K_MAX)
    points = drawn.points
    loop = algorithm(start)
    direction = loop.final
    changes = {
        "cosine_weight": [weight],
        "cosine": cosine,
        "steps": TRAINED[start.name],
        "check_every": None,
    }
    training = train_network(
        points.network,
        points.x,
        points.x_validation,
        drawn.problem,
        direction,
        loop.environments,
        OPTIONS.model_copy(update=changes),
    )
    network = training.network
    with torch.no_grad():
        outputs = network(points.x)
        test_outputs = network(drawn.x_test)
        linear = direction.predict(*drawn.test)
        row = {
            **moved(outputs, drawn.problem, direction),
            "result": drawn.result(test_outputs),
            "linear_result": drawn.result(linear),
        }
    return DataFrame([row]).round(5)


def moved(outputs: Tensor, problem: Problem, direction: Any) -> StudyRow:
    """Cosine of the outputs' change with the direction; its share off the features."""
    k = direction.k
    change = outputs.double() - problem.f0_train
    u = problem.u[:, :k]
    u = u.double()
    coordinates = change @ u
    scaled = coordinates / problem.s[:k]
    theta = direction.theta[:k]
    product = scaled @ theta
    cosine = product / scaled.norm() / theta.norm()
    inside = (coordinates**2).sum()
    whole = (change**2).sum()
    share = inside / whole
    row = {"cosine_reached": float(cosine)}
    row["outside"] = 1 - float(share)
    return row


STUDY = Study(
    units=units,
    summaries=summaries,
    figures=figures,
)
