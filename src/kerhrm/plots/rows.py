"""Environments: where they lie, what the target does in each, and what
separates them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binomtest, ttest_1samp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from kerhrm.errors import KerhrmError
from kerhrm.options import Task, suggest
from kerhrm.plots.axes import GREY, QUIET, entry, legend, new_axes, plain, style, whole
from kerhrm.tables.arrays import column
from kerhrm.tables.data import read_features
from kerhrm.tables.labels import read_labels
from kerhrm.tables.target import read_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ROWS = 2000  #: that importances are measured on
REPEATS = 5  #: permutations of each column


class Rows(NamedTuple):
    """A table, and the environments of its rows."""

    x: np.ndarray  #: (n, d), float64
    features: list[str]  #: d names
    y: np.ndarray  #: (n,)
    target: str  #: name of y
    task: Task
    memberships: np.ndarray  #: (n, E)
    names: list[str]  #: of the E environments


@QUIET
def environments(
    model: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[str | int] | None = None,
    auxiliary: Any = None,
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
        By default those that separate the environments best, see :func:`importance`.
    auxiliary : array-like of shape (n_samples, ...), optional
        Auxiliary columns of the rows, for a fit with such columns.
    """
    rows = read(model, X, y, auxiliary)
    if features is None:
        first, second = _most_important(model, rows, 2)
    elif isinstance(features, str) or len(features) != 2:
        raise KerhrmError(
            f"features must be two; got {features!r}", "give two names or numbers"
        )
    else:
        first, second = (_index(feature, rows.features) for feature in features)
    ax = new_axes(ax)
    points(ax, rows.x[:, first], rows.x[:, second], rows.memberships, rows.names)
    ax.set_xlabel(plain(rows.features[first]))
    ax.set_ylabel(plain(rows.features[second]))
    return ax


@QUIET
def relation(
    model: Any,
    X: Any,
    y: Any,
    feature: str | int | None = None,
    *,
    auxiliary: Any = None,
    bins: int = 5,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the target over a feature, in each environment.

    Of classes the share of the second one among rows with nearly the same value of the
    feature, with Wilson's 95 % intervals; of numbers all rows, and least squares in
    each environment.

    Parameters
    ----------
    model, X, y
        As of :func:`environments`.
    feature : str or int, optional
        By default the one that separates the environments best, see :func:`importance`.
    auxiliary : array-like of shape (n_samples, ...), optional
        Auxiliary columns of the rows, for a fit with such columns.
    bins : int
        Parts of the feature, with equally many rows; a feature of fewer values has a
        part for each.
    """
    rows = read(model, X, y, auxiliary)
    bins = whole(bins, "bins", 1)
    if feature is None:
        (chosen,) = _most_important(model, rows, 1)
    else:
        chosen = _index(feature, rows.features)
    column, likeliest = rows.x[:, chosen], rows.memberships.argmax(1)
    ax = new_axes(ax)
    ax.set_xlabel(plain(rows.features[chosen]))
    if rows.task == "regression":
        points(ax, column, rows.y, rows.memberships, rows.names, lines=True)
        ax.set_ylabel(plain(rows.target))
        return ax
    classes = getattr(model, "classes_", np.unique(rows.y))
    values, part = np.unique(column, return_inverse=True)
    if len(values) > bins:
        part = pd.qcut(column, bins, labels=False, duplicates="drop")
    table = pd.DataFrame({"part": part, "x": column, "second": rows.y == classes[-1]})
    table["x"] = table.groupby("part")["x"].transform("mean")
    dodge = 0.012 * float(np.ptp(table["x"]))
    for e, name in enumerate(rows.names):
        own = dict(iter(table[likeliest == e].groupby("x")["second"]))
        each = np.array([interval(part, True) for part in own.values()]).reshape(-1, 3)
        share, spread = each[:, 0], np.abs(each[:, 1:] - each[:, :1]).T
        place = np.array([*own]) + dodge * (e - (len(rows.names) - 1) / 2)
        ax.errorbar(place, share, spread, **style(e), elinewidth=1, label=entry(name))
    ax.set_ylim(-0.05, 1.05)
    ax.set_ylabel(plain(f"share of {rows.target} = {classes[-1]}"))
    legend(ax)
    return ax


@QUIET
def importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    most: int = 10,
    random_state: int = 0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw which columns separate the environments.

    By permutation importance: how much membership, of 1 a row, moves to another
    environment when the values of a column are shuffled.  The target is one of the
    columns, and grey, for an environment is a relation between features and target.  A
    feature counts, too, that the target depends on everywhere alike: without it the
    relation is lost from sight.

    Parameters
    ----------
    model, X, y
        As of :func:`environments`, but no labels; of more than 2000 rows so many are
        drawn.
    most : int
        Columns that are shown.
    random_state : int
        Seed of the five permutations of each column, whose standard deviation is shown.
    """
    most = whole(most, "most", 1)
    _check_separable(model)
    rows = read(model, X, y)
    mean, deviation = moved_by_shuffling(model, rows, random_state)
    target = f"{rows.target} (target)"
    if target in rows.features:
        target = f"target {target}"
    names = [plain(name) for name in (*rows.features, target)]
    shown = np.argsort(mean, kind="stable")[-most:]
    ax = new_axes(ax, height=1.0 + 0.3 * len(shown))
    colours = [GREY if j == len(names) - 1 else "C0" for j in shown]
    place = range(len(shown))
    ax.barh(place, mean[shown], xerr=deviation[shown], color=colours)
    ax.set_yticks(place, [names[j] for j in shown])
    ax.set_xlabel("share of membership that moves when the column is shuffled")
    return ax


def points(
    ax: "Axes",
    x: np.ndarray,
    y: np.ndarray,
    memberships: np.ndarray,
    names: Sequence[str],
    *,
    lines: bool = False,
) -> None:
    """Draw points by their most probable environment, the largest environment at the
    back.

    With ``lines``: least squares of y on x in each environment, points weighted by
    membership.
    """
    likeliest = memberships.argmax(1)
    counts = np.bincount(likeliest, minlength=memberships.shape[1])
    alpha = 0.5 if lines else 0.7
    for e, name in enumerate(names):
        here, behind = likeliest == e, (counts > counts[e]).sum() - len(counts)
        label = entry(f"{name} ({here.mean():.0%} of the rows)")
        looks: dict[str, Any] = {**style(e), "s": 18, "alpha": alpha, "linewidths": 0}
        ax.scatter(x[here], y[here], **looks, zorder=2 + 0.01 * behind, label=label)
        if lines:
            fit = LinearRegression().fit(x[:, None], y, sample_weight=memberships[:, e])
            ends = np.array([x.min(), x.max()])
            ax.plot(ends, fit.predict(ends[:, None]), color=style(e)["color"], zorder=3)
    legend(ax, 1.5)


def interval(values: Any, shares: bool) -> tuple[float, float, float]:
    """Mean and ends of its 95 % interval.

    Wilson's of a share, Student's of nonnegative numbers.
    """
    if shares:
        test = binomtest(int(values.sum()), len(values))
        return test.statistic, *test.proportion_ci(method="wilson")
    if len(values) < 2:
        return float(values.mean()), np.nan, np.nan
    low, high = ttest_1samp(values, 0).confidence_interval()
    return float(values.mean()), max(0.0, low), high


def moved_by_shuffling(
    model: Any, rows: Rows, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation, (d + 1,), over permutations of each feature, and of the
    target.

    Raises KerhrmError if ``model`` cannot infer the environments of changed rows.
    """
    if not hasattr(model, "predict_environment_proba"):
        problem = "labels of environments do not say which features they come from"
        raise KerhrmError(
            problem, "give a fitted KerHRM estimator, or name the features"
        )
    _check_separable(model)
    random_state = whole(random_state, "random_state", 0)
    chosen = np.random.default_rng(random_state).permutation(len(rows.y))[:MAX_ROWS]
    both = pd.DataFrame(rows.x[chosen]).assign(target=rows.y[chosen])

    def unmoved(_: Any, both: pd.DataFrame, before: np.ndarray) -> float:
        x: Any = both.iloc[:, :-1].to_numpy()
        if hasattr(model, "feature_names_in_"):
            x = pd.DataFrame(x, columns=model.feature_names_in_)
        now = model.predict_environment_proba(x, both["target"].to_numpy())
        return float(1 - np.abs(now - before).sum(1).mean() / 2)

    found = permutation_importance(
        model,
        both,
        rows.memberships[chosen],
        scoring=unmoved,
        n_repeats=REPEATS,
        random_state=random_state,
    )
    return found.importances_mean, found.importances_std


def read(model: Any, X: Any, y: Any, auxiliary: Any = None) -> Rows:
    """Rows with their environments, of an estimator or as they are given.

    Raises KerhrmError if ``model`` has no environments, or for what is wrong with the
    table.
    """
    infers = hasattr(model, "predict_environment_proba")
    if infers:
        check_is_fitted(model)
    x = read_features(model if infers else BaseEstimator(), X, reset=not infers)
    names = getattr(X, "columns", getattr(model, "feature_names_in_", None))
    features = [
        f"feature {j}" if names is None else str(names[j]) for j in range(x.shape[1])
    ]
    if isinstance(model, BaseEstimator):
        task: Task = "classification" if is_classifier(model) else "regression"
    else:  # two values, or text, are classes
        kinds = pd.Series(column(y, "y"))
        numeric = pd.api.types.is_numeric_dtype(kinds) and kinds.nunique() > 2
        task = "regression" if numeric else "classification"
    values = read_target(y, len(x), task, varies=False, table=X)
    target = y.name if isinstance(getattr(y, "name", None), str) else "y"
    if infers:
        memberships = model.predict_environment_proba(X, y, auxiliary=auxiliary)
        labels: Any = range(memberships.shape[1])
    else:
        if isinstance(model, BaseEstimator) and not hasattr(model, "environments_"):
            problem = f"{type(model).__name__} has no environments"
            hint = "give KerHRM, of a pipeline its last step, "
            hint += "or the environments of the rows"
            raise KerhrmError(problem, hint)
        given = getattr(model, "environments_", model)
        environments = read_labels(given, len(x), "environments", X)
        labels = environments.names
        memberships = np.eye(len(labels))[environments.codes]
    named = [f"environment {label}" for label in labels]
    return Rows(x, features, values, target, task, memberships, named)


def _check_separable(model: Any) -> None:
    """Refuse a fit whose environments no feature can separate."""
    inferred = getattr(model, "_inferred", None)
    if inferred is not None and inferred.auxiliary is not None:
        problem = "environments of this fit are functions of auxiliary columns alone"
        hint = "draw kerhrm.plots.environments, and name the features"
        raise KerhrmError(f"{problem}: no feature separates them", hint)


def _most_important(model: Any, rows: Rows, number: int) -> list[int]:
    """The features that separate the environments best; of no more than
    asked for, all."""
    if len(rows.features) < number:
        problem = (
            f"the table has {len(rows.features)} feature, and a picture needs {number}"
        )
        raise KerhrmError(
            problem, "see kerhrm.plots.relation, which draws it with the target"
        )
    if len(rows.features) == number and not hasattr(model, "predict_environment_proba"):
        return list(range(number))
    mean, _ = moved_by_shuffling(model, rows)
    return np.argsort(-mean[:-1], kind="stable")[:number].tolist()


def _index(feature: Any, features: Sequence[str]) -> int:
    """Number of a feature that is given by name or number."""
    if feature in features:
        return features.index(feature)
    try:
        return range(len(features))[feature]
    except (TypeError, IndexError) as error:
        hint = suggest(str(feature), features)
        raise KerhrmError(f"feature {feature!r} does not exist", hint) from error
