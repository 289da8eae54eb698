"""Environments: where they lie, what the target does in each, and what
separates them."""

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like
from sklearn.inspection import permutation_importance

from kerhrm.errors import KerhrmError, shown, suggest
from kerhrm.plots.axes import GREY, QUIET, entry, legend, new_axes, plain, style, whole
from kerhrm.plots.drawing import interval, points
from kerhrm.plots.table import Rows, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ROWS = 2000  #: that importances are measured on
REPEATS = 5  #: permutations of each column


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
    ax : Axes, optional
        Where to draw; by default a figure of its own.
    """
    rows = read(model, X, y, auxiliary)
    if features is None:
        first, second = _most_important(model, rows, 2)
    else:
        given = list(features) if is_list_like(features) else [features]
        if len(given) != 2:
            problem = f"features must be two; got {shown(features)}"
            raise KerhrmError(problem, "give two names or numbers")
        first, second = (_index(feature, rows.features) for feature in given)
    ax = new_axes(ax)
    points(
        ax,
        rows.x[:, first],
        rows.x[:, second],
        memberships=rows.memberships,
        names=rows.names,
    )
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
    ax : Axes, optional
        Where to draw; by default a figure of its own.
    """
    rows = read(model, X, y, auxiliary)
    bins = whole(bins, "bins", 1)
    if feature is None:
        (chosen,) = _most_important(model, rows, 1)
    else:
        chosen = _index(feature, rows.features)
    column = rows.x[:, chosen]
    ax = new_axes(ax)
    ax.set_xlabel(plain(rows.features[chosen]))
    if rows.task == "regression":
        points(
            ax,
            column,
            rows.y,
            memberships=rows.memberships,
            names=rows.names,
            lines=True,
        )
        ax.set_ylabel(plain(rows.target))
        return ax
    classes = getattr(model, "classes_", np.unique(rows.y))
    is_known = np.isin(rows.y, classes)
    if not is_known.all():
        label = rows.y[~is_known].tolist()[0]
        problem = f"label {shown(label)} was not among those of the fit"
        raise KerhrmError(problem, f"give y in its labels, {shown(classes.tolist())}")
    second_class = rows.y == classes[-1]
    _draw_shares(ax, rows, column, second_class, bins)
    ax.set_ylim(-0.05, 1.05)
    ax.set_ylabel(plain(f"share of {rows.target} = {classes[-1]}"))
    legend(ax)
    return ax


def _parts(column: np.ndarray, bins: int) -> np.ndarray:
    """Part (n,) of each value of a column: equally many rows, but for a value that more
    rows have, which is a part of its own."""
    distinct, of_value, counts = np.unique(
        column, return_inverse=True, return_counts=True
    )
    if len(distinct) <= bins:
        return of_value
    is_frequent = counts > len(column) / bins
    parts = of_value.copy()
    rest = ~is_frequent[of_value]
    n_left = max(1, bins - int(is_frequent.sum()))
    of_rest = pd.qcut(column[rest], n_left, labels=False, duplicates="drop")
    parts[rest] = len(distinct) + of_rest
    return parts


def _draw_shares(
    ax: "Axes", rows: Rows, column: np.ndarray, second_class: np.ndarray, bins: int
) -> None:
    """Draw the share of a class over a column (n,), in each environment."""
    bin_of_row = _parts(column, bins)
    table = pd.DataFrame({"bin": bin_of_row, "x": column, "second": second_class})
    table["x"] = table.groupby("bin")["x"].transform("mean")
    likeliest = rows.memberships.argmax(1)
    width = float(np.ptp(table["x"]))
    dodge = 0.012 * width
    middle = (len(rows.names) - 1) / 2
    for e, name in enumerate(rows.names):
        members = table[likeliest == e]
        by_place = members.groupby("x")["second"]
        places = []
        intervals = []
        for place, of_bin in by_place:
            places.append(place)
            intervals.append(interval(of_bin, shares=True))
        ends = np.array(intervals).reshape(-1, 3)
        shares, low, high = ends.T
        spread = np.abs([low - shares, high - shares])
        ax.errorbar(
            np.array(places) + dodge * (e - middle),
            shares,
            spread,
            **style(e),
            elinewidth=1,
            label=entry(name),
        )


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
    ax : Axes, optional
        Where to draw; by default a figure of its own.
    """
    most = whole(most, "most", 1)
    _check_separable(model)
    rows = read(model, X, y)
    mean, deviation = moved_by_shuffling(model, rows, random_state)
    target = f"{rows.target} (target)"
    if target in rows.features:
        target = f"target {target}"
    names = [plain(name) for name in (*rows.features, target)]
    number_of_target = len(names) - 1
    ascending = np.argsort(mean, kind="stable")
    shown = ascending[-most:]
    n_shown = len(shown)
    colours = [GREY if j == number_of_target else "C0" for j in shown]
    ax = new_axes(ax, height=1.0 + 0.3 * n_shown)
    places = range(n_shown)
    ax.barh(places, mean[shown], xerr=deviation[shown], color=colours)
    ax.set_yticks(places, [names[j] for j in shown])
    ax.set_xlabel("share of membership that moves when the column is shuffled")
    return ax


def moved_by_shuffling(
    model: Any, rows: Rows, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation, (d + 1,), over permutations of each feature, and of the
    target.

    Raises KerhrmError if ``model`` cannot infer the environments of changed rows.
    """
    if not hasattr(model, "predict_environment_proba"):
        problem = "labels of environments do not say which features they come from"
        hint = "give a fitted KerHRM estimator, or name the features"
        raise KerhrmError(problem, hint)
    _check_separable(model)
    random_state = whole(random_state, "random_state", 0)
    random = np.random.default_rng(random_state)
    order = random.permutation(len(rows.y))
    drawn = order[:MAX_ROWS]
    features = pd.DataFrame(rows.x[drawn])
    table = features.assign(target=rows.y[drawn])

    def unmoved(_: Any, shuffled: pd.DataFrame, before: np.ndarray) -> float:
        x: Any = shuffled.iloc[:, :-1].to_numpy()
        if hasattr(model, "feature_names_in_"):
            x = pd.DataFrame(x, columns=model.feature_names_in_)
        y = shuffled["target"].to_numpy()
        after = model.predict_environment_proba(x, y)
        differences = np.abs(after - before).sum(1)
        moved = differences.mean() / 2
        return float(1 - moved)

    importances = permutation_importance(
        model,
        table,
        rows.memberships[drawn],
        scoring=unmoved,
        n_repeats=REPEATS,
        random_state=random_state,
    )
    return importances.importances_mean, importances.importances_std


def _check_separable(model: Any) -> None:
    """Refuse a fit whose environments no feature can separate."""
    fitted = getattr(model, "_inferred", None)
    if fitted is not None and fitted.auxiliary is not None:
        problem = "environments of this fit are functions of auxiliary columns alone"
        hint = "draw kerhrm.plots.environments, and name the features"
        raise KerhrmError(f"{problem}: no feature separates them", hint)


def _most_important(model: Any, rows: Rows, number: int) -> list[int]:
    """The features that separate the environments best; of no more than
    asked for, all."""
    n_features = len(rows.features)
    if n_features < number:
        problem = f"the table has {n_features} feature, and a picture needs {number}"
        hint = "see kerhrm.plots.relation, which draws it with the target"
        raise KerhrmError(problem, hint)
    infers = hasattr(model, "predict_environment_proba")
    if n_features == number and not infers:
        return list(range(number))
    mean, _ = moved_by_shuffling(model, rows)
    of_features = mean[:-1]
    order = np.argsort(-of_features, kind="stable")
    return order[:number].tolist()


def _index(feature: Any, features: Sequence[str]) -> int:
    """Number of a feature that is given by name or number; a name may be a number.

    Raises KerhrmError if there is none, as of a truth value or a slice.
    """
    name = str(feature)
    if name in features:
        return features.index(name)
    is_number = isinstance(feature, numbers.Integral) and not isinstance(feature, bool)
    n_features = len(features)
    if is_number and -n_features <= feature < n_features:
        return range(n_features)[feature]
    problem = f"feature {shown(feature)} does not exist"
    raise KerhrmError(problem, suggest(name, features))
