"""Environments: where they lie, what the target does in each, and what tells them apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.inspection import permutation_importance

from kerhrm.errors import KerhrmError
from kerhrm.plots import draw
from kerhrm.plots.canvas import axes
from kerhrm.plots.docstrings import completed
from kerhrm.plots.tables import Rows, place, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: rows that importances are measured on, at most
MOST = 2000
REPEATS = 5  #: permutations of each column


@completed
def environments(
    model: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[str | int] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw rows in two features, by environment.

    Parameters
    ----------
    model : estimator or array-like of shape (n_samples,)
        A fitted KerHRM, or environments of the rows, with labels of any kind.
    X : array-like of shape (n_samples, n_features)
        Of the fit, or other rows.
    y : array-like of shape (n_samples,)
        Their target, for an environment is a relation between features and target.
    features : two names or numbers, optional
        By default those that tell environments apart best, see :func:`importance`.
    <ax>

    Examples
    --------
    .. plot::

        <model>
        >>> ax = kerhrm.plots.environments(model, X, y)
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('shade', 'shape')
    """
    rows = read(model, X, y)
    if features is None:
        first, second = _most_telling(model, X, rows, 2)
    elif isinstance(features, str) or len(features) != 2:
        raise KerhrmError(f"features={features!r} are not two", "give two names or numbers")
    else:
        first, second = (place(feature, rows.features) for feature in features)
    ax = axes(ax)
    draw.points(ax, rows.x[:, first], rows.x[:, second], rows.memberships, rows.names)
    ax.set_xlabel(rows.features[first])
    ax.set_ylabel(rows.features[second])
    return ax


@completed
def relation(
    model: Any,
    X: Any,
    y: Any,
    feature: str | int | None = None,
    *,
    bins: int = 5,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the target over a feature, in each environment.

    Of classes the share of the second one among rows with nearly the same value of the feature,
    with Wilson's 95 % intervals; of numbers all rows, and least squares in each environment.

    Parameters
    ----------
    model : estimator or array-like of shape (n_samples,)
        A fitted KerHRM, or environments of the rows, with labels of any kind.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    feature : str or int, optional
        By default the one that tells environments apart best, see :func:`importance`.
    bins : int
        Parts of the feature, with equally many rows; a feature of fewer values has a part for
        each.
    <ax>

    Examples
    --------
    .. plot::

        <model>
        >>> ax = kerhrm.plots.relation(model, X, y, "shade")
        >>> ax.get_ylabel()
        'share of answer = yes'
    """
    rows = read(model, X, y)
    if feature is None:
        (chosen,) = _most_telling(model, X, rows, 1)
    else:
        chosen = place(feature, rows.features)
    if bins < 1:
        raise KerhrmError(f"bins={bins} is no number of parts", "give 5, say")
    ax = axes(ax)
    column = rows.x[:, chosen]
    if rows.task == "regression":
        draw.points(ax, column, rows.y, rows.memberships, rows.names, lines=True)
        ax.set_ylabel(rows.target)
    else:
        classes = getattr(model, "classes_", np.unique(rows.y))
        second = rows.y == classes[-1]
        at, share, low, high = _shares(column, second, rows.memberships, bins)
        draw.shares(ax, at, share, rows.names, low=low, high=high)
        ax.set_ylabel(f"share of {rows.target} = {classes[-1]}")
    ax.set_xlabel(rows.features[chosen])
    return ax


@completed
def importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    most: int = 10,
    random_state: int = 0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw which columns tell environments apart.

    By permutation importance: how much membership, of 1 a row, moves to another environment when
    the values of a column are shuffled.  The target is one of the columns, and grey, for an
    environment is a relation between features and target.  A feature counts, too, that the target
    depends on everywhere alike: without it the relation is lost from sight.

    Parameters
    ----------
    model : estimator
        A fitted KerHRM.
    X : array-like of shape (n_samples, n_features)
        Of more than 2000 rows so many are drawn.
    y : array-like of shape (n_samples,)
    most : int
        Columns that are shown.
    random_state : int
        Seed of the five permutations of each column, whose standard deviation is shown.
    <ax>

    Examples
    --------
    .. plot::

        <model>
        >>> ax = kerhrm.plots.importance(model, X, y)
        >>> [label.get_text() for label in ax.get_yticklabels()][0]
        'shape'
    """
    rows = read(model, X, y)
    mean, deviation = moved_by_shuffling(model, X, rows, random_state)
    names = [*rows.features, f"{rows.target} (target)"]
    ax = axes(ax, height=1.0 + 0.3 * min(most, len(names)))
    by_name = dict(zip(names, mean, strict=True)), dict(zip(names, deviation, strict=True))
    draw.bars(ax, *by_name, aside=names[-1:], most=most)
    ax.set_xlabel("share of membership that moves when the column is shuffled")
    return ax


def moved_by_shuffling(
    model: Any, X: Any, rows: Rows, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation, (d + 1,), over permutations of each feature, and of the target.

    Raises
    ------
    KerhrmError
        If ``model`` does not tell the environments of changed rows.
    """
    if not hasattr(model, "predict_environment_proba"):
        problem = "labels of environments do not tell which features they come from"
        raise KerhrmError(problem, "give a fitted KerHRM estimator, or name the features")
    chosen = np.random.default_rng(random_state).permutation(len(rows.y))[:MOST]
    both = pd.DataFrame(rows.x[chosen]).assign(target=rows.y[chosen])

    def kept(_: Any, both: pd.DataFrame, before: np.ndarray) -> float:
        x: Any = both.iloc[:, :-1].to_numpy()
        if hasattr(model, "feature_names_in_"):
            x = pd.DataFrame(x, columns=model.feature_names_in_)
        now = model.predict_environment_proba(x, both["target"].to_numpy())
        return float(1 - np.abs(now - before).sum(1).mean() / 2)

    found = permutation_importance(
        model, both, rows.memberships[chosen], scoring=kept, n_repeats=REPEATS,
        random_state=random_state,
    )  # fmt: skip
    return found.importances_mean, found.importances_std


def _most_telling(model: Any, X: Any, rows: Rows, number: int) -> list[int]:
    """The features that tell environments apart best; of no more than asked for, all."""
    if len(rows.features) < number:
        problem = f"the table has {len(rows.features)} feature, and a picture needs {number}"
        raise KerhrmError(problem, "see kerhrm.plots.relation, which draws it with the target")
    if len(rows.features) == number and not hasattr(model, "predict_environment_proba"):
        return list(range(number))
    mean, _ = moved_by_shuffling(model, X, rows)
    return np.argsort(-mean[:-1], kind="stable")[:number].tolist()


def _shares(
    column: np.ndarray, second: np.ndarray, memberships: np.ndarray, bins: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean of a column (B,) in its parts; shares (E, B) of a class and ends of their intervals."""
    values, part = np.unique(column, return_inverse=True)
    if len(values) > bins:
        part = pd.qcut(column, bins, labels=False, duplicates="drop")
    place = pd.Series(column).groupby(part).mean().to_numpy()
    found = np.full((3, memberships.shape[1], len(place)), np.nan)
    likeliest = memberships.argmax(1)
    for e, b in np.ndindex(found.shape[1:]):
        here = second[(likeliest == e) & (part == b)]
        if len(here):
            test = binomtest(int(here.sum()), len(here))
            found[:, e, b] = test.statistic, *test.proportion_ci(method="wilson")
    return place, *found
