"""The forest plot: every method's difference from the paper, by table."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kerhrm.paper.evaluation.tables import CRITERIA
from kerhrm.paper.reporting.figures import WIDTH, style
from kerhrm.paper.reporting.tables import escape

#: colour (Okabe and Ito) and marker of an outcome
OUTCOMES = {
    "better": ("#0072B2", "^"),
    "reproduced": ("#009E73", "s"),
    "worse": ("#D55E00", "v"),
    "open": ("#000000", "o"),
    "not comparable": ("0.6", "o"),
}


def endpoints(found: pd.DataFrame) -> Figure:
    """Difference of the mean over a table's settings from the paper's, with its 95 % interval.

    ``found`` is of :func:`kerhrm.paper.evaluation.endpoints.endpoints`.  Better is to the right in
    every panel: the axis of an error runs the other way.  The band is the margin.
    """
    methods = list(dict.fromkeys(found["method"]))
    tables = list(dict.fromkeys(found["table"]))
    with style():
        figure, axes = plt.subplots(
            1, len(tables), sharey=True, squeeze=False, figsize=(WIDTH, 0.9 + 0.22 * len(methods))
        )
        for axis, table in zip(axes.flat, tables, strict=True):
            rows = found[found["table"] == table]
            metric, margin = rows["metric"].iloc[0], rows["margin"].max()
            axis.axvspan(-margin, margin, color="0.92", linewidth=0, zorder=0)
            axis.axvline(0, color="0.5", linewidth=0.8, zorder=1)
            for row in rows.dropna(subset="mean").itertuples():
                colour, marker = OUTCOMES[str(row.outcome)]
                y = methods.index(str(row.method))
                axis.plot([row.ci_low, row.ci_high], [y, y], color=colour, linewidth=1.2)
                axis.plot(row.difference, y, marker, color=colour, markersize=4.5)
            better = CRITERIA[metric].merit(1) > 0  # type: ignore[misc]
            if not better:
                axis.invert_xaxis()
            axis.set_title(
                f"{table.replace('table', 'Table ')}\n{'accuracy' if better else 'error'}"
            )
            axis.grid(axis="x")
            axis.locator_params(axis="x", nbins=3)
        first = axes.flat[0]
        first.set_yticks(np.arange(len(methods)), [escape(m, "matplotlib") for m in methods])
        first.set_ylim(len(methods) - 0.5, -0.5)
        shown = [outcome for outcome in OUTCOMES if outcome in set(found["outcome"])]
        entries = [
            Line2D([], [], label=o, color=OUTCOMES[o][0], marker=OUTCOMES[o][1], linestyle="")
            for o in shown
        ]
        figure.legend(
            handles=entries, loc="outside lower center", ncols=len(entries),
            title="difference from the paper, 95 % interval; right is better; band: margin",
        )  # fmt: skip
    return figure
