"""From saved predictions and test labels to the values of every seed.

The only code of the workflow that reads test labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell, LearnerCell
from kerhrm_paper.config.schema import KINDS
from kerhrm_paper.config.views import Row, TableView
from kerhrm_paper.data.closed_forms import Rows
from kerhrm_paper.data.registry import DATA_SETS
from kerhrm_paper.evaluation import metrics as m
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
NONE = "none"  #: selection of rows that nothing was chosen for
Values = dict[str, Any]


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
    rows: list[Values] = []
    for name in table.data:
        facts, most = data[name], 0
        for row in (row for row in table.rows if row.data == name):
            cell = f"{row.data}/{row.learner}"
            n = min(n_seeds[cell], table.n_seeds or n_seeds[cell])
            most = max(n, most)
            rows += _score_row(table, row, facts, n, Path(run))
        if table.kind in m.CONSTANTS:
            rows += _references(table, name, facts, most, Path(run))
    return pd.DataFrame(rows, columns=COLUMNS)


def table_of(data: DataCell, learner: LearnerCell) -> TableView:
    """The table of a single cell: the main metrics of its task."""
    name = f"{data.name}/{learner.name}"
    row = Row(
        data.name,
        learner.name,
        learner.name,
        name,
        dict(learner.titles),
        learner.selection,
    )
    kind, labels = KINDS[data.task][0], {data.name: data.name}
    return TableView(name, name, kind, False, None, labels, (row,))


def _score_row(
    table: TableView, row: Row, facts: Mapping[str, Any], n: int, run: Path
) -> Iterator[Values]:
    """Values of the first n replicates of a learner on some data."""
    path, replicates = run / row.predictions, facts["replicates"][:n]
    found = load_records(Predictions, path)[:n]
    labels = m.Labels.load(run / row.data, n)
    known = found[0].outputs.tolist() if found else []
    if len(found) < n or not {*row.titles} <= {*known}:
        problem = f"{path} has {len(found)} replicates of {', '.join(known)}, and the "
        problem += f"configuration {n} of {', '.join(row.titles)}"
        raise KerhrmError(problem, "delete it and run again")
    for output, title in row.titles.items():
        head = {
            "data": row.data,
            "setting": row.setting,
            "learner": row.learner,
            "method": title,
            "selection": row.selection,
            "data_source": labels.source,
            "reason": "",
        }
        if table.kind == "iterations":
            attribute = DATA_SETS[facts["generator"]].attribute
            yield from _iterations(head, found, labels, replicates, attribute)
            continue
        parts = {
            part: np.stack([one.output(output, part) for one in found])
            for part in ("train", "validation", "test")
        }
        yield from _rows(head, parts, labels, table.kind, replicates)


def _rows(
    head: Values, outputs: m.Outputs, labels: m.Labels, kind: str, replicates: list[Any]
) -> Iterator[Values]:
    """Rows of outputs (S, points); test environments with their own rows are in the
    setting."""
    reasons = m.failures(outputs)
    for (name, metric), values in m.metrics(outputs, labels, kind).items():
        where = _marked(head, name) if name else head
        for seed, value, reason in zip(replicates, values, reasons, strict=True):
            number = float("nan") if reason else float(value)
            yield where | {
                "seed": seed,
                "metric": metric,
                "value": number,
                "reason": reason,
            }


def _marked(head: Values, setting: str) -> Values:
    """Rows of a part of the setting, with the setting's mark."""
    return head | {"setting": setting + "".join(head["setting"].partition(",")[1:])}


def _iterations(
    head: Values,
    found: Sequence[Predictions],
    labels: m.Labels,
    replicates: list[Any],
    attribute: Any,
) -> Iterator[Values]:
    """Rows of every iteration: accuracies and, of Colored MNIST, the divergence
    ``d_kl``.

    Iteration 0 is ERM on the same features, which has no environments.
    """
    for i, t in enumerate(stack(found, "iterations")[0].astype(int)):
        outputs = {
            part: stack(found, f"iteration_{part}")[:, i] for part in ("train", "test")
        }
        where = _marked(head, f"iteration={t}")
        for row in _rows(where, outputs, labels, "accuracy", replicates):
            if row["metric"] in ("train_acc", "test_acc"):
                yield row
        if attribute is None or t == 0:
            continue
        memberships = stack(found, "iteration_memberships")[:, i]
        values = m.divergence(memberships, labels.train, attribute(labels.x))
        for seed, value in zip(replicates, values.tolist(), strict=True):
            yield where | {"seed": seed, "metric": "d_kl", "value": value}


def _references(
    table: TableView, name: str, facts: Mapping[str, Any], n: int, run: Path
) -> Iterator[Values]:
    """Rows that no training makes: a constant prediction, and closed forms."""
    replicates, labels = facts["replicates"][:n], m.Labels.load(run / name, n)
    head: Values = {
        "data": name,
        "setting": table.labels[name],
        "learner": "",
        "selection": NONE,
        "data_source": labels.source,
        "reason": "",
    }
    shown = m.metrics(m.constant_outputs(labels, None), labels, table.kind)
    for title, outputs in m.references(labels, table.kind).items():
        here = head | {"method": title}
        yield from _rows(here, outputs, labels, table.kind, replicates)
    for title, values in closed_forms(facts["generator"], facts["options"]).items():
        for environment, metric in filter(shown.__contains__, values):
            where = head | {"method": title}
            where = _marked(where, environment) if environment else where
            for seed in replicates:
                yield where | {
                    "seed": seed,
                    "metric": metric,
                    "value": values[environment, metric],
                }


def closed_forms(generator: str, options: Mapping[str, Any]) -> Rows:
    """Values by reference row, test environment and metric.

    None where nothing is known.
    """
    data_set = DATA_SETS[generator]
    return (
        data_set.closed_forms(data_set.options(**options))
        if data_set.closed_forms
        else {}
    )
