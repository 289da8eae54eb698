"""How a fit went: the features' spectrum, and scores of the iterations."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from kerhrm.errors import KerhrmError
from kerhrm.plots.canvas import GREY, axes, legend, look
from kerhrm.plots.docstrings import completed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: largest over smallest singular value from which the axis is logarithmic
WIDE = 10.0


@completed
def spectrum(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the singular values of the neural tangent features, and the chosen dimension.

    Parameters
    ----------
    model : estimator
        A fitted KerHRM.
    <ax>

    Examples
    --------
    .. plot::

        <data>
        >>> model = kerhrm.KerHRMClassifier(k=[5, 10, 15], network=(128,), random_state=1)
        >>> ax = kerhrm.plots.spectrum(model.fit(X, y))
        >>> len(model.singular_values_)
        15
    """
    values, k = _fitted(model, "singular_values_"), model.selected_["k"]
    number = np.arange(1, len(values) + 1)
    ax = axes(ax)
    looks = {"linestyle": "", **look(0)}
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


@completed
def iterations(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw accuracy, or squared error, of every iteration.

    Of all training and all validation rows, and in the learned environment that does worst, by
    which iterations are chosen unless ``selection="pooled"``.  Errors are in units of the
    target's variance: 1 is the error of its mean.

    Parameters
    ----------
    model : estimator
        A fitted KerHRM.
    <ax>

    Examples
    --------
    .. plot::

        <model>
        >>> ax = kerhrm.plots.iterations(model)
        >>> ax.get_ylabel()
        'accuracy'
    """
    history, chosen = _fitted(model, "history_"), model.selected_["T"]
    if not history:
        problem = "there was no iteration: no environments were found, and pooled ERM predicts"
        raise KerhrmError(problem, "fit with when_homogeneous='ignore' to see them all the same")
    curves = {"train_score": "training rows", "validation_score": "validation rows"}
    if "worst learned environment" in model.selected_["why"]:
        curves["score"] = "worst learned environment, which chooses"
    number = [row["iteration"] for row in history]
    classifies = is_classifier(model)
    ax = axes(ax)
    for place, (key, label) in enumerate(curves.items()):
        score = np.array([row[key] for row in history])
        ax.plot(number, score if classifies else -score, **look(place), label=label)
    ax.axvline(chosen, color=GREY, linestyle=":", zorder=0, label=f"iteration {chosen}, chosen")
    ax.set_xticks(number)
    ax.set_xlabel("iteration")
    ax.set_ylabel("accuracy" if classifies else "mean squared error\n(variance of the target: 1)")
    legend(ax)
    return ax


def _fitted(model: Any, attribute: str) -> Any:
    """An attribute of a fitted KerHRM."""
    if not hasattr(model, "predict_environment_proba"):
        problem = f"{type(model).__name__} has no {attribute}"
        raise KerhrmError(problem, "give a fitted KerHRMClassifier or KerHRMRegressor")
    check_is_fitted(model)
    return getattr(model, attribute)
