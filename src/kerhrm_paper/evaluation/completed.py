"""Scores of a table, completed by published ones of other learners."""

from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.evaluation.score_rows import COLUMNS


def completed(scores: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Published rows of learners, those of learners that the table adds, and then those
    that no training makes.

    Rows that no training makes are in both, and show of every seed of ours that the
    data are the same.

    Raises
    ------
    KerhrmError
        If they differ or are not there, as of other seeds, or if both have a row of a
        learner, which would count twice.
    """
    without = "take the key published out, and train all learners"
    if not {*COLUMNS} <= {*published}:
        problem = "the published scores are no scores of a table"
        raise KerhrmError(problem, f"name its file scores/TABLE.csv.gz, or {without}")
    keys = ["data", "setting", "method", "seed", "metric"]
    as_text = {"seed": str}
    ours = scores.astype(as_text)
    theirs = published.astype(as_text)
    both = ours.merge(theirs, on=keys, suffixes=("", "_published"))
    both = both[both["learner"] == ""]
    here = both["value"]
    there = both["value_published"]
    is_same = np.allclose(here, there, equal_nan=True)
    if not is_same or not {*ours["data"]} <= {*theirs["data"]}:
        raise KerhrmError("the published scores are of other data", without)
    is_new = scores["learner"] != ""
    twice = ours[is_new].merge(theirs, on=[*keys, "selection"])
    if len(twice):
        first = twice.iloc[0]
        problem = f"the published scores have {first['method']} on {first['data']}, too"
        hint = f"leave {first['learner_x']} out of the table, or {without}"
        raise KerhrmError(problem, hint)
    _check_seeds(ours, theirs, both)
    is_trained = published["learner"] != ""
    together = [
        published.loc[is_trained, COLUMNS],
        scores[is_new],
        published.loc[~is_trained, COLUMNS],
    ]
    return pd.concat(together, ignore_index=True)


def _check_seeds(ours: pd.DataFrame, theirs: pd.DataFrame, both: pd.DataFrame) -> None:
    """Refuse seeds of ours that are not published, or that no row shows to be so.

    ``both`` are the rows of references that ours and theirs share.
    """
    by_data = ours.groupby("data", sort=False)
    for data, rows in by_data:
        published_seeds = _seeds_of(theirs, data)
        proven_seeds = _seeds_of(both, data)
        for seed in rows["seed"]:
            if seed not in published_seeds:
                problem = f"the published scores on {data} have no seed {seed}"
                hint = "take the preset and the seeds that they are of, or leave the "
                hint += "key published out"
                raise KerhrmError(problem, hint)
            if seed not in proven_seeds:
                problem = f"nothing shows that the published scores of seed {seed} on "
                problem += f"{data} are of the same data: both tables have no row "
                problem += "without a learner in common"
                hint = "give both the same kind and labels, or leave the key published "
                hint += "out"
                raise KerhrmError(problem, hint)


def _seeds_of(scores: pd.DataFrame, data: Any) -> set[str]:
    """Names of the seeds of some data."""
    of_data = scores.loc[scores["data"] == data, "seed"]
    return set(of_data)
