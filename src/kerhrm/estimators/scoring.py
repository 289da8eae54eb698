"""A score for model selection that the worst group decides."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer, get_scorer_names

from kerhrm.errors import KerhrmError, shown, suggest
from kerhrm.tables.labels import read_labels
from kerhrm.tables.targets import read_values

Scorer = Callable[[Any, Any, Any], float]


def worst_group_score(groups: pd.Series, scoring: str | Scorer | None = None) -> Scorer:
    """Scorer for ``cross_validate`` and ``GridSearchCV``: the least score in any group.

    Parameters
    ----------
    groups : Series of shape (n_samples,)
        Labels of any kind, with the index of the table X that is scored.
    scoring : str or callable, optional
        Of one group; accuracy, or the negative root mean squared error, by default.

    Returns
    -------
    callable
        From an estimator, a DataFrame X and a target to a number, the higher the
        better.

    Raises
    ------
    KerhrmError
        If groups is not a Series with a unique index, two groups have the same name, or
        there is no such scoring; when it scores, if X is not a DataFrame, has no rows,
        or one of them has no group or no target.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from kerhrm import worst_group_score
    >>> X = pd.DataFrame({"size": np.arange(20.0)})
    >>> west = pd.Series(X["size"] % 2 == 0)
    >>> scoring = worst_group_score(west)
    >>> y = X["size"] + west
    >>> scores = cross_val_score(LinearRegression(), X, y, scoring=scoring)
    >>> bool((scores < -0.4).all())
    True
    """
    if not isinstance(groups, pd.Series):
        problem = f"groups must be a pandas Series; got {type(groups).__name__}"
        raise KerhrmError(problem, "give pd.Series(groups, index=X.index)")
    if groups.index.has_duplicates:
        repeated = groups.index.duplicated()
        twice = groups.index[repeated][0]
        problem = f"the index of groups must be unique; got {twice!r} twice"
        raise KerhrmError(problem, "call reset_index(drop=True) on X and groups")
    known = groups.dropna()
    read_labels(known, len(known), "groups")  # refuses two of the same name
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        problem = f"scoring must be a name, a callable or None; got {shown(scoring)}"
        raise KerhrmError(problem, "use scoring='accuracy' or leave it out")
    name = getattr(scoring, "__name__", "")
    module = getattr(scoring, "__module__", "")
    if name and module.startswith("sklearn.metrics."):
        problem = f"scoring must be a scorer; got the metric {name}"
        raise KerhrmError(problem, f"use make_scorer({name})")
    if isinstance(scoring, str) and scoring not in (names := get_scorer_names()):
        problem = f"no scoring is called {shown(scoring)}"
        raise KerhrmError(problem, suggest(scoring, names))
    return functools.partial(_worst, groups=groups, scoring=scoring)


def _worst(estimator: Any, X: Any, y: Any, *, groups: pd.Series, scoring: Any) -> float:
    if not isinstance(X, pd.DataFrame):
        kind = type(X).__name__
        problem = f"X must be a DataFrame with the index of groups; got {kind}"
        raise KerhrmError(problem, "give a DataFrame to the search or cross-validation")
    if len(X) == 0:
        raise KerhrmError("X has no rows", "give one row or more")
    y = read_values(y, len(X), X)
    of_rows = groups.reindex(X.index)
    labels = read_labels(of_rows, len(X), "groups")
    if scoring is None and is_classifier(estimator):
        scoring = "accuracy"
    elif scoring is None:
        scoring = "neg_root_mean_squared_error"
    score = scoring
    if isinstance(scoring, str):
        score = get_scorer(scoring)
    scores = []
    for e in range(len(labels.names)):
        members = labels.members(e)
        of_group = score(estimator, X[members], y[members])
        scores.append(float(of_group))
    return float(np.min(scores))  # NaN if a score is
