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


def check_auxiliary(
    z: np.ndarray, names: Sequence[Any], categories: Sequence[bool]
) -> None:
    """Refuse auxiliary columns (n, c) that add nothing to others.

    Several columns are cut into other cells than one, so that such a column would
    change the environments.  Columns that share a few enormous values alone do not say
    the same: where an affine function fits, their other values are in one order, too.

    Raises KerhrmError naming the first column that is constant, or an affine function
    of one before it; or, where both are ``categories`` (c,), that renames these.
    """
    distinct: list[tuple[np.ndarray, np.ndarray, str]] = []
    codes: list[np.ndarray | None] = []
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
        sign = np.sign(values[differs][0])
        scaled = values * sign
        ordered = z[:, j] * sign
        code = z[:, j] if categories[j] else None
        for (known, known_order, other), known_code in zip(
            distinct, codes, strict=True
        ):
            alike = np.abs(scaled - known).max() < ALIKE
            same = alike and _in_one_order(ordered, known_order)
            if same or _one_to_one(code, known_code):
                problem = f"{column} says what auxiliary column {other} says"
                raise KerhrmError(problem, "leave one of them out")
        distinct.append((scaled, ordered, shown_name))
        codes.append(code)


def _one_to_one(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    """Whether each category (n,) of the first is one of the second; None: none is."""
    if first is None or second is None:
        return False
    pairs = np.unique(np.column_stack([first, second]), axis=0)
    n_pairs = len(pairs)
    return n_pairs == np.unique(first).size == np.unique(second).size


def _in_one_order(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether no two rows of columns (n,) are in one order in the first, and in the
    other in the second, but for rounding."""
    order = np.lexsort((second, first))
    ordered = second[order]
    steps = np.diff(ordered)
    sizes = np.abs(ordered)
    larger = np.maximum(sizes[1:], sizes[:-1])
    rounding = 8 * np.spacing(larger)
    return bool((steps >= -rounding).all())


def check_training_column(z: np.ndarray, name: Any) -> None:
    """Refuse a single auxiliary column (n, 1) whose training rows have one value, while
    rows that validate have others."""
    if np.ptp(z) > 0:
        return
    shown_name = "0" if name is None else shown(name)
    column = f"auxiliary column {shown_name}"
    problem = f"{column} is constant in the training rows, which leave out those that"
    hint = "give a column that varies in more rows"
    raise KerhrmError(f"{problem} validate", hint)


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
