"""Where EM's initialisations end, and what the network's weight on the direction does.

Part ``splits``: 200 initialisations for each data set, seed and E step ("soft", "hard",
and "hard, intercept" as in the authors' code).  Does an optimum separate the expected
environments, copy the label, or leave one environment empty?  What is the test result
of the direction that follows from it?  And is the rule right that chooses among them?
Part ``lambda``: the network trained with several weights of the cosine, signed and as
printed (absolute).
"""

import functools
from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from scipy.special import comb
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import pad

from kerhrm import KerHRMOptions, NTFMap, Problem
from kerhrm.algorithm.em import EM
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.loop import Fit, fit
from kerhrm.algorithm.mixture import fit_mixture, random_starts
from kerhrm.algorithm.records import Environments
from kerhrm.methods.inputs import Inputs
from kerhrm_paper.data.draws import Draws
from kerhrm_paper.evaluation.metrics import accuracy, environment_errors
from studies.common import Unit, draw, expected, inputs, reduced

OPTIONS = KerHRMOptions()
LABEL, RIDGE, N_INIT = (
    OPTIONS.max_label_information,
    max(OPTIONS.clustering_ridge),
    OPTIONS.n_init,
)
EXPECTED = 0.8  #: area under the ROC curve from which a split is the expected one
E_STEPS = {
    "soft": (False, False),
    "hard": (True, False),
    "hard, intercept": (True, True),
}
#: generator, its options, dimension of the features, number of seeds
CASES: dict[str, tuple[str, dict[str, Any], int, int]] = {
    "Table 1, r2=0.70": ("classification", {"r2": 0.7}, 15, 5),
    "Table 1, r2=0.80": ("classification", {"r2": 0.8}, 15, 5),
    "Table 1, r2=0.80, k=25": ("classification", {"r2": 0.8}, 25, 5),
    "Table 3, r=1.9": ("regression", {"scenario": 1, "r": 1.9}, 15, 5),
    "Colored MNIST": ("colored_mnist", {}, 25, 2),
}
#: steps at most of the network training
TRAINED = {"Table 1, r2=0.80": 1500, "Table 3, r=1.9": 1500, "Colored MNIST": 300}
Replicate = tuple[Draws, Inputs, Problem, tuple[Tensor, Tensor]]
LAMBDAS = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)


def units(starts: int = 200) -> Iterator[Unit]:
    """Everything that is drawn: part, key, and the function that computes its rows."""
    for name, (*_, seeds) in CASES.items():
        for seed, e_step in product(range(seeds), E_STEPS):
            key = {"case": name, "seed": seed, "e_step": e_step}
            yield (
                "starts_splits",
                key,
                functools.partial(splits, name, seed, e_step, starts),
            )
    for name, steps in TRAINED.items():
        few = LAMBDAS[2::2] if name == "Colored MNIST" else LAMBDAS[1:]
        weights = [("signed", w) for w in LAMBDAS] + [("absolute", w) for w in few]
        for seed, (cosine, weight) in product(range(min(3, CASES[name][-1])), weights):
            key = {"case": name, "seed": seed, "cosine": cosine, "lambda": weight}
            train = functools.partial(trained, name, seed, cosine, weight, steps)
            yield "starts_lambda", key, train


@functools.lru_cache(maxsize=2)
def replicate(name: str, seed: int, k: int) -> Replicate:
    """Draw one replicate and reduce its features; the last two are kept."""
    data = draw(*CASES[name][:2], seed)
    own = inputs(data)
    features = NTFMap.fit(own.network, own.x, k)
    test = features.transform(torch.from_numpy(data.test.x[0]))
    return data, own, reduced(own, features), test


def result(data: Draws, outputs: Tensor) -> float:
    """Test accuracy, or mean squared error over the test environments,
    of outputs (m,)."""
    f, test = outputs.detach().numpy(), data.test
    if data.task == "classification":
        return float(accuracy(f, test.y[0]))
    return float(environment_errors(f, test.y[0], test.environment[0]).mean())


def splits(name: str, seed: int, e_step: str, starts: int) -> pd.DataFrame:
    """Optima of EM from many initialisations; equal ones are one row, counted in
    ``starts``."""
    k, (hard, intercept) = CASES[name][2], E_STEPS[e_step]
    own = data, _, problem, _ = replicate(name, seed, k)
    psi, held_out = problem.reduced(k)
    if intercept:
        constant = float((psi**2).mean()) ** 0.5
        psi, held_out = (pad(p, (0, 1), value=constant) for p in (psi, held_out))
    start = random_starts(seed, starts, len(psi), 2, "t=1", f"k={k}")
    mixtures = fit_mixture(
        psi,
        problem.target,
        start,
        ridge=RIDGE,
        em=EM(hard=hard, max_iter=OPTIONS.em_max_iter, tol=OPTIONS.em_tol),
    )
    train = mixtures.responsibilities(psi, problem.target)
    validation = mixtures.responsibilities(held_out, problem.target_validation)
    occupied = mixtures.weights >= OPTIONS.min_share
    area = np.array([roc_auc_score(expected(data), r[:, 0]) for r in train.numpy()])
    parts = zip(occupied, train, validation, strict=True)
    found = {
        "label_information": label_information(train, label_bins(problem.y)),
        "empty": occupied.sum(-1) < 2,
        "auc": np.maximum(area, 1 - area),
        "objective": mixtures.objective,
        "held_out": mixtures.log_likelihood(held_out, problem.target_validation),
        "result": [direction_result(own, k, o * t, o * v) for o, t, v in parts],
    }
    return (
        pd.DataFrame(found)
        .round(4)
        .value_counts(sort=False)
        .rename("starts")
        .reset_index()
    )


def direction_result(
    own: Replicate, k: int, train: Tensor, validation: Tensor
) -> float:
    """Test result of M_p on these environments (n, K), (m, K), alpha
    chosen as usual."""
    data, _, problem, test = own
    one = torch.ones(1, dtype=torch.int64)
    names = {f.name for f in fields(Environments)}
    given = {"k": one * k, "train": train[None], "validation": validation[None]}
    environments = Environments(
        **dict.fromkeys(names, one) | given | {"degenerate": one < 0}
    )
    direction = learn_directions(problem, [environments], OPTIONS).winner(1)
    return result(data, direction.predict(*test))


@functools.lru_cache(maxsize=1)
def algorithm(name: str, seed: int) -> Fit:
    """Algorithm 1 with its defaults, without the network."""
    return fit(replicate(name, seed, max(OPTIONS.k))[2], OPTIONS)


def trained(
    name: str, seed: int, cosine: str, weight: float, steps: int
) -> pd.DataFrame:
    """The network at the end of its training, next to the linear predictor."""
    data, own, problem, test = replicate(name, seed, max(OPTIONS.k))
    found = algorithm(name, seed)
    direction = found.final
    options = OPTIONS.model_copy(
        update={
            "cosine_weight": [weight],
            "cosine": cosine,
            "steps": steps,
            "check_every": None,
        }
    )
    given = own.x, own.x_validation, problem, direction, found.environments, options
    network = train_network(own.network, *given).network
    with torch.no_grad():
        change = network(own.x).double() - problem.f0_train
        coordinates = change @ problem.u[:, : direction.k].double()
        scaled = coordinates / problem.s[: direction.k]
        reached = (
            scaled
            @ direction.theta[: direction.k]
            / scaled.norm()
            / direction.theta.norm()
        )
        row = {
            "cosine_reached": float(reached),
            "outside": 1 - float((coordinates**2).sum() / (change**2).sum()),
            "result": result(data, network(torch.from_numpy(data.test.x[0]))),
            "linear_result": result(data, direction.predict(*test)),
        }
    return pd.DataFrame([row]).round(5)


def best_of(preferences: np.ndarray, results: np.ndarray, draws: int) -> float:
    """Expected result of the preferred one of some starts, drawn from all without
    replacement.

    The j-th best of n, j = 0, ..., is the best of m with probability C(n-1-j, m-1) /
    C(n, m).
    """
    n, by_rank = len(results), np.argsort(-preferences, kind="stable")
    below = n - 1 - np.arange(n - draws + 1)
    chances = comb(below, draws - 1) / comb(n, draws)
    return float(chances @ results[by_rank[: len(below)]])


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    """Optima with what the rule says of them: whether they are degenerate, and its
    preference."""
    degenerate = (rows["label_information"] > LABEL) | rows["empty"].astype(bool)
    right = (rows["auc"] >= EXPECTED) & ~degenerate
    split, rule = rows["label_information"] > LABEL, rows["held_out"] - 1e6 * degenerate
    return rows.assign(
        degenerate=degenerate, label_split=split, expected=right, rule=rule
    )


def summaries(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Row per case and E step: shares of the optima, and test results of rules that
    choose one."""
    rows = judged(drawn["starts_splits"])
    every = rows.loc[rows.index.repeat(rows["starts"])].reset_index(drop=True)
    groups = every.groupby(["case", "e_step"], sort=False)
    shares = groups[["label_split", "empty", "expected"]].mean()
    chosen = every.groupby(["case", "e_step", "seed"], sort=False).apply(_chosen)
    results = chosen.groupby(level=[0, 1], sort=False).mean()
    yield "starts_summary", shares.join(results).round(4).reset_index()


def _chosen(group: pd.DataFrame) -> pd.Series:
    """Test results of one data set's optima: any, best of n_init by likelihood, by our
    rule."""
    found = {"any": group["result"].mean()}
    for name, by in {"likelihood": "held_out", "rule": "rule"}.items():
        preferences = group[by].to_numpy()
        found[name] = best_of(preferences, group["result"].to_numpy(), N_INIT)
        found[f"{name}_right"] = float(
            group["auc"].iloc[int(preferences.argmax())] >= EXPECTED
        )
    return pd.Series(found)


def figures(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Test results of optima over their held-out likelihood, relative to the rule's
    choice."""
    rows = judged(drawn["starts_splits"])
    cases = [*dict.fromkeys(rows["case"])]
    figure, axes = plt.subplots(1, len(cases), figsize=(7.2, 2.6))
    for axis, case in zip(axes, cases, strict=True):
        for number, e_step in enumerate(E_STEPS):
            for _, own in rows[
                (rows["case"] == case) & (rows["e_step"] == e_step)
            ].groupby("seed"):
                x = own["held_out"] - own.loc[own["rule"].idxmax(), "held_out"]
                for marker, part in (
                    ("o", ~own["degenerate"]),
                    ("x", own["degenerate"]),
                ):
                    size, colour = 8 + 30 * own["starts"][part] / 200, f"C{number}"
                    axis.scatter(
                        x[part], own["result"][part], s=size, marker=marker, c=colour
                    )
        axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        axis.set_title(case.replace(", ", ",\n", 1))
    axes[0].set_ylabel("test accuracy (Table 3: error)")
    axes[len(cases) // 2].set_xlabel(
        "held-out log-likelihood, minus that of the chosen optimum"
    )
    yield "starts_selection", figure
