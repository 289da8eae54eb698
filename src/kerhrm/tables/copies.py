"""Rows that are alike, which would train and test the same model.

Where a few categories are all that rows hold, rows are alike by chance.  Where columns
vary so much that not even one pair is expected to be alike, rows that are alike in all
columns are copies, and rows that differ only in the target are measurements of one
unit, as a patient.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from kerhrm.tables.distinct import alike_by_chance


def copied(features: pd.DataFrame, y: pd.Series) -> pd.Series:
    """Whether rows (n,), with their target, occur more than once and not by chance."""
    table = features.set_axis(range(features.shape[1]), axis=1)
    table[features.shape[1]] = y
    return repeated(table)


def repeated(table: pd.DataFrame) -> pd.Series:
    """Whether rows (n,) of a table occur more than once and not by chance."""
    rows = _hashes(table)
    twice = rows.duplicated(keep=False)
    distinct = table[~rows.duplicated().to_numpy()]
    codes = [
        pd.factorize(column, use_na_sentinel=False)[0] for _, column in distinct.items()
    ]
    if twice.any() and alike_by_chance(np.column_stack(codes)):
        twice[:] = False
    return twice


def split(
    features: pd.DataFrame,
    labels: pd.Series | None,
    together: pd.Series,
    share: float,
    random_state: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of rows that train, and of a share that tests.

    If any rows are to be ``together`` with those that have their features, all are.
    Labels, if given, keep their shares if they can.
    """
    groups = np.arange(len(features))
    if together.any():
        groups = pd.factorize(_hashes(features))[0]
    first = np.unique(groups, return_index=True)[1]
    if labels is not None:
        labels = labels.iloc[first]
        labels = labels if labels.value_counts().min() > 1 else None
    sides = train_test_split(
        groups[first], test_size=share, random_state=random_state, stratify=labels
    )
    if not together.any():
        return sides[0], sides[1]
    train, test = (np.flatnonzero(np.isin(groups, side)) for side in sides)
    return train, test


def _hashes(table: pd.DataFrame) -> pd.Series:
    """A number for each row (n,), the same for equal rows."""
    table = table.set_axis(range(table.shape[1]), axis=1)
    return pd.util.hash_pandas_object(table, index=False)
