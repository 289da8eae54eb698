"""What is unusual about columns and rows that are given: lines for a warning.

Columns that give the target away, and validation rows that train as well.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import shown
from kerhrm.options import Task
from kerhrm.tables.distinct import REPEATED, alike_by_chance

#: R^2 or balanced accuracy of a single column, from which it gives the target away
GIVEN_AWAY = 0.99


def gives_away(
    kind: str, values: np.ndarray, target: np.ndarray, regression: bool
) -> bool:
    """Whether a column predicts the target of each row (m,) by that of the others.

    Of rows with the same value the mean, of a number without such rows the value
    between those of its neighbours.  The least and the largest number have no two of
    them; such rows do not count.
    """
    if kind == "text":
        values = pd.factorize(values)[0]
    missing = pd.isna(values)
    levels, codes = np.unique(np.where(missing, np.inf, values), return_inverse=True)
    counts, sums = np.bincount(codes), np.bincount(codes, weights=target)
    alone = counts[codes] == 1
    predicted = (sums[codes] - target) / np.maximum(counts[codes] - 1, 1)
    predicted[alone] = target.mean()
    judged = np.ones(len(target), dtype=bool)
    known = levels < np.inf
    if kind != "text" and known.sum() > 2:
        means = np.full(len(levels), target.mean())
        last = int(known.sum()) - 1
        means[1:last] = _by_neighbours(levels[known], (sums / counts)[known])
        predicted[alone] = means[codes[alone]]
        judged = ~(alone & np.isin(codes, [0, last]))
    target, predicted = target[judged], predicted[judged]
    if regression:
        errors = ((target - predicted) ** 2).mean()
        return bool(errors < (1 - GIVEN_AWAY) * target.var())
    right = (predicted > 0.5) == (target > 0.5)
    return bool(
        np.mean([right[target == label].mean() for label in (0, 1)]) > GIVEN_AWAY
    )


def _by_neighbours(levels: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Means (m - 2,) at the inner ones of ascending levels (m,), each on the line
    through its two neighbours."""
    share = (levels[1:-1] - levels[:-2]) / (levels[2:] - levels[:-2])
    return (1 - share) * means[:-2] + share * means[2:]


def rows_of_the_fit(
    rows: tuple[np.ndarray, np.ndarray], validation: tuple[np.ndarray, np.ndarray]
) -> str | None:
    """How many validation rows are among the distinct rows (inputs and targets) of the
    fit; None: so few that they may be so by chance."""
    n = len(rows[0])
    codes = np.unique(np.concatenate([rows[1], validation[1]]), return_inverse=True)[1]
    table = np.column_stack([codes, np.concatenate([rows[0], validation[0]])])
    table += 0.0  # -0.0 is 0.0
    hashes = [hash(row.tobytes()) for row in table]
    known = set(hashes[:n])
    again, m = sum(row in known for row in hashes[n:]), len(table) - n
    if again <= REPEATED * m or alike_by_chance(table[:n]):
        return None
    text = f"{again} of {m} validation rows are rows of the fit"
    hint = "leave validation out, or give rows of their own"
    return f"{text}, which cannot tell how it does on others; {hint}"


def telling_auxiliary(
    z: np.ndarray, target: np.ndarray, names: Sequence[Any], task: Task
) -> str | None:
    """The first of auxiliary columns (n, c) that gives the target (n,) away."""
    regression = task == "regression"
    y = target if regression else np.unique(target, return_inverse=True)[1]
    for j, (name, values) in enumerate(zip(names, z.T, strict=True)):
        if gives_away("number", values, y, regression):
            column = f"auxiliary column {j if name is None else shown(name)}"
            hint = "give a column that says when, where or how a row came about"
            text = f"{column} gives the target away, so that environments are parts"
            return f"{text} of the target; {hint}"
    return None
