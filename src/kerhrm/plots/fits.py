"""Fits: their spectrum and iterations, whether several agree, and in which groups they
err."""

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.validation import check_is_fitted

from kerhrm.errors import KerhrmError, shown
from kerhrm.estimators._parameters import read_options
from kerhrm.plots.axes import GREY, QUIET, entry, legend, new_axes, plain, style, whole
from kerhrm.plots.drawing import interval
from kerhrm.plots.models import check_comparable, named_models
from kerhrm.plots.table import read
from kerhrm.tables.arrays import column, family
from kerhrm.tables.labels import in_category_order, read_labels
from kerhrm.tables.targets import read_target, read_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: largest over smallest singular value from which the axis is logarithmic
WIDE = 10.0


def spectrum(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the singular values of the neural tangent features, and the chosen
    dimension.

    Parameters
    ----------
    model : KerHRMClassifier or KerHRMRegressor
        Fitted.
    ax : Axes, optional
        Where to draw; by default a figure of its own.
    """
    singular_values = _fitted(model, "singular_values_")
    k = model.selected_["k"]
    k_max = len(singular_values)
    largest = singular_values[0]
    smallest = singular_values[-1]
    dimension = np.arange(1, k_max + 1)
    ax = new_axes(ax)
    ax.plot(
        dimension[:k],
        singular_values[:k],
        **style(0),
        linestyle="",
        label=f"used: k = {k} was chosen",
    )
    if k < k_max:
        ax.plot(
            dimension[k:],
            singular_values[k:],
            linestyle="",
            marker=style(0)["marker"],
            color="0.4",
            markerfacecolor="none",
            label="not used",
        )
    ax.axvline(k, color=GREY, linestyle=":", zorder=0)
    if largest > WIDE * smallest > 0:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("dimension of the neural tangent features")
    ax.set_ylabel("singular value")
    legend(ax)
    return ax


def iterations(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw accuracy, or squared error, of every iteration.

    Of all training and all validation rows, and in the worst environment that any
    iteration has inferred, which chooses unless the option ``stop_by`` is ``"pooled"``
    or ``final`` is ``"last"``.  With auxiliary columns the extrapolated risk chooses,
    which has another scale and is not drawn.  Errors are in units of the target's
    variance: 1 is the error of its mean.  The iteration that KerHRM has chosen is
    marked, also where ERM predicts in its place.

    Parameters
    ----------
    model : KerHRMClassifier or KerHRMRegressor
        Fitted.
    ax : Axes, optional
        Where to draw; by default a figure of its own.
    """
    history = _fitted(model, "history_")
    if not history:
        problem = "there was no iteration: no environments were found, and ERM predicts"
        hint = "fit with if_not_detected='fit' to see iterations anyway"
        raise KerhrmError(problem, hint)
    curves = {"train_score": "training rows", "validation_score": "validation rows"}
    # of the fit; a subclass need not have the parameter
    options = read_options(model._parameters.get("options", model.options))
    by_auxiliary = model._inferred.auxiliary is not None
    if not by_auxiliary and options.stop_by == "worst_inferred":
        curves["score"] = "worst inferred environment"
        if options.final == "best":
            curves["score"] += ", which chooses"
    numbers = [row["iteration"] for row in history]
    classifies = is_classifier(model)
    ax = new_axes(ax)
    for place, (key, label) in enumerate(curves.items()):
        score = np.array([row[key] for row in history])
        accuracy_or_error = score if classifies else -score
        ax.plot(numbers, accuracy_or_error, **style(place), label=label)
    (chosen,) = (row["iteration"] for row in history if row["chosen"])
    ax.axvline(
        chosen,
        color=GREY,
        linestyle=":",
        zorder=0,
        label=f"iteration {chosen}, chosen",
    )
    ax.set_xticks(numbers)
    ax.set_xlabel("iteration")
    error = "mean squared error\n(variance of the target: 1)"
    ax.set_ylabel("accuracy" if classifies else error)
    legend(ax)
    return ax


@QUIET
def agreement(
    models: Any,
    X: Any,
    y: Any,
    *,
    auxiliary: Any = None,
    n: int = 5,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how far fits agree about the environments.

    Adjusted Rand indices of all pairs.

    1 is the same environments, by whatever numbers, and 0 what chance would give.
    Where a fit has inferred one environment alone its name says so; two such fits
    agree.

    Parameters
    ----------
    models : estimator, or list or dict of them
        A single one is fitted ``n`` times, with ``random_state`` 0, 1, ...; several
        have been fitted.  A dict has names for keys; environments of the rows may stand
        among its values.
    X, y : array-like of shape (n_samples, n_features), (n_samples,)
        Rows and their target.
    auxiliary : array-like of shape (n_samples, ...), optional
        Auxiliary columns of the rows, for fits with such columns.
    n : int
        Fits of a single estimator.
    ax : Axes, optional
        Where to draw; by default a figure of its own.
    """
    if isinstance(models, BaseEstimator):
        _check_seeded(models)
        columns = {} if auxiliary is None else {"auxiliary": auxiliary}
        n_seeds = whole(n, "n", 2)
        several = []
        for seed in range(n_seeds):
            model = clone(models)
            model.set_params(random_state=seed)
            several.append(model.fit(X, y, **columns))
        models = several
    fits = named_models(models)
    n_fits = len(fits)
    if n_fits < 2:
        problem = f"agreement needs two fits or more; got {n_fits}"
        raise KerhrmError(problem, "give several models, or n=2")
    environment_of_rows = {}
    for name, model in fits.items():
        rows = read(model, X, y, auxiliary)
        alone = "" if len(rows.names) > 1 else "\n(one environment)"
        environment_of_rows[name + alone] = rows.memberships.argmax(1)
    indices = np.ones((n_fits, n_fits))
    numbered = enumerate(environment_of_rows.values())
    for (i, first), (j, second) in itertools.combinations(numbered, 2):
        index = adjusted_rand_score(first, second)
        indices[i, j] = index
        indices[j, i] = index
    names = [plain(name) for name in environment_of_rows]
    ax = new_axes(ax, height=1.2 + 0.55 * n_fits)
    _draw_matrix(ax, indices, names)
    ax.set_xlabel("adjusted Rand index of the environments")
    return ax


def _check_seeded(model: BaseEstimator) -> None:
    """Refuse an estimator whose fits no seed tells apart."""
    if "random_state" not in model.get_params(deep=False):
        kind = type(model).__name__
        problem = f"{kind} has no random_state, by which its fits would differ"
        raise KerhrmError(problem, "give KerHRM, of a pipeline its last step")


def _draw_matrix(ax: "Axes", indices: np.ndarray, names: list[str]) -> None:
    """Draw numbers (n, n) in their cells, with names at both sides."""
    ax.imshow(indices, cmap="Blues", vmin=0, vmax=1.25)
    for (i, j), index in np.ndenumerate(indices):
        rounded = round(index, 2) + 0.0  # no negative zero
        on_dark = index > 0.75
        ax.text(
            j,
            i,
            f"{rounded:.2f}",
            ha="center",
            va="center",
            color="white" if on_dark else "black",
        )
    places = range(len(names))
    ax.set_yticks(places, names)
    ax.set_xticks(places, names, rotation=35, ha="right", rotation_mode="anchor")
    ax.spines[:].set_visible(False)


@QUIET
def group_errors(
    models: Any, X: Any, y: Any, groups: Any, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw errors of one or several estimators in each group of rows, and over all
    rows.

    Shares of wrong labels, with Wilson's 95 % intervals, or mean squared errors, with
    Student's.

    Parameters
    ----------
    models : estimator, or list or dict of them
        Fitted, and any of scikit-learn's; a dict has names for keys.
    X, y : array-like of shape (n_samples, n_features), (n_samples,)
        Best of rows that no model was fitted on.
    groups : array-like of shape (n_samples,)
        Labels of any kind; those of a pandas ``Categorical`` keep their order.
    ax : Axes, optional
        Where to draw; by default a figure of its own.
    """
    fits = named_models(models)
    n = len(column(y, "y"))
    check_comparable(fits)
    first, *_ = fits.values()
    classifies = is_classifier(first)
    if classifies:
        truth = read_values(y, n, X)
    else:
        truth = read_target(y, n, "regression", varies=False, table=X)
    labels = read_labels(groups, n, "groups", X)
    names = ["all rows"]
    members = [np.ones(n, dtype=bool)]
    for label in in_category_order(groups, labels.names):
        number = labels.names.index(label)
        names.append(f"group {label}" if label in names else label)
        members.append(labels.members(number))
    intervals = {}
    for name, model in fits.items():
        predictions = model.predict(X)
        losses = _losses(name, predictions, truth, classifies)
        of_groups = [interval(losses[group], classifies) for group in members]
        intervals[name] = np.array(of_groups).T
    n_groups = len(members)
    crowding = max(1, len(fits) / 3)
    ax = new_axes(ax, height=1.2 + 0.35 * n_groups * crowding)
    _draw_intervals(ax, intervals)
    ticks = []
    for name, group in zip(names, members, strict=True):
        size = group.sum()
        ticks.append(plain(f"{name} ({size})"))
    ax.set_yticks(range(n_groups), ticks)
    ax.set_ylim(n_groups - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")
    ax.axhline(0.5, color="0.8", linewidth=0.8)
    ax.set_xlim(left=0)
    ax.set_xlabel("share of wrong labels" if classifies else "mean squared error")
    ax.set_ylabel("group (rows)")
    legend(ax)
    return ax


def _losses(
    name: str, predictions: np.ndarray, truth: np.ndarray, classifies: bool
) -> np.ndarray:
    """Whether labels (n,) are wrong, or squared errors of numbers (n,)."""
    n = len(predictions)
    n_labels = len(truth)
    if n != n_labels:
        problem = f"{n} rows of X but {n_labels} of y"
        raise KerhrmError(problem, "give the same rows")
    if not classifies:
        return (predictions - truth) ** 2
    if family(predictions.dtype) != family(truth.dtype):
        predicted = shown(predictions[0])
        true = shown(truth[0])
        problem = f"{name} predicts labels of another kind: "
        problem += f"{predicted}, but y has {true}"
        raise KerhrmError(problem, "give y as in the fit")
    return predictions != truth


def _draw_intervals(ax: "Axes", intervals: Mapping[str, np.ndarray]) -> None:
    """Draw means, low and high ends (3, G) of each fit, side by side."""
    n_fits = len(intervals)
    reach = min(0.35, 0.12 * (n_fits - 1))
    offsets = np.linspace(-reach, reach, n_fits)
    for number, (name, ends) in enumerate(intervals.items()):
        mean, low, high = ends
        groups = np.arange(len(mean))
        spread = np.stack([mean - low, high - mean])
        ax.errorbar(
            mean,
            groups + offsets[number],
            xerr=spread.clip(0),
            linestyle="",
            **style(number),
            label=entry(name),
        )


def _fitted(model: Any, attribute: str) -> Any:
    """An attribute of a fitted KerHRM."""
    if not hasattr(model, "predict_environment_proba"):
        kind = type(model).__name__
        problem = f"{kind} has no {attribute}"
        raise KerhrmError(problem, "give a fitted KerHRMClassifier or KerHRMRegressor")
    check_is_fitted(model)
    return getattr(model, attribute)
