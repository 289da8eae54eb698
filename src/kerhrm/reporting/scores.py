"""From saved predictions and test labels to scores, one row per seed.

The only code of the workflow that reads test labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kerhrm.arrays import load_arrays

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source"]


@dataclass(frozen=True)
class Labels:
    """Labels of one setting; test labels among them.

    Attributes
    ----------
    train, validation, test : ndarray, (B, n), (B, m), (B, m')
    test_environment : ndarray, (m',)
    task : "classification" or "regression"
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    test_environment: np.ndarray
    task: str


def load_labels(paths: Mapping[str, str | Path]) -> tuple[Labels, str]:
    """Read ``train``, ``validation`` and ``test_labels``; also the data's source."""
    train, facts = load_arrays(paths["train"])
    validation, _ = load_arrays(paths["validation"])
    test, _ = load_arrays(paths["test_labels"])
    environment = test["environment"][0]
    labels = Labels(train["y"], validation["y"], test["y"], environment, facts["task"])
    return labels, facts["source"]


def negative_error(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Minus the mean squared error, so that larger is better: (..., m) to (...)."""
    return -np.mean((predictions.astype(np.float64) - y) ** 2, axis=-1)


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


def score_predictions(
    predictions: Mapping[str, np.ndarray],
    labels: Labels,
    *,
    setting: str,
    method: str,
    selection: str,
    data_source: str,
) -> pd.DataFrame:
    """Scores of one predictor per seed.

    Parameters
    ----------
    predictions : mapping
        ``train`` (B, n) and ``test`` (B, m).
    labels : Labels
    setting, method, selection, data_source : str
        Copied into the rows.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`.  Classification: metrics ``train_acc`` and ``test_acc``.
        Regression: ``mean_error`` and ``std_error``, mean and standard deviation (ddof = 1)
        of the mean squared errors of the test environments (paper, section 5).
    """
    if labels.task == "classification":
        values = {
            "train_acc": accuracy(predictions["train"], labels.train),
            "test_acc": accuracy(predictions["test"], labels.test),
        }
    else:
        errors = environment_errors(predictions["test"], labels.test, labels.test_environment)
        values = {"mean_error": errors.mean(axis=-1), "std_error": errors.std(axis=-1, ddof=1)}
    rows = [
        (setting, method, seed, metric, float(value), selection, data_source)
        for metric, per_seed in values.items()
        for seed, value in enumerate(per_seed)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def choose_candidates(
    candidates: Mapping[str, np.ndarray], labels: Labels
) -> dict[str, dict[str, np.ndarray]]:
    """What other selection rules would have picked among the same candidates.

    Parameters
    ----------
    candidates : mapping
        ``train``, ``validation``, ``test`` of shape (B, C, m).
    labels : Labels

    Returns
    -------
    dict
        Predictions (B, m) by rule: ``pooled validation`` (the paper's) and ``oracle``
        (the best on the test set itself: a bound, never a result).
    """
    score = accuracy if labels.task == "classification" else negative_error
    criteria = {
        "pooled validation": score(candidates["validation"], labels.validation[:, None]),
        "oracle": score(candidates["test"], labels.test[:, None]),
    }
    rows = np.arange(len(labels.test))
    return {
        rule: {part: candidates[part][rows, score.argmax(axis=1)] for part in ("train", "test")}
        for rule, score in criteria.items()
    }


#: what a prediction file holds: the method's name in the tables, and who chose it
METHODS = {
    "erm": ("ERM", "pooled validation"),
    "kerhrm-s": ("KerHRM-s", "worst learned environment"),
    "kerhrm-ntf": ("KerHRM (NTF)", "worst learned environment"),
    "kerhrm-network": ("KerHRM (network)", "worst learned environment"),
}


def score_setting(
    setting: str,
    predictions: Sequence[str | Path],
    candidates: Sequence[str | Path],
    labels: Mapping[str, str | Path],
) -> pd.DataFrame:
    """Score every predictor of a setting, and what other selection rules would have taken.

    Parameters
    ----------
    setting : str
    predictions, candidates : sequences of paths
        Files of :class:`kerhrm.methods.predictions.Predictions`, named after
        :data:`METHODS`.
    labels : mapping
        Paths of ``train``, ``validation`` and ``test_labels``.
    """
    known, source = load_labels(labels)
    found: list[tuple[str, str, Mapping[str, np.ndarray]]] = []
    for path in predictions:
        found.append((*METHODS[Path(path).stem], load_arrays(path)[0]))
    for path in candidates:
        name, _ = METHODS[Path(path).stem]
        chosen = choose_candidates(load_arrays(path)[0], known)
        found += [(name, rule, outputs) for rule, outputs in chosen.items()]
    return pd.concat(
        [
            score_predictions(
                outputs,
                known,
                setting=setting,
                method=method,
                selection=selection,
                data_source=source,
            )
            for method, selection, outputs in found
        ],
        ignore_index=True,
    )
