"""Methods compared with each other, over seeds that share data and initial weights."""

import pandas as pd

from kerhrm_paper.evaluation.statistics import LEVEL, difference, holm
from kerhrm_paper.evaluation.tables import CRITERIA, RESULTS, primary, stand_ins

SIDES = ["metric", "method", "baseline"]
COLUMNS = [
    *SIDES,
    "n_settings",
    "n_seeds",
    "difference",
    "ci_low",
    "ci_high",
    "p",
    "p_holm",
    "outcome",
]
#: methods that are compared with all others
PROPOSED = ("KerHRM", "KerHRM (linear predictor)")


def compare(scores: pd.DataFrame) -> pd.DataFrame:
    """Compare each proposed method with every other trained method of a table.

    Of the rows of :func:`kerhrm_paper.evaluation.scores.score_table` those of another
    criterion than the method's own, metrics that do not say how good a method is, and
    seeds and settings that only one of the two methods has do not count.

    Returns columns :data:`COLUMNS`. ``difference``, ``ci_low``, ``ci_high`` and ``p``
    are of the method minus the baseline in the mean over the settings, by the paired t
    test over seeds; ``p_holm`` is corrected over all rows.  ``outcome``: ``better`` or
    ``worse`` at 5 % after Holm, else ``open``; ``failed`` where a seed of either has no
    value; ``stand-ins`` where there is no finding, as the data are not the real ones.
    """
    merits = {m: merit for m in RESULTS if (merit := CRITERIA[m].merit)}
    trained = ~scores["method"].str.startswith("ref: ")
    scores = scores[primary(scores) & scores["metric"].isin(merits) & trained]
    proposed = pd.concat([scores[scores["method"] == method] for method in PROPOSED])
    others = scores[~scores["method"].isin(PROPOSED)].rename(
        columns={"method": "baseline"}
    )
    both = proposed.merge(
        others, on=["setting", "metric", "seed"], suffixes=("", "_other")
    )
    rows = []
    for sides, pair in both.groupby(SIDES, sort=False):
        # settings with fewer seeds than others do not make a seed's mean one of another
        # kind
        wide = pair.pivot(
            index="seed", columns="setting", values=["value", "value_other"]
        )
        seeds = pair.groupby("seed")["setting"].nunique()
        wide = wide.loc[seeds == seeds.max()]
        ours, theirs = (
            wide[name].mean(axis=1, skipna=False) for name in ("value", "value_other")
        )
        row = dict(zip(SIDES, sides, strict=True)) | {"n_settings": seeds.max()}
        row |= {"n_seeds": len(wide)} | difference(ours, theirs)
        merit = merits[sides[0]]
        row["outcome"] = (
            "better" if merit(ours.mean()) > merit(theirs.mean()) else "worse"
        )
        rows.append(row)
    result = pd.DataFrame(rows, columns=COLUMNS)
    result["p_holm"] = holm(result["p"].to_numpy(dtype=float))
    result.loc[~(result["p_holm"] <= LEVEL), "outcome"] = "open"
    result.loc[result["difference"].isna(), "outcome"] = "failed"
    if stand_ins(scores):
        result["outcome"] = "stand-ins"
    return result
