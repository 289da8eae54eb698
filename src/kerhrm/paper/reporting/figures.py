"""The figures, drawn from the cells of tables: Figures 2 and 3, seeds, effects of choices."""

import textwrap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from kerhrm.paper.evaluation.statistics import LEVEL
from kerhrm.paper.evaluation.tables import RESULTS, primary
from kerhrm.paper.reporting.tables import METRICS, escape, results_of
from kerhrm.paper.runs.arrays import atomic

Look = dict[str, Any]  #: keywords of ``Axes.plot``
#: inches; the text width of the paper's style
WIDTH = 5.5
# By search: dark and light in turn, neighbours at least 3:1 and all so against white (the tests
# measure it), no two closer than 15 (CIEDE2000) for any kind of colour blindness.
COLOURS = (
    "#000000", "#B46996", "#0F3C0F", "#A578FF", "#4B2D4B", "#FF2D00", "#0000C3", "#4B9669",
)  # fmt: skip
MARKERS = ("o", "v", "^", "<", "s", "D", "P", "X")
LINES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (2.5, 1)), (0, (8, 2)),
    (0, (9, 1)), (0, (1, 2.5)),
)  # fmt: skip
#: methods that look the same in every figure; the first seven are those of the paper's Figure 3
METHODS = (
    "ERM", "DRO", "EIIL", "HRM", "IRM", "KerHRM (first iteration)", "KerHRM",
    "KerHRM (linear predictor)", "KerHRM (as printed)", "KerHRM (authors' code)",
    "KerHRM (as printed, linear predictor)",
)  # fmt: skip
LINE: Look = {"linewidth": 1, "zorder": 1}  #: of references
GREY, FAINT = "0.42", "0.57"  #: of lines and words that are no method's, and of ERM behind others
#: of files that may hold no date and no version, by format
METADATA: dict[str, Sequence[str]] = {
    "png": ["Software"], "pdf": ["Creator", "Producer", "CreationDate"]
}  # fmt: skip


def look_of(method: str) -> Look:
    """The look of a method, the same in every figure; grey, if it is none of :data:`METHODS`."""
    if method not in METHODS:
        return look(GREY, "d", ":")
    again, number = divmod(METHODS.index(method), len(COLOURS))
    shifted = (number + again) % len(COLOURS)
    return look(COLOURS[number], MARKERS[shifted], LINES[shifted])


def look(colour: str, marker: str, line: Any = "") -> Look:
    """What tells a method from the others."""
    return {"color": colour, "marker": marker, "linestyle": line}


def style() -> AbstractContextManager[None]:
    """The project's matplotlib style; a backend that is interactive stays so."""
    return plt.style.context(str(files("kerhrm.paper.reporting") / "figures.mplstyle"))


def save(figure: Figure, stem: str | Path) -> None:
    """Write ``stem``.png and .pdf, the same bytes for the same figure."""
    with style():
        for ending, metadata in METADATA.items():
            with atomic(f"{stem}.{ending}") as handle:
                figure.savefig(handle, format=ending, metadata=dict.fromkeys(metadata))


#: Figure 2's curves, with their names in the legend
CURVES = {
    "train_acc": ("training accuracy", look(COLOURS[5], "o", (0, (4, 1.5)))),
    "test_acc": ("test accuracy", look(COLOURS[6], "s", "-")),
    "d_kl": ("KL divergence", look(COLOURS[2], "D", "-")),
}
#: references that are lines of the figures of seeds and of house prices, with their names there
REFERENCES = {
    "ref: predict zero": ("predict zero", ":"),
    "ref: least squares on S": ("S only", "-."),
    "ref: invariant ceiling": ("S only", "-."),
    "ref: least squares": ("least squares", "-."),
    "ref: each period's own mean": ("each period's own mean", ":"),
}
CEILING = 0.8  #: accuracy of a perfect invariant model
#: Figure 2's columns, the method of each
VERSIONS = {"KerHRM (linear predictor)": "our version", "KerHRM (authors' code)": "authors' code"}
#: panels of further versions in Figure 3: linear predictor and network of each
PAIRS = {
    "our version": ("KerHRM (linear predictor)", "KerHRM"),
    "as printed": ("KerHRM (as printed, linear predictor)", "KerHRM (as printed)"),
}


def figure2(cells: pd.DataFrame, title: str = "") -> Figure:
    """Accuracy, and below it the divergence of the environments, over ``iteration=0``, ...

    A column for each of :data:`VERSIONS` that has cells; both begin with ERM on the reduced
    features.
    """
    cells = _split(cells, "t").astype({"t": int})
    versions = [name for name in VERSIONS if name in set(cells["method"])]
    spans = [cells.loc[cells["method"] == name, "t"].max() + 2 for name in versions]
    with style():
        figure, grid = plt.subplots(
            2, len(versions), figsize=(WIDTH, 3.7), sharex="col", sharey="row", squeeze=False,
            height_ratios=(1.6, 1), width_ratios=np.clip(spans, max(spans) / 2, None),
        )  # fmt: skip
        for name, (above, below) in zip(versions, grid.T, strict=True):
            begin = (cells["t"] == 0) & (cells["method"] == versions[0])
            drawn = cells[begin | (cells["method"] == name)].sort_values("t")
            for metric, (label, own) in CURVES.items():
                axis, rows = below if metric == "d_kl" else above, drawn[drawn["metric"] == metric]
                axis.fill_between("t", "ci_low", "ci_high", data=rows, color=own["color"],
                                  alpha=0.16, linewidth=0)  # fmt: skip
                axis.plot("t", "mean", data=rows, label=label, markersize=3.5, **own)
            for value in drawn.loc[(drawn["t"] == 0) & (drawn["metric"] == "test_acc"), "mean"]:
                above.annotate("ERM", (0, value), (5, 0), textcoords="offset points", va="center",
                               fontsize=8, color=GREY)  # fmt: skip
            above.axhline(0.5, color=GREY, linestyle=":", linewidth=1, label="chance")
            label = "perfect invariant model"
            above.axhline(CEILING, color=GREY, linestyle="-.", linewidth=1, label=label)
            above.set_title(VERSIONS[name], loc="left")
            below.set_xlabel("iteration")
            below.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
            above.tick_params(labelbottom=False)
        above, below = grid[0, 0], grid[1, 0]
        above.set(ylabel="accuracy", ylim=(0, 1))
        below.set_ylabel("KL divergence\nof P(Y | C) (nats)")
        below.set_ylim(0, 1.15 * max(axis.dataLim.y1 for axis in grid[1]))  # room for markers
        _finish(figure, above.get_legend_handles_labels()[0], title, f"bands: {intervals(cells)}")
    return figure


def figure3(cells: pd.DataFrame, title: str = "") -> Figure:
    """Mean squared error in every period of construction.

    Above, the paper's methods.  Below, a panel for each version and variant of KerHRM; the solid
    grey line is ERM of the same variant or, where none was trained, of that with fewer marks.
    """
    cells = _split(cells, "period")
    cells = cells[cells["metric"] == "mse"]
    main = _of(cells, "", METHODS[:7])
    erm = cells[cells["method"] == "ERM"]
    panels = [(label, "", pair) for label, pair in PAIRS.items()]
    variants = filter(None, dict.fromkeys(cells["variant"]))
    panels += [(v.replace(",", ", "), v, PAIRS["our version"]) for v in variants]
    panels = [panel for panel in panels if len(_of(cells, *panel[1:]))]
    looks = (look_of("KerHRM (linear predictor)"), look_of("KerHRM"))
    rows = -(-len(panels) // 3)
    names = [str(n) if n < len(panels) else "." for n in range(3 * rows)]
    layout: list[Any] = [["main"] * 3, *(names[3 * row : 3 * row + 3] for row in range(rows))]
    with style():
        figure, axes = plt.subplot_mosaic(
            layout, figsize=(WIDTH, 3.4 + 1.4 * rows), sharey=True,
            height_ratios=[2.2, *[1] * rows],
        )  # fmt: skip
        axis = axes["main"]
        present = set(main.loc[main["mean"].notna(), "method"])
        _draw_references(axis, cells, "")
        _draw_periods(axis, main, {m: look_of(m) for m in METHODS if m in present})
        axis.set(ylabel="mean squared error", xlabel="year of construction")
        axis.annotate("trained on", (0, 0.99), xycoords=axis.get_xaxis_transform(),
                      ha="center", va="top", fontsize=8, color=GREY)  # fmt: skip
        axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        for number, (label, variant, pair) in enumerate(panels):
            axis, drawn = axes[str(number)], _of(cells, variant, pair)
            line = _nearest(cells, variant, "ERM")["mean"].to_numpy()
            axis.plot(range(len(line)), line, color=FAINT, linewidth=1.2, zorder=1, label="ERM")
            _draw_references(axis, cells, variant)
            short = dict(zip(pair, ("linear predictor", "network"), strict=True))
            _draw_periods(axis, drawn, dict(zip(pair, looks, strict=True)), short)
            axis.set_title(textwrap.fill(escape(label, "matplotlib"), 24), loc="left")
            periods = list(dict.fromkeys(drawn["period"]))
            axis.set_xticks(range(0, len(periods), 2), [p.partition("-")[0] for p in periods[::2]])
            axis.tick_params(labelleft=number % 3 == 0)
        shown = pd.concat([main, erm, *(_of(cells, *panel[1:]) for panel in panels)])
        _limit(axes["main"], shown)
        entries = axes["0"].get_legend_handles_labels()[0] if panels else []
        _finish(figure, entries, title, f"error bars: {intervals(shown)}; small panels:")
    return figure


def seeds(scores: pd.DataFrame, cells: pd.DataFrame, title: str = "") -> Figure:
    """Every seed's training and test result, their mean, and the paper's value.

    A panel for each setting, a row for each method; rows chosen by the methods' own criteria.
    """
    scores = scores[primary(scores)]
    metrics = [m for m in ("train_acc",) if m in set(scores["metric"])] + results_of(scores)
    scores = scores[scores["metric"].isin(metrics)]
    kinds = [(COLOURS[6], "s"), (COLOURS[3], "v")]
    results = [m for m in metrics if m != "train_acc"]
    looks = {"train_acc": (COLOURS[5], "o"), **dict(zip(results, kinds, strict=False))}
    settings, methods = (list(dict.fromkeys(scores[c])) for c in ("setting", "method"))
    lines = [method for method in methods if method in REFERENCES]
    methods = [method for method in methods if method not in lines]
    printed = cells[primary(cells)].set_index(["setting", "method", "metric"])["paper"].dropna()
    columns = min(len(settings), 3)
    rows = -(-len(settings) // columns)
    with style():
        figure, grid = plt.subplots(
            rows, columns, squeeze=False, sharex=True, sharey=True,
            figsize=(2.4 + 2.7 * columns, 1 + rows * (0.5 + 0.27 * len(methods))),
        )  # fmt: skip
        for unused in grid.flat[len(settings) :]:
            unused.remove()
        for axis, setting in zip(grid.flat, settings, strict=False):
            here = scores[scores["setting"] == setting]
            for method in lines:
                level = here[(here["method"] == method) & (here["metric"] == results[0])]["value"]
                axis.axvline(level.mean(), color=GREY, **LINE, linestyle=REFERENCES[method][1])
            here = here[here["method"].isin(methods)]
            for (method, metric), group in here.groupby(["method", "metric"], sort=False):
                shift = 0.4 * ((metrics.index(metric) + 0.5) / len(metrics) - 0.5)
                y, values = methods.index(method) + shift, group["value"].to_numpy()
                colour, marker = looks[metric]
                if failed := int(np.isnan(values).sum()):
                    text, where = f"{failed} of {len(values)} seeds failed", (0.02, y)
                    axis.annotate(text, where, xycoords=axis.get_yaxis_transform(),
                                  color=COLOURS[4], fontsize=8, va="center")  # fmt: skip
                heights = y + np.linspace(-0.06, 0.06, len(values))
                axis.plot(values, heights, marker, markersize=2.5, alpha=0.45, color=colour)
                # as in the table, no mean of the seeds that succeeded
                axis.plot(values.mean(), y, "|", color=colour, markersize=8, markeredgewidth=1.8)
                paper = printed.get((setting, method, metric), np.nan)
                axis.plot(paper, y, "x", color="black", markersize=5, zorder=3)
            axis.set_title(escape(setting, "matplotlib"))
            axis.grid(axis="x")
            _name_rows(axis, methods)
            fit_scale(axis, scores["value"].to_numpy(), "x")
            axis.tick_params(labelbottom=True)
            label = " and ".join(METRICS.get(m, m) for m in metrics)
            axis.set_xlabel(textwrap.fill(label, 40))
        entries = [entry(f"{METRICS.get(m, m)}, one seed", *looks[m]) for m in metrics]
        entries += [entry("mean over seeds", "0.3", "|"), entry("paper", "black", "x")]
        entries += [line_entry(*REFERENCES[method]) for method in lines]
        _finish(figure, entries, title)
    return figure


def effects(choices: pd.DataFrame, title: str = "") -> Figure:
    """Difference and 95 % interval of every alternative less the default, by data set.

    Filled markers: the difference is significant at 5 % after Holm's correction.  Of the houses the
    mean of the later periods is shown.
    """
    later = ~choices["setting"].str.startswith("period=") | (choices["setting"] == "period=later")
    shown = choices[choices["metric"].isin(RESULTS) & later]
    names = list(dict.fromkeys(shown["alternative"]))
    methods = [m for m in METHODS if m in set(shown["method"])]
    data = list(dict.fromkeys(shown["data"]))
    with style():
        inches = 2.6 + 2.3 * len(data), 1.6 + 0.19 * len(names)
        figure, grid = plt.subplots(1, len(data), figsize=inches, squeeze=False, sharey=True)
        for axis, one in zip(grid.flat, data, strict=True):
            here = shown[shown["data"] == one]
            for row in here[here["method"].isin(methods)].itertuples():
                shift = 0.6 * (methods.index(row.method) / len(methods) - 0.4)
                y, own = names.index(row.alternative) + shift, look_of(row.method)
                fill = own["color"] if row.p_holm <= LEVEL else "white"
                axis.plot([row.ci_low, row.ci_high], [y, y], "-", color=own["color"],
                          linewidth=0.8, zorder=1)  # fmt: skip
                axis.plot(row.difference, y, markersize=3.5, markerfacecolor=fill,
                          **own | {"linestyle": ""})  # fmt: skip
            axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
            axis.grid(axis="x")
            metric = str(here["metric"].iloc[0])
            label = f"change of the\n{METRICS.get(metric, metric)}"
            axis.set(title=escape(one, "matplotlib"), xlabel=label)
        _name_rows(grid.flat[0], names)
        entries = [entry(m, look_of(m)["color"], look_of(m)["marker"]) for m in methods]
        heading = "bars: 95 % intervals; filled: significant after Holm's correction"
        _finish(figure, entries, title, heading)
    return figure


def _draw_references(axis: Axes, cells: pd.DataFrame, variant: str) -> None:
    """Errors that need no method: lines over the periods."""
    for method, (name, line) in REFERENCES.items():
        rows = _nearest(cells, variant, method)
        if len(rows):
            axis.plot(
                range(len(rows)), rows["mean"], color=GREY, linestyle=line, label=name, **LINE
            )


def _draw_periods(
    axis: Axes, cells: pd.DataFrame, looks: Mapping[str, Look],
    names: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Means and intervals of every method, side by side within a period."""
    periods = list(dict.fromkeys(cells["period"]))
    reach = 0.36 if len(looks) > 3 else 0.15
    shifts = np.linspace(-reach, reach, len(looks)) if len(looks) > 1 else [0.0]
    for (method, own), shift in zip(looks.items(), shifts, strict=True):
        rows = cells[cells["method"] == method].set_index("period").reindex(periods)
        x, mean = np.arange(len(periods)) + shift, rows["mean"].to_numpy()
        reaches = np.abs(rows[["ci_low", "ci_high"]].to_numpy().T - mean)
        axis.errorbar(x, mean, reaches, linewidth=0.6, elinewidth=1.1, markersize=4,
                      label=(names or {}).get(method, method), **own)  # fmt: skip
    axis.axvline(0.5, color=GREY, linestyle=(0, (3, 2)), linewidth=0.8, zorder=0)
    for number in range(1, len(periods) - 1):
        axis.axvline(number + 0.5, color="0.9", linewidth=0.6, zorder=0)
    axis.set_xlim(-0.5, len(periods) - 0.5)
    axis.set_xticks(range(len(periods)), [p.replace("-", "\N{EN DASH}") for p in periods])


def _limit(axis: Axes, cells: pd.DataFrame) -> None:
    """Room for all means and intervals; on a logarithmic axis an interval may reach to zero."""
    cells = cells[cells["mean"].notna()]
    fit_scale(axis, cells["mean"].to_numpy(), "y")
    if len(cells):
        ends = cells[["ci_low", "mean", "ci_high"]].to_numpy()
        linear = axis.get_yscale() == "linear"
        bottom = 0 if linear else 0.85 * ends[ends > 0.3 * cells["mean"].min()].min()
        axis.set_ylim(bottom, (1.1 if linear else 1.3) * np.nanmax(ends))


def _of(cells: pd.DataFrame, variant: str, methods: Sequence[str]) -> pd.DataFrame:
    return cells[(cells["variant"] == variant) & cells["method"].isin(methods)]


def _nearest(cells: pd.DataFrame, variant: str, method: str) -> pd.DataFrame:
    """Rows of a method in a variant, or in that without its last marks where there are none."""
    while variant and not len(_of(cells, variant, [method])):
        variant = variant.rpartition(",")[0]
    return _of(cells, variant, [method])


def _split(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """Primary rows; ``period=1940-1959,clip=train`` is 1940-1959 of the variant clip=train."""
    cells = cells[primary(cells)]
    parts = cells["setting"].str.partition(",")
    return cells.assign(**{name: parts[0].str.partition("=")[2], "variant": parts[2]})


def fit_scale(axis: Axes, values: np.ndarray, which: str) -> None:
    """Make an axis logarithmic if linear would squeeze the small values."""
    finite = values[np.isfinite(values)]
    if len(finite) and finite.min() > 0 and finite.max() > 12 * finite.min():
        axis.set(**{f"{which}scale": "log"})
        ticks = axis.xaxis if which == "x" else axis.yaxis
        ticks.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ticks.set_major_formatter(StrMethodFormatter("{x:g}"))
        ticks.set_minor_formatter(NullFormatter())


def intervals(cells: pd.DataFrame) -> str:
    """What error bars show, with the numbers of seeds."""
    seeds = " or ".join(str(n) for n in sorted(set(cells["n_seeds"])))
    return f"95 % intervals of the mean over {seeds} seeds"


def entry(label: str, colour: str, marker: str) -> Line2D:
    """A marker's entry in a legend."""
    return Line2D([], [], label=label, markersize=4, **look(colour, marker))


def line_entry(label: str, line: Any) -> Line2D:
    """A reference's entry in a legend."""
    return Line2D([], [], label=label, color=GREY, linestyle=line, **LINE)


def _name_rows(axis: Axes, names: Sequence[str]) -> None:
    """Names beside the rows of a figure, from top to bottom."""
    axis.set_yticks(range(len(names)), [escape(name, "matplotlib") for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)


def _finish(figure: Figure, entries: Sequence[Any], title: str, heading: str | None = None) -> None:
    """A legend below, if there are entries, and a title of as many lines as the width asks for."""
    if entries:
        figure.legend(handles=entries, loc="outside lower center", ncols=4, title=heading)
    if title:
        characters = int(figure.get_figwidth() * 72 / (0.55 * mpl.rcParams["font.size"]))
        figure.suptitle(textwrap.fill(escape(title, "matplotlib"), characters))
