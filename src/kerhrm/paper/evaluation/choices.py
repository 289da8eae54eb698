"""Effects of the choices that the paper leaves open: differences paired over seeds.

An alternative has the seeds of the default, and with them its data, initial weights and
initialisations, as far as it leaves these alone.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.paper.evaluation.statistics import difference, holm
from kerhrm.paper.evaluation.tables import CRITERIA, RESULTS, primary, stand_ins

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
    scores: Mapping[str, pd.DataFrame], choices: Mapping[str, Any]
) -> pd.DataFrame:
    """Measure the effect of every alternative of the configuration's ``choices`` in
    every setting.

    Returns columns :data:`COLUMNS`. ``difference``, ``ci_low``, ``ci_high`` and ``p``
    are of the alternative less the default, by the paired t test; ``p_holm`` is
    corrected over the results on one data set, and other rows have none. ``outcome``:
    ``changes`` if the interval is without zero and the difference above the margin of
    the metric, ``negligible`` if the interval is within the margin, ``inconclusive``,
    ``failed``, or ``stand-ins`` where the data are not the real ones.
    """
    whole = _prepare(pd.concat(scores.values(), ignore_index=True))
    rows = [
        {"choice": choice, "alternative": one["name"], "data": data, **row}
        for choice, alternatives in choices.items()
        for one in alternatives
        for data in one["where"]
        for row in _effects(one, whole[whole["data"] == data])
    ]
    effects = pd.DataFrame(rows, columns=COLUMNS)
    effects["p_holm"] = np.nan
    later = ~effects["setting"].str.startswith("period=") | (
        effects["setting"] == LATER
    )
    for _, family in effects[effects["metric"].isin(RESULTS) & later].groupby("data"):
        effects.loc[family.index, "p_holm"] = holm(family["p"].to_numpy(dtype=float))
    return effects


def _prepare(scores: pd.DataFrame) -> pd.DataFrame:
    """Rows of trained methods with their settings' marks, and means of the later
    periods."""
    reference = scores["method"].str.startswith("ref: ") | (
        scores["method"] == FIRST_ITERATION
    )
    scores = scores[~reference & scores["metric"].isin(RESULTS + OTHERS)]
    setting, _, mark = (scores["setting"].str.partition(",")[i] for i in range(3))
    scores = scores.assign(own=primary(scores), setting=setting, mark=mark)
    periods = scores[scores["setting"].str.startswith("period=")]
    later = periods[periods["setting"] != periods["setting"].min()]
    keys = [
        "data",
        "mark",
        "method",
        "seed",
        "metric",
        "selection",
        "own",
        "data_source",
    ]
    means = later.groupby(keys, sort=False)["value"].agg(
        lambda values: values.mean(skipna=False)
    )
    return pd.concat(
        [scores, means.reset_index().assign(setting=LATER)], ignore_index=True
    )


def _effects(one: Mapping[str, Any], scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of one alternative on one data set."""
    base = scores[scores["own"] & (scores["mark"] == "")]
    if one["title"] is None:
        changed = scores[scores["own"] & (scores["mark"] == one["name"])]
        if one["only"] is not None:
            changed = changed[changed["method"] == one["only"]]
    elif one["instead"] is not None:
        changed = base[base["method"] == one["instead"]].assign(method=one["title"])
    else:
        chosen = (scores["mark"] == "") & (scores["selection"] == one["selection"])
        changed = scores[chosen & (scores["method"] == one["title"])]
    keys = ["setting", "method", "metric"]
    both = changed.merge(base, on=[*keys, "seed"], suffixes=("_changed", "_base"))
    rows = []
    for values, group in both.groupby(keys, sort=False):
        after, before = (
            group["value_changed"].to_numpy(),
            group["value_base"].to_numpy(),
        )
        effect = difference(after, before)
        margin = CRITERIA[str(values[-1])].margin(before.mean())
        replaced = stand_ins(
            group.rename(columns={"data_source_changed": "data_source"})
        )
        rows.append(
            {
                **dict(zip(keys, values, strict=True)),
                "base": before.mean(),
                "changed": after.mean(),
                **effect,
                "outcome": "stand-ins" if replaced else outcome(effect, margin),
                "n_seeds": len(group),
                "data_source": group["data_source_changed"].iloc[0],
            }
        )
    return rows


def outcome(effect: Mapping[str, float], margin: float) -> str:
    """The outcome of an effect, as :func:`measure` says."""
    low, high = effect["ci_low"], effect["ci_high"]
    if not np.isfinite(effect["difference"]):
        return "failed"
    if -margin <= low and high <= margin:
        return "negligible"
    apart = low > 0 or high < 0
    return "changes" if apart and abs(effect["difference"]) > margin else "inconclusive"
