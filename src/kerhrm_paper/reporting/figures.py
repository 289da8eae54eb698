"""Figures of tables: style, Figure 2, every seed."""

import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from kerhrm.files import atomic
from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import primary
from kerhrm_paper.reporting.tables import METRICS, results_of

#: inches; the text width of the paper's style
WIDTH = 5.5
#: colours of methods, the same in every figure (Okabe and Ito 2008)
METHODS = {
    "ERM": "#000000",
    "DRO": "#E69F00",
    "EIIL": "#009E73",
    "HRM": "#CC79A7",
    "IRM": "#56B4E9",
    "JTT": "#D55E00",
    "KerHRM": "#0072B2",
    "KerHRM (linear predictor)": "#D55E00",
}
LINE: dict[str, Any] = {"linewidth": 1, "zorder": 1}  #: of references
GREY = "0.42"  #: of lines and words that are no method's
#: of files that may hold no date and no version, by format
METADATA = {"png": ["Software"], "pdf": ["Creator", "Producer", "CreationDate"]}


def style() -> AbstractContextManager[None]:
    """The project's matplotlib style, over matplotlib's own and not the user's."""
    own = str(files("kerhrm_paper.reporting") / "figures.mplstyle")
    return matplotlib.style.context(["default", own])


def subplots(
    rows: int, columns: int, *, figsize: tuple[float, float], **shared: Any
) -> tuple[Figure, Any]:
    """A figure with a grid of axes (rows, columns), whatever the user's backend is."""
    figure = Figure(figsize=figsize)
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def save(figure: Figure, stem: str | Path) -> None:
    """Write ``stem``.png and .pdf, the same bytes for the same figure."""
    with style():
        for ending, metadata in METADATA.items():
            with atomic(f"{stem}.{ending}") as handle:
                figure.savefig(handle, format=ending, metadata=dict.fromkeys(metadata))


def save_png(figure: Figure, path: str | Path, dpi: int = 150) -> None:
    """Write a PNG, the same bytes for the same figure."""
    with style(), atomic(path) as handle:
        figure.savefig(
            handle,
            format="png",
            dpi=dpi,
            metadata=dict.fromkeys(METADATA["png"]),
        )


#: Figure 2's curves: name in the legend, colour, marker, line
CURVES: dict[str, tuple[str, str, str, Any]] = {
    "train_acc": ("training accuracy", "#E69F00", "o", (0, (4, 1.5))),
    "test_acc": ("test accuracy", "#0072B2", "s", "-"),
    "d_kl": ("KL divergence", "#009E73", "D", "-"),
}
#: references that are lines of the figures of seeds and of house prices, with their
#: names there
REFERENCES = {
    "ref: predict zero": ("predict zero", ":"),
    "ref: least squares on S": ("S only", "-."),
    "ref: invariant ceiling": ("S only", "-."),
    "ref: least squares": ("least squares", "-."),
    "ref: each period's own mean": ("each period's own mean", ":"),
}
#: Figure 2's columns, the method of each
VERSIONS = {
    "KerHRM (linear predictor)": "our version",
    "KerHRM (authors' code)": "authors' code",
}


def figure2(cells: pd.DataFrame) -> Figure:
    """Accuracy, and below it the divergence of the environments, over ``iteration=0``,
    ...

    A column for each of :data:`VERSIONS` that has cells; both begin with ERM on the
    reduced features.
    """
    cells = split(cells, "t").astype({"t": int})
    versions = [name for name in VERSIONS if name in set(cells["method"])]
    spans = [cells.loc[cells["method"] == name, "t"].max() + 2 for name in versions]
    with style():
        figure, grid = subplots(
            2,
            len(versions),
            figsize=(WIDTH, 3.7),
            sharex="col",
            sharey="row",
            height_ratios=(1.6, 1),
            width_ratios=np.clip(spans, max(spans) / 2, None),
        )
        for name, (above, below) in zip(versions, grid.T, strict=True):
            begin = (cells["t"] == 0) & (cells["method"] == versions[0])
            drawn = cells[begin | (cells["method"] == name)].sort_values("t")
            for metric, (label, colour, marker, line) in CURVES.items():
                axis, rows = (
                    below if metric == "d_kl" else above,
                    drawn[drawn["metric"] == metric],
                )
                own = {
                    "color": colour,
                    "marker": marker,
                    "markersize": 3.5,
                    "linestyle": line,
                }
                curve(axis, "t", rows, label=label, **own)
            for value in drawn.loc[
                (drawn["t"] == 0) & (drawn["metric"] == "test_acc"), "mean"
            ]:
                above.annotate(
                    "ERM",
                    (0, value),
                    (5, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=8,
                    color=GREY,
                )
            above.axhline(0.5, color=GREY, linestyle=":", linewidth=1, label="chance")
            label = "perfect invariant model"
            above.axhline(0.8, color=GREY, linestyle="-.", linewidth=1, label=label)
            above.set_title(VERSIONS[name], loc="left")
            below.set_xlabel("iteration")
            below.xaxis.set_major_locator(
                MaxNLocator(integer=True, steps=[1, 2, 5, 10])
            )
            above.tick_params(labelbottom=False)
        above, below = grid[0, 0], grid[1, 0]
        above.set(ylabel="accuracy", ylim=(0, 1))
        below.set_ylabel("KL divergence\nof P(Y | C) (nats)")
        # room for markers
        below.set_ylim(0, 1.15 * max(axis.dataLim.y1 for axis in grid[1]))
        entries = above.get_legend_handles_labels()[0]
        finish(figure, entries, heading=f"bands: {intervals(cells)}")
    return figure


def seeds(scores: pd.DataFrame, cells: pd.DataFrame, title: str = "") -> Figure:
    """Every seed's training and test result, their mean, and the paper's value.

    A panel for each setting, a row for each method; rows chosen by the methods' own
    criteria.
    """
    scores = scores[primary(scores)]
    metrics = [m for m in ("train_acc",) if m in set(scores["metric"])] + results_of(
        scores
    )
    scores = scores[scores["metric"].isin(metrics)]
    results = [m for m in metrics if m != "train_acc"]
    kinds = zip(results, (("#0072B2", "s"), ("#009E73", "v")), strict=False)
    looks = {"train_acc": ("#E69F00", "o"), **dict(kinds)}
    settings, methods = (list(dict.fromkeys(scores[c])) for c in ("setting", "method"))
    lines = [method for method in methods if method in REFERENCES]
    methods = [method for method in methods if method not in lines]
    printed = (
        cells[primary(cells)]
        .set_index(["setting", "method", "metric"])["paper"]
        .dropna()
    )
    columns = min(len(settings), 3)
    rows = -(-len(settings) // columns)
    with style():
        figure, grid = subplots(
            rows,
            columns,
            sharex=True,
            sharey=True,
            figsize=(2.4 + 2.7 * columns, 1 + rows * (0.5 + 0.27 * len(methods))),
        )
        for unused in grid.flat[len(settings) :]:
            unused.remove()
        for axis, setting in zip(grid.flat, settings, strict=False):
            here = scores[scores["setting"] == setting]
            for method in lines:
                level = here[
                    (here["method"] == method) & (here["metric"] == results[0])
                ]["value"]
                axis.axvline(
                    level.mean(), color=GREY, **LINE, linestyle=REFERENCES[method][1]
                )
            here = here[here["method"].isin(methods)]
            for (method, metric), group in here.groupby(
                ["method", "metric"], sort=False
            ):
                shift = 0.4 * ((metrics.index(metric) + 0.5) / len(metrics) - 0.5)
                y, values = methods.index(method) + shift, group["value"].to_numpy()
                colour, marker = looks[metric]
                if failed := int(np.isnan(values).sum()):
                    text, where = f"{failed} of {len(values)} seeds failed", (0.02, y)
                    axis.annotate(
                        text,
                        where,
                        xycoords=axis.get_yaxis_transform(),
                        color=GREY,
                        fontsize=8,
                        va="center",
                    )
                heights = y + np.linspace(-0.06, 0.06, len(values))
                axis.plot(
                    values, heights, marker, markersize=2.5, alpha=0.45, color=colour
                )
                # as in the table, no mean of the seeds that succeeded
                axis.plot(
                    values.mean(),
                    y,
                    "|",
                    color=colour,
                    markersize=8,
                    markeredgewidth=1.8,
                )
                paper = printed.get((setting, method, metric), np.nan)
                axis.plot(paper, y, "x", color="black", markersize=5, zorder=3)
            axis.set_title(plain(setting))
            axis.grid(axis="x")
            name_rows(axis, methods)
            if not results[0].endswith("_acc"):
                fit_scale(axis, scores["value"].to_numpy(), "x")
            axis.tick_params(labelbottom=True)
            label = ", ".join(METRICS.get(m, m) for m in metrics)
            axis.set_xlabel(textwrap.fill(label, 40))
        entries = [entry(f"{METRICS.get(m, m)}, one seed", *looks[m]) for m in metrics]
        entries += [entry("mean over seeds", "0.3", "|")]
        entries += [entry("paper", "black", "x")] if len(printed) else []
        entries += [line_entry(*REFERENCES[method]) for method in lines]
        finish(figure, entries, title)
    return figure


def split(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """Primary rows; ``period=1940-1959,clip=train`` is 1940-1959 of the variant
    clip=train."""
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
    return Line2D(
        [], [], label=label, color=colour, marker=marker, markersize=4, linestyle=""
    )


def line_entry(label: str, line: Any) -> Line2D:
    """A reference's entry in a legend."""
    return Line2D([], [], label=label, color=GREY, linestyle=line, **LINE)


def curve(
    axis: Axes, x: str, rows: pd.DataFrame, alpha: float = 0.16, **own: Any
) -> None:
    """Means over the column ``x``, in a band of their intervals."""
    band = {"color": own["color"], "alpha": alpha, "linewidth": 0}
    axis.fill_between(x, "ci_low", "ci_high", data=rows, **band)
    axis.plot(x, "mean", data=rows, **own)


def name_rows(axis: Axes, names: Sequence[str]) -> None:
    """Names beside the rows of a figure, from top to bottom."""
    axis.set_yticks(range(len(names)), [plain(name) for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)


def finish(
    figure: Figure,
    entries: Sequence[Any],
    title: str = "",
    heading: str = "",
    columns: int = 4,
) -> None:
    """A legend below, if there are entries, and a title of as many lines as the width
    asks for."""
    if entries:
        figure.legend(
            handles=entries,
            loc="outside lower center",
            ncols=columns,
            title=heading or None,
        )
    if title:
        characters = int(
            figure.get_figwidth() * 72 / (0.55 * mpl.rcParams["font.size"])
        )
        figure.suptitle(textwrap.fill(plain(title), characters))
