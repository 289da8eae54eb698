"""From saved predictions and test labels to the rows of a setting.

The only code of the workflow, but for `tune`'s oracle, that reads test labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.data.colored_mnist.channels import colour
from kerhrm.data.dataset import Files
from kerhrm.data.registry import data_set
from kerhrm.entries import load
from kerhrm.methods.registry import NONE, ORACLE, POOLED, ROWS
from kerhrm.scoring.iterations import score_iterations
from kerhrm.scoring.metrics import COLUMNS, Labels, Protocol, load_labels, score_predictions
from kerhrm.scoring.rules import RULES
from kerhrm.storage.arrays import load_arrays

#: the prediction without a look at the inputs that each protocol shows
CONSTANTS = {"accuracy": "majority", "mean_error": "zero", "period": "mean"}


def score_setting(
    setting: str,
    files: Mapping[str, Any],
    *,
    protocol: Protocol,
    seeds: Sequence[int | str],
    data: Mapping[str, Any],
) -> pd.DataFrame:
    """Score every predictor of a setting, and what other selection rules would have taken.

    Gives the columns :data:`kerhrm.scoring.metrics.COLUMNS`.

    Parameters
    ----------
    files : mapping
        Paths of ``train``, ``validation`` and ``test_labels``.  ``predictions`` and
        ``candidates``: lists of files of :class:`kerhrm.data.predictions.Predictions`, named
        after :data:`kerhrm.methods.registry.ROWS`.  With protocol ``iterations`` instead of
        these ``features``, ``test_features`` and, a file per iteration, ``environments`` and
        ``theta``.
    seeds : sequence of int or str
        Names of the replicates.
    data : mapping
        The setting's ``data`` section.
    """
    labels = load_labels(files, seeds)
    if protocol == "iterations":
        coloured = data["generator"] == "colored_mnist"
        return score_iterations(
            load_arrays(files["features"])[0],
            load_arrays(files["test_features"])[0],
            [load_arrays(path)[0] for path in files["environments"]],
            [load_arrays(path)[0] for path in files["theta"]],
            labels,
            colour(load_arrays(files["train"])[0]["x"]) if coloured else None,
            setting,
        )
    constant = ROWS[CONSTANTS[protocol]]
    outputs = constant_outputs(labels, 0.0 if constant.stem == "zero" else None)
    scored = (*_all_predictions(files), (constant.title, constant.rule, outputs))
    parts = [
        score_predictions(f, labels, protocol, setting=setting, method=method, selection=rule)
        for method, rule, f in scored
    ]
    rows = [
        (setting, name, seed, metric, value, NONE, labels.source, "")
        for name, values in closed_forms(data).items()
        for metric, value in values.items()
        for seed in seeds
    ]
    if rows:  # an empty frame would make the values objects
        parts.append(pd.DataFrame(rows, columns=COLUMNS))
    return pd.concat(parts, ignore_index=True)


def closed_forms(data: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Values by reference row and metric, of a setting's ``data`` section; none where unknown."""
    chosen = data_set(data["generator"])
    if chosen.truths is None:
        return {}
    return load(chosen.truths)(load(chosen.options)(**data))


def constant_outputs(labels: Labels, value: float | None) -> dict[str, np.ndarray]:
    """The same prediction everywhere: ``value``, or the mean training label of the seed."""
    level = labels.train.mean(axis=1, keepdims=True) if value is None else np.full((1, 1), value)
    sizes = {"train": labels.train.shape, "test": labels.test.shape}
    return {part: np.broadcast_to(level, size) for part, size in sizes.items()}


def choose_candidates(candidates: Mapping[str, np.ndarray], files: Files) -> dict[str, Any]:
    """What the paper's rule and the oracle would have picked among the same candidates.

    Predictions ``train``, ``validation``, ``test`` (B, C, m) to (B, m) by the name of the rule.
    """
    chosen = {}
    for rule in (RULES[POOLED], RULES[ORACLE]):
        best = rule.score(candidates[rule.sample], files).argmax(-1)
        chosen[rule.name] = {p: a[np.arange(len(a)), best] for p, a in candidates.items()}
    return chosen


def _all_predictions(files: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, np.ndarray]]]:
    """Method, selection rule and outputs (B, m) of everything that a setting shows."""
    for path in files["predictions"]:
        row, outputs = ROWS[Path(path).stem], load_arrays(path)[0]
        if outputs["test"].ndim == 2:
            outputs = {part: a[:, None] for part, a in outputs.items()}
        # the selected option set and, where `tune` found one, the oracle's
        rules = (row.rule, ORACLE)[: outputs["test"].shape[1]]
        for number, rule in enumerate(rules):
            yield row.title, rule, {part: a[:, number] for part, a in outputs.items()}
    for path in files["candidates"]:
        for rule, outputs in choose_candidates(load_arrays(path)[0], files).items():
            yield ROWS[Path(path).stem].title, rule, outputs
