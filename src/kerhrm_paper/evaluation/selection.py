"""Selection criteria: which of several hyperparameter candidates a learner's result is.

A criterion scores outputs on some points, the larger the better.  Only the oracle sees
test points, and rows that the oracle chose are bounds, never results.  A candidate's
score is its mean over the seeds and data of the search, the oracle's, too; no table
uses those seeds.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from kerhrm.algorithm.invariance import point_scores, worst_environment_score
from kerhrm.errors import KerhrmError
from kerhrm.methods.base import POOLED, WORST_INFERRED, WORST_TRUE
from kerhrm.options import Task
from kerhrm_paper.config.criteria import ORACLE, WORDS
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.runs.arrays import load_arrays, load_records
from kerhrm_paper.runs.predictions import Predictions, stack

log = logging.getLogger("kerhrm")

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Candidates:
    """Predictions of C candidates on S seeds.

    Attributes
    ----------
    outputs : mapping of (str, str) to ndarray, (S, C, points)
        By name of the output, and part.
    memberships : ndarray, (S, C, n + m, K), optional
        Of the training and then the validation points, in environments that the
        candidates infer; a candidate with fewer than K has empty ones.
    """

    outputs: Mapping[tuple[str, str], np.ndarray]
    memberships: np.ndarray | None = None

    @classmethod
    def load(cls, paths: Sequence[str | Path]) -> "Candidates":
        """Read the predictions of each candidate from its file."""
        replicates = [load_records(Predictions, path) for path in paths]
        first_candidate = replicates[0]
        first_seed = first_candidate[0]
        names = first_seed.outputs.tolist()
        outputs = {}
        for name, part in product(names, PARTS):
            of_candidates = []
            for of_candidate in replicates:
                of_seeds = []
                for of_seed in of_candidate:
                    output = of_seed.output(name, part)
                    of_seeds.append(output)
                of_candidates.append(of_seeds)
            outputs[name, part] = np.stack(of_candidates, axis=1)
        memberships = _memberships(replicates)
        return cls(outputs, memberships)


def _memberships(replicates: Sequence[list[Predictions]]) -> np.ndarray | None:
    """Memberships of all candidates; None if one of them infers no environments."""
    inferred = []
    for of_candidate in replicates:
        first_seed = of_candidate[0]
        if first_seed.memberships is None:
            return None
        of_all_seeds = stack(of_candidate, "memberships")
        inferred.append(of_all_seeds)
    numbers = [memberships.shape[-1] for memberships in inferred]
    most = max(numbers)
    padded = []
    for memberships in inferred:
        n_empty = most - memberships.shape[-1]
        padding = [(0, 0), (0, 0), (0, n_empty)]
        enlarged = np.pad(memberships, padding)
        padded.append(enlarged)
    return np.stack(padded, axis=1)


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

    def score(self, candidates: Candidates, output: str, folder: Path) -> np.ndarray:
        """Score every candidate on every seed by one output.

        Parameters
        ----------
        candidates : Candidates
            Their predictions.
        output : str
            Name of the output.
        folder : path
            Of the data; only files that the criterion names are opened.

        Returns
        -------
        ndarray, (S, C), float64
            -inf where an output is not finite.
        """
        is_linear = output == "linear" and self.linear_parts
        parts = self.linear_parts if is_linear else self.parts
        by_part = []
        for part in parts:
            of_part = candidates.outputs[output, part]
            by_part.append(of_part)
        outputs = np.concatenate(by_part, axis=-1)
        n_seeds = len(outputs)
        labels = _Labels.load(folder, parts, n_seeds)
        if labels.is_headline is not None:
            outputs = np.compress(labels.is_headline, outputs, axis=-1)
        y = torch.from_numpy(labels.y)
        of_points = torch.from_numpy(outputs)
        of_every_candidate = y[:, None]
        points = point_scores(of_points, of_every_candidate, labels.task)
        if self.environments is None:
            scores = points.mean(-1)
        else:
            weights = self._weights(candidates, folder, outputs.shape)
            worst = map(worst_environment_score, points, weights)
            scores = torch.stack([*worst])
        comparable = scores.numpy()
        if labels.unit is not None:
            squared_unit = labels.unit[:, None] ** 2
            comparable = comparable * squared_unit
        is_finite = np.isfinite(outputs)
        are_finite = is_finite.all(-1)
        return np.where(are_finite, comparable, -np.inf)

    def _weights(
        self, candidates: Candidates, folder: Path, shape: tuple[int, ...]
    ) -> torch.Tensor:
        """Memberships (S, K, points) of the points that have outputs of a shape
        (S, C, points)."""
        n_seeds, _, n_points = shape
        if self.environments == "true":
            memberships = _true_environments(folder, n_seeds)
        else:
            memberships = _inferred_environments(candidates, n_points)
        return torch.from_numpy(memberships).double()


@dataclass(frozen=True)
class _Labels:
    """Labels of the points that a criterion scores."""

    y: np.ndarray  #: (S, points)
    task: Task
    #: (S,), where it makes errors at test points comparable between seeds
    unit: np.ndarray | None
    #: (points,), of test points: which ones count, as for ``test_acc``
    is_headline: np.ndarray | None

    @classmethod
    def load(cls, folder: Path, parts: Sequence[str], n_seeds: int) -> "_Labels":
        files = {"test": "test_labels"}
        by_part = []
        for part in parts:
            file = files.get(part, part)
            path = folder / "data" / f"{file}.npz"
            arrays, facts = load_arrays(path)
            labels = arrays["y"]
            by_part.append(labels[:n_seeds])
        y = np.concatenate(by_part, axis=-1)
        unit = is_headline = None
        is_test = tuple(parts) == ("test",)
        if is_test:
            environment = arrays["environment"][0]
            is_headline = environment < facts["n_headline"]
            y = np.compress(is_headline, y, axis=-1)
            if facts["task"] == "regression":
                unit = arrays["unit"][:n_seeds]
        return cls(y, facts["task"], unit, is_headline)


def _true_environments(folder: Path, n_seeds: int) -> np.ndarray:
    """Whether a validation point is in an environment, (S, K, m)."""
    arrays, _ = load_arrays(folder / "data" / "environments.npz")
    environment = arrays["validation"][:n_seeds, None]
    n_environments = environment.max() + 1
    numbers = np.arange(n_environments)
    is_in = environment == numbers[:, None]
    return np.asarray(is_in)


def _inferred_environments(candidates: Candidates, n_points: int) -> np.ndarray:
    """Memberships of the last ``n_points`` points, (S, C K, n_points).

    Training points come first, so that these are the validation points or all.
    """
    if candidates.memberships is None:
        problem = "the candidates have no inferred environments to be selected by"
        raise KerhrmError(problem, "select by a criterion that the method has")
    memberships = candidates.memberships[:, :, -n_points:]
    n_seeds = len(memberships)
    by_environment = memberships.swapaxes(2, 3)
    return by_environment.reshape(n_seeds, -1, n_points)


#: A small inferred environment has few validation points, and a minimum over means of
#: few points is ruled by their noise: training points count, too, unless a network has
#: fitted them.
CRITERIA = {
    POOLED: Criterion(("validation",)),
    WORST_TRUE: Criterion(("validation",), "true"),
    WORST_INFERRED: Criterion(("validation",), "inferred", ("train", "validation")),
    ORACLE: Criterion(("test",)),  # of the headline's environments
}


def search(cells: Mapping[str, Mapping[str, Any]], run: str | Path) -> pd.DataFrame:
    """Score every candidate of every learner by every criterion that it can have, and
    the oracle.

    Parameters
    ----------
    cells : mapping of str to mapping
        By ``DATA/LEARNER`` its ``outputs``, ``criteria`` and the ``options`` of its
        name.
    run : path
        Folder of the run of the preset ``tuning``.

    Returns
    -------
    DataFrame
        One row per candidate: its name, its options as JSON, and its mean score over
        data and seeds by every criterion.  The score of a learner with several outputs
        is the mean of all: one candidate has to serve all.
    """
    searches: dict[tuple[str, str], list[str]] = defaultdict(list)
    for cell in cells:
        data, learner = cell.split("/")
        key = (data, base_of(learner))
        searches[key].append(cell)
    folder = Path(run)
    rows: list[tuple[str, str, str, float]] = []
    for names in searches.values():
        of_search = {name: cells[name] for name in names}
        rows += _scored(of_search, folder)
    keys = ["learner", "options"]
    columns = [*keys, "selection", "score"]
    table = pd.DataFrame(rows, columns=columns)
    wide = table.pivot_table("score", keys, "selection", sort=False)
    return wide.reset_index()


def _scored(
    cells: Mapping[str, Mapping[str, Any]], run: Path
) -> Iterator[tuple[str, str, str, float]]:
    """Name, options, criterion and mean score of the candidates of one learner."""
    files = [run / name / "predictions.npz" for name in cells]
    candidates = Candidates.load(files)
    first, *_ = cells
    data, _ = first.split("/")
    declared = cells[first]
    for criterion in (*declared["criteria"], ORACLE):
        words = WORDS[criterion]
        rule = CRITERIA[words]
        by_output = []
        for output in declared["outputs"]:
            scores = rule.score(candidates, output, run / data)
            by_output.append(scores)
        means = np.mean(by_output, axis=0)
        for name, of_seeds in zip(cells, means.T, strict=True):
            _, learner = name.split("/")
            of_candidate = cells[name]["options"]
            options = json.dumps(of_candidate, sort_keys=True)
            mean = float(of_seeds.mean())
            yield learner, options, criterion, mean


def best(table: pd.DataFrame) -> dict[str, dict[str, dict[str, Any]]]:
    """Options by learner and criterion of the best candidate.

    The first one among equals; a line in the log, if none has a finite score.

    ``table`` is of :func:`search`.
    """
    selected: dict[str, dict[str, dict[str, Any]]] = {}
    bases = table["learner"].map(base_of)
    groups = table.groupby(bases, sort=False)
    for base, group in groups:
        winners = dict(_winners(group))
        criteria = group.columns[2:]
        for criterion in criteria:
            scores = group[criterion]
            if scores.notna().any() and not np.isfinite(scores).any():
                text = "%s: all candidates failed by %s; the first one is kept"
                log.warning(text, base, criterion)
        if winners:
            selected[str(base)] = winners
    return selected


def _winners(group: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    """Criteria that have scored a learner's candidates, and the options they select."""
    criteria = group.columns[2:]
    for criterion in criteria:
        scores = group[criterion]
        if scores.notna().any():
            winner = scores.idxmax()
            options = group.loc[winner, "options"]
            yield criterion, json.loads(options)
