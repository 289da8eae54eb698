"""What a picture is given: a table, and the environments of its rows."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from kerhrm.errors import KerhrmError
from kerhrm.options import Task
from kerhrm.tables.arrays import column
from kerhrm.tables.data import read_features
from kerhrm.tables.labels import read_labels
from kerhrm.tables.oddities import is_regression
from kerhrm.tables.targets import read_target


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
    fitted = model if infers else BaseEstimator()
    x = read_features(fitted, X, reset=not infers)
    n, d = x.shape
    task = _task(model, y)
    numbers = read_target(y, n, task, varies=False, table=X)
    labels: Any
    if infers:
        memberships = model.predict_environment_proba(X, y, auxiliary=auxiliary)
        _, n_environments = memberships.shape
        labels = range(n_environments)
    else:
        given = _given_environments(model)
        environments = read_labels(given, n, "environments", X)
        labels = environments.names
        one_hot = np.eye(len(labels))
        memberships = one_hot[environments.codes]
    target = getattr(y, "name", None)
    if not isinstance(target, str):
        target = "y"
    return Rows(
        x=x,
        features=_feature_names(model, X, d),
        y=numbers,
        target=target,
        task=task,
        memberships=memberships,
        names=[f"environment {label}" for label in labels],
    )


def _feature_names(model: Any, X: Any, d: int) -> list[str]:
    """Names of a table's columns, or of those that a model was fitted on."""
    fitted_names = getattr(model, "feature_names_in_", None)
    names = getattr(X, "columns", fitted_names)
    if names is None:
        return [f"feature {j}" for j in range(d)]
    return [str(names[j]) for j in range(d)]


def _task(model: Any, y: Any) -> Task:
    """What an estimator predicts; of labels without one two values, or text, are
    classes."""
    if isinstance(model, BaseEstimator):
        return "classification" if is_classifier(model) else "regression"
    target = pd.Series(column(y, "y"))
    return "regression" if is_regression(target) else "classification"


def _given_environments(model: Any) -> Any:
    """Environments of rows, of an estimator without a rule for new rows or as given."""
    is_estimator = isinstance(model, BaseEstimator)
    if is_estimator and not hasattr(model, "environments_"):
        kind = type(model).__name__
        problem = f"{kind} has no environments"
        hint = "give KerHRM, of a pipeline its last step, "
        hint += "or the environments of the rows"
        raise KerhrmError(problem, hint)
    return getattr(model, "environments_", model)
