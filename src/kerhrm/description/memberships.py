"""What memberships of rows say: sizes, the most certain rows, a rootogram."""

import numpy as np
import pandas as pd

from kerhrm.description.regressions import Regression
from kerhrm.description.rows import DescribedRows, environment_names

CERTAIN = 5  #: rows of each environment that are named
BINS = 10  #: of a rootogram
SURE = 0.9  #: membership from which on a row is called clear


def environments(
    rows: DescribedRows, memberships: np.ndarray, regressions: list[Regression]
) -> pd.DataFrame:
    """A row for each environment.

    Its ``share`` of the weights, how many ``rows`` of the table it is likeliest for,
    copies once, which share of these is ``clear``, with a membership of 90 % or more,
    NaN of none, and its ``noise``, the standard deviation around its regression.
    """
    _, number = memberships.shape
    shares = np.average(memberships, axis=0, weights=rows.weights)
    of_rows = memberships[rows.counted]
    likeliest = of_rows.argmax(1)
    counts = np.bincount(likeliest, minlength=number)
    sure = of_rows.max(1) >= SURE
    n_sure = np.bincount(likeliest[sure], minlength=number)
    columns = {
        "share": shares,
        "rows": counts,
        "clear": n_sure / np.where(counts > 0, counts, np.nan),
        "noise": [regression.noise for regression in regressions],
    }
    names = environment_names(number)
    return pd.DataFrame(columns, names)


def certain_rows(
    rows: DescribedRows, memberships: np.ndarray, most: int = CERTAIN
) -> pd.DataFrame:
    """The rows that belong to each environment most certainly.

    Columns ``environment``, ``row``, its label in the table's index, and
    ``membership``.
    """
    draws = rows.of_single_rows
    of_rows = memberships[draws]
    labels = rows.labels[draws]
    _, number = of_rows.shape
    likeliest = of_rows.argmax(1)
    parts = []
    for j, name in enumerate(environment_names(number)):
        column = of_rows[:, j]
        members = np.flatnonzero(likeliest == j)
        by_membership = np.argsort(-column[members], kind="stable")
        best = members[by_membership[:most]]
        part = {
            "environment": name,
            "row": labels[best].to_numpy(),
            "membership": column[best],
        }
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def rootogram(memberships: np.ndarray) -> pd.DataFrame:
    """Square roots of the number of rows by membership in each environment.

    A row for each of ten bins from 0 to 1, a column for each environment (Leisch,
    Journal of Statistical Software 11(8), 2004).  Bars at both ends and none between
    them are environments that are told apart.
    """
    edges = np.linspace(0, 1, BINS + 1)
    rounded = edges.round(1)
    index = pd.IntervalIndex.from_breaks(rounded, name="membership")
    _, number = memberships.shape
    counts = np.empty((BINS, number))
    for j, column in enumerate(memberships.T):
        counts[:, j], _ = np.histogram(column, edges)
    names = environment_names(number)
    roots = np.sqrt(counts)
    return pd.DataFrame(roots, index, names)
