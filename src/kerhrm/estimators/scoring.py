"""A score for model selection that the worst group decides."""

import functools
from collections.abc import Callable
from typing import Any

import pandas as pd
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from kerhrm.errors import KerhrmError

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
        From an estimator, a DataFrame X and a target to a number, the higher the better.

    Raises
    ------
    KerhrmError
        When it scores: if X is no DataFrame, or a row of it has no group or two.

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
    >>> scores = cross_val_score(LinearRegression(), X, X["size"] + west, scoring=scoring)
    >>> bool((scores < -0.4).all())
    True
    """
    if not isinstance(groups, pd.Series):
        problem = f"groups are of type {type(groups).__name__}, not a pandas Series"
        raise KerhrmError(problem, "give pd.Series(groups, index=X.index)")
    if groups.index.has_duplicates:
        raise KerhrmError("two groups have the same index", "reset_index(drop=True) X and groups")
    return functools.partial(_worst, groups=groups, scoring=scoring)


def _worst(estimator: Any, X: Any, y: Any, *, groups: pd.Series, scoring: Any) -> float:
    if not isinstance(X, pd.DataFrame):
        hint = "give a DataFrame with the index of the groups"
        raise KerhrmError(f"X is of type {type(X).__name__}: its rows have no index", hint)
    labels = groups.reindex(X.index)
    if missing := int(labels.isna().sum()):
        raise KerhrmError(f"{missing} rows have no group", "drop these rows, or name their group")
    if scoring is None:
        scoring = "accuracy" if is_classifier(estimator) else "neg_root_mean_squared_error"
    score = get_scorer(scoring) if isinstance(scoring, str) else scoring
    values, y = labels.to_numpy(), pd.Series(y).to_numpy()
    return min(float(score(estimator, X[values == one], y[values == one])) for one in set(values))
