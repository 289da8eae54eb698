"""From saved predictions and test labels to the values of every seed.

The only code of the workflow that reads test labels.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.paper.config.config import Table
from kerhrm.paper.data.closed_forms import Rows
from kerhrm.paper.data.registry import DATA_SETS
from kerhrm.paper.evaluation import metrics as m
from kerhrm.paper.runs.arrays import load_arrays

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
Row = dict[str, Any]


def score_table(
    table: Table, cells: Mapping[str, Mapping[str, Any]], run: str | Path
) -> pd.DataFrame:
    """Score every predictor of a table by every selection criterion that it shows.

    ``cells`` has by ``DATA/SETTING/LEARNER`` the parameters of the configuration,
    ``run`` is the folder of the run.

    Returns columns :data:`COLUMNS`, one row per seed. A seed whose outputs are not
    finite has the value NaN and a reason.

    Raises KerhrmError if a prediction is missing, or has other seeds or candidates than
    the configuration.
    """
    rows: list[Row] = []
    for data, setting in table.settings:
        learners = [cell for cell in table.cells if cell[:2] == (data, setting)]
        for cell in learners:
            rows += _score_learner(table, cell, cells["/".join(cell)], Path(run))
        if table.kind in m.CONSTANTS:
            every = [cells["/".join(cell)] for cell in learners]
            longest = max(every, key=lambda params: len(params["replicates"]))
            rows += _references(table, data, setting, longest, Path(run))
    return pd.DataFrame(rows, columns=COLUMNS)


def _score_learner(
    table: Table, cell: tuple[str, str, str], params: Mapping[str, Any], run: Path
) -> Iterator[Row]:
    """Rows of one learner in one setting."""
    data, setting, learner = cell
    folder, replicates = run / data / setting, params["replicates"]
    path = folder / learner / "predictions.npz"
    arrays, _ = load_arrays(path)
    labels = m.Labels.load(folder, len(replicates))
    expected = len(replicates), len(params["candidates"])
    for output in (table.outputs or {}).get(learner) or params["titles"]:
        found = getattr(arrays.get(f"{output}/test"), "shape", (0, 0))[:2]
        if found != expected:
            sizes = "has {} seeds and {} candidates, the configuration {} and {}"
            problem = f"{path} {sizes.format(*found, *expected)}"
            raise KerhrmError(problem, "delete it and run again")
        shown = list(params["shown"].items())
        if table.criteria == "own":
            shown = shown[:1]
        for criterion, number in shown:
            head = _head(
                cell,
                table,
                labels,
                method=params["titles"][output],
                selection=criterion,
            )
            if table.kind == "iterations":
                attribute = DATA_SETS[params["generator"]].attribute
                yield from _iterations(
                    head, arrays, number, labels, replicates, attribute
                )
                continue
            own = (name for name in arrays if name.startswith(f"{output}/"))
            parts = {name.partition("/")[2]: arrays[name][:, number] for name in own}
            yield from _rows(head, parts, labels, table.kind, replicates)


def _head(
    cell: tuple[str, str, str], table: Table, labels: m.Labels, **more: str
) -> Row:
    """What the rows of a predictor have in common."""
    facts = {"data": cell[0], "setting": table.label(*cell), "learner": cell[2]}
    return facts | {"data_source": labels.source, "reason": ""} | more


def _rows(
    head: Row, outputs: m.Outputs, labels: m.Labels, kind: str, replicates: list[Any]
) -> Iterator[Row]:
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


def _marked(head: Row, setting: str) -> Row:
    """Rows of a part of the setting, with the setting's mark."""
    return head | {"setting": setting + "".join(head["setting"].partition(",")[1:])}


def _iterations(
    head: Row,
    arrays: m.Outputs,
    number: int,
    labels: m.Labels,
    replicates: list[Any],
    attribute: Any,
) -> Iterator[Row]:
    """Rows of every iteration: accuracies and, of Colored MNIST, the divergence
    ``d_kl``.

    Iteration 0 is ERM on the same features, which has no environments.
    """
    for i, t in enumerate(arrays["iterations/number"][0, number].astype(int)):
        outputs = {
            part: arrays[f"iterations/{part}"][:, number, i]
            for part in ("train", "test")
        }
        where = _marked(head, f"iteration={t}")
        for row in _rows(where, outputs, labels, "accuracy", replicates):
            if row["metric"] in ("train_acc", "test_acc"):
                yield row
        if attribute is None or t == 0:
            continue
        memberships = arrays["iterations/memberships"][:, number, i]
        values = m.divergence(memberships, labels.train, attribute(labels.x))
        for seed, value in zip(replicates, values.tolist(), strict=True):
            yield where | {"seed": seed, "metric": "d_kl", "value": value}


def _references(
    table: Table, data: str, setting: str, params: Mapping[str, Any], run: Path
) -> Iterator[Row]:
    """Rows that no training makes: a constant prediction, and closed forms."""
    replicates = params["replicates"]
    labels = m.Labels.load(run / data / setting, len(replicates))
    shown = m.metrics(m.constant_outputs(labels, None), labels, table.kind)
    for title, outputs in m.references(labels, table.kind).items():
        head = _head((data, setting, ""), table, labels, method=title, selection=NONE)
        yield from _rows(head, outputs, labels, table.kind, replicates)
    for title, values in closed_forms(params["generator"], params["options"]).items():
        head = _head((data, setting, ""), table, labels, method=title, selection=NONE)
        for name, metric in filter(shown.__contains__, values):
            where = _marked(head, name) if name else head
            for seed in replicates:
                yield where | {
                    "seed": seed,
                    "metric": metric,
                    "value": values[name, metric],
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
