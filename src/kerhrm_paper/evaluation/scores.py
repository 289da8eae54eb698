"""From saved predictions and test labels to the values of every seed.

The only code of the workflow that reads test labels.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell, LearnerCell
from kerhrm_paper.config.references import CONSTANTS
from kerhrm_paper.config.schema import KINDS
from kerhrm_paper.config.views import Row, TableView
from kerhrm_paper.data.generator import ReferenceRows
from kerhrm_paper.data.registry import DATA_SETS
from kerhrm_paper.evaluation.metrics import (
    Labels,
    Outputs,
    constant_outputs,
    divergence,
    failures,
    metrics,
    references,
)
from kerhrm_paper.runs.arrays import load_records
from kerhrm_paper.runs.predictions import Predictions, stack

COLUMNS = [
    "data",
    "setting",
    "learner",
    "method",
    "seed",
    "metric",
    "value",
    "selection",
    "data_source",
    "reason",
]
UNSELECTED = "none"  #: selection of rows that nothing was chosen for
ScoreRow = dict[str, Any]  #: columns of :data:`COLUMNS`


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
            rows += _references(table, name, facts, most, folder)
    return pd.DataFrame(rows, columns=COLUMNS)


def table_of(data: DataCell, learner: LearnerCell) -> TableView:
    """The table of a single cell: the main metrics of its task."""
    name = f"{data.name}/{learner.name}"
    row = Row(
        data=data.name,
        learner=learner.name,
        trained=learner.name,
        setting=name,
        titles=dict(learner.titles),
        selection=learner.selection,
    )
    return TableView(
        name=name,
        title=name,
        kind=KINDS[data.task][0],
        in_all=False,
        n_seeds=None,
        labels={data.name: data.name},
        rows=(row,),
    )


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
        yield from _rows(head, outputs, labels, table.kind, replicates, reasons)


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


def _rows(
    head: ScoreRow,
    outputs: Outputs,
    labels: Labels,
    kind: str,
    replicates: list[Any],
    reasons: list[str] | None = None,
) -> Iterator[ScoreRow]:
    """Rows of outputs (S, points); test environments with their own rows are in the
    setting.

    ``reasons`` why seeds have no value are by default those of the outputs.
    """
    if reasons is None:
        reasons = failures(outputs)
    values_of = metrics(outputs, labels, kind)
    for (environment, metric), values in values_of.items():
        of_metric = _marked(head, environment) if environment else head
        of_seeds = zip(replicates, values, reasons, strict=True)
        for seed, value, reason in of_seeds:
            number = float("nan") if reason else float(value)
            yield {
                **of_metric,
                "seed": seed,
                "metric": metric,
                "value": number,
                "reason": reason,
            }


def _marked(head: ScoreRow, setting: str) -> ScoreRow:
    """Rows of a part of the setting, with the setting's options behind a comma."""
    _, comma, options = head["setting"].partition(",")
    return {**head, "setting": f"{setting}{comma}{options}"}


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
        of_iteration = _marked(head, f"iteration={t}")
        outputs = {
            "train": train[:, number],
            "test": test[:, number],
        }
        for row in _rows(of_iteration, outputs, labels, "accuracy", replicates):
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


def _references(
    table: TableView, name: str, facts: Mapping[str, Any], n: int, run: Path
) -> Iterator[ScoreRow]:
    """Rows that no training makes: a constant prediction, and closed forms."""
    replicates = facts["replicates"][:n]
    labels = Labels.load(run / name, n)
    head: ScoreRow = {
        "data": name,
        "setting": table.labels[name],
        "learner": "",
        "selection": UNSELECTED,
        "data_source": labels.source,
        "reason": "",
    }
    of_constants = references(labels, table.kind)
    for title, outputs in of_constants.items():
        of_reference = {**head, "method": title}
        yield from _rows(of_reference, outputs, labels, table.kind, replicates)
    # of the closed forms only what the table shows of a method
    constant = constant_outputs(labels, None)
    shown = metrics(constant, labels, table.kind)
    of_formulas = closed_forms(facts["generator"], facts["options"])
    for title, values in of_formulas.items():
        for key, value in values.items():
            if key not in shown:
                continue
            environment, metric = key
            of_reference = {**head, "method": title, "metric": metric}
            if environment:
                of_reference = _marked(of_reference, environment)
            for seed in replicates:
                yield {**of_reference, "seed": seed, "value": value}


def closed_forms(generator: str, options: Mapping[str, Any]) -> ReferenceRows:
    """Values by reference row, test environment and metric.

    None where nothing is known.
    """
    declared = DATA_SETS[generator]
    if declared.closed_forms is None:
        return {}
    return declared.closed_forms(declared.options(**options))
