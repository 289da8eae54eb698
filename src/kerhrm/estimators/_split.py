"""Rows that train, and rows that validate.

Rows are sorted by their values before anything is drawn, so that a fit does not depend
on the order in which they come.
"""

import numbers

import numpy as np
from sklearn.model_selection import train_test_split

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.randomness import stream


def split_table(
    x: np.ndarray,
    y: np.ndarray,
    task: Task,
    fraction: float,
    seed: int,
    *,
    hold_out: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that train and, if some are to be held out, rows that validate.

    Sorted by their values.

    Raises KerhrmError if too few rows are left.
    """
    if len(y) < 3:
        problem = f"n_samples={len(y)} rows are too few to train and validate on"
        raise KerhrmError(problem, "give 3 or more")
    order = np.lexsort((y, *x.T))
    if not hold_out:
        return order, order[:0]
    codes = (
        np.unique(y, return_inverse=True)[1][order]
        if task == "classification"
        else None
    )
    train, validation = (order[part] for part in split(len(y), fraction, seed, codes))
    if task == "classification" and len(np.unique(y[train])) < 2:
        raise KerhrmError(
            "the training rows have only one class", "give more rows of the other"
        )
    return train, validation


def split(
    n: int, fraction: float, seed: int, classes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that train and rows that validate, one or more; ascending.

    Classes 0, 1, ... of the rows (n,) keep their shares, or, where there are too few of
    one, at least one row that trains.

    Raises KerhrmError if the fraction is not between 0 and 1.
    """
    if not (isinstance(fraction, numbers.Real) and 0 < fraction < 1):
        problem = f"validation_fraction must be between 0 and 1; got {shown(fraction)}"
        raise KerhrmError(problem, "use 0.2, or pass validation=(X, y) to fit")
    random = stream(seed, "validation")
    size = min(max(1, round(fraction * n)), n - 2)
    if classes is None:
        taken = random.permutation(n)[:size]
    elif min(np.bincount(classes)) >= 2 and size >= 2 and n - size >= 2:
        number = int(random.integers(2**31))
        _, taken = train_test_split(
            np.arange(n), test_size=size, stratify=classes, random_state=number
        )
    else:
        order = random.permutation(n)
        _, first = np.unique(classes[order], return_index=True)
        taken = np.delete(order, first)[:size]
    validates = np.zeros(n, dtype=bool)
    validates[taken] = True
    return np.flatnonzero(~validates), np.flatnonzero(validates)
