"""Memberships of a description."""

from typing import TYPE_CHECKING, Any

import numpy as np

from kerhrm.description.result import Description
from kerhrm.errors import KerhrmError
from kerhrm.plots.axes import QUIET, entry, legend, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@QUIET
def rootogram(description: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how many rows have which membership, in each environment.

    Heights are square roots of numbers of rows, so that few rows are seen next to many
    (a rootogram).  Rows at 0 and 1 alone are told apart; rows between them are not.

    Parameters
    ----------
    description : Description
        By ``describe`` of a fitted KerHRM.
    ax : Axes, optional
        Where to draw; by default a figure of its own.
    """
    if not isinstance(description, Description):
        kind = type(description).__name__
        problem = f"a rootogram is of a description; got {kind}"
        raise KerhrmError(problem, "give model.describe()")
    if description.rootogram is None or description.environments is None:
        problem = "this description has one environment alone, and no memberships"
        raise KerhrmError(problem, "print it to see why")
    heights = description.rootogram
    n_bins, number = heights.shape
    width = 0.8 / number
    middle = (number - 1) / 2
    places = np.arange(n_bins)
    ax = new_axes(ax)
    for e, name in enumerate(heights):
        share = description.environments.loc[name, "share"]
        ax.bar(
            places + (e - middle) * width,
            heights[name],
            width,
            color=style(e)["color"],
            label=entry(f"{name} (share {share:.0%})"),
        )
    ends = [interval.right for interval in heights.index]
    ticks = [f"{edge:.1f}" for edge in (0.0, *ends)]
    ax.set_xticks(np.arange(n_bins + 1) - 0.5, ticks)
    ax.set_xlabel("membership")
    ax.set_ylabel("square root of the number of rows")
    legend(ax)
    return ax
