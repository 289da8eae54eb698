"""What all pictures share: axes, colours and markers, legends, names."""

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from kerhrm.errors import KerhrmError, shown
from kerhrm.extras import check_backend, needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: as a colour alone cannot be told from the next by everybody
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
GREY = "0.6"
#: what pictures compute raises nothing for rounding, whatever the caller has set
QUIET = np.errstate(all="warn", under="ignore")
WIDTH = 5.5  #: of a figure, inches
HEIGHT = 3.6  #: of a figure, inches
NARROW = 3.5  #: axes, inches


def style(number: int) -> dict[str, Any]:
    """Colour, of matplotlib's own cycle, and marker of the first, second, ... of
    several."""
    colour = number % 10
    marker = number % len(MARKERS)
    return {"color": f"C{colour}", "marker": MARKERS[marker]}


def plain(name: Any) -> str:
    """Name from a table as a text in which matplotlib sees no mathematics."""
    encoded = str(name).encode(errors="backslashreplace")  # lone surrogates
    text = encoded.decode()
    return text.replace("$", r"\$")


def entry(name: Any) -> str:
    """Name of a line or of points, as an entry of :func:`legend`.

    matplotlib leaves entries out that are empty or begin with an underscore, so that
    they begin with a space.
    """
    text = plain(name)
    hidden = not text or text.startswith("_")
    return f" {text}" if hidden else text


def whole(value: Any, name: str, least: int) -> int:
    """A whole number of ``least`` or more.

    Raises KerhrmError naming the parameter if it is something else.
    """
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not integral or value < least:
        got = shown(value)
        problem = f"{name} must be a whole number of {least} or more; got {got}"
        usual = max(least, 5)
        raise KerhrmError(problem, f"use {name}={usual}")
    return int(value)


def new_axes(ax: Any, height: float = HEIGHT) -> "Axes":
    """The axes that are given, or those of a new figure ``height`` inches high.

    Raises KerhrmError if something else is given, or matplotlib is not there or cannot
    load the backend that MPLBACKEND or ``matplotlib.use`` names.
    """
    needs("plots", "matplotlib")
    check_backend()
    from matplotlib import pyplot as plt

    if ax is None:
        try:
            _, ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")
        except ImportError as error:
            problem = f"matplotlib cannot load its backend: {error}"
            raise KerhrmError(problem, "unset MPLBACKEND, or set it to agg") from error
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_axisbelow(True)
    elif not hasattr(ax, "errorbar"):
        kind = type(ax).__name__
        problem = f"ax is of type {kind}, not Axes"
        raise KerhrmError(problem, "give one of the axes of plt.subplots()")
    return ax


def legend(ax: "Axes", scale: float = 1.0) -> None:
    """A legend below, where it covers neither data nor a title.

    Markers ``scale`` times as large.

    Of two columns, or one where axes are narrow.
    """
    width = ax.bbox.width / ax.figure.dpi  # a figure within a figure has no size
    n_columns = 2 if width > NARROW else 1
    drawn = ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        borderaxespad=4.0,
        ncols=n_columns,
        markerscale=scale,
        fontsize="small",
        frameon=False,
    )
    for text in drawn.get_texts():
        name = text.get_text()
        text.set_text(name.removeprefix(" "))
