"""Figure 2: accuracy and divergence of the environments over the iterations."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import where
from kerhrm_paper.reporting.figures import (
    GREY,
    REFERENCES,
    WIDTH,
    curve,
    finish,
    in_lines,
    intervals,
    split_setting,
    style,
    subplots,
)

#: Figure 2's curves: name in the legend, colour, marker, line
CURVES: dict[str, tuple[str, str, str, Any]] = {
    "train_acc": ("training accuracy", "#E69F00", "o", (0, (4, 1.5))),
    "test_acc": ("test accuracy", "#0072B2", "s", "-"),
    "d_kl": ("KL divergence", "#009E73", "D", "-"),
}
FIGURE_2 = "figure2"  #: the paper's table, and the bound of its data
CEILING = 0.8
BETWEEN = 0.3  #: inches of a column that its title leaves to the next, and to the axis
#: Figure 2's columns, the method of each
COURSES = {
    "KerHRM (linear predictor)": "our version, linear predictor",
    "KerHRM (authors' code)": "authors' code",
}


def figure2(cells: pd.DataFrame) -> Figure:
    """Accuracy, and below it the divergence of the environments, over ``iteration=0``,
    ...

    A column for each of :data:`COURSES` that has cells, else for each method; both
    begin with ERM on the reduced features.  Data without an attribute have no
    divergence.
    """
    cells = split_setting(cells, "t")
    cells = cells.astype({"t": int})
    known = dict.fromkeys(cells["method"])
    methods = [method for method in COURSES if method in known] or [*known]
    has_divergence = bool((cells["metric"] == "d_kl").any())
    is_start = cells["t"] == 0
    is_erm = is_start & (cells["method"] == methods[0])
    spans = []
    for method in methods:
        of_method = where(cells, method=method)
        iterations = of_method["t"]
        spans.append(iterations.max() + 2)
    widest = max(spans)
    widths = np.clip(spans, widest / 2, None)
    with style():
        heights = (1.6, 1) if has_divergence else (1.6,)
        figure, grid = subplots(
            len(heights),
            len(methods),
            figsize=(WIDTH, 1.4 + sum(heights)),
            sharex="col",
            sharey="row",
            height_ratios=heights,
            width_ratios=widths,
        )
        inches = WIDTH * widths / widths.sum()
        columns = zip(methods, grid.T, inches, strict=True)
        for method, axes, width in columns:
            is_method = cells["method"] == method
            of_version = cells[is_erm | is_method]
            of_version = of_version.sort_values("t")
            _draw_accuracies(axes[0], of_version)
            title = plain(COURSES.get(method, method))
            axes[0].set_title(in_lines(title, width - BETWEEN), loc="left")
            if has_divergence:
                _draw_curve(axes[1], of_version, "d_kl")
            axes[-1].tick_params(labelbottom=True)
            axes[-1].set_xlabel("iteration")
            ticks = MaxNLocator(integer=True, steps=[1, 2, 5, 10])
            axes[-1].xaxis.set_major_locator(ticks)
        accuracy_axis = grid[0, 0]
        accuracy_axis.set_ylabel("accuracy")
        accuracy_axis.set_ylim(0, 1)
        if has_divergence:
            divergence_axis = grid[1, 0]
            divergence_axis.set_ylabel("KL divergence\nof P(Y | C) (nats)")
            tops = [axis.dataLim.y1 for axis in grid[1]]
            highest = max(tops)
            divergence_axis.set_ylim(0, 1.15 * highest)  # room for markers
        entries, _ = accuracy_axis.get_legend_handles_labels()
        heading = f"bands: {intervals(cells)}"
        finish(figure, entries, heading=heading, columns=2)
    return figure


def _draw_accuracies(axis: Axes, cells: pd.DataFrame) -> None:
    """Accuracies of a version by iteration, and what they are compared with."""
    _draw_curve(axis, cells, "train_acc")
    _draw_curve(axis, cells, "test_acc")
    of_erm = where(cells, t=0, metric="test_acc")
    for accuracy in of_erm["mean"]:
        axis.annotate(
            "ERM",
            (0, accuracy),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=GREY,
        )
    axis.axhline(0.5, label="chance", color=GREY, linestyle=":", linewidth=1)
    if set(cells["table"]) == {FIGURE_2}:
        label, line = REFERENCES["ref: invariant ceiling"]
        axis.axhline(CEILING, label=label, color=GREY, linestyle=line, linewidth=1)
    axis.tick_params(labelbottom=False)


def _draw_curve(axis: Axes, cells: pd.DataFrame, metric: str) -> None:
    """A metric of a version by iteration."""
    label, colour, marker, line = CURVES[metric]
    curve(
        axis,
        "t",
        where(cells, metric=metric),
        label=label,
        color=colour,
        marker=marker,
        markersize=3.5,
        linestyle=line,
    )
