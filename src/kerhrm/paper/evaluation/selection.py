"""Selection criteria: which of several hyperparameter candidates a learner's result is.

A criterion scores outputs on some points, the larger the better.  Only the oracle sees
test points, and rows that the oracle chose are bounds, never results.  A candidate's
score is its mean over the seeds and settings of the search, the oracle's, too; no table
uses those seeds.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from kerhrm.algorithm.invariance import point_scores, worst_environment_score
from kerhrm.paper.runs.arrays import load_arrays

ORACLE = "oracle"


@dataclass(frozen=True)
class Criterion:
    """Mean score of some points, or the lowest one over their environments."""

    parts: tuple[str, ...]  #: of the points that are scored: ``validation``, ``test``
    #: which environments count one by one: the true ones, or all that the learner has
    #: inferred with any candidate, so that all candidates are measured alike
    environments: Literal["true", "inferred"] | None = None
    #: parts for an output that is linear in few features; its training points count,
    #: too
    linear_parts: tuple[str, ...] = ()

    def score(
        self, arrays: Mapping[str, np.ndarray], output: str, folder: Path
    ) -> np.ndarray:
        """Scores (S, C), float64, of C candidates on S seeds.

        -inf where an output is not finite.

        ``arrays`` are those of ``predictions.npz``; in ``folder``, ``DATA/SETTING``,
        only files that the criterion names are opened.
        """
        parts = (self.linear_parts if output == "linear" else ()) or self.parts
        outputs = np.concatenate(
            [arrays[f"{output}/{part}"] for part in parts], axis=-1
        )
        n_seeds = len(outputs)
        names = ["test_labels" if part == "test" else part for part in parts]
        files = [load_arrays(folder / "data" / f"{name}.npz") for name in names]
        y = np.concatenate([labels["y"][:n_seeds] for labels, _ in files], axis=-1)
        task = files[0][1]["task"]
        points = point_scores(
            torch.from_numpy(outputs), torch.from_numpy(y)[:, None], task
        )
        if self.environments is None:
            scores = points.mean(-1).numpy()
        else:
            if (
                self.environments == "inferred"
            ):  # (S, C, n + m, K): training points come first
                inferred = arrays["environments"][:, :, -outputs.shape[-1] :].swapaxes(
                    2, 3
                )
                memberships = inferred.reshape(n_seeds, -1, outputs.shape[-1])
            else:
                true, _ = load_arrays(folder / "data" / "environments.npz")
                environment = true["validation"][:n_seeds, None]
                memberships = environment == np.arange(environment.max() + 1)[:, None]
            each = zip(points, torch.from_numpy(memberships).double(), strict=True)
            scores = torch.stack(
                [worst_environment_score(*seed) for seed in each]
            ).numpy()
        if task == "regression" and parts == ("test",):  # comparable between seeds
            scores = scores * files[0][0]["unit"][:n_seeds, None] ** 2
        return np.where(np.isfinite(outputs).all(-1), scores, -np.inf)


#: A small inferred environment has few validation points, and a minimum over means of
#: few points is ruled by their noise: training points count, too, unless a network has
#: fitted them.
CRITERIA = {
    "pooled validation": Criterion(("validation",)),
    "worst true environment": Criterion(("validation",), "true"),
    "worst inferred environment": Criterion(
        ("validation",), "inferred", ("train", "validation")
    ),
    ORACLE: Criterion(("test",)),
}


def search(cells: Mapping[str, Mapping[str, Any]], run: str | Path) -> pd.DataFrame:
    """Score every candidate of every learner by every criterion that it can have, and
    the oracle.

    ``cells`` has by ``DATA/SETTING/LEARNER`` its ``candidates``, ``outputs`` and
    ``criteria``, ``run`` is the folder of the run of the preset ``tuning``.

    Returns one row per learner and candidate: its options without those that all
    candidates share, and its mean score over settings and seeds by every criterion.
    The score of a learner with two outputs is the mean of both: one candidate has to
    serve both.
    """
    rows, keys = [], ["learner", "candidate", "options"]
    for cell, params in cells.items():
        data, setting, learner = cell.split("/")
        arrays, _ = load_arrays(Path(run, cell, "predictions.npz"))
        folder, every = Path(run, data, setting), params["candidates"]
        for name in (*params["criteria"], ORACLE):
            parts = [CRITERIA[name].score(arrays, o, folder) for o in params["outputs"]]
            for number, score in enumerate(np.mean(parts, axis=0).T):
                own = {
                    k: v
                    for k, v in every[number].items()
                    if any(one[k] != v for one in every)
                }
                options = json.dumps(own, sort_keys=True)
                rows.append((learner, number, options, name, float(score.mean())))
    scores = pd.DataFrame(rows, columns=[*keys, "selection", "score"])
    return scores.pivot_table("score", keys, "selection", sort=False).reset_index()


def best(table: pd.DataFrame) -> dict[str, dict[str, dict[str, Any]]]:
    """Options by learner and criterion of the best candidate.

    The first one among equals.

    ``table`` is of :func:`search`.
    """
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for learner, group in table.groupby("learner", sort=False):
        group = group.sort_values("candidate")
        for criterion in group.columns[3:]:
            if group[criterion].notna().any():
                winner = group.loc[group[criterion].idxmax(), "options"]
                chosen.setdefault(str(learner), {})[criterion] = json.loads(winner)
    return chosen
