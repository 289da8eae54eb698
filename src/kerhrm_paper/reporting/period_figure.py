"""Figure 3: errors of house prices by year of construction."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import where
from kerhrm_paper.reporting.figures import (
    DOTS,
    GREY,
    LINE,
    METHODS,
    REFERENCES,
    WIDTH,
    Ends,
    curve,
    finish,
    fit_scale,
    intervals,
    line_entry,
    looks,
    name_ends,
    split_setting,
    style,
    subplots,
)
from kerhrm_paper.reporting.setting_words import setting_in_words

UNTESTED = "pretest=no"  #: mark of KerHRM without its pre-test
#: of curves, which stand beside a narrow panel; else the method
NAMES = {
    "KerHRM (linear predictor)": "KerHRM, linear",
    "KerHRM (first iteration)": "first iteration",
    "KerHRM (as printed)": "as printed",
    "KerHRM (as printed, linear predictor)": "as printed, linear",
    "KerHRM (authors' code)": "authors' code",
}
FEW = 5  #: periods that all have a label
LOWEST = 1e-3  #: of a band: an interval may pass 0, which a logarithmic axis has not


def figure3(cells: pd.DataFrame, mark: str = "") -> Figure:
    """Mean squared error by years of construction, a panel for each variant.

    The axis is log.  The first panel is the paper's if no ``mark`` says otherwise.

    Dashed: KerHRM without its pre-test.  Grey: references that need no predictor.
    """
    cells = split_setting(cells, "period")
    cells = where(cells, metric="mse")
    periods = list(dict.fromkeys(cells["period"]))
    every_variant = dict.fromkeys(cells["variant"])
    tested = [variant for variant in every_variant if UNTESTED not in variant]
    variants = tested or list(every_variant)
    main_title = "no change" if mark else "as in the paper"
    with style():
        size = (WIDTH, 3.4)
        figure, axes = subplots(1, len(variants), figsize=size, sharey=True)
        panels = []
        unchanged = where(cells, variant=variants[0])
        names = [period.replace("-", "\N{EN DASH}\n") for period in periods]
        step = 2 if len(periods) > FEW else 1
        places = range(0, len(periods), step)
        drawn = zip(axes.flat, variants, strict=True)
        for axis, variant in drawn:
            ends = _draw_methods(axis, cells, variant, periods)
            _draw_references(axis, unchanged)
            title = setting_in_words(variant) if variant else main_title
            axis.set_xlabel("years of construction")
            axis.set_title(plain(title))
            axis.set_xticks(places, names[::step])
            panels.append((axis, ends))
        _fit_scales([axis for axis, _ in panels])
        for axis, ends in panels:
            name_ends(axis, ends, 0.055)
        axes.flat[0].set_ylabel("mean squared error\n(variances of the target)")
        known = set(cells["method"])
        entries = []
        for method, (label, line) in REFERENCES.items():
            if method in known:
                entries.append(line_entry(label, line))
        heading = f"bands: {intervals(cells)}"
        finish(figure, entries, heading=heading, columns=3)
    return figure


def _draw_methods(
    axis: Axes, cells: pd.DataFrame, variant: str, periods: list[str]
) -> Ends:
    """A curve for each method of a variant; its right end, by name."""
    ends: Ends = {}
    of_variant = where(cells, variant=variant)
    every_look = looks(cells["method"])
    for method, look in every_look.items():
        name = NAMES.get(method, method)
        rows = where(of_variant, method=method)
        ends |= _draw_curve(axis, rows, periods, name, look)
    untested = f"{variant},{UNTESTED}" if variant else UNTESTED
    rows = where(cells, method="KerHRM", variant=untested)
    look = {"color": METHODS["KerHRM"], "linestyle": "--", **DOTS}
    ends |= _draw_curve(axis, rows, periods, "pre-test off", look)
    return ends


def _draw_curve(
    axis: Axes,
    cells: pd.DataFrame,
    periods: list[str],
    name: str,
    look: Mapping[str, Any],
) -> Ends:
    """A curve over the periods; its right end by name, none without a value."""
    by_period = cells.set_index("period")
    rows = by_period.reindex(periods)
    means = rows["mean"]
    if means.isna().all():
        return {}
    low = rows["ci_low"].clip(LOWEST)
    places = range(len(rows))
    rows = rows.assign(x=places, ci_low=low)
    curve(axis, "x", rows, 0.1, **look)
    last = float(means.iloc[-1])
    return {name: (last, look["color"])}


def _draw_references(axis: Axes, cells: pd.DataFrame) -> None:
    for method, (_, line) in REFERENCES.items():
        means = where(cells, method=method)["mean"]
        if len(means):
            places = range(len(means))
            axis.plot(places, means, color=GREY, linestyle=line, **LINE)


def _fit_scales(axes: list[Axes]) -> None:
    """The same scale for all panels, by the means and not by their intervals."""
    drawn = []
    for axis in axes:
        drawn += [line.get_ydata() for line in axis.lines]
    means = np.concatenate(drawn).astype(float)
    means = means[np.isfinite(means)]
    for axis in axes:
        fit_scale(axis, means, "y")
    lowest = means.min() / 1.3
    highest = means.max() * 1.3
    axes[0].set_ylim(lowest, highest)
