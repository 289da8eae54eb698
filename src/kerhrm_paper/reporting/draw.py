"""Figure 3, figures of the studies, and which figures a table has."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import RESULTS, primary, stand_ins
from kerhrm_paper.reporting import figures
from kerhrm_paper.reporting.figures import GREY, LINE, METHODS, REFERENCES, WIDTH
from kerhrm_paper.reporting.tables import METRICS

BLUE, ORANGE = METHODS["KerHRM"], METHODS["JTT"]
CURVES = {name: METHODS[name] for name in ("ERM", "JTT", "EIIL", "KerHRM")}
UNTESTED = "pretest=no"  #: mark of KerHRM without its pre-test
VERSIONS = {
    "KerHRM (as printed)": "as printed",
    "KerHRM (authors' code)": "authors' code",
    "KerHRM": "our version",
}
LEVELS = {"ERM": ("ERM", "--"), "ref: invariant ceiling": ("bound", ":")}
MODES = 0.7, 0.5  #: accuracies that part the two kinds of runs
DOTS: dict[str, Any] = {"marker": "o", "markersize": 2.5}
MANY = 6  #: changes that make a table a study of changes


def of(cells: pd.DataFrame, scores: pd.DataFrame, mark: str = "") -> list[Figure]:
    """The figures of a table's own, by what its settings and methods are.

    None of most tables.  ``mark`` says how the cells differ from the published ones,
    and stands above every figure.
    """
    found = _figures(cells, scores, mark)
    with figures.style():
        for figure in found:
            figures.finish(figure, [], mark)
    return found


def _figures(cells: pd.DataFrame, scores: pd.DataFrame, mark: str) -> list[Figure]:
    first = str(cells["setting"].iloc[0])
    if first.startswith("iteration="):
        return [figures.figure2(cells)]
    if (
        first.startswith("period=") and "," not in first
    ):  # a variant alone has no main panel
        return [figure3(cells, mark)]
    if "_test=" in first:
        return [shift(cells)]
    if len(set(cells["setting"].str.partition(",")[2])) > MANY:
        return [changes(cells)]
    if {"test_acc", *VERSIONS} <= set(scores["metric"]) | set(scores["method"]):
        return [versions(scores, cells)]
    return []


def figure3(cells: pd.DataFrame, mark: str = "") -> Figure:
    """Mean squared error by year of construction, a panel for each variant.

    The axis is log.  The first panel is the paper's if no ``mark`` says otherwise.

    Dashed: KerHRM without its pre-test.  Grey: references that need no predictor.
    """
    cells = figures.split(cells, "period")
    cells = cells[cells["metric"] == "mse"]
    periods = list(dict.fromkeys(cells["period"]))
    variants = [v for v in dict.fromkeys(cells["variant"]) if UNTESTED not in v]
    with figures.style():
        figure, axes = figures.subplots(
            1, len(variants), figsize=(WIDTH, 3.2), sharey=True
        )
        named = []
        base = "no change" if mark else "as in the paper"
        for axis, variant in zip(axes.flat, variants, strict=True):
            ends: dict[str, tuple[float, str]] = {}
            names = {"KerHRM (linear predictor)": "KerHRM, linear"}
            curves = [
                (method, variant, "-", names.get(method, method)) for method in METHODS
            ]
            off = ",".join(filter(None, (variant, UNTESTED)))
            curves.append(("KerHRM", off, "--", "pre-test off"))
            for method, place, line, name in curves:
                rows = cells[(cells["method"] == method) & (cells["variant"] == place)]
                rows = rows.set_index("period").reindex(periods)
                if rows["mean"].notna().any():
                    rows = rows.assign(
                        x=range(len(rows)), ci_low=rows["ci_low"].clip(1e-3)
                    )
                    own = {**DOTS, "color": METHODS[method], "linestyle": line}
                    figures.curve(axis, "x", rows, 0.1, **own)
                    ends[name] = float(rows["mean"].iloc[-1]), METHODS[method]
            for method, (_, line) in REFERENCES.items():
                rows = cells[(cells["method"] == method) & (cells["variant"] == "")]
                if len(rows):
                    axis.plot(
                        range(len(rows)),
                        rows["mean"],
                        color=GREY,
                        linestyle=line,
                        **LINE,
                    )
            axis.set(xlabel="built", title=plain(variant or base))
            axis.set_xticks(range(0, len(periods), 2), [p[:4] for p in periods[::2]])
            named.append((axis, ends))
        drawn = [line.get_ydata() for axis in axes.flat for line in axis.lines]
        means = np.concatenate(drawn).astype(float)
        means = means[np.isfinite(means)]
        for axis in axes.flat:
            figures.fit_scale(axis, means, "y")
        axes.flat[0].set_ylim(means.min() / 1.3, means.max() * 1.3)
        for axis, ends in named:
            _name(axis, ends, 0.055)
        axes.flat[0].set_ylabel("mean squared error")
        known = set(cells["method"])
        entries = [
            figures.line_entry(*one) for m, one in REFERENCES.items() if m in known
        ]
        heading = f"bands: {figures.intervals(cells)}"
        figures.finish(figure, entries, heading=heading, columns=3)
    return figure


def changes(cells: pd.DataFrame) -> Figure:
    """Result of KerHRM, else of the first method, as it is and with each change, by
    setting."""
    cells = cells[primary(cells)]
    metric = next(name for name in RESULTS if name in set(cells["metric"]))
    parts = cells["setting"].str.partition(",")
    cells = cells.assign(base=parts[0], change=parts[2])[cells["metric"] == metric]
    methods = [
        m for m in dict.fromkeys(cells["method"]) if m not in LEVELS and "ref:" not in m
    ]
    outputs = {"KerHRM": (BLUE, "o"), "KerHRM (linear predictor)": (ORANGE, "D")}
    looks = [("network", BLUE, "o"), ("linear predictor", ORANGE, "D")]
    if "KerHRM" not in methods:
        outputs, looks = {methods[0]: (BLUE, "o")}, []
    rows = [next(iter(outputs)), *filter(None, dict.fromkeys(cells["change"]))]
    others = [m for m in methods if m not in outputs]
    bases = list(dict.fromkeys(cells["base"]))
    with figures.style():
        size = WIDTH, 1.1 + 0.19 * (len(rows) + len(others))
        figure, axes = figures.subplots(
            1, len(bases), figsize=size, sharex=True, sharey=True
        )
        for axis, base in zip(axes.flat, bases, strict=True):
            here = cells[cells["base"] == base]
            for method, (_, line) in LEVELS.items():
                for value in here.loc[here["method"] == method, "mean"]:
                    axis.axvline(
                        value, color=GREY, linestyle=line, linewidth=1, zorder=0
                    )
            for row in here.itertuples():
                colour, marker = outputs.get(str(row.method), ("black", "s"))
                if row.method in outputs:
                    y = float(rows.index(str(row.change) or rows[0]))
                    y += 0.15 * (
                        2 * [*outputs].index(str(row.method)) - len(outputs) + 1
                    )
                elif row.method in others:
                    y = len(rows) + others.index(str(row.method))
                else:
                    continue
                axis.plot([row.ci_low, row.ci_high], [y, y], color=colour, linewidth=1)
                axis.plot(row.mean, y, marker, color=colour, markersize=3)
            axis.set_title(plain(base))
            axis.grid(axis="x")
            axis.locator_params(axis="x", nbins=3)
            if metric.endswith("acc"):
                axis.set(xlim=(0, 1), xticks=[0, 0.5, 1], xticklabels=["0", ".5", "1"])
        figures.name_rows(
            axes.flat[0], [name.replace(",", ", ") for name in (*rows, *others)]
        )
        entries = [figures.entry(*one) for one in looks]
        entries += [
            figures.line_entry(*LEVELS[m]) for m in LEVELS if m in set(cells["method"])
        ]
        heading = f"{METRICS.get(metric, metric)}; bars: {figures.intervals(cells)}"
        figures.finish(figure, entries, heading=heading)
    return figure


def shift(cells: pd.DataFrame) -> Figure:
    """Test accuracy over the share of test rows whose spurious feature agrees with the
    label.

    A panel for each training distribution; of Colored MNIST the share is one minus
    ``e_test``.
    """
    cells = cells[primary(cells)]
    parts = cells["setting"].str.extract(
        r"(?P<name>\w_test)=(?P<share>[\d.]+),?(?P<variant>.*)"
    )
    colours = parts["name"] == "e_test"
    share = parts["share"].astype(float)
    share = share.mask(colours, 1 - share)
    cells = cells.assign(share=share, variant=parts["variant"])
    images = "coloured stand-ins" if stand_ins(cells[colours]) else "Colored MNIST"
    data = np.where(colours, images, "synthetic")
    panels = list(cells.groupby([data, "variant"], sort=False))
    columns = 4 if len(panels) > 3 else len(panels)
    rows = -(-len(panels) // columns)
    with figures.style():
        figure, grid = figures.subplots(
            rows,
            columns,
            figsize=(WIDTH, 0.6 + 1.55 * rows),
            sharex=True,
            sharey=True,
        )
        for unused in grid.flat[len(panels) :]:
            unused.remove()
        labelled = []
        for number, (axis, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            (name, variant), own = panel
            ends: dict[str, tuple[float, str]] = {}
            for method, colour in CURVES.items():
                here = own[own["method"] == method].sort_values("share")
                if len(here):
                    figures.curve(axis, "share", here, color=colour, **DOTS)
                    ends[method] = float(here["mean"].iloc[-1]), colour
            variant = variant.replace("environments=one", "single").replace(",", ", ")
            axis.set_title(
                f"{name}\n{plain(variant or 'two environments')}", loc="left"
            )
            if number % columns == columns - 1 or number == len(panels) - 1:
                labelled.append((axis, ends))
        for axis in grid[:, 0]:
            axis.set(ylabel="test accuracy", ylim=(0, 1.02), xlim=(0, 1))
            axis.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        for axis, ends in labelled:
            _name(axis, ends)
        text = "share of test rows whose spurious feature agrees with the label"
        figure.supxlabel(
            f"{text}\nbands: {figures.intervals(cells)}", fontsize="medium"
        )
    return figure


def versions(scores: pd.DataFrame, cells: pd.DataFrame) -> Figure:
    """Test accuracy of every run of the three versions of KerHRM, all settings of a
    table.

    The bar is the mean, the cross the mean of what the paper prints.
    """
    scores = scores[primary(scores) & (scores["metric"] == "test_acc")]
    printed = cells[(cells["metric"] == "test_acc") & (cells["method"] == "KerHRM")][
        "paper"
    ]
    with figures.style():
        figure, grid = figures.subplots(1, 1, figsize=(WIDTH, 2.3))
        axis = grid[0, 0]
        names: list[str] = []
        for y, (method, name) in enumerate(VERSIONS.items()):
            values = np.sort(scores.loc[scores["method"] == method, "value"].dropna())
            heights = y + 0.3 * (np.arange(len(values)) * 0.618 % 1 - 0.5)
            axis.plot(
                values,
                heights,
                "o",
                color=BLUE,
                alpha=0.4,
                markersize=2.5,
                linestyle="",
            )
            axis.plot([values.mean()] * 2, [y - 0.25, y + 0.25], color="black")
            axis.plot(printed.mean(), y, "x", color="black", markersize=5)
            high, low = (values >= MODES[0]).mean(), (values < MODES[1]).mean()
            names.append(
                f"{name}\n{high:.0%} reach {MODES[0]}, {low:.0%} below {MODES[1]}"
            )
        for method, (label, line) in LEVELS.items():
            level = scores.loc[scores["method"] == method, "value"].mean()
            axis.axvline(level, color=GREY, linestyle=line, linewidth=1, zorder=0)
            axis.annotate(
                label,
                (level, 1.0),
                xycoords=axis.get_xaxis_transform(),
                ha="center",
                va="bottom",
                fontsize=8,
                color=GREY,
            )
        figures.name_rows(axis, names)
        cross = ", cross: paper" if printed.notna().any() else ""
        axis.set(xlabel=f"test accuracy; dots: runs, bar: mean{cross}", xlim=(0, 1))
        axis.grid(axis="x")
    return figure


def _name(axis: Axes, ends: Mapping[str, tuple[float, str]], gap: float = 0.11) -> None:
    """Names of curves at their right ends, apart from each other; ``ends``: value and
    colour."""
    to_axes = axis.transAxes.inverted()
    places = {
        name: to_axes.transform(axis.transData.transform((0.0, value)))[1]
        for name, (value, _) in ends.items()
    }
    at: Sequence[str] = sorted(places, key=lambda name: places[name])
    lowest = np.arange(len(at)) * gap
    heights = (
        np.maximum.accumulate(np.array([places[name] for name in at]) - lowest) + lowest
    )
    heights -= np.clip(heights.max(initial=0) - 1, 0, None)
    for name, height in zip(at, heights, strict=True):
        axis.annotate(
            name,
            (1.04, height),
            xycoords=axis.transAxes,
            color=ends[name][1],
            fontsize=7.5,
            va="center",
            annotation_clip=False,
        )
