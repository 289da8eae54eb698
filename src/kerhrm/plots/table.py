"""What a picture is given: a table, and the environments of its rows."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from kerhrm.errors import KerhrmError
from kerhrm.options import Task
from kerhrm.tables.arrays import column, read_target
from kerhrm.tables.data import read_features
from kerhrm.tables.labels import read_labels


class Rows(NamedTuple):
    """A table, and the environments of its rows.

    Attributes
    ----------
    x : ndarray, (n, d), float64
        Features.
    features : list of str
        Their d names.
    y : ndarray, (n,)
        Target.
    target : str
        Its name.
    task : "classification" or "regression"
        What is predicted.
    memberships : ndarray, (n, E)
        In the environments.
    names : list of str
        Of the E environments.
    """

    x: np.ndarray
    features: list[str]
    y: np.ndarray
    target: str
    task: Task
    memberships: np.ndarray
    names: list[str]


def read(model: Any, X: Any, y: Any, auxiliary: Any = None) -> Rows:
    """Rows with their environments, of an estimator or as they are given.

    Raises KerhrmError if ``model`` has no environments, or for what is wrong with the
    table.
    """
    infers = hasattr(model, "predict_environment_proba")
    if infers:
        check_is_fitted(model)
    x = read_features(model if infers else BaseEstimator(), X, reset=not infers)
    task = _task(model, y)
    numbers = read_target(y, len(x), task, varies=False, table=X)
    if infers:
        memberships = model.predict_environment_proba(X, y, auxiliary=auxiliary)
        labels: Any = range(memberships.shape[1])
    else:
        given = _given_environments(model)
        environments = read_labels(given, len(x), "environments", X)
        labels = environments.names
        memberships = np.eye(len(labels))[environments.codes]
    target = getattr(y, "name", None)
    return Rows(
        x=x,
        features=_feature_names(model, X, x.shape[1]),
        y=numbers,
        target=target if isinstance(target, str) else "y",
        task=task,
        memberships=memberships,
        names=[f"environment {label}" for label in labels],
    )


def _feature_names(model: Any, X: Any, d: int) -> list[str]:
    """Names of a table's columns, or of those that a model was fitted on."""
    names = getattr(X, "columns", getattr(model, "feature_names_in_", None))
    if names is None:
        return [f"feature {j}" for j in range(d)]
    return [str(names[j]) for j in range(d)]


def _task(model: Any, y: Any) -> Task:
    """What an estimator predicts; of labels without one two values, or text, are
    classes."""
    if isinstance(model, BaseEstimator):
        return "classification" if is_classifier(model) else "regression"
    target = pd.Series(column(y, "y"))
    numeric = pd.api.types.is_numeric_dtype(target) and target.nunique() > 2
    return "regression" if numeric else "classification"


def _given_environments(model: Any) -> Any:
    """Environments of rows, of an estimator without a rule for new rows or as given."""
    if isinstance(model, BaseEstimator) and not hasattr(model, "environments_"):
        problem = f"{type(model).__name__} has no environments"
        hint = "give KerHRM, of a pipeline its last step, "
        hint += "or the environments of the rows"
        raise KerhrmError(problem, hint)
    return getattr(model, "environments_", model)
