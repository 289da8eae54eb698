"""From saved predictions and test labels to the values of every seed.

The rules ``score`` and ``score_cell`` read test labels here.  Only one other rule does,
``select_hyperparameters``, for the oracle; no rule that trains reads them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.references import CONSTANTS
from kerhrm_paper.config.views import Row, TableView
from kerhrm_paper.data.registry import DATA_SETS
from kerhrm_paper.evaluation.metrics import (
    Labels,
    Outputs,
    divergence,
    failures,
)
from kerhrm_paper.evaluation.reference_scores import reference_rows
from kerhrm_paper.evaluation.score_rows import COLUMNS, ScoreRow, marked, score_rows
from kerhrm_paper.runs.arrays import load_records
from kerhrm_paper.runs.predictions import Predictions, stack


def score_table(
    table: TableView,
    data: Mapping[str, Mapping[str, Any]],
    n_seeds: Mapping[str, int],
    run: str | Path,
) -> pd.DataFrame:
    """Score every row of a table.

    Parameters
    ----------
    table : TableView
        Its rows, and how many replicates it shows.
    data : mapping of str to mapping
        By name of the data the ``generator``, its ``options`` and the names of its
        ``replicates``.
    n_seeds : mapping of str to int
        Replicates of each cell, by ``DATA/LEARNER``.
    run : path
        Folder of the run.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`, one row per seed.  A seed whose outputs are not finite
        has the value NaN and a reason.

    Raises
    ------
    KerhrmError
        If a prediction is missing, or lacks replicates or an output.
    """
    folder = Path(run)
    rows: list[ScoreRow] = []
    for name in table.data:
        facts = data[name]
        most = 0
        for row in table.rows:
            if row.data != name:
                continue
            n = n_seeds[f"{row.data}/{row.learner}"]
            if table.n_seeds:
                n = min(n, table.n_seeds)
            most = max(n, most)
            rows += _score_row(table, row, facts, n, folder)
        if table.kind in CONSTANTS:
            rows += reference_rows(table, name, facts, most, folder)
    return pd.DataFrame(rows, columns=COLUMNS)


def _score_row(
    table: TableView, row: Row, facts: Mapping[str, Any], n: int, run: Path
) -> Iterator[ScoreRow]:
    """Values of the first n replicates of a learner on some data."""
    file = run / row.predictions
    predictions = _load_predictions(file, row, n)
    replicates = facts["replicates"][:n]
    labels = Labels.load(run / row.data, n)
    for output, title in row.titles.items():
        head: ScoreRow = {
            "data": row.data,
            "setting": row.setting,
            "learner": row.learner,
            "method": title,
            "selection": row.selection,
            "data_source": labels.source,
            "reason": "",
        }
        if table.kind == "iterations":
            data_set = DATA_SETS[facts["generator"]]
            attribute = data_set.attribute
            yield from _iterations(head, predictions, labels, replicates, attribute)
            continue
        outputs = {}
        for part in ("train", "validation", "test"):
            of_seeds = []
            for of_seed in predictions:
                of_seeds.append(of_seed.output(output, part))
            outputs[part] = np.stack(of_seeds)
        reasons = _reasons(predictions, outputs)
        yield from score_rows(head, outputs, labels, table.kind, replicates, reasons)


def _reasons(predictions: Sequence[Predictions], outputs: Outputs) -> list[str]:
    """Why seeds have no value: the fit failed, or outputs are not finite."""
    reasons = []
    of_outputs = failures(outputs)
    for prediction, diverged in zip(predictions, of_outputs, strict=True):
        reasons.append(prediction.reason or diverged)
    return reasons


def _load_predictions(path: Path, row: Row, n: int) -> list[Predictions]:
    """Predictions of the first n replicates; refuse a file that lacks any."""
    predictions: list[Predictions] = load_records(Predictions, path)
    predictions = predictions[:n]
    names = []
    if predictions:
        names = predictions[0].outputs.tolist()
    lacks_titles = not set(row.titles) <= set(names)
    if len(predictions) < n or lacks_titles:
        here = ", ".join(names)
        wanted = ", ".join(row.titles)
        problem = f"{path} has {len(predictions)} replicates of {here}, "
        problem += f"and the configuration {n} of {wanted}"
        raise KerhrmError(problem, "delete it and run again")
    return predictions


def _iterations(
    head: ScoreRow,
    predictions: Sequence[Predictions],
    labels: Labels,
    replicates: list[Any],
    attribute: Callable[[np.ndarray], np.ndarray] | None,
) -> Iterator[ScoreRow]:
    """Rows of every iteration: accuracies and, of Colored MNIST, the divergence
    ``d_kl``.

    Iteration 0 is ERM on the same features, which has no environments.
    """
    train = stack(predictions, "iteration_train")
    test = stack(predictions, "iteration_test")
    memberships = stack(predictions, "iteration_memberships")
    of_seeds = stack(predictions, "iterations")
    iterations = of_seeds[0].astype(int)
    for number, t in enumerate(iterations):
        of_iteration = marked(head, f"iteration={t}")
        outputs = {
            "train": train[:, number],
            "test": test[:, number],
        }
        for row in score_rows(of_iteration, outputs, labels, "accuracy", replicates):
            if row["metric"] in ("train_acc", "test_acc"):
                yield row
        if attribute is None or t == 0:
            continue
        colour = attribute(labels.x)
        of_divergence = {**of_iteration, "metric": "d_kl"}
        of_number = memberships[:, number]
        divergences = divergence(of_number, labels.train, colour)
        pairs = zip(replicates, divergences.tolist(), strict=True)
        for seed, value in pairs:
            yield {**of_divergence, "seed": seed, "value": value}
