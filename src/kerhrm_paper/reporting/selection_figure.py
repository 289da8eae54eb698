"""What the choice of hyperparameters changes: a method's results by criterion."""

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm.methods.base import POOLED, WORST_INFERRED, WORST_TRUE
from kerhrm_paper.config.criteria import DEFAULTS, ORACLE
from kerhrm_paper.evaluation.crossed import means_of_all
from kerhrm_paper.evaluation.tables import stand_ins, where
from kerhrm_paper.reporting.figures import (
    GREY,
    WIDTH,
    entitle,
    entry,
    finish,
    name_rows,
    style,
    subplots,
)
from kerhrm_paper.reporting.tables import results_of

WORST_ENVIRONMENT = "worst environment"
#: criteria that are one in the figure: no method has both
SAME = {
    WORST_INFERRED: WORST_ENVIRONMENT,
    WORST_TRUE: WORST_ENVIRONMENT,
}
#: colour (Okabe and Ito) and marker of a criterion; from top to bottom within a row
LOOKS = {
    POOLED: ("#E69F00", "o"),
    WORST_ENVIRONMENT: ("#0072B2", "^"),
    DEFAULTS: ("#009E73", "D"),
    ORACLE: ("#000000", "x"),
}
#: in the legend; else the criterion
NAMES = {
    WORST_ENVIRONMENT: "worst environment, if several",
    ORACLE: "oracle (tuning seeds' test points)",
}
ROW = 0.33  #: inches
NAME = 24  #: characters of a line of a row's name
#: words in a row without results
ABSENT: dict[str, Any] = {
    "color": GREY,
    "fontsize": 8,
    "ha": "center",
    "va": "center",
    "backgroundcolor": "white",
}
#: words in a row some of whose criteria have no mean
FAILED: dict[str, Any] = {"color": GREY, "fontsize": 6, "ha": "left", "va": "center"}
#: columns of criteria and methods
KEYS = ["method", "selection"]


def selection(scores: Mapping[str, pd.DataFrame]) -> Figure:
    """Mean result over a table's settings, by method and selection criterion.

    A panel for each table and a row for each method.  The grey bar of a row ends at
    its lowest and highest mean without the oracle's, so that its length is what the
    choice changes.

    ``scores`` are by table, of :func:`kerhrm_paper.evaluation.scores.score_table`.
    Methods with one criterion are left out, tables of stand-ins, and tables that would
    leave most rows empty.
    """
    drawn = _panels(scores)
    if not drawn:
        empty = Figure(figsize=(WIDTH, 0.5))
        empty.text(0.5, 0.5, "no table has several criteria", ha="center")
        return empty
    methods = _methods(drawn)
    with style():
        height = 1.2 + ROW * len(methods)
        size = (WIDTH, height)
        n_tables = len(drawn)
        figure, axes = subplots(1, n_tables, figsize=size, sharey=True)
        panels = zip(axes.flat, drawn.items(), strict=True)
        for axis, (table, means) in panels:
            for y, method in enumerate(methods):
                of_method = where(means, method=method)
                _draw_row(axis, of_method, y)
            of_table = scores[table]
            metric, *_ = results_of(of_table)
            entitle(axis, table, metric)
        names = []
        for method in methods:
            name = method.removeprefix("ref: ")
            in_lines = textwrap.fill(name, NAME)
            names.append(in_lines)
        first_axis = axes.flat[0]
        name_rows(first_axis, names)
        entries = []
        for criterion, (colour, marker) in LOOKS.items():
            name = NAMES.get(criterion, criterion)
            mark = entry(name, colour, marker)
            entries.append(mark)
        heading = "what chose the hyperparameters; right is better\n"
        heading += f"means over {_n_seeds(drawn)} seeds; "
        heading += "grey bar: their range without the oracle"
        finish(figure, entries, heading=heading, columns=2)
    return figure


def _panels(scores: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Mean results by table, of the tables that are drawn."""
    means = {table: _means(of_table) for table, of_table in scores.items()}
    n_methods = len(_methods(means))
    return {
        table: of_table
        for table, of_table in means.items()
        if of_table["method"].nunique() > n_methods / 2
    }


def _methods(means: Mapping[str, pd.DataFrame]) -> list[str]:
    """Methods of some tables; references behind the others."""
    names: dict[str, None] = {}
    for of_table in means.values():
        names |= dict.fromkeys(of_table["method"])
    return sorted(names, key=lambda name: name.startswith("ref: "))


def _means(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean result of a table by method and criterion, where there are several; NaN
    where a run has failed."""
    result, *_ = results_of(scores)
    rows = where(scores, metric=result)
    by_method = rows.groupby("method")
    n_criteria = by_method["selection"].transform("nunique")
    rows = rows[n_criteria > 1]
    if stand_ins(scores):
        rows = rows.iloc[:0]
    groups = rows.groupby(KEYS, sort=False)
    means = means_of_all(groups["value"])
    means = means.to_frame()
    means["n_seeds"] = groups["seed"].nunique()
    means = means.reset_index()
    criteria = means["selection"].replace(SAME)
    return means.assign(selection=criteria)


def _n_seeds(means: Mapping[str, pd.DataFrame]) -> str:
    """Numbers of seeds that some means are of, in words."""
    numbers: set[int] = set()
    for of_table in means.values():
        numbers |= set(of_table["n_seeds"])
    return " or ".join(map(str, sorted(numbers)))


def _draw_row(axis: Axes, means: pd.DataFrame, y: int) -> None:
    """A method's mean by criterion, each at its own height, over the bar of all."""
    if means.empty:
        transform = axis.get_yaxis_transform()
        axis.text(0.5, y, "not run", transform=transform, **ABSENT)
        return
    is_honest = means["selection"] != ORACLE
    honest = means.loc[is_honest, "value"]
    lowest = honest.min()
    highest = honest.max()
    axis.hlines(y, lowest, highest, color="0.85", linewidth=7, zorder=1)
    n_failed = int(means["value"].isna().sum())
    if n_failed:
        transform = axis.get_yaxis_transform()
        axis.text(0.02, y, f"{n_failed} failed", transform=transform, **FAILED)
    for number, (criterion, (colour, marker)) in enumerate(LOOKS.items()):
        share = (number + 0.5) / len(LOOKS)
        place = share - 0.5
        of_criterion = where(means, selection=criterion)
        values = of_criterion["value"]
        height = y + 0.9 * place
        heights = [height] * len(values)
        axis.plot(values, heights, marker, color=colour, markersize=4, zorder=2)
