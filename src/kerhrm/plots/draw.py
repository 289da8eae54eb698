"""The pictures from plain arrays, without an estimator; each draws on the axes that it is given."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kerhrm.plots.canvas import COLOURS, GREY, legend, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: of an environment's name in a legend
Names = Sequence[str]
#: means, and the lower and upper ends of their intervals; NaN: none
Intervals = tuple[np.ndarray, np.ndarray, np.ndarray]


def names_of(memberships: np.ndarray) -> list[str]:
    """What environments are called that have nothing but numbers."""
    return [f"environment {e}" for e in range(memberships.shape[1])]


def points(
    ax: "Axes",
    x: np.ndarray,
    y: np.ndarray,
    memberships: np.ndarray,
    names: Names | None = None,
    *,
    lines: bool = False,
) -> None:
    """Points by their likeliest environment, the largest environment at the back.

    Parameters
    ----------
    x, y : ndarray, (n,)
    memberships : ndarray, (n, E)
    names : sequence of str, length E, optional
    lines : bool
        Least squares of y on x in each environment, points weighted by membership.
    """
    likeliest = memberships.argmax(1)
    counts = np.bincount(likeliest, minlength=memberships.shape[1])
    for e, name in enumerate(names or names_of(memberships)):
        here, behind = likeliest == e, (counts > counts[e]).sum() - len(counts)
        label = f"{name} ({here.mean():.0%} of the rows)"
        looks: dict[str, Any] = {
            **look(e),
            "s": 18,
            "alpha": 0.5 if lines else 0.7,
            "linewidths": 0,
        }
        ax.scatter(x[here], y[here], **looks, zorder=2 + 0.01 * behind, label=label)
        if lines:
            _line(ax, x, y, memberships[:, e], COLOURS[e % len(COLOURS)])
    legend(ax, 1.5)


def _line(ax: "Axes", x: np.ndarray, y: np.ndarray, weight: np.ndarray, colour: str) -> None:
    from matplotlib.patheffects import Normal, Stroke
    from sklearn.linear_model import LinearRegression

    fit = LinearRegression().fit(x[:, None], y, sample_weight=weight)
    ends = np.array([x.min(), x.max()])
    rim = [Stroke(linewidth=4, foreground="white"), Normal()]
    level = fit.predict(ends[:, None])
    ax.plot(ends, level, color=colour, linewidth=2, path_effects=rim, zorder=3)


def shares(
    ax: "Axes",
    place: np.ndarray,
    share: np.ndarray,
    names: Names | None = None,
    *,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> None:
    """Shares of a class over parts of a feature, a curve for each environment.

    Parameters
    ----------
    place : ndarray, (B,)
        Where the parts stand.
    share : ndarray, (E, B)
        NaN: no point.
    low, high : ndarray, (E, B), optional
        Ends of intervals.
    """
    n = len(share)
    dodge = 0.012 * float(np.ptp(place))
    for e, name in enumerate(names or names_of(share.T)):
        at = place + dodge * (e - (n - 1) / 2)
        spread = None
        if low is not None and high is not None:
            spread = np.stack([share[e] - low[e], high[e] - share[e]]).clip(0)
        ax.errorbar(at, share[e], spread, **look(e), elinewidth=1, label=name)
    ax.set_ylim(-0.05, 1.05)
    legend(ax)


def dots(ax: "Axes", rows: Sequence[str], series: Mapping[str, Intervals]) -> None:
    """Means with their intervals, one row for each name, from the top down.

    Parameters
    ----------
    rows : sequence of str, length R
    series : mapping of str to three arrays (R,)
        By name, side by side in each row.
    """
    reach = min(0.35, 0.12 * (len(series) - 1))
    offsets = np.linspace(-reach, reach, len(series))
    for number, (name, (mean, low, high)) in enumerate(series.items()):
        spread = np.stack([mean - low, high - mean]).clip(0)
        place = np.arange(len(rows)) + offsets[number]
        ax.errorbar(mean, place, xerr=spread, linestyle="", **look(number), label=name)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")
    legend(ax)


def bars(
    ax: "Axes",
    values: Mapping[str, float],
    spread: Mapping[str, float] | None = None,
    *,
    aside: Sequence[str] = (),
    most: int = 10,
) -> None:
    """Bars, the longest on top, ``most`` at most; those ``aside`` are grey."""
    shown = sorted(values, key=values.__getitem__)[-most:]
    colours = [GREY if name in aside else COLOURS[0] for name in shown]
    errors = None if spread is None else [spread[name] for name in shown]
    ax.barh(shown, [values[name] for name in shown], xerr=errors, color=colours)


def matrix(ax: "Axes", names: Sequence[str], values: np.ndarray) -> None:
    """A square of values up to 1 (n, n), each written into its cell; darker is larger."""
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1.25)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            shade = "white" if value > 0.75 else "black"
            ax.text(j, i, f"{round(value, 2) + 0.0:.2f}", ha="center", va="center", color=shade)
    for edge in np.arange(1, len(names)) - 0.5:
        ax.axhline(edge, color="white")
        ax.axvline(edge, color="white")
    ax.set_yticks(range(len(names)), names)
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(names)), names, **(turned if max(map(len, names)) > 8 else {}))
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.grid(visible=False)
