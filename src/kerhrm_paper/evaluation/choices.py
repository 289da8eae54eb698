"""Effects of the choices that the paper leaves open: differences paired over seeds.

An alternative has the seeds of the default, and with them its data, initial weights and
initialisations, as far as it leaves these alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.evaluation.crossed import of_independent_seeds
from kerhrm_paper.evaluation.effects import Decision, Effect, decide, paired
from kerhrm_paper.evaluation.statistics import holm
from kerhrm_paper.evaluation.tables import (
    METRICS,
    RESULTS,
    Metric,
    primary,
    stand_ins,
    where,
)

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
OTHERS = ("train_acc", "error_sd")
#: left out: it is what an alternative of T is about
FIRST_ITERATION = "KerHRM (first iteration)"
LATER = "period=later"  #: setting with the mean over the periods after the first one


def measure(
    scores: Mapping[str, pd.DataFrame], contrasts: Sequence[Mapping[str, Any]]
) -> pd.DataFrame:
    """Measure every alternative, in every test environment of its data set.

    Parameters
    ----------
    scores : mapping of str to DataFrame
        By table, of :func:`kerhrm_paper.evaluation.scores.score_table`.
    contrasts : sequence of mapping
        Of :meth:`kerhrm_paper.config.choices.Contrast.params`.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`.  ``difference``, ``ci_low``, ``ci_high`` and ``p`` are
        of the alternative less the default, by the paired t test; ``p_holm`` is
        corrected over one result on one data set, and other rows have none.
        ``outcome``: ``changes`` if the interval is without zero and the difference
        above the margin of the metric, ``negligible`` if the interval is within the
        margin, ``inconclusive``, ``failed``, or else ``stand-ins`` where the data are
        not the real ones.

    Raises
    ------
    KerhrmError
        If a table has no rows of an alternative that share their setting with those of
        the default.
    """
    prepared = {}
    for table, of_table in scores.items():
        prepared[table] = _prepare(of_table)
    rows = []
    for contrast in contrasts:
        facts = {
            "choice": contrast["choice"],
            "alternative": contrast["alternative"],
            "data": contrast["base"],
        }
        of_table = prepared[contrast["table"]]
        effects_of_it = [*_effects(contrast, of_table)]
        if not effects_of_it:
            problem = f"{contrast['table']} has no row to compare with that of"
            hint = "give both the same label, up to what the alternative changes"
            raise KerhrmError(f"{problem} {contrast['alternative']}", hint)
        rows += [facts | effect for effect in effects_of_it]
    effects = pd.DataFrame(rows, columns=COLUMNS)
    effects["p_holm"] = np.nan
    is_period = effects["setting"].str.startswith("period=")
    is_later = effects["setting"] == LATER
    is_result = effects["metric"].isin(RESULTS)
    tested = effects[is_result & (~is_period | is_later)]
    families = tested.groupby(["data", "metric"])
    for _, family in families:
        p = family["p"].to_numpy(dtype=float)
        members = family.index
        effects.loc[members, "p_holm"] = holm(p)
    return effects


def _prepare(scores: pd.DataFrame) -> pd.DataFrame:
    """Rows of trained methods, ``setting`` without the data's and the learner's
    options, and means of the later periods."""
    is_reference = scores["method"].str.startswith("ref: ")
    is_first = scores["method"] == FIRST_ITERATION
    is_measured = scores["metric"].isin(RESULTS + OTHERS)
    scores = of_independent_seeds(scores[~(is_reference | is_first) & is_measured])
    own = primary(scores)
    parts = scores["setting"].str.partition(",")
    setting = parts[0]
    scores = scores.assign(own=own, setting=setting)
    is_period = scores["setting"].str.startswith("period=")
    periods = scores[is_period]
    first_period = periods["setting"].min()
    later = periods[periods["setting"] != first_period]
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
    groups = later.groupby(keys, as_index=False, sort=False)
    values = groups["value"]
    means = values.agg(lambda of_periods: of_periods.mean(skipna=False))
    means = means.assign(setting=LATER)
    return pd.concat([scores, means], ignore_index=True)


def _effects(
    contrast: Mapping[str, Any], scores: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    """Rows of one alternative."""
    changed, default = _compared(contrast, scores)
    if contrast["only"] is not None:
        changed = where(changed, method=contrast["only"])
    keys = ["setting", "method", "metric"]
    pairs = [*keys, "seed"]
    is_of_data = contrast["changed_data"] is not None
    if is_of_data and contrast["learner"] is None:
        pairs.append("learner")
    suffixes = ("_changed", "_base")
    both = changed.merge(default, on=pairs, suffixes=suffixes)
    groups = both.groupby(keys, sort=False)
    for group_values, group in groups:
        cell = dict(zip(keys, group_values, strict=True))
        metric = METRICS[cell["metric"]]
        yield cell | _effect(group, metric)


def _compared(
    contrast: Mapping[str, Any], scores: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of an alternative, and of what it takes the place of."""
    on_data = where(scores, data=contrast["data"])
    is_default = on_data["learner"].isin(contrast["learners"])
    default = on_data[is_default]
    if contrast["learner"] is not None:
        default = where(default, learner=contrast["learner"])
        changed = where(on_data, learner=contrast["changed_learner"])
    elif contrast["changed_data"] is not None:
        changed = where(scores, data=contrast["changed_data"])
    elif contrast["instead"] is not None:
        default = default[default["own"]]
        changed = where(default, method=contrast["instead"])
        changed = changed.assign(method=contrast["title"])
    else:
        changed = where(default, selection=contrast["selection"])
        changed = where(changed, method=contrast["title"])
        default = default[default["own"]]
    return changed, default


def _effect(group: pd.DataFrame, metric: Metric) -> dict[str, Any]:
    """Effect on one setting, method and metric, over seeds that both have."""
    changed = group["value_changed"].to_numpy()
    default = group["value_base"].to_numpy()
    effect = paired(changed, default)
    margin = metric.margin(default.mean())
    names = {"data_source_changed": "data_source"}
    sources = group.rename(columns=names)
    decision = outcome(effect, margin)
    if stand_ins(sources) and decision != OUTCOMES["unknown"]:
        decision = "stand-ins"
    return {
        "base": default.mean(),
        "changed": changed.mean(),
        **effect.columns(),
        "outcome": decision,
        "n_seeds": len(group),
        "data_source": sources["data_source"].iloc[0],
    }


def outcome(effect: Effect, margin: float) -> str:
    """The outcome of an effect, as :func:`measure` says."""
    decision = decide(effect, margin)
    is_small = abs(effect.estimate) <= margin
    if is_small and decision in ("better", "worse"):
        decision = "undecided"
    return OUTCOMES[decision]
