"""The paper's figures, drawn from the cells of their tables."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm.methods.registry import position, row_titled
from kerhrm.reporting.style import add_title, fit_scale, look_of, panels, style
from kerhrm.reporting.tables import headline

#: Figure 2's curves: label, colour, marker, line style
CURVES = {
    "train_acc": ("training accuracy", "#E69F00", "o", "--"),
    "test_acc": ("test accuracy", "#0072B2", "s", "-"),
    "d_kl": ("KL divergence", "#009E73", "D", "-"),
}
CHANCE = 0.5


def figure2(table: pd.DataFrame, heading: str, ceiling: float | None = None) -> Figure:
    """Accuracy, and below it the divergence of the environments, over the iterations.

    Bands are one standard deviation over the seeds to either side of the mean.  Cells have
    the settings ``iteration=1``, ... and the metrics of :data:`CURVES`, all of one method.
    ``ceiling`` is the accuracy of a perfect invariant model.
    """
    cells = _by_setting(headline(table), "t")
    cells = cells.assign(t=cells["t"].astype(int))
    with style():
        figure, (above, below) = plt.subplots(
            2, 1, figsize=(5.2, 4.8), sharex=True, height_ratios=(1.7, 1)
        )
        for metric, (label, colour, marker, line) in CURVES.items():
            axis = below if metric == "d_kl" else above
            rows = cells[cells["metric"] == metric].sort_values("t")
            t, mean, std = (rows[name].to_numpy() for name in ("t", "mean", "std"))
            axis.fill_between(t, mean - std, mean + std, color=colour, alpha=0.18, linewidth=0)
            axis.plot(t, mean, color=colour, marker=marker, linestyle=line, label=label)
        above.axhline(CHANCE, color="0.5", linestyle=":", label="chance")
        if ceiling is not None:
            above.axhline(ceiling, color="0.5", linestyle="-.", label="perfect invariant model")
        above.set_ylabel("accuracy")
        below.set_ylabel("KL divergence\nof P(Y | C) (nats)")
        below.set_ylim(0, 1.15 * below.dataLim.y1)  # from zero, with room for the markers
        below.set_xlabel("iteration")
        below.set_xticks(sorted(set(cells["t"])))
        handles, labels = above.get_legend_handles_labels()
        _add_legend(figure, handles, labels, "bands", cells)
        add_title(figure, heading)
    return figure


def figure3(table: pd.DataFrame, heading: str) -> Figure:
    """Mean squared error of every period of construction, one panel per variant.

    Error bars are one standard deviation over the seeds to either side of the mean;
    reference rows are grey lines.  The first period, shaded, is the one trained on.  Cells have
    the metric ``mse`` and settings ``period=1900-1919``, ... , a variant's with its mark behind.
    """
    cells = _by_setting(headline(table), "period")
    cells = cells[cells["metric"] == "mse"]
    variants = list(dict.fromkeys(cells["variant"]))
    methods = sorted(set(cells["method"]), key=position)
    with style():
        columns = 1 if len(variants) < 4 else 2
        figure, grid = panels(len(variants), columns, size=(6.2, 2.7), margin=(1.2, 1.5))
        for axis, variant in zip(grid.flat[: len(variants)], variants, strict=True):
            _draw_periods(axis, cells[cells["variant"] == variant], methods)
            fit_scale(axis, cells["mean"].to_numpy(), "y")
            if axis in grid[:, 0]:
                axis.set_ylabel("mean squared error")
            if len(variants) > 1:
                unit = " (in units of the logarithm's variance)" if "price=log" in variant else ""
                axis.set_title((variant or "main setting") + unit, loc="left")
        for axis in grid[-1]:
            axis.set_xlabel("year of construction")
        # one entry a method, wherever it was drawn
        entries = [zip(*axis.get_legend_handles_labels(), strict=True) for axis in grid.flat]
        handles = {label: handle for axis in entries for handle, label in axis}
        shown = [method for method in methods if method in handles]
        _add_legend(figure, [handles[m] for m in shown], shown, "error bars", cells, columns=3)
        add_title(figure, heading)
    return figure


def _draw_periods(axis: Axes, cells: pd.DataFrame, methods: list[str]) -> None:
    periods = list(dict.fromkeys(cells["period"]))
    trained = [m for m in methods if row_titled(m).track != "reference"]
    shifts = dict(zip(trained, np.linspace(-0.3, 0.3, len(trained)), strict=True))
    for method in methods:
        rows = cells[cells["method"] == method].set_index("period").reindex(periods)
        if rows["mean"].isna().all():
            continue
        look = look_of(method)
        x = np.arange(len(periods)) + shifts.get(method, 0.0)
        mean, std = rows["mean"].to_numpy(), rows["std"].to_numpy()
        if method in shifts:
            axis.errorbar(
                x, mean, std, color=look.colour, marker=look.marker, linestyle="-", linewidth=0.5,
                elinewidth=1.0, capsize=1.5, label=method,
            )  # fmt: skip
        else:
            axis.plot(x, mean, color=look.colour, linestyle=look.dashes, label=method, zorder=1)
    axis.axvspan(-0.5, 0.5, color="0.95", zorder=0)
    axis.annotate("training period", (0, 0.97), xycoords=axis.get_xaxis_transform(),
                  ha="center", va="top", fontsize=7, color="0.4")  # fmt: skip
    axis.set_xlim(-0.5, len(periods) - 0.5)
    axis.set_xticks(range(len(periods)), periods)
    axis.tick_params(labelbottom=True)


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
    columns: int = 2,
) -> None:
    counts = " or ".join(str(n) for n in sorted(set(cells["n_seeds"])))
    title = f"{spread}: ± 1 standard deviation over {counts} seeds"
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, title=title)
