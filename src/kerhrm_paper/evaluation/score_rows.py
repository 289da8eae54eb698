"""Rows of scores: a value of each metric and seed."""

from collections.abc import Iterator
from typing import Any

from kerhrm_paper.evaluation.metrics import Labels, Outputs, failures, metrics

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
ScoreRow = dict[str, Any]  #: columns of :data:`COLUMNS`


def score_rows(
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
        of_metric = marked(head, environment) if environment else head
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


def marked(head: ScoreRow, setting: str) -> ScoreRow:
    """Rows of a part of the setting, with the setting's options behind a comma."""
    _, comma, options = head["setting"].partition(",")
    return {**head, "setting": f"{setting}{comma}{options}"}
