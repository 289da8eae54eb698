"""Every seed of a table: what the means and deviations of its cells stand for."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kerhrm.methods.registry import position
from kerhrm.reporting.style import COLOURS, add_title, fit_scale, panels, style
from kerhrm.reporting.tables import metric_name, metrics_of, results_of

#: colour, marker of a seed and of the paper: training's, and those of every result
TRAINING = (COLOURS[5], "o", "+")
RESULT = (COLOURS[6], "s", "x")
#: where a metric's own name would say too little, or too much
LABELS = {"mean_error": "mean error over the test environments"}
AXES = {"test_acc": "accuracy", "mean_error": "mean squared error"}
PANELS = 3  #: side by side


def scores_per_seed(scores: pd.DataFrame, table: pd.DataFrame, heading: str) -> Figure:
    """Every seed's score, their mean, and the paper's number; one panel per setting.

    Methods are the rows of a panel, so that many of them, and their names, have room.
    ``scores`` are headline rows alone; the ``table`` has the paper's numbers.
    """
    results = results_of(scores)
    metrics = [m for m in metrics_of(scores) if m == "train_acc"] + results
    scores = scores[scores["metric"].isin(metrics)]
    settings = list(dict.fromkeys(scores["setting"]))
    methods = sorted(set(scores["method"]), key=position)
    keys = ["setting", "method", "metric"]
    printed = table.drop_duplicates(keys).set_index(keys)["paper"].dropna()
    size = (2.7, 0.5 + 0.27 * len(methods))
    with style():
        figure, grid = panels(len(settings), min(len(settings), PANELS), size, margin=(2.4, 1.0))
        for axis, setting in zip(grid.flat, settings, strict=False):
            here = scores[scores["setting"] == setting]
            for row, method in enumerate(methods):
                rows_here = here[here["method"] == method]
                _note_failures(axis, rows_here, row)
                for number, metric in enumerate(metrics):
                    values = rows_here.loc[rows_here["metric"] == metric, "value"].to_numpy()
                    y = row + 0.4 * ((number + 0.5) / len(metrics) - 0.5)
                    if len(values):
                        _draw(axis, values, y, metric, printed.get((setting, method, metric)))
            axis.set_title(setting)
            axis.grid(axis="x")
            axis.set_yticks(range(len(methods)), methods)
            axis.set_ylim(len(methods) - 0.5, -0.5)
            fit_scale(axis, scores["value"].to_numpy(), "x")
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(AXES.get(results[0], metric_name(results[0])))
            if "test_acc" in metrics:  # chance
                axis.axvline(0.5, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        legend = _legend(metrics, set(printed.index.get_level_values("metric")))
        figure.legend(handles=legend, loc="outside lower center", ncols=3)
        add_title(figure, heading)
    return figure


def _note_failures(axis: Axes, scores: pd.DataFrame, row: int) -> None:
    failed = scores.loc[scores["value"].isna(), "seed"].nunique()
    if failed:
        text = f"{failed} of {scores['seed'].nunique()} seeds failed"
        place = axis.get_yaxis_transform()
        axis.annotate(text, (0.02, row), xycoords=place, color=COLOURS[4], fontsize=8, va="center")


def _draw(axis: Axes, values: np.ndarray, y: float, metric: str, paper: float | None) -> None:
    """One metric of one method: seeds, their mean, the paper's number."""
    colour, marker, cross = _look(metric)
    heights = y + np.linspace(-0.06, 0.06, len(values))
    axis.plot(values, heights, marker, markersize=2.5, alpha=0.45, color=colour)
    # as in the table, no mean of the seeds that succeeded
    axis.plot([values.mean()], [y], "|", color=colour, markersize=8, markeredgewidth=1.8)
    if paper is not None:
        axis.plot([paper], [y], cross, color="black", markersize=5, zorder=3)


def _legend(metrics: list[str], printed: set[str]) -> list[Line2D]:
    """Entries for what a figure can hold, whichever method comes first."""
    handles, papers = [], []
    for metric in metrics:
        label = LABELS.get(metric, metric_name(metric))
        colour, marker, cross = _look(metric)
        handles.append(_entry(f"{label}, one seed", marker, color=colour, markersize=3))
        if metric in printed:
            papers.append(_entry(f"paper, {label}", cross, color="black"))
    handles.append(_entry("mean over seeds", "|", color="0.3", markersize=8, markeredgewidth=1.8))
    handles += papers
    if "test_acc" in metrics:
        handles.append(Line2D([], [], linestyle=":", linewidth=0.8, color="0.6", label="chance"))
    return handles


def _look(metric: str) -> tuple[str, str, str]:
    return TRAINING if metric == "train_acc" else RESULT


def _entry(label: str, marker: str, **look: Any) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, label=label, **look)
