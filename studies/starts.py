"""Where EM's initialisations end, and what the network's weight on the direction does.

Part ``splits``: 200 initialisations for each data set, seed and E step ("soft", "hard", and "hard,
intercept" as in the authors' code).  Does an optimum separate the expected environments, copy the
label, or leave one environment empty?  What is the test result of the direction that follows from
it?  And is the rule right that chooses among them?  Part ``lambda``: the network trained with
several weights of the cosine, signed and as printed (absolute).
"""

import functools
from collections.abc import Iterator
from dataclasses import fields
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from scipy.special import gammaln
from sklearn.metrics import roc_auc_score
from torch.nn.functional import pad

from kerhrm import KerHRMOptions
from kerhrm.algorithm.environments import label_bins, label_information
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.loop import Fit, fit
from kerhrm.algorithm.mixture import fit_mixture, random_starts
from kerhrm.algorithm.records import Environments
from studies.common import Case, Replicate, Unit, replicate

OPTIONS = KerHRMOptions()
LABEL, RIDGE, N_INIT = OPTIONS.max_label_information, max(OPTIONS.clustering_ridge), OPTIONS.n_init
EXPECTED = 0.8  #: area under the ROC curve from which a split is the expected one
E_STEPS = {"soft": (False, False), "hard": (True, False), "hard, intercept": (True, True)}
CASES = {
    "Table 1, r2=0.70": Case("classification", {"r2": 0.7}, k=15),
    "Table 1, r2=0.80": Case("classification", {"r2": 0.8}, k=15),
    "Table 1, r2=0.80, k=25": Case("classification", {"r2": 0.8}, k=25),
    "Table 3, r=1.9": Case("regression", {"scenario": 1, "r": 1.9}, k=15),
    "Colored MNIST": Case("colored_mnist", {}, k=25, seeds=(0, 1)),
}
#: steps at most of the network training
TRAINED = {"Table 1, r2=0.80": 1500, "Table 3, r=1.9": 1500, "Colored MNIST": 300}
LAMBDAS = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)


def units(starts: int = 200) -> Iterator[Unit]:
    """Everything that is drawn: part, key, and the function that computes its rows."""
    for name, case in CASES.items():
        for seed, e_step in product(case.seeds, E_STEPS):
            key = {"case": name, "seed": seed, "e_step": e_step}
            yield "starts_splits", key, functools.partial(splits, case, seed, e_step, starts)
    for name, steps in TRAINED.items():
        case = CASES[name]
        few = LAMBDAS[2::2] if name == "Colored MNIST" else LAMBDAS[1:]
        weights = [("signed", w) for w in LAMBDAS] + [("absolute", w) for w in few]
        for seed, (cosine, weight) in product(case.seeds[:3], weights):
            key = {"case": name, "seed": seed, "cosine": cosine, "lambda": weight}
            yield (
                "starts_lambda",
                key,
                functools.partial(trained, name, seed, cosine, weight, steps),
            )


def splits(case: Case, seed: int, e_step: str, starts: int) -> pd.DataFrame:
    """Optima of EM from many initialisations; equal ones are one row, counted in ``starts``."""
    own, (hard, intercept) = replicate(case, seed), E_STEPS[e_step]
    problem = own.problem
    psi, held_out = problem.reduced(case.k)
    if intercept:
        constant = float((psi**2).mean()) ** 0.5
        psi, held_out = (pad(p, (0, 1), value=constant) for p in (psi, held_out))
    start = random_starts(seed, starts, len(psi), 2, "t=1", f"k={case.k}")
    limits = {"max_iter": OPTIONS.em_max_iter, "tol": OPTIONS.em_tol}
    mixtures = fit_mixture(psi, problem.target, start, ridge=RIDGE, hard=hard, **limits)  # type: ignore[arg-type]
    train = mixtures.responsibilities(psi, problem.target)
    validation = mixtures.responsibilities(held_out, problem.target_validation)
    occupied = mixtures.weights >= OPTIONS.min_share
    area = np.array([roc_auc_score(own.expected, r[:, 0]) for r in train.numpy()])
    rows = pd.DataFrame(
        {
            "label_information": label_information(train, label_bins(problem.y)),
            "empty": occupied.sum(-1) < 2,
            "auc": np.maximum(area, 1 - area),
            "objective": mixtures.objective,
            "held_out": mixtures.log_likelihood(held_out, problem.target_validation),
            "result": [
                direction_result(own, o * t, o * v)
                for o, t, v in zip(occupied, train, validation, strict=True)
            ],
        }
    )
    return rows.round(4).value_counts(sort=False).rename("starts").reset_index()


def direction_result(own: Replicate, train: torch.Tensor, validation: torch.Tensor) -> float:
    """Test result of M_p on these environments (n, K), (m, K), alpha chosen as usual."""
    one = torch.ones(1, dtype=torch.int64)
    names = {f.name for f in fields(Environments)} - {"train", "validation", "k", "degenerate"}
    environments = Environments(
        k=one * own.case.k,
        train=train[None],
        validation=validation[None],
        degenerate=one < 0,
        **dict.fromkeys(names, one),
    )
    direction = learn_directions(own.problem, [environments], OPTIONS).winner(1)
    return own.result(direction.predict(own.psi_test, own.f0_test))


@functools.lru_cache(maxsize=1)
def algorithm(name: str, seed: int) -> tuple[Replicate, Fit]:
    """Algorithm 1 with its defaults, without the network."""
    case = CASES[name]
    own = replicate(Case(case.generator, case.options, max(OPTIONS.k)), seed)
    return own, fit(own.problem, OPTIONS)


def trained(name: str, seed: int, cosine: str, weight: float, steps: int) -> pd.DataFrame:
    """The network at the end of its training, next to the linear predictor."""
    own, result = algorithm(name, seed)
    problem, direction = own.problem, result.final
    options = OPTIONS.model_copy(
        update={"cosine_weight": [weight], "cosine": cosine, "steps": steps, "check_every": None}
    )
    x, x_validation, x_test = own.points
    network = train_network(
        own.network, x, x_validation, problem, direction, result.environments, options
    ).network
    with torch.no_grad():
        change = network(x).double() - problem.f0_train
        coordinates = change @ problem.u[:, : direction.k].double()
        aligned = (coordinates / problem.s[: direction.k]) @ direction.theta[: direction.k]
        norms = (coordinates / problem.s[: direction.k]).norm() * direction.theta.norm()
        row = {
            "cosine_reached": float(aligned / norms),
            "outside": 1 - float((coordinates**2).sum() / (change**2).sum()),
            "result": own.result(network(x_test)),
            "linear_result": own.result(direction.predict(own.psi_test, own.f0_test)),
        }
    return pd.DataFrame([row]).round(5)


def best_of(preferences: np.ndarray, results: np.ndarray, draws: int) -> float:
    """Expected result of the preferred one of some starts, drawn from all without replacement.

    The j-th best of n, j = 0, ..., is the best of m with probability C(n-1-j, m-1) / C(n, m).
    """
    n, by_rank = len(results), np.argsort(-preferences, kind="stable")
    below = n - 1.0 - np.arange(n - draws + 1)
    log_weight = _log_choose(below, draws - 1) - _log_choose(np.array(float(n)), draws)
    return float(np.exp(log_weight) @ results[by_rank[: len(below)]])


def _log_choose(n: np.ndarray, k: int) -> np.ndarray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def summaries(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Row per case and E step: shares of the optima, and test results of rules that choose one."""
    rows = drawn["starts_splits"]
    every = rows.loc[rows.index.repeat(rows["starts"])].reset_index(drop=True)
    found = []
    for (case, e_step), group in every.groupby(["case", "e_step"], sort=False):
        results = [_chosen(one) for _, one in group.groupby("seed")]
        split = group["label_information"] > LABEL
        right = (group["auc"] >= EXPECTED) & ~split & ~group["empty"].astype(bool)
        shares = {"label_split": split, "empty": group["empty"], "expected": right}
        row = {"case": case, "e_step": e_step} | {n: s.mean() for n, s in shares.items()}
        found.append(row | pd.DataFrame(results).mean().to_dict())
    yield "starts_summary", pd.DataFrame(found).round(4)


def _chosen(group: pd.DataFrame) -> dict[str, float]:
    """Test results of one data set's optima: any, best of n_init by likelihood, by our rule."""
    result, likelihood = group["result"].to_numpy(), group["held_out"].to_numpy()
    degenerate = (group["label_information"] > LABEL) | group["empty"].astype(bool)
    rule = np.where(degenerate, likelihood - 1e6, likelihood)
    return {
        "any": float(result.mean()),
        "likelihood": best_of(likelihood, result, N_INIT),
        "rule": best_of(rule, result, N_INIT),
        "rule_right": float(group["auc"].iloc[int(rule.argmax())] >= EXPECTED),
        "likelihood_right": float(group["auc"].iloc[int(likelihood.argmax())] >= EXPECTED),
    }


def figures(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Test results over likelihoods."""
    yield "starts_selection", selection(drawn["starts_splits"])


def selection(rows: pd.DataFrame) -> Figure:
    """Test results of optima over their held-out likelihood, relative to the rule's choice."""
    cases = [*dict.fromkeys(rows["case"])]
    figure, axes = plt.subplots(1, len(cases), figsize=(7.2, 2.6))
    for axis, case in zip(axes, cases, strict=True):
        for number, e_step in enumerate(E_STEPS):
            for _, own in rows[(rows["case"] == case) & (rows["e_step"] == e_step)].groupby("seed"):
                degenerate = (own["label_information"] > LABEL) | own["empty"].astype(bool)
                best = own["held_out"].where(~degenerate, own["held_out"] - 1e6).idxmax()
                x = own["held_out"] - own.loc[best, "held_out"]
                for marker, part in (("o", ~degenerate), ("x", degenerate)):
                    size, colour = 8 + 30 * own["starts"][part] / 200, f"C{number}"
                    axis.scatter(x[part], own["result"][part], s=size, marker=marker, c=colour)
        axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        axis.set_title(case.replace(", ", ",\n", 1))
    axes[0].set_ylabel("test accuracy (Table 3: error)")
    axes[len(cases) // 2].set_xlabel("held-out log-likelihood, minus that of the chosen optimum")
    return figure
