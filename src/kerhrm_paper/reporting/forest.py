"""Every method by table: its difference from the paper.

What the selection criterion changes.
"""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm_paper.evaluation.tables import CRITERIA, stand_ins
from kerhrm_paper.reporting.figures import (
    WIDTH,
    entry,
    finish,
    name_rows,
    style,
    subplots,
)
from kerhrm_paper.reporting.tables import results_of

#: colour (Okabe and Ito) and marker of a selection criterion
CRITERIA_LOOKS = {
    "pooled validation": ("#E69F00", "o"),
    "worst inferred environment": ("#0072B2", "^"),
    "worst true environment": ("#009E73", "s"),
    "library defaults": ("0.5", "D"),
    "oracle": ("#000000", "x"),
}
#: colour and marker of an outcome
OUTCOMES = {
    "better": ("#0072B2", "^"),
    "reproduced": ("#009E73", "s"),
    "worse": ("#D55E00", "v"),
    "open": ("#000000", "o"),
    "not comparable": ("0.6", "o"),
}


def endpoints(found: pd.DataFrame) -> Figure:
    """Difference of the mean over a table's settings from the paper's, with its 95 %
    interval.

    ``found`` is of :func:`kerhrm_paper.evaluation.endpoints.endpoints`.  Better is to
    the right in every panel: the axis of an error runs the other way.  The band is the
    margin.  Tables without any number, as of stand-ins, are left out.
    """
    numbered = found[found["mean"].notna().groupby(found["table"]).transform("any")]
    found = found if numbered.empty else numbered
    methods = list(dict.fromkeys(found["method"]))
    tables = list(dict.fromkeys(found["table"]))
    with style():
        figure, axes = subplots(
            1,
            len(tables),
            sharey=True,
            figsize=(WIDTH, 0.9 + 0.22 * len(methods)),
        )
        for axis, table in zip(axes.flat, tables, strict=True):
            rows = found[found["table"] == table]
            metric, margin = rows["metric"].iloc[0], rows["margin"].max()
            axis.axvspan(-margin, margin, color="0.92", linewidth=0, zorder=0)
            axis.axvline(0, color="0.5", linewidth=0.8, zorder=1)
            for row in rows.dropna(subset="mean").itertuples():
                colour, marker = OUTCOMES[str(row.outcome)]
                y = methods.index(str(row.method))
                axis.plot(
                    [row.ci_low, row.ci_high], [y, y], color=colour, linewidth=1.2
                )
                axis.plot(row.difference, y, marker, color=colour, markersize=4.5)
            _entitle(axis, table, metric)
        name_rows(axes.flat[0], methods)
        entries = [
            entry(o, *own) for o, own in OUTCOMES.items() if o in set(found["outcome"])
        ]
        heading = (
            "difference from the paper, 95 % interval; right is better; band: margin"
        )
        finish(figure, entries, heading=heading, columns=len(entries))
    return figure


def panel(scores: Mapping[str, pd.DataFrame]) -> Figure:
    """Mean result over a table's settings by method and selection criterion.

    ``scores`` are by table, of :func:`kerhrm_paper.evaluation.scores.score_table`.
    Methods that one criterion alone has chosen for are left out, and tables of
    stand-ins.
    """
    drawn: dict[str, tuple[str, pd.Series]] = {}
    for table, rows in scores.items():
        if stand_ins(rows):
            continue
        metric = results_of(rows)[0]
        rows = rows[rows["metric"] == metric]
        several = rows.groupby("method")["selection"].transform("nunique") > 1
        if several.any():
            keys = ["method", "selection"]
            drawn[table] = (
                metric,
                rows[several].groupby(keys, sort=False)["value"].mean(),
            )
    if not drawn:
        empty = Figure(figsize=(WIDTH, 0.5))
        empty.text(0.5, 0.5, "no table has several criteria", ha="center")
        return empty
    methods = list(
        dict.fromkeys(m for _, means in drawn.values() for m, _ in means.index)
    )
    with style():
        size = WIDTH, 1.2 + 0.22 * len(methods)
        figure, axes = subplots(1, len(drawn), sharey=True, figsize=size)
        for axis, (table, (metric, means)) in zip(
            axes.flat, drawn.items(), strict=True
        ):
            for (method, selection), mean in means.items():
                colour, marker = CRITERIA_LOOKS.get(str(selection), ("0.8", "."))
                y = methods.index(method)
                axis.plot(mean, y, marker, color=colour, markersize=4.5, alpha=0.8)
            _entitle(axis, table, metric)
        name_rows(axes.flat[0], methods)
        entries = [entry(name, *own) for name, own in CRITERIA_LOOKS.items()]
        heading = "what chose the hyperparameters; the oracle saw test points"
        finish(figure, entries, heading=heading, columns=3)
    return figure


def _entitle(axis: Axes, table: str, metric: str) -> None:
    """The table, and whether right is an accuracy or a small error."""
    better = CRITERIA[metric].higher_is_better
    if not better:
        axis.invert_xaxis()
    axis.set_title(
        f"{table.replace('table', 'Table ')}\n{'accuracy' if better else 'error'}"
    )
    axis.grid(axis="x")
    axis.locator_params(axis="x", nbins=3, steps=[1, 2, 5, 10])
