"""From saved predictions and test labels to the rows of a setting.

The only code of the workflow that reads test labels.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.data.colored_mnist.channels import colour
from kerhrm.data.dataset import Files
from kerhrm.data.registry import data_set
from kerhrm.entries import load
from kerhrm.methods.registry import NONE, ORACLE, ROWS
from kerhrm.scoring.iterations import score_iterations
from kerhrm.scoring.metrics import COLUMNS, Labels, Protocol, load_labels, score_predictions
from kerhrm.scoring.rules import RULES
from kerhrm.storage.arrays import load_arrays

#: the prediction without a look at the inputs that each protocol shows
CONSTANTS = {"accuracy": "majority", "mean_error": "zero", "period": "mean", "groups": "mean"}


def score_setting(
    setting: str,
    files: Mapping[str, Any],
    *,
    protocol: Protocol,
    seeds: Sequence[int | str],
    data: Mapping[str, Any],
    shown: Mapping[str, Mapping[str, int]],
    bounds: Collection[str],
) -> pd.DataFrame:
    """Score every predictor of a setting, by every selection rule that chose one.

    Gives the columns :data:`kerhrm.scoring.metrics.COLUMNS`.

    Parameters
    ----------
    files : mapping
        Paths of ``train`` and ``test_labels``.  ``predictions``: files of
        :class:`kerhrm.data.predictions.Predictions` or, for C option sets, of
        :class:`kerhrm.data.predictions.Trial`, named after
        :data:`kerhrm.methods.registry.ROWS`.  With protocol ``iterations`` instead of these
        ``features``, ``test_features``, ``pooled``, ``released`` and, a file per iteration,
        ``environments`` and ``theta``.
    seeds : sequence of int or str
        Names of the replicates.
    data : mapping
        The setting's ``data`` section.
    shown : mapping
        By file stem and selection rule the number of the option set that it has chosen.
    bounds : collection of str
        Stems of the files among whose option sets an oracle is to choose, too.
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
            load_arrays(files["pooled"])[0],
            load_arrays(files["released"])[0],
        )
    by_class = protocol == "groups" and labels.task == "classification"
    constant = ROWS["majority" if by_class else CONSTANTS[protocol]]
    outputs = constant_outputs(labels, 0.0 if constant.stem == "zero" else None)
    chosen = _all_predictions(files, shown, bounds)
    scored = (*chosen, (constant.title, constant.rule, outputs))
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


def oracle(arrays: Mapping[str, np.ndarray], files: Files) -> int:
    """The option set of outputs (B, C, m) with the best mean test result over the seeds.

    One for all seeds, as the rules choose: no such rule can do better.
    """
    return int(RULES[ORACLE].score(arrays, files).mean(0).argmax())


def _all_predictions(
    files: Mapping[str, Any], shown: Mapping[str, Mapping[str, int]], bounds: Collection[str]
) -> Iterator[tuple[str, str, dict[str, np.ndarray]]]:
    """Method, selection rule and outputs (B, m) of everything that a setting shows."""
    for path in files["predictions"]:
        stem = Path(path).stem
        row, arrays = ROWS[stem], load_arrays(path)[0]
        outputs = {part: arrays[part] for part in ("train", "validation", "test")}
        if outputs["test"].ndim == 2:
            yield row.title, row.rule, outputs
            continue
        numbers = {r: n for r, n in shown[stem].items() if row.chosen or r != row.rule}
        if stem in bounds:
            numbers[ORACLE] = oracle(arrays, files)
        for rule, number in numbers.items():
            yield row.title, rule, {part: a[:, number] for part, a in outputs.items()}
