"""Methods against each other, over seeds that share data and initial weights."""

from collections.abc import Callable, Collection, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.methods.registry import is_headline, row_titled
from kerhrm.scoring.statistics import LEVEL, difference, holm, probability_of_improvement
from kerhrm.scoring.verdicts import CRITERIA

COLUMNS = [
    "setting", "metric", "method", "baseline", "n_seeds", "difference", "ci_low", "ci_high", "p",
    "p_holm", "probability", "probability_low", "probability_high", "outcome",
]  # fmt: skip
#: of a comparison, the best first
OUTCOMES = ("better", "undecided", "worse", "failed")
#: rows that are held against all others
CHAMPIONS = ("KerHRM (network)", "KerHRM (NTF)")


def compare_methods(
    scores: pd.DataFrame, metrics: Collection[str], champions: Sequence[str] = CHAMPIONS
) -> pd.DataFrame:
    """Hold each champion against every other trained row of its setting: columns :data:`COLUMNS`.

    ``difference``, ``ci_low``, ``ci_high`` and ``p`` are of champion less baseline, by the paired t
    test; ``p_holm`` is corrected over all rows; ``probability`` is that of a seed in which the
    champion has the larger merit.  ``outcome``: ``better`` or ``worse`` at 5 % after Holm,
    else ``undecided``; ``failed`` where a seed of either has no value.

    Parameters
    ----------
    scores : DataFrame
        Rows of :mod:`kerhrm.scoring.scores`; those of other selection rules than the method's
        own do not count, nor do reference rows, nor seeds that only one of the two has.
    metrics : collection of str
        Of :data:`kerhrm.scoring.verdicts.CRITERIA`; others, and those without merit, are left out.
    """
    own = list(map(is_headline, scores["method"], scores["selection"]))
    merits = {m: merit for m in metrics if m in CRITERIA and (merit := CRITERIA[m].merit)}
    scores = scores[pd.Series(own, index=scores.index, dtype=bool) & scores["metric"].isin(merits)]
    rows = [
        {"setting": setting, "metric": metric, **row}
        for (setting, metric), group in scores.groupby(["setting", "metric"], sort=False)
        for row in _compare(group, merits[metric], champions)
    ]
    found = pd.DataFrame(rows, columns=COLUMNS)
    found["p_holm"] = holm(found["p"].to_numpy(dtype=float))
    sure = found["p_holm"] <= LEVEL
    found["outcome"] = found["outcome"].where(sure | (found["outcome"] == "failed"), "undecided")
    return found


def _compare(
    scores: pd.DataFrame, merit: Callable[[Any], Any], champions: Sequence[str]
) -> list[dict[str, Any]]:
    """Rows of one setting and metric, ``outcome`` as if all of them were sure."""
    values = {
        m: rows.set_index("seed")["value"] for m, rows in scores.groupby("method", sort=False)
    }
    baselines = [m for m in values if m not in champions and row_titled(m).track != "reference"]
    rows = []
    for champion, baseline in product([c for c in champions if c in values], baselines):
        pair = pd.concat([values[champion], values[baseline]], axis=1, join="inner")
        if pair.empty:
            continue
        ours, theirs = pair.to_numpy().T
        effect = difference(ours, theirs)
        better = probability_of_improvement(merit(ours), merit(theirs))
        outcome = "better" if merit(ours.mean()) > merit(theirs.mean()) else "worse"
        failed = bool(np.isnan(effect.effect))
        rows.append({
            "method": champion, "baseline": baseline, "n_seeds": len(pair),
            "difference": effect.effect, "ci_low": effect.ci_low, "ci_high": effect.ci_high,
            "p": effect.p, "probability": better.share, "probability_low": better.ci_low,
            "probability_high": better.ci_high, "outcome": "failed" if failed else outcome,
        })  # fmt: skip
    return rows
