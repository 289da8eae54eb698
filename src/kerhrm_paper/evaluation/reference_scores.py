"""Scores that no training makes: of constant predictions, and of closed forms."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kerhrm_paper.config.views import TableView
from kerhrm_paper.data.generator import ReferenceRows
from kerhrm_paper.data.registry import DATA_SETS
from kerhrm_paper.evaluation.metrics import (
    Labels,
    constant_outputs,
    metrics,
    references,
)
from kerhrm_paper.evaluation.score_rows import ScoreRow, marked, score_rows

UNSELECTED = "none"  #: selection of rows that nothing was chosen for


def reference_rows(
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
        yield from score_rows(of_reference, outputs, labels, table.kind, replicates)
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
                of_reference = marked(of_reference, environment)
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
