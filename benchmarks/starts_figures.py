"""The figures of the study of M_c's starts, of lambda and of EIIL's reference."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.starts import (
    KEYS,
    LABEL,
    convergence,
    each_start,
    is_error,
    over_lambda,
    preference,
    reference,
    usable,
)
from kerhrm.reporting.style import COLOURS, save_figure, style

#: colour and marker of each EM, and colour and line of each cosine
EMS = {
    "soft": (COLOURS[6], "o"),
    "hard": (COLOURS[2], "s"),
    "hard, intercept": (COLOURS[5], "^"),
}
COSINES = {"signed": (COLOURS[6], "-", "o"), "absolute": (COLOURS[5], "--", "s")}
KINDS = {"usable": "o", "label split": "x", "one environment": "+"}
WIDTH = 7.2  # inches


def result_name(case: str) -> str:
    return "mean test error" if is_error(case) else "test accuracy"


def label_information(rows: pd.DataFrame) -> Figure:
    """Distribution functions of the label information that starts end with."""
    cases = [*dict.fromkeys(rows["case"])]
    figure, axes = plt.subplots(1, len(cases), figsize=(WIDTH, 2.3), sharey=True)
    for axis, case in zip(axes, cases, strict=True):
        for em, (colour, _) in EMS.items():
            own = rows[(rows["case"] == case) & (rows["em"] == em)]
            every = each_start(own)["label_information"].to_numpy()
            axis.ecdf(every, color=colour, label=em)
        axis.axvline(LABEL, color="0.5", linestyle=":", label="above: label split")
        axis.set(title=_wrapped(case), xlim=(-0.03, 1.03), ylim=(0, 1.02))
        axis.set_xticks([0, 0.5, 1])
    axes[0].set_ylabel("share of starts below")
    axes[len(cases) // 2].set_xlabel("label information of the end")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def iterations(rows: pd.DataFrame) -> Figure:
    """Medians and quartiles of EM's iterations over K, and shares of label splits."""
    found = convergence(rows)
    cases = [*dict.fromkeys(found["case"])]
    figure, axes = plt.subplots(
        2, len(cases), figsize=(WIDTH, 3.8), sharey="row", sharex=True, height_ratios=(1.5, 1)
    )
    for column, case in enumerate(cases):
        for shift, (em, (colour, marker)) in zip((-0.1, 0, 0.1), EMS.items(), strict=True):
            own = found[(found["case"] == case) & (found["em"] == em)]
            x, look = own["clusters"] + shift, {"color": colour, "marker": marker, "markersize": 3}
            spread = np.stack([own["median"] - own["low"], own["high"] - own["median"]])
            axes[0, column].errorbar(
                x, own["median"], spread, linewidth=0.8, capsize=1.5, label=em, **look
            )
            axes[1, column].plot(x, own["label_split"], linewidth=0.8, **look)
        axes[0, column].set_title(_wrapped(case))
        axes[1, column].set_xticks(sorted(set(found["clusters"])))
    axes[0, 0].set(yscale="log", ylabel="EM's iterations")
    axes[0, 0].set_yticks([5, 10, 20, 50, 100, 200], ["5", "10", "20", "50", "100", "200"])
    axes[0, 0].minorticks_off()
    axes[1, 0].set(ylim=(-0.04, 1.04), ylabel="share of label splits")
    axes[1, len(cases) // 2].set_xlabel("clusters K")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def selection(rows: pd.DataFrame) -> Figure:
    """Test results of ends over their likelihoods, as differences from M_c's choice."""
    rows = rows.assign(kind=np.where(usable(rows), "usable", "label split"))
    rows.loc[rows["empty"].astype(bool), "kind"] = "one environment"
    shifted = [_from_choice(group) for _, group in rows.groupby(KEYS["splits"], sort=False)]
    rows = pd.concat(shifted)
    cases = [*dict.fromkeys(rows["case"])]
    figure, axes = plt.subplots(2, len(cases), figsize=(WIDTH, 4.4), sharex="row")
    for column, case in enumerate(cases):
        for axis, name in zip(axes[:, column], ("objective", "held_out"), strict=True):
            for em, (colour, _) in EMS.items():
                for kind, marker in KINDS.items():
                    own = rows[(rows["case"] == case) & (rows["em"] == em) & (rows["kind"] == kind)]
                    hollow = {} if marker in "x+" else {"facecolors": "none"}
                    size = 8 + 30 * own["starts"] / 200
                    axis.scatter(
                        own[name], own["result"], s=size, marker=marker, color=colour,
                        linewidths=0.8, alpha=0.7, **hollow,
                    )  # fmt: skip
            axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
            _few_ticks(axis)
        axes[0, column].set_title(_wrapped(case))
        if column in (0, cases.index(next(filter(is_error, cases)))):
            for axis in axes[:, column]:
                axis.set_ylabel(result_name(case))
    axes[0, len(cases) // 2].set_xlabel("$-L_c$ on training points, less that of M$_c$'s choice")
    axes[1, len(cases) // 2].set_xlabel("held-out log-likelihood, less that of M$_c$'s choice")
    handles = [_entry(em, "s", colour) for em, (colour, _) in EMS.items()]
    handles += [_entry(kind, marker, "0.3") for kind, marker in KINDS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=6)
    return figure


def _from_choice(group: pd.DataFrame) -> pd.DataFrame:
    """Likelihoods of one data set's ends less those of the end that M_c chooses."""
    chosen = group.iloc[int(preference(group, True).argmax())]
    return group.assign(
        objective=chosen["objective"] - group["objective"],
        held_out=group["held_out"] - chosen["held_out"],
    )


def lambdas(rows: pd.DataFrame) -> Figure:
    """Test result, cosine and change outside of U at the end of the training, over lambda."""
    means = over_lambda(rows)
    cases = [*dict.fromkeys(means["case"])]
    figure, axes = plt.subplots(3, len(cases), figsize=(WIDTH, 5.2), sharex=True, squeeze=False)
    panels = {"result": "", "cos": "cosine", "outside": "change outside of U"}
    for column, case in enumerate(cases):
        own = means[means["case"] == case]
        for cosine, (colour, line, marker) in COSINES.items():
            part = own[own["cosine"] == cosine].sort_values("lambda")
            look = {"color": colour, "linestyle": line, "marker": marker, "markersize": 3}
            for axis, name in zip(axes[:, column], panels, strict=True):
                axis.plot(part["lambda"], part[name], label=cosine, **look)
            axes[0, column].fill_between(
                part["lambda"], part["min"], part["max"], color=colour, alpha=0.15, linewidth=0
            )
        axes[0, column].axhline(
            own["ntf_result"].mean(), color="0.4", linestyle=":", label="NTF predictor"
        )
        axes[0, column].set(title=case, ylabel=result_name(case))
        axes[1, column].set_ylim(min(0.0, own["cos"].min()) - 0.05, 1.05)
        axes[2, column].set_xscale("symlog", linthresh=1, linscale=0.5)
        axes[2, column].set_xticks([0, 1, 100, 1e4])
        axes[2, column].set_xlabel("λ")
    for axis, name in zip(axes[1:, 0], [*panels.values()][1:], strict=True):
        axis.set_ylabel(name)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def eiil_reference(rows: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """EIIL over the steps of its reference, and the reference's own accuracies below."""
    means = reference(rows)
    settings = sorted(set(means["r2"]))
    figure, axes = plt.subplots(
        2, len(settings), figsize=(6.2, 4.2), sharex=True, sharey="row", squeeze=False
    )
    for column, r2 in enumerate(settings):
        above, below = axes[:, column]
        own = published[published["r2"] == r2].sort_values("steps")
        spread = np.stack([own["mean"] - own["ci_low"], own["ci_high"] - own["mean"]])
        above.errorbar(own["steps"], own["mean"], spread, color=COLOURS[6], marker="o", capsize=2)
        curve = means[means["r2"] == r2]
        for name, colour in zip(("train", "validation", "test"), COLOURS[2:5], strict=True):
            below.plot(curve["steps"], curve[name], color=colour, label=name)
        best = float(curve.loc[curve["best"], "steps"].iloc[0])
        near = curve.loc[curve["near"], "steps"]
        for axis in (above, below):
            axis.axvspan(near.min(), near.max(), color="0.93", zorder=0)
            axis.axvline(best, color="0.4", linestyle=":", label="best on pooled validation")
        above.set_title(f"r2 = {r2:.2f}")
        below.set(xscale="log", xlabel="steps of the reference")
        below.set_xticks([10, 20, 50, 100, 200, 500], ["10", "20", "50", "100", "200", "500"])
        below.minorticks_off()
    axes[0, 0].set_ylabel("EIIL's test accuracy")
    axes[1, 0].set_ylabel("the reference's accuracy")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _wrapped(case: str) -> str:
    """A narrow panel's title."""
    return case.replace(", ", ",\n", 1)


def _few_ticks(axis: Axes) -> None:
    axis.locator_params(axis="x", nbins=4)
    axis.tick_params(labelsize=7)


def _entry(label: str, marker: str, colour: str) -> Line2D:
    face = "none" if label == "usable" else colour
    return Line2D(
        [], [], linestyle="", marker=marker, color=colour, markerfacecolor=face, label=label
    )


def write(tables: dict[str, pd.DataFrame], published: pd.DataFrame, folder: Path) -> None:
    """``starts_*.png`` and ``.pdf``."""
    with style():
        figures = {
            "label_information": label_information(tables["splits"]),
            "iterations": iterations(tables["iterations"]),
            "selection": selection(tables["splits"]),
            "lambda": lambdas(tables["lambda"]),
            "reference": eiil_reference(tables["reference"], published),
        }
    for name, figure in figures.items():
        save_figure(figure, str(folder / f"starts_{name}"))
        plt.close(figure)
