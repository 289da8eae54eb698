"""What the study of M_c's starts draws: fits from random starts, and where they lead."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from benchmarks.starts_cases import CASES, Case, Posed, pose_case, truth
from kerhrm.algorithm.degeneracy import label_bins, label_information
from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.linear import predict
from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.algorithm.options import Clustering, Invariance
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments

Rows = list[dict[str, Any]]
#: what a drawing is known by, and what draws it
Drawing = tuple[tuple[Any, ...], Callable[[], Rows]]
OPTIONS = Clustering()
RIDGE = max(OPTIONS.ridge)
STARTS, STARTS_OVER_K = 200, 50
CLUSTERS = (2, 3, 4, 5)
DIGITS = 4  #: of what the tables hold


class EM(NamedTuple):
    """Which EM."""

    hard: bool = False
    intercept: bool = False


VARIANTS = {
    "soft": EM(),
    "hard": EM(hard=True),
    "hard, intercept": EM(hard=True, intercept=True),  # as the released code's
}


def over_clusters() -> Iterator[Drawing]:
    """EM over K: (case, seed, EM, K)."""
    for name, case in CASES.items():
        for seed in case.seeds:
            for clusters in CLUSTERS:
                for em in VARIANTS:
                    one = functools.partial(convergence, case, seed, em, clusters)
                    yield (name, seed, em, clusters), one


def splits() -> Iterator[Drawing]:
    """Many starts of K = 2: (case, seed, EM)."""
    for name, case in CASES.items():
        for seed in case.seeds:
            for em in VARIANTS:
                yield (name, seed, em), functools.partial(ends, case, seed, em)


class Fits(NamedTuple):
    """Mixtures of R starts, memberships of training and validation points, and two numbers."""

    mixtures: Mixture
    train: Tensor
    validation: Tensor
    held_out: Tensor
    label_information: Tensor


def fit(problem: Problem, em: str, clusters: int, starts: int) -> Fits:
    """EM from the starts of M_c's first iteration; the first few are those that it begins with."""
    how, k = VARIANTS[em], problem.s.shape[-1]
    psi, held_out = problem.psi_train, problem.psi_validation
    if how.intercept:
        size = float((psi**2).mean()) ** 0.5  # the ridge hardly shrinks it
        psi, held_out = (
            torch.cat([p, torch.full_like(p[..., :1], size)], -1) for p in (psi, held_out)
        )
    train, validation = (psi, problem.target), (held_out, problem.target_validation)
    begin = random_starts(problem.seeds, starts, psi.shape[1], clusters, "t=1", f"k={k}")
    steps, tolerance = OPTIONS.max_iterations, OPTIONS.tolerance
    mixtures = fit_mixture(
        *train, begin, ridge=RIDGE, hard=how.hard, max_iterations=steps, tolerance=tolerance
    ).take(0)
    r = mixtures.responsibilities(*train)
    information = label_information(r, label_bins(problem.y))
    likelihood = mixtures.log_likelihood(*validation)
    return Fits(mixtures, r, mixtures.responsibilities(*validation), likelihood, information)


def convergence(case: Case, seed: int, em: str, clusters: int) -> Rows:
    """How long EM took, and whether it ended in a label split."""
    found = fit(pose_case(case, seed).problem, em, clusters, STARTS_OVER_K)
    split = found.label_information > OPTIONS.max_label_information
    return counted(
        [
            {"iterations": iterations, "converged": converged, "label_split": repeats}
            for iterations, converged, repeats in zip(
                found.mixtures.n_iterations.tolist(),
                found.mixtures.converged.tolist(),
                split.tolist(),
                strict=True,
            )
        ]
    )


def ends(case: Case, seed: int, em: str) -> Rows:
    """The splits that starts end in, and the directions that follow from them."""
    own = pose_case(case, seed)
    found = fit(own.problem, em, 2, STARTS)
    expected = truth(own.data)
    rows: Rows = []
    for start in range(STARTS):
        mixture = found.mixtures.take(start)
        area = roc_auc_score(expected, found.train[start, :, 0].numpy())
        kept = (mixture.weights >= OPTIONS.min_share).to(found.train)
        memberships = kept * found.train[start], kept * found.validation[start]
        row = {
            "label_information": float(found.label_information[start]),
            "empty": bool(kept.sum() < 2),
            "auc": max(area, 1 - area),
            "objective": float(mixture.objective),
            "held_out": float(found.held_out[start]),
        }
        rows.append(row | along(own, only(*memberships, own.problem.s.shape[-1])))
    return counted(rows)


def counted(rows: Rows) -> Rows:
    """Rows that are alike to a few digits as one, with the number of ``starts``."""
    frame = pd.DataFrame(rows).round(DIGITS)
    return frame.value_counts(sort=False).rename("starts").reset_index().to_dict("records")


def only(train: Tensor, validation: Tensor, k: int) -> Environments:
    """Memberships (n, K), (m, K) as M_c would hand them over, were there no others."""
    one = torch.ones(1, 1, dtype=torch.int64)
    numbers = dict.fromkeys(("ridge", "held_out", "objective", "label_information"), one.double())
    counts = dict.fromkeys(("n_starts", "n_label_split", "n_empty", "n_unconverged"), one)
    given = {"train": train[None, None], "validation": validation[None, None]}
    return Environments(k=one * k, **given, usable=one.bool(), **numbers, **counts)


def along(own: Posed, environments: Environments) -> dict[str, float]:
    """Test results of M_p on these environments: of alpha = 0, and of the alpha its rule picks."""
    found = learn_directions(own.problem, [environments], Invariance())
    outputs = predict(own.test.psi, own.test.f0, found.theta)[0].numpy()
    chosen = int(found.chosen)
    return {
        "score": float(found.score[0, chosen]),
        "result_alpha_0": own.result(outputs[found.alpha[0].tolist().index(0.0)]),
        "result": own.result(outputs[chosen]),
    }
