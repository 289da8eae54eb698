"""The figure of every run: a method's results, their mean, and the paper's number."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import WORST, primary, where
from kerhrm_paper.reporting.figures import (
    GREY,
    LINE,
    REFERENCES,
    WIDTH,
    finish,
    fit_scale,
    name_rows,
    style,
    subplots,
)
from kerhrm_paper.reporting.setting_words import differences, in_lines, method_name
from kerhrm_paper.reporting.tables import TITLES, results_of

MANY_ROWS = 16  #: of methods in settings; if there are more, a method is a row
NAME = 30  #: characters of a line of a row's name
LINE_HEIGHT = 0.15  #: inches, of a line of a row's name
NAME_START, NAME_HEIGHT = 3, 10  #: points over the axis, of a reference's name
MEAN_COLOUR, PAPER_COLOUR = "#0072B2", "#D55E00"
#: of points, lines and words
RUN: dict[str, Any] = {"color": MEAN_COLOUR, "markersize": 2.2}
PALE = 0.35  #: opacity of a run among many, whose density it shows
#: of runs before their mean
EDGED: dict[str, Any] = {
    "markeredgecolor": "white",
    "markeredgewidth": 0.5,
    "zorder": 3,
}
FEW = 10  #: runs of a row whose dots are opaque, before their mean
MEAN: dict[str, Any] = {"color": MEAN_COLOUR, "markersize": 11, "markeredgewidth": 2.2}
PAPER: dict[str, Any] = {
    "color": PAPER_COLOUR,
    "markersize": 5,
    "markerfacecolor": "white",
    "zorder": 3,
}
FAILED: dict[str, Any] = {"color": GREY, "fontsize": 8, "va": "center"}
#: instead of rows, where there are none
NO_ROWS = "no method's own criterion has chosen a row"
#: of rows' numbers: heading and colour
MEANS = "\N{BLACK VERTICAL RECTANGLE} mean", MEAN_COLOUR
PAPERS = "\N{WHITE DIAMOND} paper", PAPER_COLOUR
WORSTS = "worst test", GREY
COLUMN_START, COLUMN_WIDTH = 6, 38  #: points, of these numbers right of the axis


@dataclass(frozen=True)
class Row:
    """Results of a method: an array over seeds for each setting, and the paper's."""

    method: str
    name: str
    runs: Sequence[np.ndarray]
    paper: float  #: mean over the settings; nan where it has none for one of them
    worst: float  #: mean result in a run's worst test environment; nan without several

    @property
    def values(self) -> np.ndarray:
        """Of all runs."""
        return np.concatenate(self.runs)

    @property
    def lines(self) -> str:
        """The name, in lines."""
        return in_lines(self.name, NAME)


def every_seed(
    scores: pd.DataFrame,
    cells: pd.DataFrame,
    title: str = "",
    marked: Collection[str] = (),
) -> Figure:
    """Every run's result, their mean, and the paper's number; by method.

    The result is the first of :func:`~kerhrm_paper.reporting.tables.results_of`, the
    rows are chosen by the methods' own criteria.  Methods in settings are rows, or,
    where these are many, methods, with their settings one below the other.  A mean
    over settings is next to the paper's over the same settings, and next to the mean
    of what a run reaches in the worst of its test environments.  Names of ``marked``
    methods are bold.
    """
    result, *others = results_of(scores)
    cell = ["method", "setting"]
    criteria = scores.groupby(cell)["selection"].nunique()
    has_criteria = criteria.max() > 1
    own_scores = scores[primary(scores)]
    is_worst = own_scores["metric"].isin([name for name in others if name in WORST])
    worst = own_scores[is_worst]
    own_cells = cells[primary(cells)]
    scores = where(own_scores, metric=result)
    own = where(own_cells, metric=result)
    is_level = scores["method"].isin(REFERENCES)
    if is_level.all():
        return _empty(title)
    rows = _rows(scores[~is_level], own, worst)
    numbers = [row.lines.count("\n") + 1 for row in rows]
    n_lines = max(numbers)
    with style():
        row_height = LINE_HEIGHT * max(n_lines, 1.8)
        height = 1.2 + row_height * len(rows)
        size = (WIDTH, height)
        figure, grid = subplots(1, 1, figsize=size)
        axis = grid[0, 0]
        for y, row in enumerate(rows):
            _draw_row(axis, row, y)
        names = [row.lines for row in rows]
        name_rows(axis, names)
        for row, label in zip(rows, axis.get_yticklabels(), strict=True):
            if row.method in marked:
                label.set_fontweight("bold")
        if not result.endswith("_acc"):
            values = scores["value"].to_numpy()
            fit_scale(axis, values, "x")
        _draw_levels(axis, scores[is_level])
        label = _label(result, rows)
        if has_criteria:
            label += "\noptions chosen by each method's own criterion"
        axis.set_xlabel(label)
        axis.grid(axis="x")
        n_levels = scores.loc[is_level, "method"].nunique()
        _write_columns(axis, rows, above=n_levels)
        finish(figure, [], title)
    return figure


def _empty(title: str) -> Figure:
    """Words in the place of rows, as where the oracle has chosen all of them."""
    with style():
        figure = Figure(figsize=(WIDTH, 1.2))
        figure.text(0.5, 0.3, NO_ROWS, ha="center", color=GREY)
        finish(figure, [], title)
    return figure


def _rows(scores: pd.DataFrame, cells: pd.DataFrame, worst: pd.DataFrame) -> list[Row]:
    """Rows of the figure, those of references below the others."""
    methods = list(dict.fromkeys(scores["method"]))
    methods.sort(key=lambda method: method.startswith("ref: "))
    every_setting = dict.fromkeys(scores["setting"])
    words = differences(every_setting)
    pairs = scores[["method", "setting"]]
    pairs = pairs.drop_duplicates()
    has_several = len(words) > 1
    are_rows = has_several and len(pairs) <= MANY_ROWS
    rows = []
    for method in methods:
        of_method = where(scores, method=method)
        worst_of_method = where(worst, method=method)
        cells_of_method = where(cells, method=method)
        by_setting = cells_of_method.set_index("setting")
        printed = by_setting["paper"]
        own_settings = list(dict.fromkeys(of_method["setting"]))
        groups = [own_settings]
        is_level = method.startswith("ref: ") and _are_same(of_method, own_settings)
        if are_rows and is_level:  # the same of all settings is one row
            groups = [own_settings[:1]]
        elif are_rows:
            groups = [[setting] for setting in own_settings]
        for group in groups:
            name = method_name(method)
            first, *_ = group
            if are_rows and words[first] and not is_level:
                name += f", {words[first]}"
            runs = _runs(of_method, group)
            paper = _mean(printed, group)
            worst_runs = np.concatenate(_runs(worst_of_method, group))
            lowest = worst_runs.mean() if worst_runs.size else np.nan
            row = Row(method, name, runs, paper, lowest)
            rows.append(row)
    return rows


def _runs(scores: pd.DataFrame, settings: Iterable[str]) -> list[np.ndarray]:
    """Values of a method's seeds, by setting."""
    runs = []
    for setting in settings:
        of_setting = where(scores, setting=setting)
        values = of_setting["value"]
        runs.append(values.to_numpy(float))
    return runs


def _are_same(of_method: pd.DataFrame, settings: list[str]) -> bool:
    """Whether a method has the same values in all of its settings, of several."""
    first, *others = _runs(of_method, settings)
    return bool(others) and all(np.array_equal(first, other) for other in others)


def _mean(printed: pd.Series, settings: list[str]) -> float:
    """The paper's mean over some settings; nan where it has no number for one."""
    in_order = printed.reindex(settings)
    numbers = in_order.to_numpy(float)
    return float(numbers.mean())


def _draw_row(axis: Axes, row: Row, y: int) -> None:
    """Every run, with its setting's height within the row, their mean, the paper's."""
    band = 0.7 / len(row.runs)
    look: dict[str, Any] = {"alpha": PALE, "markeredgewidth": 0}
    if len(row.values) <= FEW:
        look = EDGED
    for number, values in enumerate(row.runs):
        # multiples of the golden ratio keep neighbours apart
        n = len(values)
        numbers = np.arange(n)
        places = numbers * 0.618 % 1
        lines = number + places
        heights = y - 0.35 + band * lines
        axis.plot(values, heights, "o", **RUN, **look)
    values = row.values
    is_failed = np.isnan(values)
    n_failed = int(is_failed.sum())
    if n_failed:
        axis.annotate(
            f"{n_failed} of {len(values)} runs failed",
            (0.02, y),
            xycoords=axis.get_yaxis_transform(),
            **FAILED,
        )
    # as in the table, no mean of the runs that succeeded
    mean = values.mean()
    axis.plot(mean, y, "|", **MEAN)
    axis.plot(row.paper, y, "D", **PAPER)


def _draw_levels(axis: Axes, scores: pd.DataFrame) -> None:
    """Lines for references at their mean results, each with its name above."""
    by_method = scores.groupby("method", sort=False)
    means = by_method["value"].mean()
    for method, level in means.items():
        _, line = REFERENCES[str(method)]
        axis.axvline(level, color=GREY, **LINE, linestyle=line)
    # once the axis has its scale and all lines, or a name could leave it
    to_axes = axis.transData + axis.transAxes.inverted()
    for number, (method, level) in enumerate(means.items()):
        name, _ = REFERENCES[str(method)]
        place, _ = to_axes.transform((level, 0.0))
        is_right = place > 0.5
        axis.annotate(
            name,
            (level, 1.0),
            (0, NAME_START + NAME_HEIGHT * number),
            xycoords=axis.get_xaxis_transform(),
            textcoords="offset points",
            ha="right" if is_right else "left",
            color=GREY,
            fontsize=8,
        )


def _label(result: str, rows: list[Row]) -> str:
    """What is plotted, and what a dot and its height are."""
    title = TITLES.get(result, result)
    has_settings = any(len(row.runs) > 1 for row in rows)
    numbers = sorted({len(values) for row in rows for values in row.runs})
    n_runs = " or ".join(map(str, numbers))
    label = f"{title}; a dot is one of {n_runs} runs"
    if has_settings:
        label += " of a setting,\nwithin a row one setting below the other"
    if any(np.isfinite(row.worst) for row in rows):
        label += "\nworst test: mean over runs of the worst of each run's tests"
    return label


def _write_columns(axis: Axes, rows: list[Row], above: int) -> None:
    """Columns of numbers right of the rows: means, the paper's, of the worst test.

    Without a number there is no column.  The headings are over ``above`` lines of
    names.
    """
    means = [row.values.mean() for row in rows]
    papers = [row.paper for row in rows]
    worsts = [row.worst for row in rows]
    points = COLUMN_START
    for numbers, heading in ((means, MEANS), (papers, PAPERS), (worsts, WORSTS)):
        if np.isfinite(numbers).any():
            _write(axis, numbers, *heading, points, above)
            points += COLUMN_WIDTH


def _write(
    axis: Axes,
    numbers: Iterable[float],
    heading: str,
    colour: str,
    points: float,
    above: int,
) -> None:
    """A column of numbers right of the rows, empty where there is none."""
    look: dict[str, Any] = {
        "textcoords": "offset points",
        "color": colour,
        "fontsize": 8,
        "annotation_clip": False,
    }
    height = NAME_START + NAME_HEIGHT * above
    axis.annotate(heading, (1, 1), (points, height), xycoords="axes fraction", **look)
    for y, number in enumerate(numbers):
        axis.annotate(
            plain(f"{number:.2f}") if np.isfinite(number) else "",
            (1, y),
            (points, 0),
            xycoords=axis.get_yaxis_transform(),
            va="center",
            **look,
        )
