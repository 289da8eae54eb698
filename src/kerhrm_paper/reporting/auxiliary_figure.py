"""Environments by an auxiliary variable: results by how much the relation varies."""

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import (
    REFERENCES,
    WIDTH,
    entry,
    finish,
    intervals,
    line_entry,
    name_rows,
    style,
    subplots,
)
from kerhrm_paper.reporting.setting_words import method_name
from kerhrm_paper.reporting.version_figure import LEVEL_LINE

#: of a setting, as ``low=0.999,high=0.8,units=1024``
SETTING = r"low=(?P<low>[\d.]+),high=(?P<high>[\d.]+),?(?P<variant>.*)"
CEILING = "ref: invariant ceiling"
#: colour and marker of methods that are given the time, of those that are given the
#: environments, and of the others
TIMED = ("#0072B2", "^")
LABELLED = ("#D55E00", "s")
UNTIMED = ("#000000", "o")
ROW = 0.32  #: inches
NAME = 22  #: characters of a line of a row's name


def is_auxiliary(cells: pd.DataFrame) -> bool:
    """Whether every setting names both shares, and there is the worst environment."""
    names_both = cells["setting"].str.fullmatch(SETTING)
    return bool(names_both.all() and (cells["metric"] == "worst_acc").any())


def auxiliary(cells: pd.DataFrame) -> Figure:
    """Accuracy in the worst test environment, by method and how V's relation varies.

    A panel for each pair of shares in which V agrees with the label, from no change
    over the time to the largest; the best method is above.  Networks with hidden
    units, which few methods have, are in the table alone.
    """
    cells = cells[primary(cells)]
    settings = cells["setting"]
    parts = settings.str.extract(SETTING)
    cells = cells.join(parts)
    cells = where(cells, metric="worst_acc", variant="")
    bounds = where(cells, method=CEILING)
    is_bound = cells["method"] == CEILING
    cells = cells[~is_bound]
    by_method = cells.groupby("method")
    means = by_method["mean"].mean()
    ordered = means.sort_values(ascending=False)
    methods = list(ordered.index)
    panels = _panels(cells)
    bound_name, bound_line = REFERENCES[CEILING]
    with style():
        height = 1.8 + ROW * len(methods)
        size = (WIDTH, height)
        n_panels = len(panels)
        figure, grid = subplots(1, n_panels, figsize=size, sharex=True, sharey=True)
        drawn = zip(grid.flat, panels.items(), strict=True)
        for axis, (setting, title) in drawn:
            levels = where(bounds, setting=setting)
            for level in levels["mean"]:
                axis.axvline(level, linestyle=bound_line, **LEVEL_LINE)
            of_setting = where(cells, setting=setting)
            _draw_means(axis, of_setting, methods)
            axis.set_title(title)
            axis.grid(axis="x")
            axis.set_xlim(0, 1)
            axis.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        names = []
        for method in methods:
            name = method_name(method)
            in_lines = textwrap.fill(name, NAME)
            names.append(in_lines)
        first_axis = grid[0, 0]
        name_rows(first_axis, names)
        entries = [
            entry("given the time", *TIMED),
            entry("given the environments", *LABELLED),
            entry("given neither", *UNTIMED),
            line_entry(bound_name, bound_line),
        ]
        heading = (
            "accuracy in the worst test environment; above: share of rows whose"
            "\nspurious feature agrees with the label, early \N{RIGHTWARDS ARROW} late"
            f"\nbars: {intervals(cells)}"
        )
        finish(figure, entries, heading=heading, columns=2)
    return figure


def _panels(cells: pd.DataFrame) -> dict[str, str]:
    """Title by setting, in the order of how far the share falls."""
    settings = cells.drop_duplicates("setting")
    by_setting = settings.set_index("setting")
    shares = by_setting[["low", "high"]]
    numbers = shares.astype(float)
    fall = numbers["low"] - numbers["high"]
    numbers["fall"] = fall.round(3)
    ordered = numbers.sort_values(["fall", "low"])
    arrow = "\n\N{RIGHTWARDS ARROW} "
    titles = {}
    for setting in ordered.index:
        low_and_high = shares.loc[setting]
        titles[setting] = arrow.join(low_and_high)
    return titles


def _draw_means(axis: Axes, cells: pd.DataFrame, methods: list[str]) -> None:
    """The mean of every method in a setting, with its interval."""
    for cell in cells.itertuples():
        method = str(cell.method)
        y = methods.index(method)
        colour, marker = _look(method)
        axis.hlines(y, cell.ci_low, cell.ci_high, color=colour, linewidth=1)
        axis.plot(cell.mean, y, marker, color=colour, markersize=4)


def _look(method: str) -> tuple[str, str]:
    """Colour and marker of a method, by what it is given."""
    if method.startswith("ZIN") or "auxiliary" in method:
        return TIMED
    if "true environments" in method:
        return LABELLED
    return UNTIMED
