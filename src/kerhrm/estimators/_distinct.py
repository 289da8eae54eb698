"""Distinct rows of a table: equal rows are one, with the sum of their weights.

A weight of two is a row twice, and a weight of zero no row.  So equal rows become one
before anything is drawn, and what is drawn goes by the rows' values: a table with rows
repeated, a table with weights, and either of them in another order are the same fit.

Rows that are alike may be copies, as a join makes them, or draws that happen to agree,
as where a few categories are all that rows hold.  A copy must not train and validate
the same model; draws may.  So a distinct row is one *unit*, which trains or validates
as a whole, unless the columns vary so little that equal draws are expected: then it is
as many units as its weight says.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import numpy as np

from kerhrm.algorithm.records import NO_WEIGHT

#: of all rows; where weights are larger, a unit weighs more
MAX_UNITS = 10_000_000
MIN_ROWS = 20  #: different rows, without which equal ones are draws


@dataclass(frozen=True)
class DistinctRows:
    """The m distinct rows of a table of n rows, sorted by their values.

    Attributes
    ----------
    first : ndarray, (m,), int64
        A row of the table that has these values.
    of : ndarray, (n,), int64
        Distinct row of each row of the table; -1 for one of weight 0.
    weights : ndarray, (m,), float64
        Sums of the rows' weights.
    units : ndarray, (m,), int64
        Into how many parts a row may be split.
    """

    first: np.ndarray
    of: np.ndarray
    weights: np.ndarray
    units: np.ndarray

    @classmethod
    def find(cls, table: np.ndarray, weights: np.ndarray | None) -> Self:
        """Distinct rows of a table (n, c), float64, whose rows may have weights (n,).

        They are sorted by the last column, then by the one before it.
        """
        n = len(table)
        weights = np.ones(n) if weights is None else weights
        counted = np.flatnonzero(weights > NO_WEIGHT * weights.max(initial=0.0))
        # equal rows by weight, so that their sum does not depend on their order
        order = counted[np.lexsort((weights[counted], *table[counted].T))]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (table[order[1:]] != table[order[:-1]]).any(axis=1)
        of = np.full(n, -1)
        of[order] = np.cumsum(new) - 1
        first = order[new]
        sums = np.bincount(of[order], weights[order], minlength=len(first))
        units = np.ones(len(first), dtype=np.int64)
        if sums.max(initial=0.0) > 1 and alike_by_chance(table[first]):
            share = min(1.0, MAX_UNITS / sums.sum())
            units = np.ceil(sums * share).astype(np.int64)
        return cls(first, of, sums, units)

    def __len__(self) -> int:
        return len(self.first)


def alike_by_chance(table: np.ndarray) -> bool:
    """Whether equal draws are expected where these distinct rows (m, c) come from.

    They are if some pair of m rows with independent columns is expected to be equal,
    or where there are few distinct rows: without draws on both sides nothing could be
    validated.
    """
    m = len(table)
    pairs = m * (m - 1) / 2
    for column in table.T:
        _, counts = np.unique(column, return_counts=True)
        pairs *= float(((counts / m) ** 2).sum())
    return m < MIN_ROWS or pairs >= 1


def column_order(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """An order (d,) of columns (n, d) that depends on the ranks of their values next to
    numbers (n,), and neither on how they are ordered nor on their units.

    Columns are sorted by a hash of these ranks; those with the same stay in their
    order.
    """
    hashes = []
    for column in x.T:
        ranks = np.unique(column, return_inverse=True)[1].astype(np.int64)
        pairs = np.ascontiguousarray(ranks[np.lexsort((ranks, y))])
        hashes.append(blake2b(pairs.tobytes(), digest_size=16).digest())
    return np.array(sorted(range(len(hashes)), key=hashes.__getitem__), dtype=np.int64)
