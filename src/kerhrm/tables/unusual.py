"""What is unusual about columns and rows that are given: lines for a warning.

Columns that give the target away, and validation rows that train as well.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.tables.distinct import REPEATED, alike_by_chance

#: R^2 or balanced accuracy of a single column, from which it gives the target away
GIVEN_AWAY = 0.99
#: difference of two auxiliary columns of size 1 that is rounding
ALIKE = 1e-9


def gives_away(
    kind: str, values: np.ndarray, target: np.ndarray, regression: bool
) -> bool:
    """Whether a column predicts the target of each row (m,) by that of the others.

    Of rows with the same value the mean, of a number without such rows the value
    between those of its neighbours.  The least and the largest number have no two of
    them; such rows do not count.
    """
    if kind == "text":
        values, _ = pd.factorize(values)
    missing = pd.isna(values)
    filled = np.where(missing, np.inf, values)
    levels, codes = np.unique(filled, return_inverse=True)
    counts = np.bincount(codes)
    sums = np.bincount(codes, weights=target)
    counts_of_rows = counts[codes]
    n_others = counts_of_rows - 1
    alone = n_others == 0
    sums_of_rows = sums[codes]
    of_others = sums_of_rows - target
    divisor = np.maximum(n_others, 1)
    predicted = of_others / divisor
    predicted[alone] = target.mean()
    judged = np.ones(len(target), dtype=bool)
    known = levels < np.inf
    n_known = int(known.sum())
    if kind != "text" and n_known > 2:
        last = n_known - 1
        of_levels = sums / counts
        mean = target.mean()
        means = np.full(len(levels), mean)
        known_levels = levels[known]
        means[1:last] = _by_neighbours(known_levels, of_levels[known])
        codes_alone = codes[alone]
        predicted[alone] = means[codes_alone]
        at_an_end = np.isin(codes, [0, last])
        unjudged = alone & at_an_end
        judged = ~unjudged
    target = target[judged]
    predicted = predicted[judged]
    if regression:
        residuals = target - predicted
        squares = residuals**2
        largest = (1 - GIVEN_AWAY) * target.var()
        return bool(squares.mean() < largest)
    is_predicted = predicted > 0.5
    is_label = target > 0.5
    if is_label.all() or not is_label.any():  # of one label no row is judged
        return False
    right = is_predicted == is_label
    accuracies = [right[target == label].mean() for label in (0, 1)]
    accuracy = np.mean(accuracies)
    return bool(accuracy > GIVEN_AWAY)


def _by_neighbours(levels: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Means (m - 2,) at the inner ones of ascending levels (m,), each on the line
    through its two neighbours."""
    to_next = levels[2:] - levels[:-2]
    to_level = levels[1:-1] - levels[:-2]
    share = to_level / to_next
    left = (1 - share) * means[:-2]
    right = share * means[2:]
    return left + right


def rows_of_the_fit(
    rows: tuple[np.ndarray, np.ndarray], validation: tuple[np.ndarray, np.ndarray]
) -> str | None:
    """How many validation rows are among the distinct rows (inputs and targets) of the
    fit; None: so few that they may be so by chance."""
    inputs, target = rows
    other_inputs, other_target = validation
    n = len(inputs)
    m = len(other_inputs)
    targets = np.concatenate([target, other_target])
    _, codes = np.unique(targets, return_inverse=True)
    both = np.concatenate([inputs, other_inputs])
    table = np.column_stack([codes, both])
    table += 0.0  # -0.0 is 0.0
    hashes = [hash(row.tobytes()) for row in table]
    known = set(hashes[:n])
    again = sum(row in known for row in hashes[n:])
    if again <= REPEATED * m or alike_by_chance(table[:n]):
        return None
    text = f"{again} of {m} validation rows are rows of the fit"
    hint = "leave validation out, or give rows of their own"
    return f"{text}, which cannot tell how it does on others; {hint}"


def check_auxiliary(z: np.ndarray, names: Sequence[Any]) -> None:
    """Refuse auxiliary columns (n, c) that add nothing to others.

    Several columns are cut into other cells than one, so that such a column would
    change the environments.  One that is constant alone is refused by its cells.

    Raises KerhrmError naming the first column that is constant, or an affine function
    of one before it.
    """
    _, n_columns = z.shape
    if n_columns == 1:
        return
    distinct: list[np.ndarray] = []
    shown_names: list[str] = []
    for j, name in enumerate(names):
        shown_name = f"{j}" if name is None else shown(name)
        column = f"auxiliary column {shown_name}"
        values = z[:, j] - z[0, j]
        largest = np.abs(values).max()
        if largest == 0:
            raise KerhrmError(f"{column} is constant", "leave it out")
        # from 0 in the first row, of size 1, and positive in the first row that differs
        values = values / largest
        differs = values != 0
        scaled = values * np.sign(values[differs][0])
        for known, other in zip(distinct, shown_names, strict=True):
            if np.abs(scaled - known).max() < ALIKE:
                problem = f"{column} says what auxiliary column {other} says"
                raise KerhrmError(problem, "leave one of them out")
        distinct.append(scaled)
        shown_names.append(shown_name)


def telling_auxiliary(
    z: np.ndarray, target: np.ndarray, names: Sequence[Any], task: Task
) -> str | None:
    """The first of auxiliary columns (n, c) that gives the target (n,) away."""
    regression = task == "regression"
    y = target
    if not regression:
        _, y = np.unique(target, return_inverse=True)
    for j, name in enumerate(names):
        if not gives_away("number", z[:, j], y, regression):
            continue
        shown_name = j if name is None else shown(name)
        column = f"auxiliary column {shown_name}"
        text = f"{column} gives the target away, so that environments are parts"
        hint = "give a column that says when, where or how a row came about"
        return f"{text} of the target; {hint}"
    return None
