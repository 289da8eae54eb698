"""What each flipped choice changes: differences paired over seeds, and their forest plot.

A flipped setting has the seeds of the defaults' own setting, and with them its data, initial
weights and starts, as far as the flip leaves these alone.
"""

from collections.abc import Iterable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kerhrm.config.ambiguities import Catalogue, Flip, kind_of, mark_of
from kerhrm.data.sources.king_county import PERIODS
from kerhrm.methods.registry import is_headline, position, row_titled
from kerhrm.reporting.style import add_title, look_of, style
from kerhrm.reporting.tables import RESULTS, metric_name, read_scores
from kerhrm.scoring.statistics import LEVEL, Effect, difference, holm
from kerhrm.scoring.verdicts import CRITERIA

COLUMNS = [
    "entry", "flip", "experiment", "cell", "method", "metric", "base", "flipped", "difference",
    "ci_low", "ci_high", "p", "p_holm", "outcome", "n_seeds", "data_source",
]  # fmt: skip
METRICS = (*RESULTS, "train_acc", "std_error")
STATIC = "KerHRM-s"  #: left out: it is what a flip of T is about
FIRST, LATER = f"period={PERIODS[0]}", "period=later"  #: cells of the houses; the mean of five
KINDS = {
    "classification": "classification",
    "regression": "regression",
    "colored_mnist": "Colored MNIST",
    "houses": "house prices",
}


def read_study(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Per-seed scores of a study's experiments, with columns ``kind``, ``mark`` and ``cell``, too.

    Houses have the mean of their later periods as a cell of its own.
    """
    parts = [read_scores([path]).assign(kind=kind_of(Path(path).stem)) for path in paths]
    scores = pd.concat(parts, ignore_index=True)
    scores = scores[scores["metric"].isin(METRICS)]
    kept = (m != STATIC and row_titled(m).track != "reference" for m in scores["method"])
    scores = scores[np.fromiter(kept, bool, len(scores))]
    scores = scores.assign(
        mark=scores["setting"].map(mark_of), cell=scores["setting"].str.partition(",")[0]
    )
    later = scores[scores["cell"].str.startswith("period=") & (scores["cell"] != FIRST)]
    keys = ["kind", "mark", "method", "seed", "metric", "selection", "data_source"]
    means = later.groupby(keys, sort=False)["value"].agg(lambda v: v.mean(skipna=False))
    return pd.concat([scores, means.reset_index().assign(cell=LATER)], ignore_index=True)


def effects(catalogue: Catalogue, scores: pd.DataFrame) -> pd.DataFrame:
    """What each flip changes in every cell: columns :data:`COLUMNS`.

    ``difference``, ``ci_low``, ``ci_high`` and ``p`` are of flipped less base, by the paired t
    test; ``p_holm`` is corrected over the results (:func:`results_shown`) on one kind of data, and
    others have none.  ``outcome``, see :func:`outcome`.  A flip that was not run has no rows.

    Parameters
    ----------
    scores : DataFrame
        As :func:`read_study` gives them.
    """
    rows = [
        {"entry": entry, "flip": flip.name, "experiment": kind, **row}
        for entry, flip in catalogue.flips
        for kind in flip.where
        for row in _pairs(flip, scores[scores["kind"] == kind])
    ]
    found = pd.DataFrame(rows, columns=COLUMNS)
    found["p_holm"] = np.nan
    for _, family in results_shown(found).groupby("experiment"):
        found.loc[family.index, "p_holm"] = holm(family["p"].to_numpy(dtype=float))
    return found


def _pairs(flip: Flip, scores: pd.DataFrame) -> list[dict[str, object]]:
    """Rows of one flip on one kind of data."""
    chosen = map(is_headline, scores["method"], scores["selection"])
    own = scores[np.fromiter(chosen, bool, len(scores))]
    base = own[own["mark"] == ""]
    if flip.mark is not None:
        other = own[own["mark"] == flip.mark]
        other = other[(other["method"] == flip.only) | (flip.only is None)]
    elif flip.instead is not None:
        other = base[base["method"] == flip.instead].assign(method=flip.method)
    else:
        ruled = (scores["mark"] == "") & (scores["selection"] == flip.rule)
        other = scores[ruled & (scores["method"] == flip.method)]
    keys = ["cell", "method", "metric"]
    both = other.merge(base, on=[*keys, "seed"], suffixes=("_flipped", "_base"))
    rows = []
    for values, group in both.groupby(keys, sort=False):
        flipped, before = group["value_flipped"].to_numpy(), group["value_base"].to_numpy()
        effect = difference(flipped, before)
        rows.append({
            **dict(zip(keys, values, strict=True)),
            "base": before.mean(), "flipped": flipped.mean(), "difference": effect.effect,
            "ci_low": effect.ci_low, "ci_high": effect.ci_high, "p": effect.p,
            "outcome": outcome(effect, CRITERIA[values[-1]].margin(before.mean())),
            "n_seeds": len(group), "data_source": group["data_source_flipped"].iloc[0],
        })  # fmt: skip
    return rows


def outcome(effect: Effect, margin: float) -> str:
    """What a flip comes to, by the margin of the verdicts.

    ``changes``: the 95 % interval is without zero, and the difference above the margin;
    ``negligible``: the interval is within the margin; ``undecided``: neither, ``failed``: no value.
    """
    if not np.isfinite(effect.effect):
        return "failed"
    if -margin <= effect.ci_low and effect.ci_high <= margin:
        return "negligible"
    apart = effect.ci_low > 0 or effect.ci_high < 0
    return "changes" if apart and abs(effect.effect) > margin else "undecided"


def results_shown(found: pd.DataFrame) -> pd.DataFrame:
    """The rows that tell how good a method is; of the houses the mean of the later periods."""
    kept = found["metric"].isin(RESULTS)
    return found[kept & (~found["cell"].str.startswith("period=") | (found["cell"] == LATER))]


def forest(found: pd.DataFrame, catalogue: Catalogue, preset: str) -> Figure:
    """Difference and 95 % interval of every flip, a panel for each kind of data.

    Filled markers: the difference is significant at 5 % after Holm's correction.
    """
    shown = results_shown(found)
    flips = [flip.name for _, flip in catalogue.flips if (shown["flip"] == flip.name).any()]
    kinds = [kind for kind in KINDS if (shown["experiment"] == kind).any()]
    methods = sorted(set(shown["method"]), key=position)
    with style():
        inches = 2.6 + 2.3 * len(kinds), 1.6 + 0.19 * len(flips)
        figure, grid = plt.subplots(1, len(kinds), figsize=inches, squeeze=False, sharey=True)
        for axis, kind in zip(grid.flat, kinds, strict=True):
            here = shown[shown["experiment"] == kind]
            for row in here.itertuples(index=False):
                _draw(axis, row, flips.index(row.flip), methods.index(row.method) / len(methods))
            axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
            axis.grid(axis="x")
            axis.set_title(KINDS[kind])
            axis.set_xlabel(f"change of the\n{metric_name(here['metric'].iloc[0])}")
        grid.flat[0].set_yticks(range(len(flips)), flips)
        grid.flat[0].set_ylim(len(flips) - 0.5, -0.5)
        handles = [
            Line2D([], [], color=look_of(m).colour, marker=look_of(m).marker, linestyle="", label=m)
            for m in methods
        ]
        title = "bars: 95 % intervals; filled: significant after Holm's correction"
        figure.legend(handles=handles, loc="outside lower center", ncols=4, title=title)
        suffix = "" if preset == "paper" else f" [preset {preset}: not for comparison]"
        add_title(figure, f"What the paper leaves open, flipped one by one{suffix}")
    return figure


def _draw(axis: Axes, row: object, at: int, shift: float) -> None:
    """One difference; methods of a flip stand below each other."""
    look = look_of(row.method)  # type: ignore[attr-defined]
    change, low, high = (getattr(row, name) for name in ("difference", "ci_low", "ci_high"))
    sure = row.p_holm <= LEVEL  # type: ignore[attr-defined]
    y = at + 0.6 * (shift - 0.4)
    axis.plot([change], [y], look.marker, color=look.colour, markersize=3.5,
              markerfacecolor=look.colour if sure else "white")  # fmt: skip
    if np.isfinite([low, high]).all():
        axis.plot([low, high], [y, y], "-", color=look.colour, linewidth=0.8, zorder=1)
