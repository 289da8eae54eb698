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
    optima = judged(drawn[SPLITS])
    repeated = optima.index.repeat(optima["starts"])
    starts = optima.loc[repeated]
    starts = starts.reset_index(drop=True)
    variants = starts.groupby(VARIANT, sort=False)
    columns = ["label_split", "empty", "expected"]
    shares = variants[columns].mean()
    data_sets = starts.groupby(DATA_SET, sort=False)
    chosen = data_sets.apply(choices)
    of_variant = chosen.groupby(level=VARIANT, sort=False)
    summary = shares.join(of_variant.mean())
    summary = summary.round(4).reset_index()
    return {"starts_summary": summary}


def choices(starts: DataFrame) -> Series:
    """Test results of one data set's optima: any, best of n_init by likelihood, by our
    rule."""
    results = starts["result"].to_numpy()
    areas = starts["auc"].to_numpy()
    chosen = {"any": starts["result"].mean()}
    for name, column in RULES.items():
        preferences = starts[column].to_numpy()
        draws = OPTIONS.n_init
        chosen[name] = best_of(preferences, results, draws)
        best = int(preferences.argmax())
        right = areas[best] >= EXPECTED
        chosen[f"{name}_right"] = float(right)
    return Series(chosen)


def figures(tables: Frames) -> Figures:
    """Test results of optima over their held-out likelihood, relative to the rule's
    choice."""
    optima = judged(tables[SPLITS])
    cases = list(optima["case"].unique())
    e_steps = list(optima["e_step"].unique())
    n = len(cases)
    figure = Figure((7.2, 2.6))
    (axes,) = figure.subplots(1, n, squeeze=False)
    for axis, case in zip(axes, cases, strict=True):
        of_case = optima[optima["case"] == case]
        for number, e_step in enumerate(e_steps):
            same = of_case["e_step"] == e_step
            data_sets = of_case[same].groupby("seed")
            for _, data_set in data_sets:
                draw_optima(axis, data_set, f"C{number}")
        axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        title = case.replace(", ", ",\n", 1)
        axis.set_title(title)
    first = axes[0]
    middle = axes[n // 2]
    first.set_ylabel("test accuracy (Table 3: error)")
    likelihood = "held-out log-likelihood"
    middle.set_xlabel(f"{likelihood}, minus that of the chosen optimum")
    return {"starts_selection": figure}


def draw_optima(axis: Axes, optima: DataFrame, colour: str) -> None:
    """Dots of one data set's optima, crosses of the degenerate ones."""
    chosen = optima["rule"].idxmax()
    held_out = optima["held_out"]
    likelihood = held_out - held_out[chosen]
    degenerate = optima["degenerate"]
    markers = {
        "o": ~degenerate,
        "x": degenerate,
    }
    for marker, rows in markers.items():
        starts = optima["starts"][rows]
        axis.scatter(
            likelihood[rows],
            optima["result"][rows],
            s=8 + 30 * starts / STARTS,
            marker=marker,
            c=colour,
        )
