"""The page of a user's table: what was read, the verdict, methods, environments, pictures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm.heterogeneity.records import FOUND, NONE
from kerhrm.methods.registry import position, row_titled
from kerhrm.plots import draw
from kerhrm.reporting.style import add_title, style
from kerhrm.reporting.tables import headline, metric_name
from kerhrm.scoring.found import BINS, TARGET
from kerhrm.scoring.statistics import summarise

Told = Mapping[str, Any]
#: of a table side by side, and predictors that are shown, at most
COLUMNS = 8
ASSUMPTION = (
    "Labels are binary, so **no test can tell** whether there are environments: pooled labels are "
    "draws from one law P(Y | X), whatever made them, and a split into rows in which an attribute "
    "agrees with the label and rows in which it does not exists in any such table. Using KerHRM "
    "here assumes that what the environments below differ in is spurious, that is that its "
    "relation to the label will change. If it will not, KerHRM gives up accuracy for nothing: "
    "compare its overall error with that of ERM."
)


def reading(told: Told) -> str:
    """What was read of the file, as Markdown."""
    about = told["about"]
    sizes, missing = about["sizes"], about["missing"]
    lines = [
        f"- Data: `{about['path']}` ({told['source']}), {about['rows']} rows, of which "
        f"{about['complete']} are used; target `{about['target']}`, a {told['task']}.",
        f"- Each seed draws {sizes['train']} training and {sizes['validation']} validation rows; "
        f"{sizes['test']} rows are for the test.",
        f"- Predictors, {len(about['features'])} after encoding: {_names(about['features'])}.",
        f"- Columns that are not used: {_names(about['unused'])}.",
    ]
    if told["task"] == "classification":
        lines.append(f"- Class +1 is `{about['class']}`: {about['positive']:.1%} of the rows.")
    else:
        lines.append(
            f"- Errors are mean squared errors in units of the target's variance, the square of "
            f"{about['deviation']:.6g}: 1 is the error of its mean over all rows."
        )
    for name, how in about["encodings"].items():
        lines.append(f"- `{name}`: {about['categories'][name]} values, encoded as {how}.")
    holes = ", ".join(f"`{name}` {count}" for name, count in missing.items())
    lines.append(f"- Cells without a value: {holes or 'none'}.")
    groups = pd.DataFrame(about["groups"], columns=["test group", "rows"])
    return "\n".join(lines) + "\n\n" + groups.to_markdown(index=False) + "\n"


def verdict(told: Told, choices: pd.DataFrame) -> str:
    """Whether there is anything to find, in words."""
    if told["task"] == "classification":
        return ASSUMPTION
    tested = choices.dropna(subset=["p"])
    if tested.empty:
        return "The data were not tested for environments."
    none = int((tested["iteration"] == 0).sum())
    n, p = len(tested), tested["p"]
    range_ = f"p-values from {p.min():.2f} to {p.max():.2f} over {n} seeds"
    if none == n:
        what = f"**{NONE.capitalize()}** ({range_}): KerHRM predicts as pooled ERM, in every seed."
    elif none == 0:
        what = f"**{FOUND.capitalize()}**, in every seed ({range_})."
    else:
        what = (
            f"**Undecided**: environments found in {n - none} of {n} seeds ({range_}); in the "
            "others KerHRM predicts as pooled ERM."
        )
    return (
        f"{what} The test compares the gain of two regressions over one with what it is on "
        "permuted residuals; noise whose shape depends on the predictors looks like environments."
    )


def methods_table(table: pd.DataFrame) -> str:
    """Mean error and 95 % interval over seeds of every method, overall and in the worst group."""
    own = headline(table)
    columns = {}
    for metric in ("overall_error", "worst_error"):
        cells = own[own["metric"] == metric].set_index("method")
        columns[metric_name(metric)] = cells.apply(_interval, axis=1)
    wide = pd.DataFrame(columns)
    wide = wide.loc[sorted(wide.index, key=position)]
    return wide.rename_axis("method").reset_index().to_markdown(index=False) + "\n"


def groups_table(table: pd.DataFrame) -> str:
    """Mean error of every method in each test group."""
    own = headline(table)
    cells = own[own["metric"] == "group_error"]
    groups = list(dict.fromkeys(cells["setting"]))
    wide = cells.pivot(index="method", columns="setting", values="mean")
    wide = wide.loc[sorted(wide.index, key=position), groups]
    wide = wide.rename(columns=lambda name: name.removeprefix("group="))
    parts = [
        wide[wide.columns[i : i + COLUMNS]].reset_index().to_markdown(index=False, floatfmt=".3f")
        for i in range(0, len(groups), COLUMNS)
    ]
    return "\n\n".join(parts) + "\n"


def environments_table(told: Told) -> str:
    """Of every seed: sizes, what tells the environments apart, and how they meet the truth."""
    rows = []
    for one in told["found"]:
        importance = list(one["importance"].items())[:4]
        rows.append(
            {
                "seed": one["seed"],
                "iteration": one["iteration"],
                "k": one["k"],
                "shares": ", ".join(f"{share:.2f}" for share in one["shares"]),
                "mean target": ", ".join(f"{mean:+.2f}" for mean in one["target"]),
                "told apart by": ", ".join(f"{name} {v:.2f}" for name, v in importance if v > 0),
            }
            | ({"adjusted Rand": f"{one['adjusted_rand']:.3f}"} if "adjusted_rand" in one else {})
        )
    if not rows:
        return "KerHRM is not among the methods.\n"
    return pd.DataFrame(rows).to_markdown(index=False) + "\n"


def relations_table(told: Told) -> str:
    """The target in each environment of the first seed: slopes, or shares of the class +1."""
    if not told["found"]:
        return ""
    one, features = told["found"][0], told["about"]["features"]
    names = [f"environment {e}" for e in range(len(one["shares"]))]
    if told["task"] == "classification":
        frame = pd.DataFrame(np.array(one["relation"], dtype=float).T, columns=names)
        label = f"{one['column']}, from low to high"
        frame.insert(0, label, [f"part {i + 1} of {len(frame)}" for i in range(len(frame))])
        return frame.to_markdown(index=False, floatfmt=".3f") + "\n"
    coefficients = np.array(one["relation"]).T
    frame = pd.DataFrame(coefficients, columns=names)
    frame.insert(0, "predictor", features)
    order = np.argsort(-np.ptp(coefficients, axis=1), kind="stable")
    return frame.iloc[order][:COLUMNS].to_markdown(index=False, floatfmt="+.3f") + "\n"


def picture(told: Told, scores: pd.DataFrame, heading: str) -> Figure:
    """Errors of the methods by group, and the environments of the first seed in two panels."""
    own = headline(scores)
    found = told["found"][:1]
    with style():
        columns = 3 if found else 1
        figure, axes = plt.subplots(1, columns, figsize=(3.4 * columns + 0.6, 3.4), squeeze=False)
        _errors(axes[0, 0], own)
        if found:
            _points(axes[0, 1], found[0], told)
            _importance(axes[0, 2], told["found"])
        add_title(figure, heading)
    return figure


def _errors(axis: Axes, scores: pd.DataFrame) -> None:
    """Means and 95 % intervals of both errors."""
    methods = sorted(
        {m for m in scores["method"] if row_titled(m).track != "reference"}, key=position
    )
    series = {}
    for metric in ("overall_error", "worst_error"):
        cells = [
            summarise(scores[(scores["method"] == m) & (scores["metric"] == metric)]["value"])
            for m in methods
        ]
        mean, low, high = (
            np.array([cell[key] for cell in cells]) for key in ("mean", "ci_low", "ci_high")
        )
        series[metric_name(metric)] = mean, low, high
    draw.dots(axis, methods, series)
    axis.set_xlabel("mean and 95 % interval over seeds")


def _points(axis: Axes, one: Told, told: Told) -> None:
    """The target over the column that tells environments apart, in each environment."""
    seed = f"(seed {one['seed']})"
    if told["task"] == "classification":
        shares = np.array(one["relation"], dtype=float)
        draw.shares(axis, np.arange(1, shares.shape[1] + 1), shares)
        axis.set_xlabel(f"{one['column']}, {BINS} parts from low to high {seed}")
        target, value = told["about"]["target"], told["about"]["class"]
        axis.set_ylabel(f"P({target} = {value} | part, environment)")
    else:
        x, y, environment = (np.array(one["points"][name]) for name in ("x", "y", "environment"))
        draw.points(axis, x, y, np.eye(len(one["shares"]))[environment], lines=True)
        axis.set_xlabel(f"{one['column']}, standardised {seed}")
        axis.set_ylabel(f"{told['about']['target']}, standardised")


def _importance(axis: Axes, found: Sequence[Told]) -> None:
    """Mean importance over seeds of the columns that tell environments apart."""
    mean = pd.DataFrame([one["importance"] for one in found]).mean().to_dict()
    draw.bars(axis, mean, aside=[TARGET], most=COLUMNS)
    axis.set_xlabel("loss of balanced accuracy\nwhen the column is shuffled")
    axis.set_title("what tells environments apart")


def _interval(cell: Mapping[str, Any]) -> str:
    if cell["verdict"] == "failed":
        return f"failed: {cell['reason']}"
    return f"{cell['mean']:.3f} [{cell['ci_low']:.3f}, {cell['ci_high']:.3f}]"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:40])
    return (shown or "none") + (f" and {len(names) - 40} more" if len(names) > 40 else "")
