"""Test accuracy under other shares of test rows whose spurious feature agrees."""

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import (
    GREY,
    LINE,
    WIDTH,
    Ends,
    finish,
    intervals,
    line_entry,
    looks,
    name_ends,
    style,
    subplots,
)
from kerhrm_paper.reporting.setting_words import setting_in_words

#: references that are lines: name in the legend, and line
LEVELS = {
    "ref: invariant ceiling": ("bound of the invariant features", "-."),
    "ref: majority": ("a constant", ":"),
}
LEGEND = 3  #: columns of the legend
TITLE = 16  #: characters of a line of a panel's title
WIDE = 50  #: the same where there is one panel
ROW, NARROW = 1.9, 1.65  #: inches; of panels, of narrow ones
STEP = 2.1  #: points between methods at the same share
#: a line at each share, from which the methods there are moved
SHARE: dict[str, Any] = {"color": "0.9", "linewidth": 0.6, "zorder": 0}
SPAN = -0.08, 1.08  #: of shares, with room for the methods at 0 and at 1
MARGIN = 0.05  #: left and right of the shares of one panel
GAP = 0.085  #: between the names, of the axis
#: titles of data by their source
SOURCES = {
    "mnist": "Colored MNIST",
    "fallback:digits": "coloured stand-ins",
    "adult": "Adult-Confounded",
    "fallback:adult": "stand-ins for Adult",
}
#: parts of a setting, as ``r_test=0.10,environments=one``
SETTING = r"(?P<name>[er]_test)=(?P<share>[\d.]+),?(?P<variant>.*)"


def is_shift(cells: pd.DataFrame) -> bool:
    """Whether every row is the accuracy in a test environment."""
    is_share = cells["setting"].str.fullmatch(SETTING)
    is_accuracy = cells["metric"] == "test_acc"
    return bool((is_share & is_accuracy).all())


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
    every_look = looks(cells["method"])
    is_one = n_panels == 1
    entries = _entries(cells, {} if is_one else every_look)
    n_lines = -(-len(entries) // LEGEND)
    of_legend = 0.15 * n_lines
    row_height = NARROW if n_columns == 4 else ROW
    height = 0.7 + of_legend + row_height * n_rows
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
            shares = of_panel["share"].unique()
            axis.vlines(shares, 0, 1, transform=axis.get_xaxis_transform(), **SHARE)
            _draw_levels(axis, of_panel)
            ends = _draw_curves(axis, of_panel, every_look)
            words = _variant_title(variant, WIDE if is_one else TITLE)
            axis.set_title(f"{title}\n{words}", loc="left")
        for axis in grid[:, 0]:
            axis.set_ylabel("test accuracy")
            axis.set_xlim(*SPAN)
            axis.set_ylim(0, 1.02)
            axis.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
            axis.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", ".5", "", "1"])
        if is_one:
            shares = sorted(set(cells["share"]))
            axis.set_xticks(shares, [f"{share:g}" for share in shares])
            axis.set_xlim(shares[0] - MARGIN, shares[-1] + MARGIN)
            name_ends(axis, ends, GAP)
        heading = "horizontal: "
        heading += "share of test rows whose spurious feature agrees with the label\n"
        heading += "(vertical lines; methods stand side by side about them)\n"
        heading += f"bars: {intervals(cells)}"
        finish(figure, entries, heading=heading, columns=LEGEND)
    return figure


def _entries(
    cells: pd.DataFrame, of_methods: Mapping[str, dict[str, Any]]
) -> list[Line2D]:
    """Entries of the legend: methods by how they look, and references."""
    known = set(cells["method"])
    entries = []
    for method, look in of_methods.items():
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
) -> Ends:
    """A curve for each method, by how it looks; its right end, by name.

    Curves are moved sideways, so that none hides another one.
    """
    ends: Ends = {}
    middle = (len(of_methods) - 1) / 2
    for number, (method, look) in enumerate(of_methods.items()):
        rows = where(cells, method=method)
        rows = rows.sort_values("share")
        if rows.empty:
            continue
        inches = STEP * (number - middle) / 72
        to_right = ScaledTranslation(inches, 0, axis.figure.dpi_scale_trans)
        means = rows["mean"]
        moved = axis.transData + to_right
        line: dict[str, Any] = {"linewidth": 0.9, "transform": moved}
        axis.plot(rows["share"], means, **look | line)
        lows = rows["ci_low"]
        highs = rows["ci_high"]
        colour = look["color"]
        axis.vlines(rows["share"], lows, highs, color=colour, **line)
        ends[method] = float(means.iloc[-1]), colour
    return ends


def _variant_title(variant: str, width: int) -> str:
    """What a panel's training data are, in lines that the panel has room for."""
    words = setting_in_words(variant) if variant else "two environments"
    in_lines = textwrap.fill(words, width)
    return plain(in_lines)
