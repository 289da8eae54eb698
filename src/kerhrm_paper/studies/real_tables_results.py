"""Ratios to ERM with their intervals, and their figure; of study ``real_tables``."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas import DataFrame
from scipy.stats import t as student

from kerhrm_paper.studies.study import Figures, Frames

ERRORS = "real_tables_errors"
RATIOS = "real_tables"
MEANS = "real_tables_mean"
DETECTED = "real_tables_found"
KERHRM = "KerHRM"
AUXILIARY = "KerHRM, auxiliary column"
MINORITY = 0.1  #: share of the hidden group in training
#: what each metric is compared with
BASES = {
    "mean_error": "ERM",
    "worst_error": "ERM",
    "mean_brier": "ERM",
    "over_least_squares": "least squares",
}
#: tables of a mean, by whether their target has two classes
SETTINGS = {
    "all": [False, True],
    "numbers": [False],
    "labels": [True],
}


# --- tables ---------------------------------------------------------------------------


def interval(values: DataFrame, correction: float = 0.0) -> DataFrame:
    """Mean of each row, with its 95 % t interval.

    ``correction`` is Nadeau and Bengio's test / training, 1 at a half.
    """
    n = values.count(axis=1)
    mean = values.mean(axis=1)
    sd = values.std(axis=1)
    quantile = student.ppf(0.975, n - 1)
    variance = 1 / n + correction
    half = quantile * sd * np.sqrt(variance)
    columns = {"mean": mean}
    columns["low"] = mean - half
    columns["high"] = mean + half
    return DataFrame(columns)


def summaries(drawn: Frames) -> Frames:
    """Ratios by table and over the tables, and what was detected."""
    drawn_errors = drawn[ERRORS]
    errors = with_metrics(drawn_errors)
    by_metric = {}
    for metric in BASES:
        by_metric[metric] = ratios(errors, metric)
    of_tables = pd.concat(by_metric, names=["metric"])
    of_tables = of_tables.reset_index()
    return {
        RATIOS: of_tables.round(4),
        MEANS: means(of_tables),
        DETECTED: detected(errors),
    }


def with_metrics(errors: DataFrame) -> DataFrame:
    """Errors with their mean over a test set as in training, and in the worse group."""
    shares = [1 - MINORITY, MINORITY]
    by_group = errors[["error_0", "error_1"]]
    brier = errors[["brier_0", "brier_1"]]
    mean_error = by_group @ shares
    return errors.assign(
        mean_error=mean_error,
        mean_brier=brier @ shares,
        over_least_squares=mean_error,
        worst_error=by_group.max(axis=1),
    )


def ratios(errors: DataFrame, metric: str) -> DataFrame:
    """Ratio to the base of each table and method, with its interval over splits."""
    index = ["table", "labels", "method"]
    wide = errors.pivot(index=index, columns="split", values=metric)
    method = BASES[metric]
    bases = wide.xs(method, level="method")
    tables = wide.index.droplevel("method")
    base = bases.loc[tables].to_numpy()
    mean = base.mean(1, keepdims=True)
    difference = wide - base
    ratio = 1 + difference / mean
    return interval(ratio, correction=1.0)


def means(of_tables: DataFrame) -> DataFrame:
    """Mean ratio over the tables, and how many of them are better or worse."""
    better = of_tables["high"] < 1
    worse = of_tables["low"] > 1
    rows = of_tables.assign(better=better, worse=worse)
    by_setting = {}
    for setting, labels in SETTINGS.items():
        chosen = rows["labels"].isin(labels)
        of_setting = rows[chosen]
        by_setting[setting] = over_tables(of_setting)
    summary = pd.concat(by_setting, names=["setting"])
    summary = summary.reset_index()
    summary = summary.assign(selection="none")
    return summary.round(4)


def over_tables(rows: DataFrame) -> DataFrame:
    """Mean of each metric and method over the tables, with its interval."""
    keys = ["metric", "method"]
    wide = rows.pivot(index=keys, columns="table", values="mean")
    groups = rows.groupby(keys)
    verdicts = ["better", "worse"]
    mean = interval(wide)
    mean[verdicts] = groups[verdicts].sum()
    ratios = groups["mean"]
    mean["tables"] = ratios.size()
    mean["largest"] = ratios.max()
    return mean


def detected(errors: DataFrame) -> DataFrame:
    """How often KerHRM detected environments, and predicted."""
    methods = [KERHRM, AUXILIARY]
    is_ours = errors["method"].isin(methods)
    ours = errors[is_ours]
    keys = ["table", "labels", "training", "d", "method"]
    groups = ours.groupby(keys, sort=False)
    found = ["detected", "predicts"]
    counts = groups[found].sum()
    p_values = groups["p_value"]
    least = p_values.agg(["median", "min"])
    summary = counts.join(least)
    summary = summary.round(4)
    return summary.reset_index()


# --- figure ---------------------------------------------------------------------------


PANELS = {
    "mean_error": "mean error",
    "worst_error": "error in the worse\nof the two groups",
}
TICKS = 0.5, 1, 2, 4
TICK_LABELS = "≤ 0.5", "1", "2", "≥ 4"
DOT: dict[str, Any] = {
    "marker": "o",
    "linestyle": "",
    "markersize": 3,
    "alpha": 0.5,
    "markeredgewidth": 0,
}
MEAN: dict[str, Any] = {"fmt": "|", "color": "black", "markersize": 9}


def figures(tables: Frames) -> Figures:
    """Ratios of every table, and their mean with its interval, a row for each
    method."""
    of_tables = tables[RATIOS]
    is_other = of_tables["method"] != "ERM"
    of_tables = of_tables[is_other]
    over_all = tables[MEANS]
    over_all = over_all.query("setting == 'all' and method != 'ERM'")
    over_all = over_all.set_index(["metric", "method"])
    worst = over_all.loc["worst_error", "mean"]
    worst = worst.sort_values(ascending=False)
    methods = list(worst.index)
    figure = Figure((5.5, 3.8), layout="constrained")
    n_panels = len(PANELS)
    axes = figure.subplots(1, n_panels, sharey=True)
    panels = zip(axes, PANELS, strict=True)
    for axis, metric in panels:
        same = of_tables["metric"] == metric
        rows = of_tables[same]
        draw_tables(axis, rows, methods)
        of_metric = over_all.loc[metric]
        mean = of_metric.loc[methods]
        half = mean["high"] - mean["mean"]
        centres = mean["mean"]
        axis.errorbar(centres, methods, xerr=half, **MEAN)
        axis.axvline(1, color="0.6", linewidth=0.8, zorder=0)
        axis.set_title(PANELS[metric])
        axis.set_xscale("log")
        axis.set_xticks(TICKS, TICK_LABELS)
        axis.minorticks_off()
    figure.supxlabel(
        "ratio to ERM, less is better; a dot is a table\n"
        "black: mean over the tables with its 95 % interval",
        fontsize=8.5,
    )
    return {"real_tables": figure}


def draw_tables(axis: Axes, rows: DataFrame, methods: list[str]) -> None:
    """A dot for each table: numeric targets above the row, two classes below."""
    has_labels = rows["labels"]
    numeric = rows[~has_labels]
    classes = rows[has_labels]
    draw_kind(axis, numeric, methods, "numeric targets", 0.2, "#0072B2")
    draw_kind(axis, classes, methods, "two classes", -0.2, "#D55E00")


def draw_kind(
    axis: Axes,
    rows: DataFrame,
    methods: list[str],
    kind: str,
    offset: float,
    colour: str,
) -> None:
    """Dots of one kind of tables, and its name in KerHRM's row, where there is room."""
    heights = rows["method"].map(methods.index)
    heights += offset
    ratio = rows["mean"].clip(0.5, 4)
    axis.plot(ratio, heights, color=colour, **DOT)
    axis.text(
        4.4,
        methods.index(KERHRM) + offset,
        kind,
        ha="right",
        va="center",
        size=8,
        color=colour,
    )
