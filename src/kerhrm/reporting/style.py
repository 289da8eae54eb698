"""What all figures share: the style, how each method looks, how a figure is saved."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from kerhrm.methods.registry import ROWS, row_titled
from kerhrm.storage.arrays import atomic

#: inches; the text width of the paper's style
WIDTH = 5.5
# By search: dark and light in turn, neighbours at least 3:1 and all so against white, no two
# closer than 15 (CIEDE2000) for any kind of colour blindness.  The tests measure it.
COLOURS = (
    "#000000", "#B46996", "#0F3C0F", "#A578FF", "#4B2D4B", "#FF2D00", "#0000C3", "#4B9669",
)  # fmt: skip
MARKERS = ("o", "v", "^", "<", "s", "D", "P", "X")
LINES = (
    "-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (2.5, 1)), (0, (8, 2)),
    (0, (9, 1)), (0, (1, 2.5)),
)  # fmt: skip
DASHES = ((0, (4, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (2, 1)), (0, (8, 2)))
#: neither format may hold a date; the program's name would change with its version
METADATA = {
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
#: largest over smallest value beyond which an axis is logarithmic
WIDE = 12.0


class Look(NamedTuple):
    """Tells a method from the others; reference rows are grey lines without markers."""

    colour: str
    marker: str
    dashes: str | tuple[float, tuple[float, ...]]


def look_of(method: str) -> Look:
    """The look of a method, the same in every figure."""
    reference = row_titled(method).track == "reference"
    rows = [row for row in ROWS.values() if row.chosen]
    alike = [row.title for row in rows if (row.track == "reference") == reference]
    again, number = divmod(alike.index(method), len(DASHES if reference else COLOURS))
    if reference:
        return Look(("0.25", "0.42", "0.55")[again % 3], "", DASHES[number])
    shifted = (number + again) % len(COLOURS)
    return Look(COLOURS[number], MARKERS[shifted], LINES[shifted])


@contextmanager
def style() -> Iterator[None]:
    """The project's matplotlib style."""
    with mpl.rc_context(fname=str(files("kerhrm.reporting") / "paper.mplstyle")):
        yield


def save_figure(figure: Figure, path_stem: str) -> None:
    """Write ``path_stem``.png and .pdf, the same bytes for the same figure."""
    with style():
        for extension, metadata in METADATA.items():
            with atomic(f"{path_stem}.{extension}") as handle:
                figure.savefig(handle, format=extension, metadata=metadata)


def panels(
    n: int, columns: int, size: tuple[float, float], margin: tuple[float, float]
) -> tuple[Figure, np.ndarray]:
    """A figure and its grid of ``n`` axes with common scales; sizes are width and height."""
    rows = -(-n // columns)
    inches = margin[0] + size[0] * columns, margin[1] + size[1] * rows
    figure, grid = plt.subplots(
        rows, columns, figsize=inches, squeeze=False, sharex=True, sharey=True
    )
    for unused in grid.flat[n:]:
        unused.remove()
    return figure, grid


def add_title(figure: Figure, heading: str) -> None:
    """A title of as many lines as the figure's width asks for; none, if empty."""
    if not heading:
        return
    inches = figure.get_figwidth()
    size = mpl.font_manager.FontProperties(size=mpl.rcParams["figure.titlesize"]).get_size()
    characters = int(inches * 72 / (0.55 * size))  # a letter is about half as wide as high
    figure.suptitle(textwrap.fill(heading, characters))


def fit_scale(axis: Axes, values: np.ndarray, which: str) -> None:
    """Make an axis (``"x"`` or ``"y"``) logarithmic if linear would squeeze the small values."""
    finite = values[np.isfinite(values)]
    if len(finite) and finite.min() > 0 and finite.max() > WIDE * finite.min():
        axis.set(**{f"{which}scale": "log"})
        ticks = axis.xaxis if which == "x" else axis.yaxis
        ticks.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ticks.set_major_formatter(StrMethodFormatter("{x:g}"))
        ticks.set_minor_formatter(NullFormatter())
