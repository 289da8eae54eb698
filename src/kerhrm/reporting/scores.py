"""From saved predictions and test labels to scores, one row per seed.

The only code of the workflow, but for `tune`'s oracle, that reads test labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from kerhrm.arrays import load_arrays
from kerhrm.methods.rules import Oracle, PooledValidation
from kerhrm.reporting.closed_forms import closed_forms
from kerhrm.reporting.methods import METHODS, NONE, ORACLE

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]

#: accuracy, mean_error: one row per seed; period: a row per test environment, too
Protocol = Literal["accuracy", "mean_error", "period"]
#: the prediction without a look at the inputs that each protocol shows
CONSTANTS: dict[Protocol, str] = {"accuracy": "majority", "mean_error": "zero", "period": "mean"}
Files = Mapping[str, str | Path]


@dataclass(frozen=True)
class Labels:
    """Labels of one setting; test labels among them.

    Attributes
    ----------
    train, test : ndarray, (B, n), (B, m)
    test_environment : ndarray, (m,)
    seeds : list of int, length B
    task : "classification" or "regression"
    source : str
        Of the data.
    names : list of str
        Of the test environments.
    """

    train: np.ndarray
    test: np.ndarray
    test_environment: np.ndarray
    seeds: list[int]
    task: str
    source: str
    names: list[str]


def load_labels(files: Files) -> Labels:
    """Read ``train`` and ``test_labels``."""
    train, facts = load_arrays(files["train"])
    test, _ = load_arrays(files["test_labels"])
    return Labels(
        train["y"],
        test["y"],
        test["environment"][0],
        facts["seeds"],
        facts["task"],
        facts["source"],
        facts["test_environments"],
    )


def accuracy(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of points with the right sign: (..., m) and (..., m) to (...)."""
    return np.mean((predictions > 0) == (y > 0), axis=-1)


def environment_errors(
    predictions: np.ndarray, y: np.ndarray, environment: np.ndarray
) -> np.ndarray:
    """Mean squared error of every test environment.

    Parameters
    ----------
    predictions, y : ndarray, (..., m)
    environment : ndarray, (m,)
        Number of each point's environment; the same for all seeds.

    Returns
    -------
    ndarray, (..., number of environments)
    """
    squared = (predictions.astype(np.float64) - y) ** 2
    numbers = np.unique(environment)
    return np.stack([squared[..., environment == e].mean(axis=-1) for e in numbers], axis=-1)


def metrics(
    predictions: Mapping[str, np.ndarray], labels: Labels, protocol: Protocol
) -> dict[tuple[str, str], np.ndarray]:
    """Values per seed (B,), by (test environment or "", metric).

    ``accuracy``: ``train_acc``, ``test_acc`` and their difference ``generalisation_gap``;
    ``mean_error``: ``mean_error`` and ``std_error``, mean and standard deviation (ddof = 1)
    of the mean squared errors of the test environments (paper, section 5); ``period``:
    ``mse`` of every test environment.
    """
    if protocol == "accuracy":
        train = accuracy(predictions["train"], labels.train)
        test = accuracy(predictions["test"], labels.test)
        return {
            ("", "train_acc"): train,
            ("", "test_acc"): test,
            ("", "generalisation_gap"): test - train,
        }
    errors = environment_errors(predictions["test"], labels.test, labels.test_environment)
    if protocol == "mean_error":
        return {
            ("", "mean_error"): errors.mean(axis=-1),
            ("", "std_error"): errors.std(axis=-1, ddof=1),
        }
    return {(name, "mse"): errors[:, e] for e, name in enumerate(labels.names)}


def failures(predictions: Mapping[str, np.ndarray]) -> list[str]:
    """Why a seed's figures cannot be trusted, one text per seed; empty where they can."""
    reasons = []
    for seed in range(len(predictions["test"])):
        bad = [
            f"{int((~np.isfinite(outputs)).sum())} of {outputs.size} outputs"
            for outputs in (part[seed] for part in predictions.values())
            if not np.isfinite(outputs).all()
        ]
        reasons.append(f"diverged: {bad[0]} are not finite" if bad else "")
    return reasons


def score_predictions(
    predictions: Mapping[str, np.ndarray],
    labels: Labels,
    protocol: Protocol,
    *,
    setting: str,
    method: str,
    selection: str,
) -> pd.DataFrame:
    """Scores of one predictor per seed.

    Parameters
    ----------
    predictions : mapping
        ``train`` (B, n) and ``test`` (B, m); what else is there must be finite, too.
    labels : Labels
    protocol : "accuracy", "mean_error" or "period"
    setting, method, selection : str
        Copied into the rows; with test environments in rows of their own, ``setting`` is
        ``period=NAME``, and a marked setting's mark follows.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`.  A seed whose outputs are not finite has the value NaN and
        the reason.
    """
    reasons = failures(predictions)
    mark = "".join(setting.partition(",")[1:])
    rows = [
        (
            f"{protocol}={name}{mark}" if name else setting,
            method,
            seed,
            metric,
            float("nan") if reason else float(value),
            selection,
            labels.source,
            reason,
        )
        for (name, metric), values in metrics(predictions, labels, protocol).items()
        for seed, value, reason in zip(labels.seeds, values, reasons, strict=True)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def constant_outputs(labels: Labels, value: float | None) -> dict[str, np.ndarray]:
    """The same prediction everywhere: ``value``, or the mean training label of the seed."""
    level = labels.train.mean(axis=1, keepdims=True) if value is None else np.full((1, 1), value)
    sizes = {"train": labels.train.shape, "test": labels.test.shape}
    return {part: np.broadcast_to(level, size) for part, size in sizes.items()}


def choose_candidates(candidates: Mapping[str, np.ndarray], files: Files) -> dict[str, Any]:
    """What other selection rules would have picked among the same candidates.

    Parameters
    ----------
    candidates : mapping
        ``train``, ``validation``, ``test`` of shape (B, C, m).
    files : mapping
        Paths of ``validation`` and ``test_labels``.

    Returns
    -------
    dict
        Predictions (B, m) by the name of the rule: the paper's, and the oracle.
    """
    chosen = {}
    for rule in (PooledValidation(), Oracle()):
        best = rule.score(torch.from_numpy(candidates[rule.sample]), files).argmax(-1).numpy()
        chosen[rule.name] = {p: a[np.arange(len(a)), best] for p, a in candidates.items()}
    return chosen


def score_setting(
    setting: str,
    predictions: Sequence[str | Path],
    candidates: Sequence[str | Path],
    files: Files,
    *,
    protocol: Protocol,
    data: Mapping[str, Any],
) -> pd.DataFrame:
    """Score every predictor of a setting, and what other selection rules would have taken.

    Parameters
    ----------
    setting : str
    predictions, candidates : sequences of paths
        Files of :class:`kerhrm.methods.predictions.Predictions`, named after
        :data:`kerhrm.reporting.methods.METHODS`.
    files : mapping
        Paths of ``train``, ``validation`` and ``test_labels``.
    protocol : "accuracy", "mean_error" or "period"
    data : mapping
        The setting's ``data`` section, for the closed forms.
    """
    labels = load_labels(files)
    parts = [
        score_predictions(
            outputs, labels, protocol, setting=setting, method=method, selection=selection
        )
        for method, selection, outputs in _all_predictions(predictions, candidates, files)
    ]
    constant = CONSTANTS[protocol]
    outputs = constant_outputs(labels, 0.0 if constant == "zero" else None)
    about = METHODS[constant]
    parts.append(
        score_predictions(
            outputs, labels, protocol, setting=setting, method=about.name, selection=about.rule
        )
    )
    rows = [
        (setting, name, seed, metric, value, NONE, labels.source, "")
        for name, values in closed_forms(data).items()
        for metric, value in values.items()
        for seed in labels.seeds
    ]
    if rows:  # an empty frame would make the values objects
        parts.append(pd.DataFrame(rows, columns=COLUMNS))
    return pd.concat(parts, ignore_index=True)


def _all_predictions(
    predictions: Sequence[str | Path], candidates: Sequence[str | Path], files: Files
) -> Iterator[tuple[str, str, dict[str, np.ndarray]]]:
    """Method, selection rule and outputs (B, m) of everything that a setting shows."""
    for path in predictions:
        method, outputs = METHODS[Path(path).stem], load_arrays(path)[0]
        outputs = {part: outputs[part] for part in ("train", "validation", "test")}
        if outputs["test"].ndim == 2:
            yield method.name, method.rule, outputs
            continue
        # the selected option set and, where `tune` found one, the oracle's
        rules = (method.rule, ORACLE)[: outputs["test"].shape[1]]
        for number, rule in enumerate(rules):
            yield method.name, rule, {part: a[:, number] for part, a in outputs.items()}
    for path in candidates:
        for rule, outputs in choose_candidates(load_arrays(path)[0], files).items():
            yield METHODS[Path(path).stem].name, rule, outputs
