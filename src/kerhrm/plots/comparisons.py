"""Fits beside each other: do they find the same environments, and in which groups do they err?"""

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, ttest_1samp
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import adjusted_rand_score

from kerhrm.errors import KerhrmError
from kerhrm.plots import draw
from kerhrm.plots.canvas import axes, pyplot
from kerhrm.plots.docstrings import completed
from kerhrm.plots.tables import named, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@completed
def agreement(models: Any, X: Any, y: Any, *, n: int = 5, ax: "Axes | None" = None) -> "Axes":
    """Draw how far fits agree about the environments: adjusted Rand indices of all pairs.

    1 is the same environments, by whatever numbers, and 0 what chance would give.  A fit keeps
    its best random start alone, so what is compared are fits that differ in their seed; each draws
    its own network, validation rows and starts.  Where a fit has found one environment alone its
    name says so; two such fits agree.

    Parameters
    ----------
    models : estimator, or list or dict of them
        A single one is fitted ``n`` times, with ``random_state`` 0, 1, ...; several have been
        fitted.  A dict has names for keys; environments of the rows may stand among its values.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n : int
        Fits of a single estimator.
    <ax>

    Examples
    --------
    .. plot::

        <data>
        >>> model = kerhrm.KerHRMClassifier(k=5, network=(128,))
        >>> ax = kerhrm.plots.agreement(model, X, y, n=3)
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['seed 0', 'seed 1', 'seed 2']
    """
    pyplot()  # before the fits
    if isinstance(models, BaseEstimator):
        if n < 2:
            raise KerhrmError(f"n={n} fits have no one to agree with", "give 2 or more")
        models = [clone(models).set_params(random_state=s).fit(X, y) for s in range(n)]
    fits = named(models)
    if len(fits) < 2:
        raise KerhrmError("one fit has no one to agree with", "give a list of several")
    labels = {}
    for name, model in fits.items():
        rows = read(model, X, y)
        alone = "" if len(rows.names) > 1 else "\n(one environment)"
        labels[name + alone] = rows.memberships.argmax(1)
    values = np.ones((len(fits), len(fits)))
    for (i, one), (j, other) in itertools.combinations(enumerate(labels.values()), 2):
        values[i, j] = values[j, i] = adjusted_rand_score(one, other)
    ax = axes(ax, height=1.2 + 0.55 * len(fits))
    draw.matrix(ax, list(labels), values)
    ax.set_xlabel("adjusted Rand index of the environments")
    return ax


@completed
def group_errors(models: Any, X: Any, y: Any, groups: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw errors of one or several estimators in each group of rows, and over all rows.

    Shares of wrong labels, with Wilson's 95 % intervals, or mean squared errors, with Student's.

    Parameters
    ----------
    models : estimator, or list or dict of them
        Fitted, and any of scikit-learn's; a dict has names for keys.
    X : array-like of shape (n_samples, n_features)
        Best of rows that no model was fitted on.
    y : array-like of shape (n_samples,)
    groups : array-like of shape (n_samples,)
        Labels of any kind; those of a pandas ``Categorical`` keep their order.
    <ax>

    Examples
    --------
    .. plot::

        <model>
        >>> erm = kerhrm.ERM(network=(128,), random_state=0).fit(X, y)
        >>> groups = np.where(turned, "turned", "as usual")
        >>> ax = kerhrm.plots.group_errors([model, erm], X, y, groups)
        >>> ax.get_xlabel()
        'share of wrong labels'
    """
    fits = named(models)
    values = np.asarray(y)
    if np.shape(groups) != values.shape or values.ndim != 1:
        problem = f"groups have shape {np.shape(groups)} for a target of shape {values.shape}"
        raise KerhrmError(problem, "give one label for each row")
    labels = pd.Categorical(groups).remove_unused_categories()
    if missing := int((labels.codes < 0).sum()):
        cure = "drop these rows, or name their group"
        raise KerhrmError(f"{missing} rows have no group", cure)
    kinds = {is_classifier(model) for model in fits.values()}
    if len(kinds) > 1:
        problem = "classifiers and regressors have no error in common"
        raise KerhrmError(problem, "draw them one after the other")
    (classifies,) = kinds
    parts = [("all rows", np.ones(len(labels), dtype=bool))]
    parts += [(str(label), labels == label) for label in labels.categories]
    series = {}
    for name, model in fits.items():
        losses = _losses(model.predict(X), values, classifies)
        means = [_interval(losses[rows], classifies) for _, rows in parts]
        series[name] = tuple(np.array(means).T)
    ax = axes(ax, height=1.2 + 0.35 * len(parts) * max(1, len(fits) / 3))
    draw.dots(ax, [f"{part} ({rows.sum()})" for part, rows in parts], series)
    ax.axhline(0.5, color="0.8", linewidth=0.8)
    ax.set_xlim(left=0)
    ax.set_xlabel("share of wrong labels" if classifies else "mean squared error")
    ax.set_ylabel("group (rows)")
    return ax


def _losses(predictions: np.ndarray, y: np.ndarray, classifies: bool) -> np.ndarray:
    """Of every row: 0 or 1, or the squared error."""
    if len(predictions) != len(y):
        raise KerhrmError(f"{len(predictions)} rows of X but {len(y)} of y", "give the same rows")
    return (predictions != y).astype(float) if classifies else (predictions - y) ** 2


def _interval(losses: np.ndarray, classifies: bool) -> tuple[float, float, float]:
    """Mean, and the ends of its 95 % interval; of one squared error there is none."""
    if classifies:
        test = binomtest(int(losses.sum()), len(losses))
        return test.statistic, *test.proportion_ci(method="wilson")
    if len(losses) < 2:
        return float(losses.mean()), np.nan, np.nan
    low, high = ttest_1samp(losses, 0).confidence_interval()
    return float(losses.mean()), max(0.0, low), high
