"""From saved predictions and test labels to the values of every seed.

The only code of the workflow that reads test labels.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.paper.config.config import Table
from kerhrm.paper.data.registry import DATA_SETS
from kerhrm.paper.evaluation import metrics as m
from kerhrm.paper.evaluation.selection import ORACLE, oracle
from kerhrm.paper.runs.arrays import load_arrays

COLUMNS = [
    "data", "setting", "learner", "method", "seed", "metric", "value", "selection", "data_source",
    "reason",
]  # fmt: skip
NONE = "none"  #: selection of rows that nothing was chosen for
Rows = list[tuple[Any, ...]]


def score_table(
    table: Table, cells: Mapping[str, Mapping[str, Any]], run: str | Path
) -> pd.DataFrame:
    """Score every predictor of a table by every selection criterion that it shows.

    Parameters
    ----------
    table : Table
        Its cells, kind of scores and labels.
    cells : mapping
        By ``DATA/SETTING/LEARNER`` the parameters of the configuration: ``titles``, ``candidates``,
        ``shown``, ``oracle``, ``replicates``, ``generator``, ``options``.
    run : path
        Folder of the run.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`, one row per seed.  A seed whose outputs are not finite has the
        value NaN and a reason.

    Raises
    ------
    KerhrmError
        If a prediction is missing, or has other seeds or candidates than the configuration.
    """
    rows: Rows = []
    for data, setting in table.settings:
        learners = [cell for cell in table.cells if cell[:2] == (data, setting)]
        for cell in learners:
            rows += _score_learner(table, cell, cells["/".join(cell)], Path(run))
        if table.kind in m.CONSTANTS:
            longest = max((cells["/".join(cell)] for cell in learners), key=_n_seeds)
            rows += _references(table, data, setting, longest, Path(run))
    return pd.DataFrame(rows, columns=COLUMNS)


def _score_learner(
    table: Table, cell: tuple[str, str, str], params: Mapping[str, Any], run: Path
) -> Rows:
    """Rows of one learner in one setting."""
    data, setting, learner = cell
    folder, replicates = run / data / setting, params["replicates"]
    path = folder / learner / "predictions.npz"
    arrays, _ = load_arrays(path)
    labels = m.Labels.load(folder, len(replicates))
    label = table.label(data, setting, learner)
    shown, n_candidates = list(params["shown"].items()), len(params["candidates"])
    outputs = (table.outputs or {}).get(learner) or list(params["titles"])
    rows: Rows = []
    for output in outputs:
        if missing := [o for o in ("train", "test") if f"{output}/{o}" not in arrays]:
            raise KerhrmError(f"{path} has no {output}/{missing[0]}", "delete it and run again")
        found, expected = arrays[f"{output}/test"].shape[:2], (len(replicates), n_candidates)
        if found != expected:
            sizes = "has {} seeds and {} candidates, the configuration {} and {}"
            problem = f"{path} {sizes.format(*found, *expected)}"
            raise KerhrmError(problem, "delete it and run again")
        numbers = shown[:1] if table.criteria == "own" else shown
        if table.criteria != "own" and params["oracle"]:
            numbers = [*numbers, (ORACLE, oracle(arrays, output, folder))]
        for criterion, number in numbers:
            of_number = {
                name.partition("/")[2]: array[:, number]
                for name, array in arrays.items()
                if name.startswith(f"{output}/")
            }
            head = (data, label, learner, params["titles"][output])
            if table.kind == "iterations":
                rows += _iterations(head, arrays, number, labels, params, criterion)
            else:
                rows += _rows(head, of_number, labels, table.kind, replicates, criterion)
    return rows


def _rows(
    head: tuple[str, str, str, str],
    outputs: m.Outputs,
    labels: m.Labels,
    kind: str,
    replicates: list[Any],
    criterion: str,
) -> Iterator[tuple[Any, ...]]:
    """Rows of outputs (S, points); test environments with their own rows are in the setting."""
    data, label, learner, title = head
    reasons = m.failures(outputs)
    for (name, metric), values in m.metrics(outputs, labels, kind).items():
        mark = "".join(label.partition(",")[1:])
        where = f"{m.PREFIX[kind]}={name}{mark}" if name else label
        for seed, value, reason in zip(replicates, values, reasons, strict=True):
            number = float("nan") if reason else float(value)
            head_row = (data, where, learner, title, seed, metric, number)
            yield *head_row, criterion, labels.source, reason


def _iterations(
    head: tuple[str, str, str, str],
    arrays: Mapping[str, np.ndarray],
    number: int,
    labels: m.Labels,
    params: Mapping[str, Any],
    criterion: str,
) -> Iterator[tuple[Any, ...]]:
    """Rows of every iteration: accuracies and, of Colored MNIST, the divergence ``d_kl``.

    Iteration 0 is ERM on the same features, which has no environments.
    """
    data, label, learner, title = head
    mark = "".join(label.partition(",")[1:])
    numbers = arrays["iterations/number"][0, number].astype(int)
    replicates = params["replicates"]
    for i, t in enumerate(numbers):
        outputs = {part: arrays[f"iterations/{part}"][:, number, i] for part in ("train", "test")}
        where = (data, f"iteration={t}{mark}", learner, title)
        rows = _rows(where, outputs, labels, "accuracy", replicates, criterion)
        yield from (row for row in rows if row[5] != "generalisation_gap")
        attribute = DATA_SETS[params["generator"]].attribute
        if attribute is None or t == 0:
            continue
        memberships = arrays["iterations/memberships"][:, number, i]
        values = m.divergence(memberships, labels.train, attribute(labels.x))
        for seed, value in zip(replicates, values.tolist(), strict=True):
            yield *where, seed, "d_kl", value, criterion, labels.source, ""


def _references(
    table: Table, data: str, setting: str, params: Mapping[str, Any], run: Path
) -> Iterator[tuple[Any, ...]]:
    """Rows that no training makes: a constant prediction, and closed forms."""
    replicates, label = params["replicates"], table.label(data, setting)
    labels = m.Labels.load(run / data / setting, len(replicates))
    by_class = table.kind == "groups" and labels.task == "classification"
    title, value = m.CONSTANTS["accuracy" if by_class else table.kind]
    outputs = m.constant_outputs(labels, value)
    yield from _rows((data, label, "", title), outputs, labels, table.kind, replicates, NONE)
    for name, values in closed_forms(params["generator"], params["options"]).items():
        for metric, number in values.items():
            for seed in replicates:
                yield data, label, "", name, seed, metric, number, NONE, labels.source, ""


def _n_seeds(params: Mapping[str, Any]) -> int:
    return len(params["replicates"])


def closed_forms(generator: str, options: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Values by reference row and metric; none where nothing is known of the data."""
    data_set = DATA_SETS[generator]
    if data_set.closed_forms is None:
        return {}
    return data_set.closed_forms(data_set.options(**options))
