"""Two runs' tables held against each other, cell by cell."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from kerhrm.scoring.statistics import LEVEL
from kerhrm.scoring.verdicts import CRITERIA, ROUNDING

KEYS = ["table", "setting", "method", "metric", "selection"]  #: columns that name a cell
SIDES = ("fresh", "development")  #: seeds of the published tables, and those of the appendix


def columns(names: tuple[str, str] = SIDES) -> list[str]:
    """Of what :func:`differences` gives."""
    sides = [column for name in names for column in (name, f"n_{name}")]
    return [*KEYS, *sides, "difference", "ci_low", "ci_high", "p", "differs", "direction"]


def differences(
    one: pd.DataFrame, other: pd.DataFrame, names: tuple[str, str] = SIDES
) -> pd.DataFrame:
    """Every cell of two sets of tables, :func:`columns`; those of the other alone come last.

    ``differs`` at 5 % by Welch's t test, whose degrees of freedom are those of Satterthwaite; where
    no seed departs from another, if the two numbers do.  ``direction`` of such a cell says whether
    the first is better, ``good``, or worse, ``bad``.  Where either has a single seed, or failed,
    there is neither interval nor p.
    """
    kept = [*KEYS, "mean", "std", "n_seeds"]
    first, second = (f"_{name}" for name in names)
    both = one[kept].merge(other[kept], on=KEYS, how="left", suffixes=(first, second))
    rest = other[kept].merge(one[KEYS], on=KEYS, how="left", indicator=True)
    alone = rest[rest.pop("_merge") == "left_only"]
    both = pd.concat([both, alone.rename(columns={k: k + second for k in kept[len(KEYS) :]})])
    ours, theirs = (
        [both[name + side].to_numpy(dtype=float) for name in ("mean", "std", "n_seeds")]
        for side in (first, second)
    )
    low, high, p = welch(*ours, *theirs)
    told = both.rename(
        columns={f"mean_{name}": name for name in names}
        | {f"n_seeds_{name}": f"n_{name}" for name in names}
    ).assign(difference=ours[0] - theirs[0], ci_low=low, ci_high=high, p=p, differs=p <= LEVEL)
    told["direction"] = [_direction(row, *names) for row in told.to_dict("records")]
    return told[columns(names)].reset_index(drop=True)


def welch(
    mean: np.ndarray, std: np.ndarray, n: np.ndarray,
    mean_b: np.ndarray, std_b: np.ndarray, n_b: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Ends of the 95 % interval of mean - mean_b, and p of no difference; all (m,).

    Two constants have their difference as both ends, and p of 0, or of 1 where they are equal.
    SciPy has the interval for samples, but not for their means and deviations.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        own, other = std**2 / n, std_b**2 / n_b
        freedom = (own + other) ** 2 / (own**2 / (n - 1) + other**2 / (n_b - 1))
        half = stats.t.isf(LEVEL / 2, freedom) * np.sqrt(own + other)
        p = stats.ttest_ind_from_stats(mean, std, n, mean_b, std_b, n_b, equal_var=False).pvalue
    change = mean - mean_b
    constant = (std == 0) & (std_b == 0)
    half = np.where(constant, 0.0, half)
    p = np.where(constant, np.where(np.abs(change) > ROUNDING, 0.0, 1.0), p)
    return change - half, change + half, p


def _direction(row: Mapping[str, Any], one: str, other: str) -> str:
    criterion = CRITERIA.get(row["metric"])
    if not row["differs"] or criterion is None:
        return ""
    return criterion.direction(row[one], row[other])
