"""Reference rows that need no training: what is known of the synthetic data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kerhrm.config.data import ClassificationData, RegressionData
from kerhrm.data.classification import bayes_pooled_accuracy, invariant_ceiling
from kerhrm.data.regression import reference_errors


def closed_forms(data: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Values of the reference rows.

    Parameters
    ----------
    data : mapping
        The ``data`` section of a setting.

    Returns
    -------
    dict
        Value by row name and metric; without rows where nothing is known.
    """
    if data["generator"] == "classification":
        return _classification(ClassificationData(**data))
    if data["generator"] == "regression":
        return _regression(RegressionData(**data))
    return {}


def _classification(data: ClassificationData) -> dict[str, dict[str, float]]:
    root = data.noise_unit == "variance"
    sigma_s, sigma_v = (s**0.5 if root else s for s in (data.sigma_s, data.sigma_v))
    pooled = (data.r1 + data.r2) / 2
    ceiling = invariant_ceiling(data.d, sigma_s)

    def bayes(r: float) -> float:
        return bayes_pooled_accuracy(pooled, r, data.d, sigma_s, sigma_v)

    values = {
        "ref: Bayes pooled": {"train_acc": bayes(pooled), "test_acc": bayes(data.r_test)},
        "ref: invariant ceiling": {"train_acc": ceiling, "test_acc": ceiling},
    }
    for row in values.values():
        row["generalisation_gap"] = row["test_acc"] - row["train_acc"]
    return values


def _regression(data: RegressionData) -> dict[str, dict[str, float]]:
    errors = reference_errors(
        data.r,
        constants=data.constants,
        n_train=data.n_train,
        r_second=data.r_second,
        test_r=data.test_r,
        beta=data.beta,
        n_s=data.n_s,
    )
    return {
        name: {"mean_error": float(e.mean()), "std_error": _spread(e)}
        for name, e in (
            ("ref: least squares on S", errors["least_squares"]),
            ("ref: structural function", errors["structural"]),
        )
    }


def _spread(errors: np.ndarray) -> float:
    return float(errors.std(ddof=1)) if len(errors) > 1 else float("nan")
