"""Selection criteria: which of several hyperparameter candidates a learner's result is.

A criterion scores outputs on some points, the larger the better.  Only the oracle sees
test points, and rows that the oracle chose are bounds, never results.  A candidate's
score is its mean over the seeds and data of the search, the oracle's, too; no table
uses those seeds.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from kerhrm.algorithm.invariance import point_scores, worst_environment_score
from kerhrm_paper.config.schemas import ORACLE, WORDS
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.runs.arrays import load_arrays, load_records
from kerhrm_paper.runs.predictions import Predictions, stack


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

        ``arrays`` are of :func:`candidates`; in ``folder``, that of the data, only
        files that the criterion names are opened.
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


def candidates(paths: Sequence[str | Path]) -> dict[str, np.ndarray]:
    """Predictions of C candidates together, as :meth:`Criterion.score` takes them.

    By ``OUTPUT/PART`` the outputs (S, C, points) and, of candidates that infer some,
    ``environments``, memberships (S, C, n + m, K).
    """
    found = [load_records(Predictions, path) for path in paths]
    names = found[0][0].outputs.tolist()
    arrays = {
        f"{name}/{part}": np.stack(
            [[one.output(name, part) for one in each] for each in found], axis=1
        )
        for name in names
        for part in ("train", "validation", "test")
    }
    if all(each[0].memberships is not None for each in found):
        inferred = [stack(each, "memberships") for each in found]
        most = max(one.shape[-1] for one in inferred)
        padding = [(0, 0), (0, 0)]
        arrays["environments"] = np.stack(
            [np.pad(a, [*padding, (0, most - a.shape[-1])]) for a in inferred], axis=1
        )
    return arrays


def search(cells: Mapping[str, Mapping[str, Any]], run: str | Path) -> pd.DataFrame:
    """Score every candidate of every learner by every criterion that it can have, and
    the oracle.

    ``cells`` has by ``DATA/LEARNER`` its ``outputs``, ``criteria`` and the ``options``
    of its name; ``run`` is the folder of the run of the preset ``tuning``.

    Returns one row per candidate: its name, its options as JSON, and its mean score
    over data and seeds by every criterion.  The score of a learner with several outputs
    is the mean of all: one candidate has to serve all.
    """
    together: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        data, learner = cell.split("/")
        together.setdefault((data, base_of(learner)), []).append(cell)
    rows, keys = [], ["learner", "options"]
    for (data, _), names in together.items():
        arrays = candidates([Path(run, name, "predictions.npz") for name in names])
        folder, facts = Path(run, data), cells[names[0]]
        for criterion in (*facts["criteria"], ORACLE):
            parts = [
                CRITERIA[WORDS[criterion]].score(arrays, output, folder)
                for output in facts["outputs"]
            ]
            for name, score in zip(names, np.mean(parts, axis=0).T, strict=True):
                options = json.dumps(cells[name]["options"], sort_keys=True)
                learner = name.split("/")[1]
                rows.append((learner, options, criterion, float(score.mean())))
    scores = pd.DataFrame(rows, columns=[*keys, "selection", "score"])
    return scores.pivot_table("score", keys, "selection", sort=False).reset_index()


def best(table: pd.DataFrame) -> dict[str, dict[str, dict[str, Any]]]:
    """Options by learner and criterion of the best candidate.

    The first one among equals.

    ``table`` is of :func:`search`.
    """
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for base, group in table.groupby(table["learner"].map(base_of), sort=False):
        for criterion in group.columns[2:]:
            if group[criterion].notna().any():
                winner = group.loc[group[criterion].idxmax(), "options"]
                chosen.setdefault(str(base), {})[criterion] = json.loads(winner)
    return chosen
