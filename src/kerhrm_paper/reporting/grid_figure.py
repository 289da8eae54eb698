"""Results over a grid of the two constants that the paper does not print."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import (
    GREY,
    REFERENCES,
    WIDTH,
    finish,
    intervals,
    line_entry,
    style,
    subplots,
)
from kerhrm_paper.reporting.setting_words import in_lines, setting_in_words
from kerhrm_paper.reporting.tables import TITLES, results_of

#: of a setting's end
PAIR = r"^(?P<base>.+),alpha=(?P<alpha>[\d.e+-]+),cosine_weight=(?P<weight>[\d.e+-]+)$"
#: colour and marker of a lambda, in turn (Okabe and Ito)
LOOKS = ("#56B4E9", "o"), ("#0072B2", "s"), ("#000000", "D")
COLUMNS = 3  #: of panels, at most
SIDE = 0.06  #: decades between lines, which stand side by side
HEIGHT, FOOT = 1.7, 1.1  #: inches of a row of panels, and below all
TITLE_WIDTH = 24  #: characters of a line of a panel's title


def is_grid(cells: pd.DataFrame) -> bool:
    """Whether some settings name both constants."""
    return bool(cells["setting"].str.fullmatch(PAIR).any())


def grid(cells: pd.DataFrame) -> Figure:
    """Result over alpha, a line for each lambda and a panel for each setting."""
    cells = cells[primary(cells)]
    result, *_ = results_of(cells)
    cells = where(cells, metric=result)
    constants = cells["setting"].str.extract(PAIR)
    of_grid = pd.concat([cells, constants], axis=1).dropna(subset=["base"])
    of_grid = of_grid.astype({"alpha": float, "weight": float})
    bases = list(dict.fromkeys(of_grid["base"]))
    weights = sorted(set(of_grid["weight"]))
    n_rows = -(-len(bases) // COLUMNS)
    n_columns = -(-len(bases) // n_rows)
    with style():
        size = (WIDTH, HEIGHT * n_rows + FOOT)
        figure, axes = subplots(
            n_rows, n_columns, figsize=size, sharex=True, sharey=True
        )
        panels = list(axes.flat)
        for axis, base in zip(panels, bases, strict=False):
            of_base = where(of_grid, base=base)
            _draw(axis, of_base, weights)
            title = in_lines(setting_in_words(base), TITLE_WIDTH)
            axis.set_title(title, loc="left", fontsize=9)
        for axis in panels[len(bases) :]:
            axis.set_visible(False)
        by_base = dict(zip(bases, panels, strict=False))
        entries = _references(by_base, cells)
        for row in axes:
            row[0].set_ylabel(TITLES[result])
        heading = f"horizontal: alpha; bars: {intervals(of_grid)}"
        of_weights = [_entry(weight, look) for weight, look in _looks(weights).items()]
        finish(figure, [*of_weights, *entries], heading=heading, columns=3)
    return figure


def _looks(weights: list[float]) -> dict[float, tuple[str, str]]:
    """Colour and marker of each lambda."""
    return {weight: LOOKS[i % len(LOOKS)] for i, weight in enumerate(weights)}


def _entry(weight: float, look: tuple[str, str]) -> Line2D:
    colour, marker = look
    label = f"lambda = {weight:g}"
    return Line2D([], [], label=label, color=colour, marker=marker, markersize=4)


def _draw(axis: Axes, cells: pd.DataFrame, weights: list[float]) -> None:
    """Lines of a setting, side by side."""
    for number, (weight, look) in enumerate(_looks(weights).items()):
        colour, marker = look
        line = where(cells, weight=weight).sort_values("alpha")
        beside = 10 ** (SIDE * (number - (len(weights) - 1) / 2))
        below = line["mean"] - line["ci_low"]
        above = line["ci_high"] - line["mean"]
        axis.errorbar(
            line["alpha"] * beside,
            line["mean"],
            [below, above],
            color=colour,
            marker=marker,
            markersize=3.5,
            linewidth=1,
        )
    axis.set_xscale("log")
    alphas = sorted(set(cells["alpha"]))
    axis.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
    axis.minorticks_off()


def _references(panels: dict[str, Axes], cells: pd.DataFrame) -> list[Line2D]:
    """Lines of the references in each setting's panel, and their entries."""
    entries = []
    for method, (label, line) in REFERENCES.items():
        of_panels = cells["setting"].isin([*panels])
        of_method = where(cells[of_panels], method=method)
        for setting, mean in zip(of_method["setting"], of_method["mean"], strict=True):
            panels[setting].axhline(mean, color=GREY, linestyle=line, linewidth=1)
        if not of_method.empty:
            entries.append(line_entry(label, line))
    return entries
