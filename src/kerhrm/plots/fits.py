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
from kerhrm.plots.axes import GREY, QUIET, entry, legend, new_axes, plain, style, whole
from kerhrm.plots.rows import interval, read
from kerhrm.tables.arrays import column, family
from kerhrm.tables.labels import in_category_order, read_labels
from kerhrm.tables.target import read_target, read_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: largest over smallest singular value from which the axis is logarithmic
WIDE = 10.0


def spectrum(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the singular values of the neural tangent features, and the chosen
    dimension."""
    values, k = _fitted(model, "singular_values_"), model.selected_["k"]
    number = np.arange(1, len(values) + 1)
    ax = new_axes(ax)
    looks = {"linestyle": "", **style(0)}
    ax.plot(number[:k], values[:k], **looks, label=f"used: k = {k} was chosen")
    if k < len(values):
        hollow = {**looks, "color": "0.4", "markerfacecolor": "none"}
        ax.plot(number[k:], values[k:], **hollow, label="not used")
    ax.axvline(k, color=GREY, linestyle=":", zorder=0)
    if values[0] > WIDE * values[-1] > 0:
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

    Of all training and all validation rows, and in the worst inferred environment,
    which chooses unless the option ``stop_by`` is ``"pooled"``.  Errors are in units of
    the target's variance: 1 is the error of its mean.
    """
    history, chosen = _fitted(model, "history_"), model.selected_["iteration"]
    if not history:
        problem = "there was no iteration: no environments were found, and ERM predicts"
        hint = "fit with if_not_detected='fit' to see iterations anyway"
        raise KerhrmError(problem, hint)
    curves = {"train_score": "training rows", "validation_score": "validation rows"}
    if model.get_params()["options__stop_by"] == "worst_inferred":
        curves["score"] = "worst inferred environment, which chooses"
    number = [row["iteration"] for row in history]
    classifies = is_classifier(model)
    ax = new_axes(ax)
    for place, (key, label) in enumerate(curves.items()):
        score = np.array([row[key] for row in history])
        ax.plot(number, score if classifies else -score, **style(place), label=label)
    if chosen not in number:  # ERM predicts
        chosen = max(history, key=lambda row: row["score"])["iteration"]
    ax.axvline(
        chosen, color=GREY, linestyle=":", zorder=0, label=f"iteration {chosen}, chosen"
    )
    ax.set_xticks(number)
    ax.set_xlabel("iteration")
    ax.set_ylabel(
        "accuracy" if classifies else "mean squared error\n(variance of the target: 1)"
    )
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
    """
    if isinstance(models, BaseEstimator):
        columns = {} if auxiliary is None else {"auxiliary": auxiliary}
        models = [
            clone(models).set_params(random_state=seed).fit(X, y, **columns)
            for seed in range(whole(n, "n", 2))
        ]
    fits = _named(models)
    if len(fits) < 2:
        problem = f"agreement needs two fits or more; got {len(fits)}"
        raise KerhrmError(problem, "give several models, or n=2")
    labels = {}
    for name, model in fits.items():
        rows = read(model, X, y, auxiliary)
        alone = "" if len(rows.names) > 1 else "\n(one environment)"
        labels[name + alone] = rows.memberships.argmax(1)
    values = np.ones((len(fits), len(fits)))
    for (i, one), (j, other) in itertools.combinations(enumerate(labels.values()), 2):
        values[i, j] = values[j, i] = adjusted_rand_score(one, other)
    ax = new_axes(ax, height=1.2 + 0.55 * len(fits))
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1.25)
    for (i, j), value in np.ndenumerate(values):
        shade = "white" if value > 0.75 else "black"
        ax.text(
            j, i, f"{round(value, 2) + 0.0:.2f}", ha="center", va="center", color=shade
        )
    names = [plain(name) for name in labels]
    ax.set_yticks(range(len(names)), names)
    ax.set_xticks(
        range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor"
    )
    ax.spines[:].set_visible(False)
    ax.set_xlabel("adjusted Rand index of the environments")
    return ax


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
    """
    fits, n = _named(models), len(column(y, "y"))
    for name, model in fits.items():
        if not hasattr(model, "predict"):
            problem = f"{name!r} is of type {type(model).__name__}: it cannot predict"
            raise KerhrmError(problem, "give fitted estimators")
    if len({is_classifier(model) for model in fits.values()}) > 1:
        problem = "classifiers and regressors have no error in common"
        raise KerhrmError(problem, "draw them one after the other")
    classifies = is_classifier(next(iter(fits.values())))
    how: Any = {"varies": False, "table": X}
    values = (
        read_values(y, n, X) if classifies else read_target(y, n, "regression", **how)
    )
    labels = read_labels(groups, n, "groups", X)
    names, members = ["all rows"], [np.ones(n, dtype=bool)]
    for label in in_category_order(groups, labels.names):
        names.append(f"group {label}" if label in names else label)
        members.append(labels.members(labels.names.index(label)))
    intervals = {}
    for name, model in fits.items():
        predictions = model.predict(X)
        if len(predictions) != n:
            problem = f"{len(predictions)} rows of X but {n} of y"
            raise KerhrmError(problem, "give the same rows")
        if classifies and family(predictions.dtype) != family(values.dtype):
            got = f"{shown(predictions[0])}, but y has {shown(values[0])}"
            problem = f"{name} predicts labels of another kind: {got}"
            raise KerhrmError(problem, "give y as in the fit")
        losses = predictions != values if classifies else (predictions - values) ** 2
        each = [interval(losses[here], classifies) for here in members]
        intervals[name] = np.array(each).T
    parts = [
        f"{name} ({here.sum()})" for name, here in zip(names, members, strict=True)
    ]
    ax = new_axes(ax, height=1.2 + 0.35 * len(parts) * max(1, len(fits) / 3))
    reach = min(0.35, 0.12 * (len(fits) - 1))
    offsets = np.linspace(-reach, reach, len(fits))
    for number, (name, (mean, low, high)) in enumerate(intervals.items()):
        spread = np.stack([mean - low, high - mean]).clip(0)
        place = np.arange(len(parts)) + offsets[number]
        ax.errorbar(
            mean, place, xerr=spread, linestyle="", **style(number), label=entry(name)
        )
    ax.set_yticks(range(len(parts)), [plain(part) for part in parts])
    ax.set_ylim(len(parts) - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")
    ax.axhline(0.5, color="0.8", linewidth=0.8)
    ax.set_xlim(left=0)
    ax.set_xlabel("share of wrong labels" if classifies else "mean squared error")
    ax.set_ylabel("group (rows)")
    legend(ax)
    return ax


def _fitted(model: Any, attribute: str) -> Any:
    """An attribute of a fitted KerHRM."""
    if not hasattr(model, "predict_environment_proba"):
        problem = f"{type(model).__name__} has no {attribute}"
        raise KerhrmError(problem, "give a fitted KerHRMClassifier or KerHRMRegressor")
    check_is_fitted(model)
    return getattr(model, attribute)


def _named(models: Any) -> dict[str, Any]:
    """Estimators by name: as given, or by class, seed or number where one says too
    little."""
    if isinstance(models, Mapping):
        named = {str(name) or "''": model for name, model in models.items()}
        if len(named) < len(models):
            names = [*map(str, models)]
            twice = next(name for name in names if names.count(name) > 1)
            problem = f"two models have the same name, {twice}"
            raise KerhrmError(problem, "rename one of them")
    else:
        several = list(models) if isinstance(models, list | tuple) else [models]
        names = [type(model).__name__ for model in several]
        seeds = [f"seed {getattr(model, 'seed_', None)}" for model in several]
        if len(set(names)) == 1 < len(set(seeds)) == len(seeds):
            names = seeds
        elif len(set(names)) < len(names):
            names = [f"{name} {number}" for number, name in enumerate(names, 1)]
        named = dict(zip(names, several, strict=True))
    if not named:
        raise KerhrmError(
            "no estimators given", "give one, a list, or a dict of them by name"
        )
    return named
