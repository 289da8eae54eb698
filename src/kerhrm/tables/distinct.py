"""Distinct rows of a table, and into how many parts each may be split.

Equal rows are one, with the sum of their weights: a weight of two is a row twice, and a
weight of zero no row.  So equal rows become one before anything is drawn, and what is
drawn goes by the rows' values: a table with rows repeated, a table with weights, and
either of them in another order are the same fit.

Rows that are alike may be copies, as a join makes them, or draws that happen to agree,
as where a few categories are all that rows hold.  A copy must not train and validate
the same model; draws may.  So a distinct row is one *unit*, which trains or validates
as a whole, unless the columns vary so little that equal draws are expected: then it is
as many units as its weight says (:mod:`kerhrm.tables.held_out` draws among them).
Whole numbers say it as they are; of others, such as a survey's, the mean is one draw.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import numpy as np

from kerhrm.algorithm.records import NO_WEIGHT
from kerhrm.given import expected_pairs

#: of all rows; where weights are larger, a unit weighs more
MAX_UNITS = 10_000_000
MIN_ROWS = 20  #: different rows, without which equal ones are draws

ROUNDING = 1e-9  #: of a number of draws, by which it is no more than a whole number

#: share of rows with the inputs of others above which it is told
REPEATED = 0.1
INDEPENDENT = "are taken for independent"  #: what such rows are, in the warning


@dataclass(frozen=True)
class DistinctRows:
    """The m distinct rows of a table of n rows, sorted by their values.

    Attributes
    ----------
    first : ndarray, (m,), int64
        A row of the table that has these values.
    numbers : ndarray, (n,), int64
        Number of the distinct row of each row of the table; -1 for one of weight 0.
    weights : ndarray, (m,), float64
        Sums of the rows' weights.
    units : ndarray, (m,), int64
        Into how many parts a row may be split.
    """

    first: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray
    units: np.ndarray

    @classmethod
    def find(cls, table: np.ndarray, weights: np.ndarray | None) -> Self:
        """Distinct rows of a table (n, c), float64, whose rows may have weights (n,).

        They are sorted by the last column, then by the one before it.
        """
        n = len(table)
        if weights is None:
            weights = np.ones(n)
        largest_weight = weights.max(initial=0.0)
        least = NO_WEIGHT * largest_weight
        counted = np.flatnonzero(weights > least)
        # equal rows by weight, so that their sum does not depend on their order
        keys = (weights[counted], *table[counted].T)
        by_key = np.lexsort(keys)
        order = counted[by_key]
        in_order = table[order]
        new = _unlike_the_one_before(in_order)
        numbers = np.full(n, -1)
        numbers_from_one = np.cumsum(new)
        numbers[order] = numbers_from_one - 1
        first = order[new]
        n_distinct = len(first)
        numbers_in_order = numbers[order]
        weights_in_order = weights[order]
        sums = np.bincount(numbers_in_order, weights_in_order, minlength=n_distinct)
        units = np.ones(n_distinct, dtype=np.int64)
        draws = sums / _one_draw(weights[counted])
        largest = draws.max(initial=0.0)
        if largest > 1 + ROUNDING and alike_by_chance(table[first]):
            affordable = MAX_UNITS / draws.sum()
            share = min(1.0, affordable)
            parts = np.ceil((1 - ROUNDING) * share * draws)
            units = parts.astype(np.int64)
        return cls(first, numbers, sums, units)

    def __len__(self) -> int:
        return len(self.first)


def _one_draw(weights: np.ndarray) -> float:
    """Weight of one draw, of rows with weights (n,): 1 if all are whole numbers, else
    their mean."""
    whole = weights == np.rint(weights)
    return 1.0 if whole.all() else float(weights.mean())


def ordered_rows(
    x: np.ndarray,
    target: np.ndarray,
    beside: list[np.ndarray],
    weights: np.ndarray | None,
    *,
    fixed: bool,
) -> tuple[np.ndarray, DistinctRows]:
    """Order (d,) of the columns of inputs (n, d), and distinct rows of these, targets
    (n,) and the columns ``beside`` them, whose weights may differ.

    Columns that are ``fixed`` stay in their order.
    """
    y = target
    if target.dtype.kind != "f":
        _, y = np.unique(target, return_inverse=True)
    _, n_columns = x.shape
    given = np.arange(n_columns)
    distinct = DistinctRows.find(np.column_stack([y, *beside, x]), weights)
    if fixed:
        return given, distinct
    first = distinct.first
    order = column_order(x[first], y[first])
    moved = order != given
    if moved.any():
        table = np.column_stack([y, *beside, x[:, order]])
        distinct = DistinctRows.find(table, weights)
    return order, distinct


def alike_by_chance(table: np.ndarray) -> bool:
    """Whether equal draws are expected where these distinct rows (m, c) come from.

    They are if some pair of m rows with independent columns is expected to be equal,
    or where there are few distinct rows: without draws on both sides nothing could be
    validated.
    """
    return len(table) < MIN_ROWS or expected_pairs(table) >= 1


def column_order(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """An order (d,) of columns (n, d) that depends on the ranks of their values next to
    numbers (n,), and neither on how they are ordered nor on their units.

    Columns are sorted by a hash of these ranks; those with the same stay in their
    order.
    """
    hashes = []
    for column in x.T:
        _, codes = np.unique(column, return_inverse=True)
        ranks = codes.astype(np.int64)
        by_number = np.lexsort((ranks, y))
        pairs = np.ascontiguousarray(ranks[by_number])
        contents = pairs.tobytes()
        fingerprint = blake2b(contents, digest_size=16)
        hashes.append(fingerprint.digest())
    columns = range(len(hashes))
    order = sorted(columns, key=hashes.__getitem__)
    return np.array(order, dtype=np.int64)


def _unlike_the_one_before(rows: np.ndarray) -> np.ndarray:
    """Which of rows (n, c) differ from the row before them, (n,), bool."""
    n_rows = len(rows)
    new = np.ones(n_rows, dtype=bool)
    differs = rows[1:] != rows[:-1]
    new[1:] = differs.any(axis=1)
    return new


def repeated_inputs(x: np.ndarray, target: np.ndarray) -> str | None:
    """How many of distinct rows (n, d) have the inputs of another one, with another
    target (n,); None: so few that they may be so by chance.

    As several measurements of one patient, or a joined table: such rows tell each
    other's target, so that a model that repeats it looks best.  Rows are sorted by
    their inputs, so that equal ones are neighbours.
    """
    new = _unlike_the_one_before(x)
    different_inputs = np.cumsum(new) - 1  # of every row
    _, codes = np.unique(target, return_inverse=True)
    pairs = np.column_stack([different_inputs, codes])
    distinct_pairs = np.unique(pairs, axis=0)
    inputs_of_pairs = distinct_pairs[:, 0]
    n_targets = np.bincount(inputs_of_pairs)
    several = n_targets[different_inputs] > 1
    shared = int(several.sum())
    n = len(x)
    if shared <= REPEATED * n or alike_by_chance(x[new]):
        return None
    text = f"{shared} of {n} different rows have the inputs of another one with"
    hint = "give one row for each unit, with the mean of its targets"
    targets = np.unique(target)
    if len(targets) == 2:
        hint = "give one row for each unit, with its commoner label"
    return f"{text} another target, and {INDEPENDENT}; {hint}"
