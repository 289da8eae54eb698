"""From saved predictions and test labels to scores, one row per seed.

The only code of the workflow that reads test labels.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kerhrm.arrays import load_arrays

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source"]


def accuracy(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of points with the right sign: (..., m) and (..., m) to (...)."""
    return np.mean((predictions > 0) == (y > 0), axis=-1)


def score_predictions(
    predictions: Mapping[str, np.ndarray],
    y_train: np.ndarray,
    y_test: np.ndarray,
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
    y_train, y_test : ndarray, (B, n), (B, m)
    setting, method, selection, data_source : str
        Copied into the rows.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`; metrics ``train_acc`` and ``test_acc``.
    """
    values = {
        "train_acc": accuracy(predictions["train"], y_train),
        "test_acc": accuracy(predictions["test"], y_test),
    }
    rows = [
        (setting, method, seed, metric, float(value), selection, data_source)
        for metric, per_seed in values.items()
        for seed, value in enumerate(per_seed)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def choose_candidates(
    candidates: Mapping[str, np.ndarray], y_validation: np.ndarray, y_test: np.ndarray
) -> dict[str, dict[str, np.ndarray]]:
    """What other selection rules would have picked among the same candidates.

    Parameters
    ----------
    candidates : mapping
        ``train``, ``validation``, ``test`` of shape (B, C, m).
    y_validation, y_test : ndarray, (B, m), (B, m')

    Returns
    -------
    dict
        Predictions (B, m) by rule: ``pooled validation`` (the paper's) and ``oracle``
        (the best on the test set itself: a bound, never a result).
    """
    criteria = {
        "pooled validation": accuracy(candidates["validation"], y_validation[:, None]),
        "oracle": accuracy(candidates["test"], y_test[:, None]),
    }
    rows = np.arange(len(y_test))
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
    y = {name: load_arrays(path)[0]["y"] for name, path in labels.items()}
    source = load_arrays(labels["train"])[1]["source"]
    found: list[tuple[str, str, Mapping[str, np.ndarray]]] = []
    for path in predictions:
        found.append((*METHODS[Path(path).stem], load_arrays(path)[0]))
    for path in candidates:
        name, _ = METHODS[Path(path).stem]
        chosen = choose_candidates(load_arrays(path)[0], y["validation"], y["test_labels"])
        found += [(name, rule, outputs) for rule, outputs in chosen.items()]
    return pd.concat(
        [
            score_predictions(
                outputs,
                y["train"],
                y["test_labels"],
                setting=setting,
                method=method,
                selection=selection,
                data_source=source,
            )
            for method, selection, outputs in found
        ],
        ignore_index=True,
    )
