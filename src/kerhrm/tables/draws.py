"""Which rows of a table train and which test, drawn at random.

``kerhrm check``, the page of one's own table and its plan share these rules, so that a
plan refuses the very rows that a page would draw.
"""

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.randomness import stream
from kerhrm.tables.columns import without_names_of_rows
from kerhrm.tables.copies import copied, repeated, split


def draw_rows(
    features: pd.DataFrame,
    y: pd.Series,
    task: Task,
    held_out: np.ndarray,
    *,
    share: float,
    most: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows of a table that train, and of those that test.

    Copies of a row all train, or all test, and labels keep their shares if they can, as
    in :func:`kerhrm.check.check`.

    Parameters
    ----------
    features : DataFrame, (n, d)
        Columns that predict.
    y : Series, (n,)
        Target, without missing values.
    task : {"classification", "regression"}
        What is learned.
    held_out : ndarray, (n,), bool
        Rows that test whatever is drawn.
    share : float
        Of all other rows, which tests.
    most : int
        Rows that train.
    seed : int
        Of the draw.

    Raises
    ------
    KerhrmError
        If no column describes the rows, too few are left on a side, or those that
        train have one value of the target.
    """
    described, _ = without_names_of_rows(features)
    drawn = np.flatnonzero(~held_out)
    rows = described.iloc[drawn]
    target = y.iloc[drawn]
    labels = target if task == "classification" else None
    together = copied(rows, target) | repeated(rows)
    train, test = split(rows, labels, together, share, seed)
    if len(train) > most:
        train = _some(train, labels, most, seed)
    train_rows = drawn[train]
    check_varies(y.iloc[train_rows], task)
    all_held_out = np.flatnonzero(held_out)
    return train_rows, np.concatenate([drawn[test], all_held_out])


def check_varies(y: pd.Series, task: Task) -> None:
    """Refuse a target that has one value in the rows that train."""
    if y.nunique() >= 2:
        return
    value = shown(y.iloc[0])
    problem = f"the target {y.name!r} is {value} in all training rows"
    others = "other values"
    if task == "classification":
        others = "the other label"
    raise KerhrmError(problem, f"give more rows with {others}")


def _some(
    train: np.ndarray, labels: pd.Series | None, most: int, seed: int
) -> np.ndarray:
    """Draw some of the rows that train, of each label one or more."""
    random = stream(seed, "rows that train")
    order = random.permutation(train)
    if labels is not None:
        again = labels.iloc[order].duplicated().to_numpy()
        order = np.concatenate([order[~again], order[again]])
    return order[:most]
