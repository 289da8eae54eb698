"""Crossed seeds, each of one source with each of the others, are not independent.

Of N seeds of the data, the initial weights and the clustering's starts there are N^3
replicates on N data sets.  Statistics over them are those of N means, one for each data
set: their intervals and tests are of other data, with these weights and starts.
"""

from typing import Any

import pandas as pd

#: of a seed, as ``data=3000,network=3001,clustering=3002``
SEED = r"data=(?P<data>\d+),network=(?P<network>\d+),clustering=(?P<clustering>\d+)"


def of_independent_seeds(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores with one value for each data set.

    Of crossed seeds it is the mean over the weights and starts, without a value where
    one of them has none; others stay as they are.

    ``scores`` are of :func:`kerhrm_paper.evaluation.scores.score_table`.
    """
    seeds = scores["seed"].astype(str)
    data_seed = seeds.str.extract(SEED)["data"]
    is_crossed = data_seed.notna()
    if not is_crossed.any():
        return scores
    units = seeds.where(~is_crossed, data_seed)
    columns = [*scores]
    keys = [name for name in columns if name not in ("value", "reason")]
    groups = scores.assign(seed=units).groupby(keys, sort=False, dropna=False)
    means = groups.agg({"reason": _first_reason})
    means["value"] = means_of_all(groups["value"])
    return means.reset_index()[columns]


def means_of_all(groups: Any) -> pd.Series:
    """Means by group of a column; NaN where a value is missing, as that of the others
    is biased."""
    is_complete = groups.count() == groups.size()
    return groups.mean().where(is_complete)


def _first_reason(reasons: pd.Series) -> Any:
    """The first reason that there is, else what stands in its place."""
    given = [reason for reason in reasons if isinstance(reason, str) and reason]
    return given[0] if given else reasons.iloc[0]


def is_crossed(scores: pd.DataFrame) -> bool:
    """Whether the seeds of scores are of several sources, each with each."""
    seeds = scores["seed"].astype(str)
    return bool(seeds.str.fullmatch(SEED).any())
