"""What figures of tables share: style, colours, bands, legends."""

import io
import re
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from itertools import cycle, product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from PIL import Image
from scipy.optimize import isotonic_regression

from kerhrm.files import atomic
from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import METRICS, OF_PAPER, primary

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
#: of lines from a curve's end to its name
LEADER: dict[str, Any] = {
    "linewidth": 0.5,
    "shrinkA": 1,
    "shrinkB": 0,
    "relpos": (0, 0.5),
}
DOTS: dict[str, Any] = {"marker": "o", "markersize": 2.5}  #: of curves
#: colours and markers of methods without a colour of their own, in turn
FURTHER = "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
FURTHER_MARKERS = "s", "^", "D"
#: references that are lines of the figures of seeds and of house prices, with their
#: names there
REFERENCES: dict[str, tuple[str, Any]] = {
    "ref: predict zero": ("predict zero", ":"),
    "ref: least squares on S": ("least squares on the invariant features", "-."),
    "ref: invariant ceiling": ("bound of the invariant features", "-."),
    "ref: least squares": ("least squares", "-."),
    "ref: each period's own mean": ("each period's own mean", ":"),
    "ref: predict the mean": ("mean of the training rows", (0, (5, 2))),
}
#: value and colour of curves' right ends, by the name that stands there
Ends = dict[str, tuple[float, str]]
#: what a PDF would hold of date and version
PDF_METADATA = "Creator", "Producer", "CreationDate"
#: of a PNG; a third of the bytes of all colours, none of which moves by 8 %
COLOURS = 256


def style() -> AbstractContextManager[None]:
    """The project's matplotlib style, over matplotlib's own and not the user's."""
    project = files("kerhrm_paper.reporting") / "figures.mplstyle"
    return matplotlib.style.context(["default", str(project)])


def subplots(
    rows: int, columns: int, *, figsize: tuple[float, float], **shared: Any
) -> tuple[Figure, Any]:
    """A figure with a grid of axes (rows, columns), whatever the user's backend is."""
    figure = Figure(figsize=figsize)
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, axes


def save(figure: Figure, stem: str | Path) -> None:
    """Write ``stem``.png and .pdf, the same bytes for the same figure."""
    save_png(figure, f"{stem}.png")
    metadata = dict.fromkeys(PDF_METADATA)
    with style(), atomic(f"{stem}.pdf") as handle:
        figure.savefig(handle, format="pdf", metadata=metadata)


def save_png(figure: Figure, path: str | Path, dpi: int | None = None) -> None:
    """Write a PNG of :data:`COLOURS`, the same bytes for the same figure.

    Of the style's dots per inch, if none are given.
    """
    with io.BytesIO() as drawn, style():
        figure.savefig(drawn, format="png", dpi=dpi)
        with Image.open(drawn) as picture:
            opaque = picture.convert("RGB")
    method = Image.Quantize.MAXCOVERAGE
    with_palette = opaque.quantize(COLOURS, method, dither=Image.Dither.NONE)
    with atomic(path) as handle:
        with_palette.save(handle, format="PNG", optimize=True)


def split_setting(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """Primary rows; ``period=1940-1959,clip=train`` is 1940-1959 of the variant
    clip=train."""
    cells = cells[primary(cells)]
    parts = cells["setting"].str.partition(",")
    options = parts[0].str.partition("=")
    columns = {name: options[2], "variant": parts[2]}
    return cells.assign(**columns)


def fit_scale(axis: Axes, values: np.ndarray, which: str) -> None:
    """Make an axis logarithmic if linear would squeeze the small values."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return
    least = finite.min()
    if least <= 0:
        return
    if finite.max() > 12 * least:
        axis.set(**{f"{which}scale": "log"})
        ticks = axis.xaxis if which == "x" else axis.yaxis
        locator = LogLocator(subs=(1, 2, 5))
        ticks.set_major_locator(locator)
        formatter = StrMethodFormatter("{x:g}")
        ticks.set_major_formatter(formatter)
        ticks.set_minor_formatter(NullFormatter())


def intervals(cells: pd.DataFrame) -> str:
    """What error bars show, with the numbers of seeds."""
    numbers = sorted(set(cells["n_seeds"]))
    n_seeds = " or ".join(map(str, numbers))
    return f"95 % intervals of the mean over {n_seeds} seeds"


def entry(label: str, colour: str, marker: str) -> Line2D:
    """A marker's entry in a legend."""
    return Line2D(
        [],
        [],
        label=label,
        color=colour,
        marker=marker,
        markersize=4,
        linestyle="",
    )


def line_entry(label: str, line: Any) -> Line2D:
    """A reference's entry in a legend."""
    return Line2D([], [], label=label, color=GREY, linestyle=line, **LINE)


def looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Curves of methods, by name; a reference (``ref: ...``) has none.

    Methods with a colour of their own come first, dash-dotted where it is another's,
    too; the others follow in their order, one's own among them, dashed and first in
    colours that no other curve has.
    """
    drawn: dict[str, dict[str, Any]] = {}
    every_name = dict.fromkeys(methods)
    names = [name for name in every_name if not name.startswith("ref: ")]
    for method, color in METHODS.items():
        if method in names:
            is_taken = any(look["color"] == color for look in drawn.values())
            line = "-." if is_taken else "-"
            drawn[method] = {"color": color, "linestyle": line, **DOTS}
        closed = f"{method} (closed form)"
        if closed in names and closed not in METHODS:
            drawn[closed] = {"color": color, "linestyle": "--", **DOTS}
    taken = {look["color"] for look in drawn.values()}
    colours = sorted(FURTHER, key=lambda colour: colour in taken)
    pairs = cycle(product(FURTHER_MARKERS, colours))
    others = [name for name in names if name not in drawn]
    for method, (marker, color) in zip(others, pairs, strict=False):
        look = {"color": color, "linestyle": "--"}
        drawn[method] = look | DOTS | {"marker": marker}
    return drawn


def curve(
    axis: Axes, x: str, rows: pd.DataFrame, alpha: float = 0.16, **look: Any
) -> None:
    """Means over the column ``x``, in a band of their intervals."""
    axis.fill_between(
        x,
        "ci_low",
        "ci_high",
        data=rows,
        color=look["color"],
        alpha=alpha,
        linewidth=0,
    )
    axis.plot(x, "mean", data=rows, **look)


def in_paper(table: str) -> str:
    """How the paper calls a table, as Table 1; others keep their names."""
    if table not in OF_PAPER:
        return table
    return re.sub(r"^(table|figure)(?=\d+$)", _capitalised, table)


def _capitalised(word: re.Match[str]) -> str:
    return word[0].capitalize() + " "


def entitle(axis: Axes, table: str, metric: str) -> None:
    """A panel of a table: right is better, a high accuracy or a small error."""
    title = in_paper(table)
    if METRICS[metric].higher_is_better:
        axis.set_title(f"{title}\naccuracy")
    else:
        axis.invert_xaxis()
        axis.set_title(f"{title}\nerror")
    axis.grid(axis="x")
    axis.locator_params(axis="x", nbins=3, steps=[1, 2, 5, 10])
    formatter = StrMethodFormatter("{x:g}")
    axis.xaxis.set_major_formatter(formatter)


def name_rows(axis: Axes, names: Sequence[str]) -> None:
    """Names left of the rows of a figure, from top to bottom."""
    texts = [plain(name) for name in names]
    n = len(texts)
    axis.set_yticks(range(n), texts)
    axis.set_ylim(n - 0.5, -0.5)


def name_ends(axis: Axes, ends: Ends, gap: float = 0.11) -> None:
    """Names of curves at their right ends, at least ``gap`` of the axis apart.

    They move as little as that needs, in squares.  A thin line goes from a curve's end
    to its name.
    """
    if not ends:
        return
    to_axes = axis.transAxes.inverted()
    heights = {}
    for name, (value, _) in ends.items():
        on_screen = axis.transData.transform((0.0, value))
        _, heights[name] = to_axes.transform(on_screen)
    names = sorted(heights, key=lambda name: heights[name])
    wanted = np.array([heights[name] for name in names])
    numbers = np.arange(len(names))
    steps = numbers * gap
    # names that are a gap apart stay in order without their gaps
    ordered = isotonic_regression(wanted - steps).x
    room = 1 - steps[-1]
    placed = np.clip(ordered, 0, room) + steps
    for name, height in zip(names, placed, strict=True):
        _, colour = ends[name]
        axis.annotate(
            name,
            (1, heights[name]),
            (1.1, height),
            xycoords=axis.transAxes,
            textcoords=axis.transAxes,
            color=colour,
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, **LEADER},
        )


def finish(
    figure: Figure,
    entries: Sequence[Any],
    title: str = "",
    heading: str = "",
    columns: int = 4,
) -> None:
    """A legend below, if it has entries or a heading, and a title of as many lines as
    the width asks for."""
    if entries or heading:
        figure.legend(
            handles=entries,
            loc="outside lower center",
            ncols=columns,
            title=heading or None,
        )
    if title:
        words = plain(title)
        text = in_lines(words, figure.get_figwidth())
        figure.suptitle(text)


def in_lines(title: str, inches: float) -> str:
    """A title in as many lines as its width asks for."""
    points_per_character = 0.58 * mpl.rcParams["font.size"]
    n_characters = int(72 * inches / points_per_character)
    return textwrap.fill(title, max(n_characters, 1))
