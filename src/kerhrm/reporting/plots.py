"""Figures of the notebooks; one style for all, legible in print and without colour."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

METRIC_LABELS = {
    "train_acc": "training accuracy",
    "test_acc": "test accuracy",
    "mean_error": "Mean_Error over the test environments",
}
MARKERS = {"train_acc": "o", "test_acc": "s", "mean_error": "s"}


@contextmanager
def style() -> Iterator[None]:
    """The project's matplotlib style."""
    with mpl.rc_context(fname=str(files("kerhrm.reporting") / "paper.mplstyle")):
        yield


def scores_per_seed(scores: pd.DataFrame, paper: pd.DataFrame, heading: str) -> Figure:
    """Every seed's score, its mean, and the paper's number, one panel per setting.

    Parameters
    ----------
    scores : DataFrame
        Rows of one experiment's scores, headline selections only.
    paper : DataFrame
        Columns ``setting, method, metric, paper``.
    heading : str
    """
    settings = list(dict.fromkeys(scores["setting"]))
    methods = list(dict.fromkeys(scores["method"]))
    metrics = [m for m in METRIC_LABELS if m in set(scores["metric"])]
    shifts = np.arange(len(metrics)) * 0.36 - 0.18 * (len(metrics) - 1)
    with style():
        columns = min(len(settings), 3)
        rows = -(-len(settings) // columns)
        figure, grid = plt.subplots(
            rows,
            columns,
            figsize=(3.2 * columns + 0.8, 2.7 * rows + 0.5),
            sharey=True,
            squeeze=False,
        )
        for unused in grid.flat[len(settings) :]:
            unused.remove()
        axes = list(grid.flat[: len(settings)])
        for axis, setting in zip(axes, settings, strict=True):
            for metric, shift in zip(metrics, shifts, strict=True):
                _draw(axis, scores, paper, setting, methods, metric, float(shift))
            axis.set_title(setting)
            axis.set_xlim(-0.6, len(methods) - 0.4)
            axis.set_xticks(range(len(methods)), methods, rotation=25, ha="right")
            if "test_acc" in metrics:  # chance
                axis.axhline(0.5, color="0.7", linewidth=0.8, zorder=0)
        for axis in axes[::columns]:
            axis.set_ylabel("accuracy" if "test_acc" in metrics else "mean squared error")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figure.suptitle(heading)
    return figure


def _draw(
    axis: Axes,
    scores: pd.DataFrame,
    paper: pd.DataFrame,
    setting: str,
    methods: list[str],
    metric: str,
    shift: float,
) -> None:
    colour = None
    for position, method in enumerate(methods):
        here = (scores["setting"] == setting) & (scores["method"] == method)
        values = scores.loc[here & (scores["metric"] == metric), "value"].to_numpy()
        if not len(values):
            continue
        x = position + shift + np.linspace(-0.12, 0.12, len(values))
        first = METRIC_LABELS[metric] if colour is None else None
        points = axis.plot(
            x, values, MARKERS[metric], markersize=3, alpha=0.6, color=colour, label=first
        )
        colour = points[0].get_color()
        axis.hlines(values.mean(), position + shift - 0.16, position + shift + 0.16, color=colour)
        row = (paper["setting"] == setting) & (paper["method"] == method)
        # the same number stands in the rows of every selection rule
        printed = paper.loc[row & (paper["metric"] == metric), "paper"].dropna().unique()
        if len(printed):
            mark = "paper" if position == 0 and metric != "train_acc" else None
            axis.plot(
                [position + shift], printed, "x", color="black", markersize=6, label=mark, zorder=3
            )
