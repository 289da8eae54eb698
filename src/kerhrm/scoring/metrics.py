"""Values and rows of one predictor, from its outputs and all labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from kerhrm.data.dataset import Files
from kerhrm.storage.arrays import load_arrays

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]

#: accuracy, mean_error: one row per seed; period: a row per test environment; groups: both;
#: iterations: a row per iteration of KerHRM (:mod:`kerhrm.scoring.iterations`)
Protocol = Literal["accuracy", "mean_error", "period", "iterations", "groups"]
#: what stands before the name of a test environment that has rows of its own
NAMED = {"period": "period", "groups": "group"}


@dataclass(frozen=True)
class Labels:
    """Labels of one setting; test labels among them."""

    train: np.ndarray  #: (B, n)
    test: np.ndarray  #: (B, m)
    test_environment: np.ndarray  #: (m,), the same for all seeds
    seeds: Sequence[int | str]  #: names of the B replicates
    task: str
    source: str  #: of the data
    names: list[str]  #: of the test environments
    unit: np.ndarray  #: (B,), of y in that of the tables


def load_labels(files: Files, seeds: Sequence[int | str]) -> Labels:
    """Read ``train`` and ``test_labels`` of the replicates that ``seeds`` names."""
    train, facts = load_arrays(files["train"])
    test, _ = load_arrays(files["test_labels"])
    return Labels(
        train["y"],
        test["y"],
        test["environment"][0],
        seeds,
        facts["task"],
        facts["source"],
        facts["test_environments"],
        test["unit"],
    )


def accuracy(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of points with the right sign: (..., m) and (..., m) to (...)."""
    return np.mean((predictions > 0) == (y > 0), axis=-1)


def environment_errors(
    predictions: np.ndarray, y: np.ndarray, environment: np.ndarray
) -> np.ndarray:
    """Mean squared error of every test environment: (..., m), (..., m), (m,) to (..., E)."""
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
    ``mse`` of every test environment; ``groups``: ``group_error`` of every test environment,
    ``overall_error`` of all test points and ``worst_error``, the largest of the groups', where the
    error is the share of wrong signs or the mean squared error; errors of numbers in the square of
    ``labels.unit``.
    """
    if protocol == "accuracy":
        train = accuracy(predictions["train"], labels.train)
        test = accuracy(predictions["test"], labels.test)
        pooled = {"train_acc": train, "test_acc": test, "generalisation_gap": test - train}
        return {("", metric): values for metric, values in pooled.items()}
    if protocol == "groups":
        return _of_groups(predictions["test"], labels)
    errors = environment_errors(predictions["test"], labels.test, labels.test_environment)
    errors = errors * labels.unit[:, None] ** 2  # (B, E), now comparable between seeds
    if protocol == "period":
        return {(name, "mse"): errors[:, e] for e, name in enumerate(labels.names)}
    mean, std = errors.mean(axis=-1), errors.std(axis=-1, ddof=1)
    return {("", "mean_error"): mean, ("", "std_error"): std}


def _of_groups(outputs: np.ndarray, labels: Labels) -> dict[tuple[str, str], np.ndarray]:
    """Errors of outputs (B, m) overall, in the worst group and in each."""
    y, scale = labels.test, labels.unit[:, None] ** 2
    if labels.task == "classification":  # 0 and 1 are their own squares
        outputs, y = (outputs > 0).astype(np.float64), y > 0
    errors = environment_errors(outputs, y, labels.test_environment) * scale
    overall = environment_errors(outputs, y, np.zeros_like(labels.test_environment)) * scale
    pooled = {("", "overall_error"): overall[:, 0], ("", "worst_error"): errors.max(axis=-1)}
    each = {(name, "group_error"): errors[:, e] for e, name in enumerate(labels.names)}
    return pooled | each


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


def mark(setting: str) -> str:
    """What stands behind the first comma of a setting's name, with that comma."""
    return "".join(setting.partition(",")[1:])


def score_predictions(
    predictions: Mapping[str, np.ndarray],
    labels: Labels,
    protocol: Protocol,
    *,
    setting: str,
    method: str,
    selection: str,
) -> pd.DataFrame:
    """Scores of one predictor per seed, columns :data:`COLUMNS`.

    A seed whose outputs are not finite has the value NaN and the reason.

    Parameters
    ----------
    predictions : mapping
        ``train`` (B, n) and ``test`` (B, m); what else is there must be finite, too.
    setting, method, selection : str
        Copied into the rows; with test environments in rows of their own, ``setting`` is
        ``period=NAME`` or ``group=NAME``, and a marked setting's mark follows.
    """
    reasons = failures(predictions)
    rows = [
        (
            f"{NAMED[protocol]}={name}{mark(setting)}" if name else setting,
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
