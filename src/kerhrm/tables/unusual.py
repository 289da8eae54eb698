"""What is unusual about the rows of a fit, or of others: lines for a warning.

Columns that give the target away, rows that repeat, and values far from the fit's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import shown
from kerhrm.options import Task
from kerhrm.tables.distinct import alike_by_chance

#: R^2 or balanced accuracy of a single column, from which it gives the target away
GIVEN_AWAY = 0.99
#: share of a column's range by which a value may lie outside it without a word
BEYOND = 0.5
#: share of rows with the inputs of others above which it is told
REPEATED = 0.1
#: columns from which on one that is nearly constant may be a pixel
PIXELS = 100


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


def limits_of(x: np.ndarray) -> np.ndarray:
    """Least and largest value of columns (n, d): (2, d).

    A constant column has no limits, since it does not predict.  Nor has one of very
    many that has one value in half of the rows: a pixel.
    """
    limits = np.stack([x.min(0), x.max(0)])
    free = limits[0] == limits[1]
    if x.shape[1] > PIXELS:
        ordered, half = np.sort(x, axis=0), (len(x) + 1) // 2
        free |= (ordered[half - 1 :] == ordered[: len(x) - half + 1]).any(0)
    limits[:, free] = np.array([[-np.inf], [np.inf]])
    return limits


def outside(x: np.ndarray, limits: np.ndarray, estimator: Any) -> str | None:
    """How many rows (m, d) lie well outside the limits (2, d) of the fit, and in which
    column most of them do; None if none does."""
    with np.errstate(invalid="ignore"):  # of columns without limits
        slack = BEYOND * (limits[1] - limits[0])
        beyond = (x < limits[0] - slack) | (x > limits[1] + slack)
    if not beyond.any():
        return None
    j = int(beyond.sum(0).argmax())
    name = getattr(estimator, "feature_names_in_", range(x.shape[1]))[j]
    rows = f"{beyond.any(1).sum()} of {len(x)} rows lie outside the rows of the fit"
    column = f"column {shown(name)}: {limits[0, j]:g} to {limits[1, j]:g} there"
    return f"{rows} ({column}); what is predicted of them is extrapolation"


def repeated_inputs(x: np.ndarray, target: np.ndarray) -> str | None:
    """How many of distinct rows (n, d) have the inputs of another one, with another
    target (n,); None: so few that they may be so by chance.

    As several measurements of one patient, or a joined table: such rows tell each
    other's target, so that a model that repeats it looks best.  Rows are sorted by
    their inputs, so that equal ones are neighbours.
    """
    new = np.ones(len(x), dtype=bool)  # unlike the row before it
    new[1:] = (x[1:] != x[:-1]).any(axis=1)
    of = np.cumsum(new) - 1
    codes = np.unique(target, return_inverse=True)[1]
    # different targets of every row's inputs
    targets = np.bincount(np.unique(np.column_stack([of, codes]), axis=0)[:, 0])[of]
    shared = int((targets > 1).sum())
    if shared <= REPEATED * len(x) or alike_by_chance(x[new]):
        return None
    text = f"{shared} of {len(x)} rows have the inputs of another row with another"
    hint = "give one row for each unit, as the mean of its targets"
    return f"{text} target, and are taken for independent; {hint}"


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
