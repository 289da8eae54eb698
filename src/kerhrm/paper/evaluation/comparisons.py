"""Methods compared with each other, over seeds that share data and initial weights."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.paper.evaluation.statistics import (
    LEVEL,
    difference,
    holm,
    probability_of_improvement,
)
from kerhrm.paper.evaluation.tables import CRITERIA, RESULTS, primary

COLUMNS = [
    "setting", "metric", "method", "baseline", "n_seeds", "difference", "ci_low", "ci_high", "p",
    "p_holm", "probability", "probability_low", "probability_high", "outcome",
]  # fmt: skip
#: methods that are compared with all others
PROPOSED = ("KerHRM", "KerHRM (linear predictor)")


def compare(scores: pd.DataFrame, proposed: Sequence[str] = PROPOSED) -> pd.DataFrame:
    """Compare each proposed method with every other trained method of its setting.

    Parameters
    ----------
    scores : DataFrame
        Rows of :func:`kerhrm.paper.evaluation.scores.score_table`.  Those of another criterion than
        the method's own, reference rows, metrics that do not say how good a method is, and seeds
        that only one of the two methods has do not count.
    proposed : sequence of str
        Titles.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`.  ``difference``, ``ci_low``, ``ci_high`` and ``p`` are of the
        method minus the baseline, by the paired t test; ``p_holm`` is corrected over all rows;
        ``probability`` is that of a seed in which the method has the larger merit.  ``outcome``:
        ``better`` or ``worse`` at 5 % after Holm, else ``inconclusive``; ``failed`` where a seed of
        either has no value.
    """
    merits = {m: merit for m in RESULTS if (merit := CRITERIA[m].merit)}
    scores = scores[primary(scores) & scores["metric"].isin(merits)]
    rows = [
        {"setting": setting, "metric": metric, **row}
        for (setting, metric), group in scores.groupby(["setting", "metric"], sort=False)
        for row in _compare(group, merits[metric], proposed)
    ]
    result = pd.DataFrame(rows, columns=COLUMNS)
    result["p_holm"] = holm(result["p"].to_numpy(dtype=float))
    sure = (result["p_holm"] <= LEVEL) | (result["outcome"] == "failed")
    result["outcome"] = result["outcome"].where(sure, "inconclusive")
    return result


def _compare(
    scores: pd.DataFrame, merit: Callable[[Any], Any], proposed: Sequence[str]
) -> list[dict[str, Any]]:
    """Rows of one setting and metric, ``outcome`` as if all of them were sure."""
    values = {
        m: rows.set_index("seed")["value"] for m, rows in scores.groupby("method", sort=False)
    }
    baselines = [m for m in values if m not in proposed and not m.startswith("ref: ")]
    rows = []
    for method, baseline in product([m for m in proposed if m in values], baselines):
        pair = pd.concat([values[method], values[baseline]], axis=1, join="inner")
        if pair.empty:
            continue
        ours, theirs = pair.to_numpy().T
        effect = difference(ours, theirs)
        better = probability_of_improvement(merit(ours), merit(theirs))
        outcome = "better" if merit(ours.mean()) > merit(theirs.mean()) else "worse"
        rows.append({
            "method": method, "baseline": baseline, "n_seeds": len(pair),
            "difference": effect.effect, "ci_low": effect.ci_low, "ci_high": effect.ci_high,
            "p": effect.p, "probability": better.share, "probability_low": better.ci_low,
            "probability_high": better.ci_high,
            "outcome": "failed" if np.isnan(effect.effect) else outcome,
        })  # fmt: skip
    return rows
