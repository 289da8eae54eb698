"""The figure of every seed: its training and test result, by setting and method."""

import math
import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import (
    GREY,
    LINE,
    REFERENCES,
    entry,
    finish,
    fit_scale,
    line_entry,
    name_rows,
    style,
    subplots,
)
from kerhrm_paper.reporting.tables import TITLES, results_of

#: colour and marker
Look = tuple[str, str]
TRAINING_LOOK: Look = ("#E69F00", "o")
RESULT_LOOKS: list[Look] = [("#0072B2", "s"), ("#009E73", "v")]
#: of points, lines and words
SEED: dict[str, Any] = {"markersize": 2.5, "alpha": 0.45}
MEAN: dict[str, Any] = {"markersize": 8, "markeredgewidth": 1.8}
PAPER: dict[str, Any] = {"color": "black", "markersize": 5, "zorder": 3}
FAILED: dict[str, Any] = {"color": GREY, "fontsize": 8, "va": "center"}


def every_seed(scores: pd.DataFrame, cells: pd.DataFrame, title: str = "") -> Figure:
    """Every seed's training and test result, their mean, and the paper's value.

    A panel for each setting, a row for each method; rows chosen by the methods' own
    criteria.
    """
    scores = scores[primary(scores)]
    looks = _looks(scores)
    result = next(metric for metric in looks if metric != "train_acc")
    scores = scores[scores["metric"].isin(looks)]
    settings = list(dict.fromkeys(scores["setting"]))
    every_method = list(dict.fromkeys(scores["method"]))
    levels, methods = [], []
    for method in every_method:
        if method in REFERENCES:
            levels.append(method)
        else:
            methods.append(method)
    keys = ["setting", "method", "metric"]
    own = cells[primary(cells)]
    printed = own.set_index(keys)["paper"].dropna()
    titles = [TITLES.get(metric, metric) for metric in looks]
    label = textwrap.fill(", ".join(titles), 40)
    with style():
        figure, axes = _panels(len(settings), len(methods))
        for axis, setting in zip(axes, settings, strict=True):
            of_setting = where(scores, setting=setting)
            of_result = where(of_setting, metric=result)
            _draw_levels(axis, of_result, levels)
            is_method = of_setting["method"].isin(methods)
            groups = of_setting[is_method].groupby(["method", "metric"], sort=False)
            for (method, metric), group in groups:
                row = methods.index(method)
                _draw_seeds(
                    axis,
                    values=group["value"].to_numpy(),
                    paper=printed.get((setting, method, metric), np.nan),
                    y=row + _shift(metric, looks),
                    look=looks[metric],
                )
            axis.set_title(plain(setting))
            axis.grid(axis="x")
            name_rows(axis, methods)
            if not result.endswith("_acc"):
                fit_scale(axis, scores["value"].to_numpy(), "x")
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(label)
        entries = _entries(looks, levels, has_paper=len(printed) > 0)
        finish(figure, entries, title, columns=min(2 * len(settings), 4))
    return figure


def _panels(n_settings: int, n_methods: int) -> tuple[Figure, list[Axes]]:
    """A panel for each setting, at most three next to each other."""
    n_columns = min(n_settings, 3)
    n_rows = math.ceil(n_settings / n_columns)
    panel_height = 0.5 + 0.27 * n_methods
    width = 2.4 + 2.7 * n_columns
    height = 1 + n_rows * panel_height
    size = (width, height)
    figure, grid = subplots(n_rows, n_columns, figsize=size, sharex=True, sharey=True)
    axes = [*grid.flat]
    for unused in axes[n_settings:]:
        unused.remove()
    return figure, axes[:n_settings]


def _looks(scores: pd.DataFrame) -> dict[str, Look]:
    """Colour and marker of the metrics that are drawn, in their order."""
    looks: dict[str, Look] = {}
    if "train_acc" in set(scores["metric"]):
        looks["train_acc"] = TRAINING_LOOK
    results = results_of(scores)
    for metric, look in zip(results, RESULT_LOOKS, strict=False):
        looks.setdefault(metric, look)
    return looks


def _shift(metric: str, looks: dict[str, Look]) -> float:
    """Height of a metric from the middle of its method's row."""
    number = [*looks].index(metric)
    place = (number + 0.5) / len(looks)
    return 0.4 * (place - 0.5)


def _draw_levels(axis: Axes, scores: pd.DataFrame, methods: list[str]) -> None:
    """Lines for references in a setting, at their mean results."""
    for method in methods:
        level = where(scores, method=method)["value"].mean()
        _, line = REFERENCES[method]
        axis.axvline(level, color=GREY, **LINE, linestyle=line)


def _draw_seeds(
    axis: Axes, values: np.ndarray, paper: float, y: float, look: Look
) -> None:
    """A metric of a method: every seed, their mean, the paper's number."""
    colour, marker = look
    n_failed = int(np.isnan(values).sum())
    if n_failed:
        axis.annotate(
            f"{n_failed} of {len(values)} seeds failed",
            (0.02, y),
            xycoords=axis.get_yaxis_transform(),
            **FAILED,
        )
    heights = y + np.linspace(-0.06, 0.06, len(values))
    axis.plot(values, heights, marker, color=colour, **SEED)
    # as in the table, no mean of the seeds that succeeded
    mean = values.mean()
    axis.plot(mean, y, "|", color=colour, **MEAN)
    axis.plot(paper, y, "x", **PAPER)


def _entries(
    looks: dict[str, Look], levels: list[str], *, has_paper: bool
) -> list[Line2D]:
    """Entries of the legend."""
    entries = []
    for metric, (colour, marker) in looks.items():
        label = textwrap.fill(f"{TITLES.get(metric, metric)}, one seed", 32)
        entries.append(entry(label, colour, marker))
    entries.append(entry("mean over seeds", "0.3", "|"))
    if has_paper:
        entries.append(entry("paper", "black", "x"))
    for method in levels:
        label, line = REFERENCES[method]
        entries.append(line_entry(label, line))
    return entries
