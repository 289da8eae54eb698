"""What pictures read of estimators and tables, and how they tell what is wrong with them."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kerhrm.data.dataset import Task
from kerhrm.errors import KerhrmError
from kerhrm.estimators.inputs import read_features, read_target, refuse_missing
from kerhrm.estimators.notices import DataWarning
from kerhrm.plots.draw import names_of
from kerhrm.sections import suggest


class Rows(NamedTuple):
    """A table, and the environments of its rows.

    Attributes
    ----------
    x : ndarray, (n, d), float64
    features : list of str, length d
    y : ndarray, (n,)
    target : str
        Name of y.
    task : "classification" or "regression"
    memberships : ndarray, (n, E)
    names : list of str, length E
    """

    x: np.ndarray
    features: list[str]
    y: np.ndarray
    target: str
    task: Task
    memberships: np.ndarray
    names: list[str]


def read(model: Any, X: Any, y: Any) -> Rows:
    """Rows with their environments, of an estimator or as they are given.

    Raises
    ------
    KerhrmError
        If ``model`` has no environments, or for what is wrong with the table.
    """
    x, features = table(model, X)
    task = task_of(model, y)
    values = read_target(y, len(x), task, varies=False)
    name = y.name if isinstance(getattr(y, "name", None), str) else "y"
    if hasattr(model, "predict_environment_proba"):
        memberships = model.predict_environment_proba(X, y)
        names = names_of(memberships)
    else:
        labels = assigned(model, len(x))
        kinds, which = np.unique(labels, return_inverse=True)
        memberships, names = np.eye(len(kinds))[which], [f"environment {kind}" for kind in kinds]
    return Rows(x, features, values, name, task, memberships, names)


def table(model: Any, X: Any) -> tuple[np.ndarray, list[str]]:
    """Values (n, d) and names of a table's columns."""
    if hasattr(model, "predict_environment_proba"):
        check_is_fitted(model)
        x, known = read_features(model, X, reset=False), getattr(model, "feature_names_in_", None)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            x, known = read_features(BaseEstimator(), X, reset=True), None
    names = getattr(X, "columns", known)
    if names is None:
        return x, [f"feature {j}" for j in range(x.shape[1])]
    return x, [str(name) for name in names]


def assigned(model: Any, n: int) -> np.ndarray:
    """Environments of n rows: labels themselves, or what an estimator has of its own rows.

    Raises
    ------
    KerhrmError
        If there are none, or not n of them, or some are missing.
    """
    if isinstance(model, Pipeline):
        cure = "give pipeline[-1], with pipeline[:-1].transform(X) for X"
        raise KerhrmError("a Pipeline has no environments", cure)
    if isinstance(model, BaseEstimator) and not hasattr(model, "environments_"):
        problem = f"{type(model).__name__} has no environments"
        cure = "give KerHRMClassifier or KerHRMRegressor, or the environments of the rows"
        raise KerhrmError(problem, cure)
    given = getattr(model, "environments_", model)
    labels = np.asarray(given)
    if labels.shape != (n,):
        problem = f"environments have shape {labels.shape} for {n} rows"
        raise KerhrmError(problem, "give one for each row")
    refuse_missing(given)
    return labels


def task_of(model: Any, y: Any) -> Task:
    """Of an estimator its own; else two values, or text, are classes."""
    if isinstance(model, BaseEstimator):
        return "classification" if is_classifier(model) else "regression"
    values = np.asarray(y)
    few = values.ndim == 1 and (values.dtype.kind not in "iuf" or len(np.unique(values)) <= 2)
    return "classification" if few else "regression"


def place(feature: Any, features: Sequence[str]) -> int:
    """Number of a feature that is given by name or number.

    Raises
    ------
    KerhrmError
        If there is none such.
    """
    if isinstance(feature, str):
        if feature not in features:
            raise KerhrmError(f"there is no feature '{feature}'", suggest(feature, features))
        return features.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
        raise KerhrmError(f"{feature!r} is no feature", "give a name or a number")
    if not -len(features) <= feature < len(features):
        cure = f"the table has {len(features)}, and the first is 0"
        raise KerhrmError(f"there is no feature {feature}", cure)
    return int(feature) % len(features)


def named(models: Any) -> dict[str, Any]:
    """Estimators by name: as given, or by class, seed or number where one says too little.

    Raises
    ------
    KerhrmError
        If there are none.
    """
    if isinstance(models, Mapping):
        found = {str(name): model for name, model in models.items()}
    else:
        several = list(models) if isinstance(models, list | tuple) else [models]
        kinds = [type(model).__name__ for model in several]
        seeds = [getattr(model, "seed_", None) for model in several]
        if len(set(kinds)) == len(kinds):
            names = kinds
        elif len(set(kinds)) == 1 and None not in seeds and len(set(seeds)) == len(seeds):
            names = [f"seed {seed}" for seed in seeds]
        else:
            names = [f"{kind} {number}" for number, kind in enumerate(kinds, 1)]
        found = dict(zip(names, several, strict=True))
    if not found:
        raise KerhrmError("no estimators given", "give one, a list, or a dict of them by name")
    return found
