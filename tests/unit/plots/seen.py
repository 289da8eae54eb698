"""What is seen in a picture: points, texts, bars; and all pictures of an estimator."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.container import ErrorbarContainer

import kerhrm


def scatters(ax: Axes) -> list[np.ndarray]:
    """Points of each environment."""
    points = []
    for collection in ax.collections:
        if isinstance(collection, PathCollection):
            offsets = collection.get_offsets()
            points.append(np.asarray(offsets))
    return points


def ticks(ax: Axes, which: str = "y") -> list[str]:
    """Texts at the ticks of one axis."""
    labels = getattr(ax, f"get_{which}ticklabels")()
    return [label.get_text() for label in labels]


def words(ax: Axes) -> list[str]:
    """Texts of the legend."""
    texts = ax.get_legend().get_texts()
    return [text.get_text() for text in texts]


def words_before(ax: Axes, separator: str) -> list[str]:
    """What stands before a separator in each text of the legend."""
    before = []
    for word in words(ax):
        first, _, _ = word.partition(separator)
        before.append(first)
    return before


def values_of(container: ErrorbarContainer, axis: str) -> np.ndarray:
    """Positions of the points of error bars."""
    line, _, _ = container.lines
    return getattr(line, f"get_{axis}data")()


def bars_of(container: ErrorbarContainer) -> list[np.ndarray]:
    """Ends of every error bar, (2 ends, 2 coordinates)."""
    _, _, (bars,) = container.lines
    segments = bars.get_segments()
    return [np.asarray(ends) for ends in segments]


def figure_state() -> tuple[Any, ...]:
    """What pyplot remembers of settings and open figures."""
    settings = dict(mpl.rcParams)
    figure = plt.gcf()
    axes = plt.gca()
    return settings, figure, axes, plt.get_fignums()


def pictures(one: Any) -> dict[str, Any]:
    """All of them, each a function of axes."""
    plots = kerhrm.plots
    model = one.model
    x = one.x
    y = one.y
    hidden = one.hidden
    return {
        "rootogram": lambda ax: plots.rootogram(model.describe(stability=0), ax=ax),
        "environments": lambda ax: plots.environments(model, x, y, ax=ax),
        "relation": lambda ax: plots.relation(model, x, y, ax=ax),
        "importance": lambda ax: plots.importance(model, x, y, ax=ax),
        "spectrum": lambda ax: plots.spectrum(model, ax=ax),
        "iterations": lambda ax: plots.iterations(model, ax=ax),
        "agreement": lambda ax: plots.agreement([model, model], x, y, ax=ax),
        "group_errors": lambda ax: plots.group_errors(model, x, y, hidden, ax=ax),
    }
