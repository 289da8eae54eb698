"""Which optimum of EM a rule chooses, and whether it is right; of study ``starts``."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas import DataFrame, Series
from scipy.special import comb

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm_paper.studies.study import Array, Figures, Frames

SPLITS = "starts_splits"
LAMBDA = "starts_lambda"
STARTS = 200  #: initialisations of each data set
#: area under the ROC curve from which a split is the expected one
EXPECTED = 0.8
OPTIONS = KerHRMOptions()
#: columns by which a rule prefers optima
RULES = {
    "likelihood": "held_out",
    "rule": "rule",
}
#: name, colour (Okabe and Ito), marker and place in its row of what chooses
LOOKS = {
    "any": ("mean of all starts", "#E69F00", "o", -0.25),
    "likelihood": ("the likeliest", "#D55E00", "^", 0.0),
    "rule": ("the likeliest that do not copy the label", "#0072B2", "s", 0.25),
}
VARIANT = ["case", "e_step"]
DATA_SET = ["case", "e_step", "seed"]


def best_of(preferences: Array, results: Array, draws: int) -> float:
    """Expected result of the preferred one of some starts, drawn from all without
    replacement.

    The j-th best of n, j = 0, ..., is the best of m with probability C(n-1-j, m-1) /
    C(n, m).
    """
    n = len(results)
    by_rank = np.argsort(-preferences, kind="stable")
    j = np.arange(n - draws + 1)
    below = n - 1 - j
    chosen = comb(below, draws - 1)
    chances = chosen / comb(n, draws)
    possible = by_rank[: len(j)]
    return float(chances @ results[possible])


def judged(optima: DataFrame) -> DataFrame:
    """Optima with what the rule says of them: whether they are degenerate, and its
    preference."""
    bits = optima["label_information"]
    copies = bits > OPTIONS.max_label_information
    empty = optima["empty"].astype(bool)
    degenerate = copies | empty
    separates = optima["auc"] >= EXPECTED
    return optima.assign(
        degenerate=degenerate,
        label_split=copies,
        expected=separates & ~degenerate,
        rule=optima["held_out"] - 1e6 * degenerate,
    )


def summaries(drawn: Frames) -> Frames:
    """Row per case and E step: shares of the optima, and test results of rules that
    choose one."""
    splits = drawn[SPLITS]
    optima = judged(splits)
    repeated = optima.index.repeat(optima["starts"])
    starts = optima.loc[repeated]
    starts = starts.reset_index(drop=True)
    variants = starts.groupby(VARIANT, sort=False)
    columns = ["label_split", "empty", "expected"]
    shares = variants[columns].mean()
    data_sets = starts.groupby(DATA_SET, sort=False)
    chosen = data_sets.apply(choices)
    of_variant = chosen.groupby(level=VARIANT, sort=False)
    means = of_variant.mean()
    summary = shares.join(means)
    summary = summary.round(4)
    summary = summary.reset_index()
    return {"starts_summary": summary}


def choices(starts: DataFrame) -> Series:
    """Test results of one data set's optima: any, best of n_init by likelihood, by our
    rule."""
    results = starts["result"].to_numpy()
    areas = starts["auc"].to_numpy()
    result = starts["result"]
    chosen = {"any": result.mean()}
    for name, column in RULES.items():
        preferences = starts[column].to_numpy()
        draws = OPTIONS.n_init
        of_rule = best_of(preferences, results, draws)
        chosen[name] = of_rule
        best = int(preferences.argmax())
        right = areas[best] >= EXPECTED
        chosen[f"{name}_right"] = float(right)
    return Series(chosen)


def figures(tables: Frames) -> Figures:
    """Test results by E step and by what chooses among the optima, a panel for each
    case: dots are data sets, and the larger mark is their mean."""
    splits = tables[SPLITS]
    optima = judged(splits)
    repeated = optima.index.repeat(optima["starts"])
    starts = optima.loc[repeated]
    data_sets = starts.groupby(DATA_SET, sort=False)
    chosen = data_sets.apply(choices)
    chosen = chosen.reset_index()
    names_of_cases = chosen["case"]
    cases = list(names_of_cases.unique())
    names_of_e_steps = chosen["e_step"]
    e_steps = list(names_of_e_steps.unique())
    figure = Figure((5.5, 3), layout="constrained")
    n_cases = len(cases)
    axes = figure.subplots(1, n_cases, sharey=True, squeeze=False)
    panels = zip(axes.flat, cases, strict=True)
    for axis, case in panels:
        is_case = chosen["case"] == case
        of_case = chosen[is_case]
        draw_case(axis, of_case, e_steps)
        is_error = case.startswith("Table 3")
        if is_error:
            axis.invert_xaxis()
            axis.locator_params(axis="x", nbins=3, steps=[1, 5, 10])
        else:
            axis.set_xlim(0, 0.9)
            axis.set_xticks([0, 0.4, 0.8], ["0", ".4", ".8"])
        quantity = "error" if is_error else "accuracy"
        axis.set_xlabel(quantity)
        axis.set_title(in_lines(case))
    first = axes.flat[0]
    rows = []
    for e_step in e_steps:
        words = e_step.replace(", ", ",\nwith ")
        rows.append(f"EM, {words}")
    n_rows = len(rows)
    first.set_yticks(range(n_rows), rows)
    first.set_ylim(n_rows - 0.5, -0.5)
    marks, names = first.get_legend_handles_labels()
    figure.legend(
        marks,
        names,
        loc="outside lower center",
        ncols=2,
        frameon=False,
        title="environments chosen; right is better, small dots are data sets",
    )
    return {"starts_selection": figure}


def in_lines(case: str) -> str:
    """A case's name, a line for each part, without zeros behind numbers."""
    lines = case.replace(", ", "\n").replace(" MNIST", "\nMNIST")
    return lines.replace(".70", ".7").replace(".80", ".8").replace("=", " = ")


def draw_case(axis: Axes, chosen: DataFrame, e_steps: list[str]) -> None:
    """Results of one case: a row for each E step, in it a height for each rule."""
    e_step = chosen["e_step"]
    heights = e_step.map(e_steps.index)
    for rule, (name, colour, marker, place) in LOOKS.items():
        shifted = heights + place
        results = chosen[rule]
        axis.scatter(results, shifted, s=6, c=colour, alpha=0.5, lw=0)
        of_rule = chosen.groupby(heights)[rule]
        means = of_rule.mean()
        axis.plot(
            means,
            means.index + place,
            color=colour,
            marker=marker,
            markersize=6,
            linestyle="",
            label=name,
        )
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", color="0.9")
    axis.set_axisbelow(True)
    axis.margins(x=0.1)
