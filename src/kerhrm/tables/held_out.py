"""Which rows of a table train, and which are held out to validate.

Which units validate goes by the rows' values and by no seed: a fit does not depend on
the order in which rows come, and two seeds compare the same models on the same rows.
Distinct rows and their units: :mod:`kerhrm.tables.distinct`.
"""

import numbers
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task
from kerhrm.randomness import stream
from kerhrm.tables.distinct import DistinctRows


@dataclass(frozen=True)
class Split:
    """Rows of a table of n rows that stand for the points of a fit.

    Attributes
    ----------
    train, held_out : ndarray, (p,), (q,), int64
        Rows of the training and of the validation points, sorted by their values.
    weights, held_out_weights : ndarray, (p,), (q,), or None
        Of the training points, of mean 1, and of the others, in their unit; None: all
        are 1.
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
        if len(y) > n:
            problem += f"; the others of {len(y)} are copies or have hardly any weight"
        raise KerhrmError(problem, "give 3 or more")
    held_out = np.zeros_like(units)
    if hold_out:
        n_distinct = len(units)
        row_of_unit = np.repeat(np.arange(n_distinct), units)
        codes = None
        if task == "classification":
            _, classes = np.unique(targets, return_inverse=True)
            codes = classes[row_of_unit]
        _, validating = split(n, fraction, codes)
        held_out = np.bincount(row_of_unit[validating], minlength=n_distinct)
        trained = np.unique(targets[held_out < units])
        if task == "classification" and len(trained) < 2:
            problem = "the training rows have only one class"
            raise KerhrmError(problem, "give more rows of the other")
    if weighs:
        return _points(distinct, held_out)
    return _all_rows(distinct, held_out)


def check_fraction(fraction: float) -> None:
    """Refuse a share of rows that is not between 0 and 1."""
    is_share = isinstance(fraction, numbers.Real) and 0 < fraction < 1
    if not is_share:
        problem = f"validation_fraction must be between 0 and 1; got {shown(fraction)}"
        raise KerhrmError(problem, "use 0.2, or pass validation=(X, y) to fit")


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
    in_unit, held_out_in_unit = _in_unit_of_training(train_weights, held_out_weights)
    train_units = None
    if units.max() > 1:
        train_units = units[train].astype(float)
    without_weight = distinct.numbers < 0
    positions = np.where(without_weight, -1, points[distinct.numbers])
    return Split(
        train=distinct.first[train],
        held_out=distinct.first[others],
        weights=in_unit,
        held_out_weights=held_out_in_unit,
        units=train_units,
        positions=positions,
    )


def _all_rows(distinct: DistinctRows, held_out: np.ndarray) -> Split:
    """All rows, those that are equal next to each other; rows of so many units (m,) of
    a distinct row validate."""
    rows = np.argsort(distinct.numbers, kind="stable")
    equal_to = distinct.numbers[rows]
    first_equal = np.searchsorted(equal_to, equal_to)
    row_numbers = np.arange(len(equal_to))
    number = row_numbers - first_equal  # among its equals
    in_training = distinct.units - held_out
    n_train = in_training[equal_to]
    n_held_out = held_out[equal_to]
    whole = n_held_out == 0
    units_of_rows = distinct.units[equal_to]
    several = units_of_rows > 1
    trains = np.where(several, number < n_train, whole)
    train = rows[trains]
    others = rows[~trains]
    order = np.concatenate([train, others])
    positions = np.empty(len(rows), dtype=np.int64)
    n_rows = len(rows)
    positions[order] = np.arange(n_rows)
    return Split(train, others, None, None, None, positions)


def _in_unit_of_training(
    train: np.ndarray, held_out: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Weights of training and of other points in units of the former's mean; None where
    all are 1.

    Where a point stands for several draws, the few points that are held out would else
    count as much as all others.
    """
    are_alike = np.ptp(train) == 0
    unit = train[0] if are_alike else train.mean()
    in_units = held_out / unit
    are_ones = (in_units == 1).all()
    return (
        None if are_alike else np.asarray(train / unit),
        None if are_ones else np.asarray(in_units),
    )


def validation_size(n: int, fraction: float) -> int:
    """Number of n rows that validate: a fraction of them, rounded.

    It is at least 1, unless fewer than two rows would be left to train.
    """
    rounded = round(fraction * n)
    at_least_one = max(1, rounded)
    return min(at_least_one, n - 2)


def split(
    n: int, fraction: float, classes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that train and rows that validate, one or more; ascending.

    Classes 0, 1, ... of the rows (n,) keep their shares, or, where there are too few of
    one, at least one row that trains.

    Raises KerhrmError if the fraction is not between 0 and 1.
    """
    check_fraction(fraction)
    random = stream(0, "validation")
    size = validation_size(n, fraction)
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
