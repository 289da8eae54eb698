"""The paper's figures, drawn from the cells of their tables.

They have the width of the paper's text and no title: that is the caption's.  Only a
:func:`kerhrm.reporting.tables.notice` stands above them, where there is one.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from kerhrm.methods.registry import position, row_titled
from kerhrm.reporting.style import COLOURS, WIDTH, Look, add_title, fit_scale, look_of, style
from kerhrm.reporting.tables import headline
from kerhrm.reporting.variants import closest, in_words

#: Figure 2's curves, with their names in the legend
CURVES = {
    "train_acc": ("training accuracy", Look(COLOURS[5], "o", (0, (4, 1.5)))),
    "test_acc": ("test accuracy", Look(COLOURS[6], "s", "-")),
    "d_kl": ("KL divergence", Look(COLOURS[2], "D", "-")),
}
#: Figure 2's columns, the row of each
TRACKS = {"KerHRM (NTF)": "as described", "KerHRM (released)": "as released"}
CHANCE = 0.5
#: rows that the paper's Figure 3 has
METHODS = ("ERM", "DRO", "EIIL", "HRM", "IRM", "KerHRM-s", "KerHRM (network)")
#: other readings of KerHRM in the main setting, each as NTF predictor and as network
READINGS = {
    "": ("KerHRM (NTF)", "KerHRM (network)"),
    "chosen for each seed": ("KerHRM (per seed, NTF)", "KerHRM (per seed)"),
    "to the letter": ("KerHRM (literal, NTF)", "KerHRM (literal)"),
}
GHOST = "ERM on the same data"
GREY, FAINT = "0.42", "0.57"  #: of lines and words that are no method's, and of the ghost
#: panels of variants side by side, and characters of their titles
COLUMNS, CHARACTERS = 3, 24


def figure2(table: pd.DataFrame, notice: str = "", ceiling: float | None = None) -> Figure:
    """Accuracy, and below it the divergence of the environments, over the iterations.

    A column for each row of :data:`TRACKS` that has cells; both begin with iteration 0, pooled
    ERM on Psi, which has no environments.  Bands are 95 % intervals of the mean.  Cells have
    the settings ``iteration=0``, ... and the metrics of :data:`CURVES`.  ``ceiling`` is the
    accuracy of a perfect invariant model.
    """
    cells = _by_setting(headline(table), "t")
    cells = cells.assign(t=cells["t"].astype(int))
    tracks = [name for name in TRACKS if name in set(cells["method"])]
    spans = [cells.loc[cells["method"] == name, "t"].max() + 2 for name in tracks]
    with style():
        figure, grid = plt.subplots(
            2, len(tracks), figsize=(WIDTH, 3.7), sharex="col", sharey="row", squeeze=False,
            height_ratios=(1.6, 1), width_ratios=np.clip(spans, max(spans) / 2, None),
        )  # fmt: skip
        for name, (above, below) in zip(tracks, grid.T, strict=True):
            begin = (cells["t"] == 0) & (cells["method"] == tracks[0])
            _draw_track(above, below, cells[begin | (cells["method"] == name)])
            above.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, label="chance")
            if ceiling is not None:
                label = "perfect invariant model"
                above.axhline(ceiling, color=GREY, linestyle="-.", linewidth=1, label=label)
            above.set_title(TRACKS[name], loc="left")
            below.set_xlabel("iteration")
            below.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
            above.tick_params(labelbottom=False)
        above, below = grid[0, 0], grid[1, 0]
        above.set_ylabel("accuracy")
        above.set_ylim(0, 1)
        below.set_ylabel("KL divergence\nof P(Y | C) (nats)")
        below.set_ylim(0, 1.15 * max(axis.dataLim.y1 for axis in grid[1]))  # room for markers
        handles, labels = above.get_legend_handles_labels()
        _add_legend(figure, handles, labels, "bands", cells, columns=4)
        add_title(figure, notice)
    return figure


def _draw_track(above: Axes, below: Axes, cells: pd.DataFrame) -> None:
    for metric, (label, look) in CURVES.items():
        axis = below if metric == "d_kl" else above
        rows = cells[cells["metric"] == metric].sort_values("t")
        t, mean, low, high = (rows[c].to_numpy() for c in ("t", "mean", "ci_low", "ci_high"))
        axis.fill_between(t, low, high, color=look.colour, alpha=0.16, linewidth=0)
        axis.plot(
            t, mean, color=look.colour, marker=look.marker, linestyle=look.dashes, label=label,
            markersize=3.5,
        )  # fmt: skip
    begin = cells[(cells["t"] == 0) & (cells["metric"] == "test_acc")]
    for value in begin["mean"]:
        above.annotate("ERM", (0, value), (5, 0), textcoords="offset points", va="center",
                       fontsize=8, color=GREY)  # fmt: skip


def figure3(table: pd.DataFrame, notice: str = "") -> Figure:
    """Mean squared error of the paper's methods in every period of construction.

    Error bars are 95 % intervals of the mean over the seeds.  The first period, left of the
    dashed line, is the one trained on.  Cells have the metric ``mse`` and settings
    ``period=1900-1919``, ...; those of variants and of other rows are :func:`variants`'s.
    """
    cells = _periods(table)
    cells = cells[(cells["variant"] == "") & cells["method"].isin(METHODS)]
    methods = sorted(set(cells.loc[cells["mean"].notna(), "method"]), key=position)
    with style():
        figure, axis = plt.subplots(figsize=(WIDTH, 3.1))
        _draw_periods(axis, cells, {method: look_of(method) for method in methods})
        fit_scale(axis, cells["mean"].to_numpy(), "y")
        _limit(axis, cells)
        axis.set_ylabel("mean squared error")
        axis.set_xlabel("year of construction")
        axis.annotate("trained on", (0, 0.99), xycoords=axis.get_xaxis_transform(),
                      ha="center", va="top", fontsize=8, color=GREY)  # fmt: skip
        _add_legend(figure, *axis.get_legend_handles_labels(), "error bars", cells, columns=4)
        add_title(figure, notice)
    return figure


def variants(table: pd.DataFrame, notice: str = "") -> Figure:
    """KerHRM's mean squared error in every period, one panel per variant or reading.

    As :func:`figure3`.  In every panel the grey line is ERM of the same variant or, where none
    was trained, of the closest one on the same data.
    """
    cells = _periods(table)
    found = list(dict.fromkeys(cells["variant"]))
    erm = cells[cells["method"] == "ERM"]
    present = set(cells.loc[cells["variant"] == "", "method"])
    shown = [("", words, pair) for words, pair in READINGS.items() if present & set(pair)]
    shown += [(variant, in_words(variant), READINGS[""]) for variant in found if variant]
    network = look_of("KerHRM (network)")
    ntf = look_of("KerHRM (NTF)")._replace(colour=COLOURS[-1])  # 3:1 against its neighbour
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    with style():
        figure, grid = plt.subplots(
            rows, columns, figsize=(WIDTH, 0.9 + 1.45 * rows), squeeze=False, sharex=True,
            sharey=True,
        )  # fmt: skip
        for axis, (variant, words, pair) in zip(grid.flat, shown, strict=False):
            here = cells[cells["variant"] == variant]
            names = dict(zip(pair, ("NTF predictor", "network"), strict=True))
            pairs = here[here["method"].isin(pair)]
            _draw_periods(axis, pairs, dict(zip(pair, (ntf, network), strict=True)), names)
            base = closest(variant, list(dict.fromkeys(erm["variant"])))
            line = erm[erm["variant"] == base]["mean"].to_numpy()
            axis.plot(range(len(line)), line, color=FAINT, linewidth=1.2, zorder=1, label=GHOST)
            title = textwrap.wrap(words or in_words(""), CHARACTERS)
            axis.set_title("\n".join(title), loc="left")
        fit_scale(grid[0, 0], cells["mean"].to_numpy(), "y")
        drawn = cells[cells["method"].isin([m for _, _, pair in shown for m in pair])]
        _limit(grid[0, 0], pd.concat([drawn, erm]))
        periods = list(dict.fromkeys(cells["period"]))
        for number, axis in enumerate(grid.flat):
            if number >= len(shown):
                axis.remove()
                continue
            axis.set_xticks(range(0, len(periods), 2), [p.partition("-")[0] for p in periods[::2]])
            axis.tick_params(labelbottom=number + columns >= len(shown))
        figure.supylabel("mean squared error", fontsize=8.5)
        grid[-1, columns // 2 if len(shown) % columns != 1 else 0].set_xlabel(
            "built in the two decades from"
        )
        handles, labels = grid[0, 0].get_legend_handles_labels()
        _add_legend(figure, handles, labels, "error bars", drawn, columns=3)
        add_title(figure, notice)
    return figure


def _draw_periods(
    axis: Axes, cells: pd.DataFrame, looks: dict[str, Look], names: dict[str, str] | None = None
) -> None:
    """Means and intervals of every method, side by side within a period."""
    periods = list(dict.fromkeys(cells["period"]))
    reach = 0.36 if len(looks) > 3 else 0.15
    shifts = np.linspace(-reach, reach, len(looks)) if len(looks) > 1 else [0.0]
    for (method, look), shift in zip(looks.items(), shifts, strict=True):
        rows = cells[cells["method"] == method].set_index("period").reindex(periods)
        x, mean = np.arange(len(periods)) + shift, rows["mean"].to_numpy()
        reaches = np.abs(rows[["ci_low", "ci_high"]].to_numpy().T - mean)
        axis.errorbar(
            x, mean, reaches, color=look.colour, marker=look.marker, linestyle=look.dashes,
            linewidth=0.6, elinewidth=1.1, markersize=4, label=(names or {}).get(method, method),
        )  # fmt: skip
    axis.axvline(0.5, color=GREY, linestyle=(0, (3, 2)), linewidth=0.8, zorder=0)
    for number in range(1, len(periods) - 1):
        axis.axvline(number + 0.5, color="0.9", linewidth=0.6, zorder=0)
    axis.set_xlim(-0.5, len(periods) - 0.5)
    axis.set_xticks(range(len(periods)), [p.replace("-", "\u2013") for p in periods])


def _limit(axis: Axes, cells: pd.DataFrame) -> None:
    """Room for all means and intervals; on a logarithmic axis an interval may reach to nought."""
    finite = cells[cells["mean"].notna()]
    if finite.empty:
        return
    if axis.get_yscale() == "log":
        lowest = finite[["mean", "ci_low"]].to_numpy()
        lowest = lowest[lowest > 0.3 * finite["mean"].min()].min()
        axis.set_ylim(0.85 * lowest, 1.3 * finite["ci_high"].max())
    else:
        axis.set_ylim(0, 1.1 * finite["ci_high"].max())


def _periods(table: pd.DataFrame) -> pd.DataFrame:
    """Headline cells of errors by period, of trained methods."""
    cells = _by_setting(headline(table), "period")
    trained = cells["method"].map(lambda method: row_titled(method).track != "reference")
    return cells[(cells["metric"] == "mse") & trained]


def _by_setting(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """``period=1940-1959,clip=train`` is the period 1940-1959 of the variant clip=train."""
    parts = cells["setting"].str.partition(",")
    return cells.assign(**{name: parts[0].str.partition("=")[2]}, variant=parts[2])


def _add_legend(
    figure: Figure,
    handles: list[Artist],
    labels: list[str],
    spread: str,
    cells: pd.DataFrame,
    columns: int,
) -> None:
    counts = " or ".join(str(n) for n in sorted(set(cells["n_seeds"])))
    title = f"{spread}: 95 % intervals of the mean over {counts} seeds"
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, title=title,
        handlelength=2.6, columnspacing=1.4,
    )  # fmt: skip
