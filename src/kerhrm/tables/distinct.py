"""Distinct rows of a table, and which of them train and validate.

Equal rows are one, with the sum of their weights: a weight of two is a row twice, and a
weight of zero no row.  So equal rows become one before anything is drawn, and what is
drawn goes by the rows' values: a table with rows repeated, a table with weights, and
either of them in another order are the same fit.

Rows that are alike may be copies, as a join makes them, or draws that happen to agree,
as where a few categories are all that rows hold.  A copy must not train and validate
the same model; draws may.  So a distinct row is one *unit*, which trains or validates
as a whole, unless the columns vary so little that equal draws are expected: then it is
as many units as its weight says.

Which units validate goes by the rows' values and by no seed: a fit does not depend on
the order in which rows come, and two seeds compare the same models on the same rows.
"""

import numbers
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import numpy as np
from sklearn.model_selection import train_test_split

from kerhrm.algorithm.records import NO_WEIGHT
from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.randomness import stream

#: of all rows; where weights are larger, a unit weighs more
MAX_UNITS = 10_000_000
MIN_ROWS = 20  #: different rows, without which equal ones are draws

#: share of rows with the inputs of others above which it is told
REPEATED = 0.1


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
        of = np.full(n, -1)
        numbers_from_one = np.cumsum(new)
        of[order] = numbers_from_one - 1
        first = order[new]
        n_distinct = len(first)
        numbers_in_order = of[order]
        weights_in_order = weights[order]
        sums = np.bincount(numbers_in_order, weights_in_order, minlength=n_distinct)
        units = np.ones(n_distinct, dtype=np.int64)
        largest = sums.max(initial=0.0)
        if largest > 1 and alike_by_chance(table[first]):
            affordable = MAX_UNITS / sums.sum()
            share = min(1.0, affordable)
            parts = np.ceil(sums * share)
            units = parts.astype(np.int64)
        return cls(first, of, sums, units)

    def __len__(self) -> int:
        return len(self.first)


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
    m = len(table)
    ordered_pairs = m * (m - 1)
    pairs = ordered_pairs / 2
    for column in table.T:
        _, counts = np.unique(column, return_counts=True)
        shares = counts / m
        chance = float((shares**2).sum())
        pairs *= chance
    return m < MIN_ROWS or pairs >= 1


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


@dataclass(frozen=True)
class Split:
    """Rows of a table of n rows that stand for the points of a fit.

    Attributes
    ----------
    train, held_out : ndarray, (p,), (q,), int64
        Rows of the training and of the validation points, sorted by their values.
    weights, held_out_weights : ndarray, (p,), (q,), or None
        Of the points, of mean 1; None: all alike.
    units : ndarray, (p,), float64, or None
        Equal draws that each training point stands for; None: one.
    positions : ndarray, (n,), int64
        Point that stands for each row, of the training points and then the others; -1
        of a row of weight 0.
    """

    train: np.ndarray
    held_out: np.ndarray
    weights: np.ndarray | None
    held_out_weights: np.ndarray | None
    units: np.ndarray | None
    positions: np.ndarray


def split_rows(
    distinct: DistinctRows,
    y: np.ndarray,
    task: Task,
    fraction: float,
    *,
    hold_out: bool,
    weighs: bool,
) -> Split:
    """Points that train and, if some are to be held out, that validate.

    Points are distinct rows if the fit ``weighs`` them, and else all rows; targets y
    (n,) are those of the table.  Raises KerhrmError if too few rows are left.
    """
    units = distinct.units
    targets = y[distinct.first]
    n = int(units.sum())
    if n < 3:
        problem = f"n_samples={n} different rows are too few to train and validate on"
        raise KerhrmError(problem, "give 3 or more")
    held_out = np.zeros_like(units)
    if hold_out:
        n_distinct = len(units)
        of = np.repeat(np.arange(n_distinct), units)
        codes = None
        if task == "classification":
            _, classes = np.unique(targets, return_inverse=True)
            codes = classes[of]
        _, validating = split(n, fraction, codes)
        held_out = np.bincount(of[validating], minlength=n_distinct)
        trained = np.unique(targets[held_out < units])
        if task == "classification" and len(trained) < 2:
            problem = "the training rows have only one class"
            raise KerhrmError(problem, "give more rows of the other")
    if weighs:
        return _points(distinct, held_out)
    return _all_rows(distinct, held_out)


def _points(distinct: DistinctRows, held_out: np.ndarray) -> Split:
    """Distinct rows, of which so many units (m,) validate."""
    units = distinct.units - held_out
    train = np.flatnonzero(units)
    others = np.flatnonzero(held_out)
    n_train = len(train)
    points = np.empty(len(distinct), dtype=np.int64)
    n_others = len(others)
    points[others] = n_train + np.arange(n_others)
    points[train] = np.arange(n_train)
    weight = distinct.weights / distinct.units
    all_train_weights = weight * units
    train_weights = all_train_weights[train]
    all_held_out_weights = weight * held_out
    held_out_weights = all_held_out_weights[others]
    train_units = None
    if units.max() > 1:
        train_units = units[train].astype(float)
    without_weight = distinct.of < 0
    positions = np.where(without_weight, -1, points[distinct.of])
    return Split(
        train=distinct.first[train],
        held_out=distinct.first[others],
        weights=_mean_one(train_weights),
        held_out_weights=_mean_one(held_out_weights),
        units=train_units,
        positions=positions,
    )


def _all_rows(distinct: DistinctRows, held_out: np.ndarray) -> Split:
    """All rows, those that are equal next to each other; rows of so many units (m,) of
    a distinct row validate."""
    rows = np.argsort(distinct.of, kind="stable")
    of = distinct.of[rows]
    first_equal = np.searchsorted(of, of)
    row_numbers = np.arange(len(of))
    number = row_numbers - first_equal  # among its equals
    in_training = distinct.units - held_out
    n_train = in_training[of]
    n_held_out = held_out[of]
    whole = n_held_out == 0
    units_of_rows = distinct.units[of]
    several = units_of_rows > 1
    trains = np.where(several, number < n_train, whole)
    train = rows[trains]
    others = rows[~trains]
    order = np.concatenate([train, others])
    positions = np.empty(len(rows), dtype=np.int64)
    n_rows = len(rows)
    positions[order] = np.arange(n_rows)
    return Split(train, others, None, None, None, positions)


def _mean_one(weights: np.ndarray) -> np.ndarray | None:
    """Weights of some points, of mean 1; None if they are alike."""
    if not len(weights) or np.ptp(weights) == 0:
        return None
    in_means = weights / weights.mean()
    return np.asarray(in_means)


def split(
    n: int, fraction: float, classes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that train and rows that validate, one or more; ascending.

    Classes 0, 1, ... of the rows (n,) keep their shares, or, where there are too few of
    one, at least one row that trains.

    Raises KerhrmError if the fraction is not between 0 and 1.
    """
    is_share = isinstance(fraction, numbers.Real) and 0 < fraction < 1
    if not is_share:
        problem = f"validation_fraction must be between 0 and 1; got {shown(fraction)}"
        raise KerhrmError(problem, "use 0.2, or pass validation=(X, y) to fit")
    random = stream(0, "validation")
    rounded = round(fraction * n)
    at_least_one = max(1, rounded)
    size = min(at_least_one, n - 2)
    n_rarest = n
    if classes is not None:
        n_rarest = min(np.bincount(classes))
    both_sides_hold_two = size >= 2 and n - size >= 2
    if classes is None:
        taken = random.permutation(n)[:size]
    elif n_rarest >= 2 and both_sides_hold_two:
        number = int(random.integers(2**31))
        _, taken = train_test_split(
            np.arange(n), test_size=size, stratify=classes, random_state=number
        )
    else:
        order = random.permutation(n)
        classes_in_order = classes[order]
        _, first = np.unique(classes_in_order, return_index=True)
        taken = np.delete(order, first)[:size]
    validates = np.zeros(n, dtype=bool)
    validates[taken] = True
    trains = np.flatnonzero(~validates)
    return trains, np.flatnonzero(validates)


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
    of = np.cumsum(new) - 1  # different inputs of every row
    _, codes = np.unique(target, return_inverse=True)
    pairs = np.column_stack([of, codes])
    distinct_pairs = np.unique(pairs, axis=0)
    inputs_of_pairs = distinct_pairs[:, 0]
    n_targets = np.bincount(inputs_of_pairs)
    several = n_targets[of] > 1
    shared = int(several.sum())
    n = len(x)
    if shared <= REPEATED * n or alike_by_chance(x[new]):
        return None
    text = f"{shared} of {n} different rows have the inputs of another one with"
    hint = "give one row for each unit, with the mean of its targets"
    targets = np.unique(target)
    if len(targets) == 2:
        hint = "give one row for each unit, with its commoner label"
    return f"{text} another target, and are taken for independent; {hint}"
