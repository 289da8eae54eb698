"""Effects of the choices that the paper leaves open: differences paired over seeds.

An alternative has the seeds of the default, and with them its data, initial weights and
initialisations, as far as it leaves these alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kerhrm_paper.evaluation.effects import Decision, Effect, decide, paired
from kerhrm_paper.evaluation.statistics import holm
from kerhrm_paper.evaluation.tables import CRITERIA, RESULTS, primary, stand_ins

COLUMNS = [
    "choice",
    "alternative",
    "data",
    "setting",
    "method",
    "metric",
    "base",
    "changed",
    "difference",
    "ci_low",
    "ci_high",
    "p",
    "p_holm",
    "outcome",
    "n_seeds",
    "data_source",
]
#: outcome by decision; none is said to be better
OUTCOMES: Mapping[Decision, str] = {
    "equivalent": "negligible",
    "better": "changes",
    "worse": "changes",
    "undecided": "inconclusive",
    "unknown": "failed",
}
#: metrics, besides the results, of which effects are measured
OTHERS = (
    "train_acc",
    "error_sd",
)
FIRST_ITERATION = (
    "KerHRM (first iteration)"  #: left out: it is what an alternative of T is about
)
LATER = "period=later"  #: setting with the mean over the periods after the first one


def measure(
    scores: Mapping[str, pd.DataFrame], contrasts: Sequence[Mapping[str, Any]]
) -> pd.DataFrame:
    """Measure every alternative, in every test environment of its data set.

    ``contrasts`` are of :meth:`kerhrm_paper.config.choices.Contrast.params`, ``scores``
    by table.

    Returns columns :data:`COLUMNS`. ``difference``, ``ci_low``, ``ci_high`` and ``p``
    are of the alternative less the default, by the paired t test; ``p_holm`` is
    corrected over the results on one data set, and other rows have none. ``outcome``:
    ``changes`` if the interval is without zero and the difference above the margin of
    the metric, ``negligible`` if the interval is within the margin, ``inconclusive``,
    ``failed``, or ``stand-ins`` where the data are not the real ones.
    """
    prepared = {name: _prepare(rows) for name, rows in scores.items()}
    rows = [
        {
            "choice": contrast["choice"],
            "alternative": contrast["alternative"],
            "data": contrast["base"],
            **row,
        }
        for contrast in contrasts
        for row in _effects(contrast, prepared[contrast["table"]])
    ]
    effects = pd.DataFrame(rows, columns=COLUMNS)
    effects["p_holm"] = np.nan
    period = effects["setting"].str.startswith("period=")
    whole = ~period | (effects["setting"] == LATER)
    for _, family in effects[effects["metric"].isin(RESULTS) & whole].groupby("data"):
        effects.loc[family.index, "p_holm"] = holm(family["p"].to_numpy(dtype=float))
    return effects


def _prepare(scores: pd.DataFrame) -> pd.DataFrame:
    """Rows of trained methods, ``setting`` without the data's and the learner's
    options, and means of the later periods."""
    reference = scores["method"].str.startswith("ref: ") | (
        scores["method"] == FIRST_ITERATION
    )
    scores = scores[~reference & scores["metric"].isin(RESULTS + OTHERS)]
    setting = scores["setting"].str.partition(",")[0]
    scores = scores.assign(own=primary(scores), setting=setting)
    periods = scores[scores["setting"].str.startswith("period=")]
    later = periods[periods["setting"] != periods["setting"].min()]
    keys = [
        "data",
        "learner",
        "method",
        "metric",
        "selection",
        "own",
        "data_source",
        "seed",
    ]
    means = later.groupby(keys, as_index=False, sort=False)["value"].agg(
        lambda values: values.mean(skipna=False)
    )
    return pd.concat([scores, means.assign(setting=LATER)], ignore_index=True)


def _effects(contrast: Mapping[str, Any], scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of one alternative."""
    here = scores["data"] == contrast["data"]
    base = scores[here & scores["learner"].isin(contrast["learners"])]
    keys = ["setting", "method", "metric"]
    join = [*keys, "seed"]
    if contrast["learner"] is not None:
        base = base[base["learner"] == contrast["learner"]]
        changed = scores[here & (scores["learner"] == contrast["changed_learner"])]
    elif contrast["changed_data"] is not None:
        changed = scores[scores["data"] == contrast["changed_data"]]
        join.append("learner")
    elif contrast["instead"] is not None:
        base = base[base["own"]]
        changed = base[base["method"] == contrast["instead"]]
        changed = changed.assign(method=contrast["title"])
    else:
        chosen = base["selection"] == contrast["selection"]
        changed = base[chosen & (base["method"] == contrast["title"])]
        base = base[base["own"]]
    if contrast["only"] is not None:
        changed = changed[changed["method"] == contrast["only"]]
    both = changed.merge(base, on=join, suffixes=("_changed", "_base"))
    rows = []
    for values, group in both.groupby(keys, sort=False):
        after, before = (
            group["value_changed"].to_numpy(),
            group["value_base"].to_numpy(),
        )
        effect = paired(after, before)
        margin = CRITERIA[str(values[-1])].margin(before.mean())
        replaced = stand_ins(
            group.rename(columns={"data_source_changed": "data_source"})
        )
        rows.append(
            {
                **dict(zip(keys, values, strict=True)),
                "base": before.mean(),
                "changed": after.mean(),
                **effect.columns(),
                "outcome": "stand-ins" if replaced else outcome(effect, margin),
                "n_seeds": len(group),
                "data_source": group["data_source_changed"].iloc[0],
            }
        )
    return rows


def outcome(effect: Effect, margin: float) -> str:
    """The outcome of an effect, as :func:`measure` says."""
    decision = decide(effect, margin)
    if decision in ("better", "worse") and abs(effect.estimate) <= margin:
        decision = "undecided"
    return OUTCOMES[decision]
