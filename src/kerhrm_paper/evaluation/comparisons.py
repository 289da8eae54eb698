"""Methods compared with each other, over seeds that share data and initial weights."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from kerhrm_paper.evaluation.crossed import of_independent_seeds
from kerhrm_paper.evaluation.effects import Decision, Effect, decide, paired
from kerhrm_paper.evaluation.statistics import holm
from kerhrm_paper.evaluation.tables import METRICS, RESULTS, primary, stand_ins, where

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
#: outcome by decision; without a margin no effect is equivalent
OUTCOMES: Mapping[Decision, str] = {
    "better": "better",
    "worse": "worse",
    "undecided": "open",
    "unknown": "failed",
}
#: methods that are compared with all others
PROPOSED = ("KerHRM", "KerHRM (linear predictor)")


def compare(scores: pd.DataFrame) -> pd.DataFrame:
    """Compare each proposed method with every other trained method of a table.

    Of the rows of :func:`kerhrm_paper.evaluation.scores.score_table` those of another
    criterion than the method's own, as all of the oracle's, metrics that do not say how
    good a method is, and seeds and settings that only one of the two methods has do not
    count.

    Returns columns :data:`COLUMNS`. ``difference``, ``ci_low``, ``ci_high`` and ``p``
    are of the method minus the baseline in the mean over the settings, by the paired t
    test over seeds; ``p_holm`` is corrected over the rows of a metric, each of which
    asks a question of its own.  ``outcome``: ``better`` or ``worse`` at 5 % after Holm,
    else ``open``; ``failed`` where a seed of either has no value; else ``stand-ins``
    where there is no finding, as the data are not the real ones.
    """
    methods = scores["method"]
    is_reference = methods.str.startswith("ref: ")
    is_result = scores["metric"].isin(RESULTS)
    is_compared = is_result & ~is_reference
    scores = of_independent_seeds(scores[primary(scores) & is_compared])
    rows = []
    effects = []
    pairs = _pairs(scores)
    groups = pairs.groupby(SIDES, sort=False)
    for sides, pair in groups:
        facts, effect = _difference(pair)
        row: dict[str, Any] = dict(zip(SIDES, sides, strict=True))
        row |= facts
        row |= effect.columns()
        rows.append(row)
        effects.append(effect)
    tests = pd.DataFrame(rows, columns=["metric"])
    tests["p"] = [effect.p for effect in effects]
    by_metric = tests.groupby("metric")
    corrected = by_metric["p"].transform(holm)
    replaced = stand_ins(scores)
    for row, effect, p_holm in zip(rows, effects, corrected, strict=True):
        metric = METRICS[row["metric"]]
        decision = decide(effect, p=p_holm, higher_is_better=metric.higher_is_better)
        outcome = OUTCOMES[decision]
        row["p_holm"] = p_holm
        row["outcome"] = outcome
        if replaced and decision != "unknown":
            row["outcome"] = "stand-ins"
    return pd.DataFrame(rows, columns=COLUMNS)


def _pairs(scores: pd.DataFrame) -> pd.DataFrame:
    """Values of a proposed method and of each baseline on the same seeds and
    settings."""
    of_methods = [where(scores, method=method) for method in PROPOSED]
    proposed = pd.concat(of_methods)
    is_proposed = scores["method"].isin(PROPOSED)
    baselines = scores[~is_proposed]
    baselines = baselines.rename(columns={"method": "baseline"})
    shared = ["setting", "metric", "seed"]
    suffixes = ("", "_baseline")
    return proposed.merge(baselines, on=shared, suffixes=suffixes)


def _difference(pair: pd.DataFrame) -> tuple[dict[str, Any], Effect]:
    """What one method's means over settings exceed another's by, and their numbers."""
    columns = ["value", "value_baseline"]
    wide = pair.pivot(index="seed", columns="setting", values=columns)
    # settings with fewer seeds than others do not make a seed's mean one of another
    # kind
    by_seed = pair.groupby("seed")
    n_settings = by_seed["setting"].nunique()
    is_complete = n_settings == n_settings.max()
    wide = wide.loc[is_complete]
    method = wide["value"].mean(axis=1, skipna=False)
    baseline = wide["value_baseline"].mean(axis=1, skipna=False)
    facts = {
        "n_settings": n_settings.max(),
        "n_seeds": len(wide),
    }
    return facts, paired(method, baseline)
