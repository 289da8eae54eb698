"""Every method by table: its difference from the paper."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm_paper.evaluation.bands import UNPRINTED
from kerhrm_paper.evaluation.tables import where
from kerhrm_paper.reporting.figures import (
    WIDTH,
    entitle,
    entry,
    finish,
    name_rows,
    style,
    subplots,
)

#: colour and marker of an outcome
LOOKS = {
    "better": ("#0072B2", "^"),
    "reproduced": ("#009E73", "s"),
    "worse": ("#D55E00", "v"),
    "open": ("#000000", "o"),
    UNPRINTED: ("#CC79A7", "D"),
    "not comparable": ("0.6", "o"),
}
#: among three versions the last one needs a word
KERHRM, OUR_VERSION = "KerHRM", "KerHRM (our version)"
#: words in the place of a mark
NOT_COMPARED: dict[str, Any] = {
    "color": "0.42",
    "fontsize": 8,
    "ha": "center",
    "va": "center",
}


def endpoints(tests: pd.DataFrame) -> Figure:
    """Difference of the mean over a table's settings from the paper's, with its 95 %
    interval.

    ``tests`` are of :func:`kerhrm_paper.evaluation.endpoints.endpoints`.  Better is to
    the right in every panel: the axis of an error runs the other way.  The shaded part
    is the margin; the thick part of an interval is what is left if the paper's mean has
    no error.  A pale bar goes from the lowest to the highest mean over constants that
    the paper does not print, where these are known.  Parts of tables, and tables
    without any number, as of stand-ins, are left out.  Where the paper has no number of
    the same kind, as of a method that it does not name, words are in the mark's place.
    """
    parts = tests["part"].fillna("")
    tests = tests[parts == ""]
    if "lowest" not in tests:  # of a run from before there was a band
        tests = tests.assign(lowest=np.nan, highest=np.nan)
    is_number = tests["mean"].notna()
    by_table = is_number.groupby(tests["table"])
    has_numbers = by_table.transform("any")
    if has_numbers.any():
        tests = tests[has_numbers]
    methods = list(dict.fromkeys(tests["method"]))
    tables = list(dict.fromkeys(tests["table"]))
    lowest = tests["lowest"]
    has_band = lowest.notna().any()
    margins = 1.65 if has_band else 1.35
    height = margins + 0.22 * len(methods)
    with style():
        size = (WIDTH, height)
        n_tables = len(tables)
        figure, axes = subplots(1, n_tables, figsize=size, sharey=True)
        panels = zip(axes.flat, tables, strict=True)
        for axis, table in panels:
            rows = where(tests, table=table)
            _draw_tests(axis, rows, methods)
            metrics = rows["metric"]
            metric = metrics.iloc[0]
            entitle(axis, table, metric)
        first_axis = axes.flat[0]
        names = [OUR_VERSION if method == KERHRM else method for method in methods]
        name_rows(first_axis, names)
        known = set(tests["outcome"])
        entries = []
        for outcome, (colour, marker) in LOOKS.items():
            if outcome in known:
                mark = entry(outcome, colour, marker)
                entries.append(mark)
        heading = "difference from the paper, right is better\n"
        heading += "bars: 95 % intervals, thick: if the paper's mean has no error\n"
        heading += "reproduced: bar within the shaded margin; open: no test decides"
        if has_band:
            heading += "\npale bar: means over the constants that are not printed,"
            heading += "\nwhose intervals give the mark beside it"
        heading += _selections(tests)
        n_columns = min(len(entries), 4)
        finish(figure, entries, heading=heading, columns=n_columns)
    return figure


def _selections(tests: pd.DataFrame) -> str:
    """Lines that say what chose the options: in most rows, and in those of the other
    methods; none where no row has a number."""
    tests = tests.dropna(subset=["selection", "mean"])
    if tests.empty:
        return ""
    selections = tests["selection"]
    usual = selections.mode()[0]
    others = tests[selections != usual]
    different = others.drop_duplicates(["method", "selection"])
    lines = f"\noptions chosen by {usual}"
    if not different.empty:
        names = different["method"] + ": " + different["selection"]
        lines += f";\n{'; '.join(names)}"
    return lines


def _draw_tests(axis: Axes, tests: pd.DataFrame, methods: list[str]) -> None:
    """Margin, difference and interval of every method in a table."""
    axis.axvline(0, color="0.5", linewidth=0.8, zorder=1)
    measured = tests.dropna(subset="mean")
    compared = set(measured["method"])
    for y, method in enumerate(methods):
        if method not in compared:
            transform = axis.get_yaxis_transform()
            axis.text(0.5, y, "not compared", transform=transform, **NOT_COMPARED)
    for test in measured.itertuples():
        outcome = str(test.outcome)
        colour, marker = LOOKS[outcome]
        y = methods.index(str(test.method))
        heights = [y, y]
        row = [y - 0.5, y + 0.5]
        margin = test.margin
        axis.fill_betweenx(row, -margin, margin, color="0.92", linewidth=0, zorder=0)
        if np.isfinite(test.lowest):
            low = test.lowest - test.paper
            high = test.highest - test.paper
            axis.hlines(y, low, high, color=colour, linewidth=5, alpha=0.3, zorder=1.5)
        interval = [test.ci_low, test.ci_high]
        axis.plot(interval, heights, color=colour, linewidth=0.9)
        exact = [test.ci_low_exact, test.ci_high_exact]
        axis.plot(exact, heights, color=colour, linewidth=2.4)
        axis.plot(test.difference, y, marker, color=colour, markersize=4.5)
