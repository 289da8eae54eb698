"""Test accuracy under other shares of test rows whose spurious feature agrees."""

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import (
    GREY,
    LINE,
    WIDTH,
    curve,
    finish,
    intervals,
    line_entry,
    looks,
    style,
    subplots,
)
from kerhrm_paper.reporting.setting_words import in_words

#: references that are lines: name in the legend, and line
LEVELS = {
    "ref: invariant ceiling": ("bound of the invariant features", "-."),
    "ref: majority": ("a constant", ":"),
}
LEGEND = 3  #: columns of the legend
TITLE = 16  #: characters of a line of a panel's title
#: titles of data by their source
SOURCES = {
    "mnist": "Colored MNIST",
    "fallback:digits": "coloured stand-ins",
    "adult": "Adult-Confounded",
    "fallback:adult": "stand-ins for Adult",
}
#: parts of a setting, as ``r_test=0.10,environments=one``
SETTING = r"(?P<name>\w_test)=(?P<share>[\d.]+),?(?P<variant>.*)"


def shift(cells: pd.DataFrame) -> Figure:
    """Test accuracy over the share of test rows whose spurious feature agrees with the
    label.

    A panel for each training distribution; of Colored MNIST the share is one minus
    ``e_test``.
    """
    cells = cells[primary(cells)]
    cells = _with_shares(cells)
    keys = ["data_title", "variant"]
    groups = cells.groupby(keys, sort=False)
    panels = list(groups)
    n_panels = len(panels)
    n_columns = 4 if n_panels > 4 else min(n_panels, 2)
    n_rows = -(-n_panels // n_columns)
    entries = _entries(cells)
    n_lines = -(-len(entries) // LEGEND)
    of_legend = 0.15 * n_lines
    height = 0.7 + of_legend + 1.55 * n_rows
    every_look = looks(cells["method"])
    with style():
        figure, grid = subplots(
            n_rows,
            n_columns,
            figsize=(WIDTH, height),
            sharex=True,
            sharey=True,
        )
        for unused in grid.flat[n_panels:]:
            unused.remove()
        for axis, panel in zip(grid.flat, panels, strict=False):
            (title, variant), of_panel = panel
            _draw_levels(axis, of_panel)
            _draw_curves(axis, of_panel, every_look)
            words = _variant_title(variant)
            axis.set_title(f"{title}\n{words}", loc="left")
        for axis in grid[:, 0]:
            axis.set_ylabel("test accuracy")
            axis.set_xlim(0, 1)
            axis.set_ylim(0, 1.02)
            axis.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
            axis.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
        heading = "share of test rows whose spurious feature agrees with the label"
        heading += f"\nbands: {intervals(cells)}"
        finish(figure, entries, heading=heading, columns=LEGEND)
    return figure


def _entries(cells: pd.DataFrame) -> list[Line2D]:
    """Entries of the legend."""
    known = set(cells["method"])
    entries = []
    every_look = looks(cells["method"])
    for method, look in every_look.items():
        mark = Line2D([], [], label=method, **look)
        entries.append(mark)
    for method, (name, line) in LEVELS.items():
        if method in known:
            mark = line_entry(name, line)
            entries.append(mark)
    return entries


def _with_shares(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells with the title of their data, their variant, and the share that agrees."""
    settings = cells["setting"]
    parts = settings.str.extract(SETTING)
    is_coloured = parts["name"] == "e_test"
    share = parts["share"].astype(float)
    share = share.mask(is_coloured, 1 - share)
    source = cells["data_source"]
    data_title = source.map(SOURCES).fillna(source)
    variant = parts["variant"]
    return cells.assign(share=share, variant=variant, data_title=data_title)


def _draw_levels(axis: Axes, cells: pd.DataFrame) -> None:
    """Lines for references, at their mean over the shares."""
    for method, (_, line) in LEVELS.items():
        rows = where(cells, method=method)
        if len(rows):
            means = rows["mean"]
            level = means.mean()
            axis.axhline(level, color=GREY, **LINE, linestyle=line)


def _draw_curves(
    axis: Axes, cells: pd.DataFrame, of_methods: Mapping[str, dict[str, Any]]
) -> None:
    """A curve for each method, by how it looks."""
    for method, look in of_methods.items():
        rows = where(cells, method=method)
        rows = rows.sort_values("share")
        if len(rows):
            curve(axis, "share", rows, **look)


def _variant_title(variant: str) -> str:
    """What a panel's training data are, in lines that a narrow panel has room for."""
    words = in_words(variant) if variant else "two environments"
    in_lines = textwrap.fill(words, TITLE)
    return plain(in_lines)
