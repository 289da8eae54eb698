"""Methods compared with each other, over seeds that share data and initial weights."""

import pandas as pd

from kerhrm.paper.evaluation import statistics
from kerhrm.paper.evaluation.statistics import LEVEL, difference, holm
from kerhrm.paper.evaluation.tables import CRITERIA, RESULTS, primary

SIDES = ["setting", "metric", "method", "baseline"]
PROBABILITY = ["probability", "probability_low", "probability_high"]
COLUMNS = [
    *SIDES, "n_seeds", "difference", "ci_low", "ci_high", "p", "p_holm", *PROBABILITY, "outcome",
]  # fmt: skip
#: methods that are compared with all others
PROPOSED = ("KerHRM", "KerHRM (linear predictor)")


def compare(scores: pd.DataFrame) -> pd.DataFrame:
    """Compare each proposed method with every other trained method of its setting.

    Of the rows of :func:`kerhrm.paper.evaluation.scores.score_table` those of another criterion
    than the method's own, metrics that do not say how good a method is, and seeds that only one of
    the two methods has do not count.

    Returns columns :data:`COLUMNS`. ``difference``, ``ci_low``, ``ci_high`` and ``p`` are of the
    method minus the baseline, by the paired t test; ``p_holm`` is corrected over all rows;
    ``probability`` is that of a seed in which the method has the larger merit. ``outcome``:
    ``better`` or ``worse`` at 5 % after Holm, else ``inconclusive``; ``failed`` where a seed of
    either has no value.
    """
    merits = {m: merit for m in RESULTS if (merit := CRITERIA[m].merit)}
    trained = ~scores["method"].str.startswith("ref: ")
    scores = scores[primary(scores) & scores["metric"].isin(merits) & trained]
    scores = scores.assign(place=scores.groupby(SIDES[:2], sort=False).ngroup())
    proposed = pd.concat([scores[scores["method"] == method] for method in PROPOSED])
    others = scores[~scores["method"].isin(PROPOSED)].rename(columns={"method": "baseline"})
    both = proposed.merge(others, on=["setting", "metric", "seed"], suffixes=("", "_other"))
    both = both.sort_values("place", kind="stable")
    rows = []
    for sides, pair in both.groupby(SIDES, sort=False):
        ours, theirs = (pair[name].to_numpy() for name in ("value", "value_other"))
        row = dict(zip(SIDES, sides, strict=True)) | {"n_seeds": len(pair)}
        row |= difference(ours, theirs)
        merit = merits[sides[1]]
        chance = statistics.probability_of_improvement(merit(ours), merit(theirs))
        row |= dict(zip(PROBABILITY, chance, strict=True))
        row["outcome"] = "better" if merit(ours.mean()) > merit(theirs.mean()) else "worse"
        rows.append(row)
    result = pd.DataFrame(rows, columns=COLUMNS)
    result["p_holm"] = holm(result["p"].to_numpy(dtype=float))
    result.loc[~(result["p_holm"] <= LEVEL), "outcome"] = "inconclusive"
    result.loc[result["difference"].isna(), "outcome"] = "failed"
    return result
