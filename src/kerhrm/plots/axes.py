"""What all pictures share: axes, colours and markers, legends, names."""

from typing import TYPE_CHECKING, Any

from kerhrm.errors import KerhrmError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: as a colour alone cannot be told from the next by everybody
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
GREY = "0.6"
WIDTH, HEIGHT = 5.5, 3.6  #: of a figure, inches
NARROW = 3.5  #: axes, inches


def style(number: int) -> dict[str, Any]:
    """Colour, of matplotlib's own cycle, and marker of the first, second, ... of
    several."""
    return {"color": f"C{number % 10}", "marker": MARKERS[number % len(MARKERS)]}


def plain(name: Any) -> str:
    """Name from a table as a text in which matplotlib sees no mathematics."""
    return str(name).replace("$", r"\$")


def new_axes(ax: Any, height: float = HEIGHT) -> "Axes":
    """The axes that are given, or those of a new figure ``height`` inches high.

    Raises KerhrmError if something else is given, or there is no matplotlib.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        problem = "pictures need matplotlib, which is not installed"
        raise KerhrmError(problem, "pip install matplotlib") from error
    if ax is None:
        _, ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_axisbelow(True)
    elif not hasattr(ax, "errorbar"):
        problem = f"ax is of type {type(ax).__name__}, not Axes"
        raise KerhrmError(problem, "give one of the axes of plt.subplots()")
    return ax


def legend(ax: "Axes", scale: float = 1.0) -> None:
    """A legend below, where it covers neither data nor a title.

    Markers ``scale`` times as large.

    Of two columns, or one where axes are narrow.
    """
    figure: Any = ax.figure
    columns = 2 if ax.get_position().width * figure.get_figwidth() > NARROW else 1
    place: Any = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0),
        "borderaxespad": 4.0,
    }
    ax.legend(
        **place, ncols=columns, markerscale=scale, fontsize="small", frameon=False
    )
