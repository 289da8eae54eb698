"""Every run of the three versions of KerHRM: how many reach the bound."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import (
    GREY,
    METHODS,
    WIDTH,
    name_rows,
    style,
    subplots,
)

VERSIONS = {
    "KerHRM (as printed)": "as printed",
    "KerHRM (authors' code)": "authors' code",
    "KerHRM": "our version",
}
#: methods that are lines: name in the figure, and line
LEVELS = {
    "ERM": ("ERM", "--"),
    "ref: invariant ceiling": ("bound", "-."),
}
LEVEL_LINE: dict[str, Any] = {
    "color": GREY,
    "linewidth": 1,
    "zorder": 0,
}  #: of such lines
HIGH, LOW = 0.7, 0.5  #: accuracies that part the two kinds of runs


def versions(scores: pd.DataFrame, cells: pd.DataFrame) -> Figure:
    """Test accuracy of every run of the three versions of KerHRM, all settings of a
    table.

    The bar is the mean, where no run has failed; the cross is the mean of what the
    paper prints.  Shares are of all runs.
    """
    own = scores[primary(scores)]
    scores = where(own, metric="test_acc")
    cells = where(cells, metric="test_acc", method="KerHRM")
    printed = cells["paper"]
    with style():
        size = (WIDTH, 2.3)
        figure, grid = subplots(1, 1, figsize=size)
        axis = grid[0, 0]
        names = []
        for y, (method, name) in enumerate(VERSIONS.items()):
            of_method = where(scores, method=method)
            accuracies = of_method["value"]
            paper = printed.mean()
            in_order = np.sort(accuracies)  # NaN is sorted to the end
            _draw_runs(axis, in_order, paper, y)
            high = (accuracies >= HIGH).mean()
            low = (accuracies < LOW).mean()
            shares = f"{high:.0%} reach {HIGH}, {low:.0%} below {LOW}"
            n_failed = int(accuracies.isna().sum())
            if n_failed:
                shares += f", {n_failed} of {len(accuracies)} failed"
            names.append(f"{name}\n{shares}")
        for method, (label, line) in LEVELS.items():
            of_level = where(scores, method=method)
            if not of_level.empty:
                level = of_level["value"].mean()
                _draw_level(axis, level, label, line)
        name_rows(axis, names)
        is_printed = printed.notna().any()
        cross = ", cross: paper" if is_printed else ""
        axis.set_xlabel(f"test accuracy; dots: runs, bar: mean{cross}")
        axis.set_xlim(0, 1)
        axis.grid(axis="x")
    return figure


def _draw_runs(axis: Axes, accuracies: np.ndarray, paper: float, y: int) -> None:
    # multiples of the golden ratio keep neighbours apart
    n = len(accuracies)
    places = np.arange(n) * 0.618 % 1
    heights = y + 0.3 * (places - 0.5)
    axis.plot(
        accuracies,
        heights,
        "o",
        color=METHODS["KerHRM"],
        alpha=0.4,
        markersize=2.5,
        linestyle="",
    )
    mean = accuracies.mean()
    ends = [y - 0.25, y + 0.25]
    axis.plot([mean, mean], ends, color="black")
    axis.plot(paper, y, "x", color="black", markersize=5)


def _draw_level(axis: Axes, level: float, label: str, line: str) -> None:
    axis.axvline(level, linestyle=line, **LEVEL_LINE)
    axis.annotate(
        label,
        (level, 1.0),
        xycoords=axis.get_xaxis_transform(),
        ha="center",
        va="bottom",
        fontsize=8,
        color=GREY,
    )
