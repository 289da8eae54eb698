"""Rows that are alike, which would train and test the same model.

Where a few categories are all that rows hold, rows are alike by chance.  Where columns
vary so much that not even one pair is expected to be alike, rows that are alike in all
columns are copies, and rows that differ only in the target are measurements of one
unit, as a patient.
"""

import math

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from kerhrm.errors import KerhrmError
from kerhrm.tables.distinct import alike_by_chance
from kerhrm.tables.wording import counted


def copied(features: pd.DataFrame, y: pd.Series) -> pd.Series:
    """Whether rows (n,), with their target, occur more than once and not by chance."""
    _, n_features = features.shape
    table = features.set_axis(range(n_features), axis=1).copy()
    table[n_features] = y
    return repeated(table)


def repeated(table: pd.DataFrame) -> pd.Series:
    """Whether rows (n,) of a table occur more than once and not by chance."""
    rows = _hashes(table)
    twice = rows.duplicated(keep=False)
    again = rows.duplicated().to_numpy()
    distinct = table[~again]
    columns = []
    for _, column in distinct.items():
        codes, _ = pd.factorize(column, use_na_sentinel=False)
        columns.append(codes)
    if twice.any() and alike_by_chance(np.column_stack(columns)):
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

    Raises KerhrmError if too few rows differ for both.
    """
    groups = np.arange(len(features))
    if together.any():
        hashes = _hashes(features)
        groups, _ = pd.factorize(hashes)
    _, first = np.unique(groups, return_index=True)
    n_different = len(first)
    n_test = math.ceil(share * n_different)
    fewer = min(n_test, n_different - n_test)
    if fewer < 1:
        problem = f"{counted(n_different, 'different row')} are too few"
        raise KerhrmError(f"{problem} to train on and to test", "give more")
    if labels is not None:
        labels = labels.iloc[first]
        n_of_label = labels.value_counts()
        if n_of_label.min() < 2 or fewer < len(n_of_label):
            labels = None
    train_groups, test_groups = train_test_split(
        groups[first], test_size=share, random_state=random_state, stratify=labels
    )
    if not together.any():
        return train_groups, test_groups
    trains = np.isin(groups, train_groups)
    tests = np.isin(groups, test_groups)
    return np.flatnonzero(trains), np.flatnonzero(tests)


def _hashes(table: pd.DataFrame) -> pd.Series:
    """A number for each row (n,), the same for equal rows."""
    _, n_columns = table.shape
    numbered = table.set_axis(range(n_columns), axis=1)
    return pd.util.hash_pandas_object(numbered, index=False)
