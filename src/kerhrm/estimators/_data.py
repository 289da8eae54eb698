"""Tables of users: checked, in a canonical order, split and standardised.

Rows are sorted by their values before anything is drawn, so that a fit does not depend
on the order in which they come.
"""

import numbers
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d, validate_data
from torch import Tensor

from kerhrm.algorithm.records import NO_WEIGHT
from kerhrm.errors import KerhrmError
from kerhrm.options import Task
from kerhrm.randomness import stream

#: larger values stand for missing ones, or are in a unit whose squares overflow in
#: float32
LARGEST = 1e20


def read_features(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Inputs (n, d), float64 and finite.

    ``reset`` when fitting, which learns the columns' names.

    Raises
    ------
    KerhrmError
        Naming the column: text, NaN, infinite or enormous values, a repeated name.
    ValueError, TypeError
        scikit-learn's own, for other columns than in the fit, or what is not a table.
    """
    X = X.detach().cpu().numpy() if isinstance(X, Tensor) else X
    names = list(getattr(X, "columns", ()))
    if twice := [name for name in names if names.count(name) > 1]:
        raise KerhrmError(
            f"two columns are called {twice[0]!r}", "rename or drop one of them"
        )
    try:
        x = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=False,
            copy=True,
        )
    except (ValueError, TypeError) as error:
        _name_text(X, error)
        raise
    # no negative zeros, which would compare differently as bytes
    x = np.asarray(x + 0.0)
    check_values(x, [f"column {name!r}" for name in names or range(x.shape[1])], X)
    return x


def read_target(y: Any, n: int, task: Task, *, varies: bool = True) -> np.ndarray:
    """Target (n,): labels as they are, or numbers in float64.

    Of two values or more if it varies.

    Raises
    ------
    KerhrmError
        If it is missing, of another length, constant, or has more than two classes.
    ValueError
        scikit-learn's own, for missing or infinite values, and text in a regression.
    """
    if y is None:
        problem = "the estimator requires y to be passed, but the target y is None"
        raise KerhrmError(problem, "call fit(X, y)")
    index = y
    y = column_or_1d(
        y.detach().cpu().numpy() if isinstance(y, Tensor) else y, warn=True
    )
    if y.dtype.hasobject:  # numbers and truth values among objects
        y = pd.Series(y).infer_objects().to_numpy()
    missing = pd.isna(y)
    if missing.any():
        rows = f"{missing.sum()} rows, the first is {first_row(missing, index)}"
        raise KerhrmError(f"the target y is missing (NaN) in {rows}", "drop these rows")
    if len(y) != n:
        raise KerhrmError(
            f"{n} rows of X but {len(y)} of y", "give one target for each row"
        )
    if task == "regression":
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_values(y[:, None], ["the target y"], index)
    else:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            problem = (
                "Only binary classification is supported. The type of the target "
                f"is {kind}"
            )
            raise KerhrmError(problem, "wrap the estimator in OneVsRestClassifier")
    if varies and len(y) > 1 and (y == y[0]).all():
        hint = "there is nothing to learn: choose other rows"
        raise KerhrmError(
            f"the target y is constant: it has only one class or value, {y[0]}", hint
        )
    return y


def read_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    """Weights (n,) of the rows, zero or positive; None: all alike.

    Raises KerhrmError if there is not a finite weight for each row, or none is
    positive.
    """
    if sample_weight is None:
        return None
    weights = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, input_name="weights"
    )
    if weights.shape != (n,) or (weights < 0).any() or not weights.any():
        problem = (
            f"sample_weight must have shape ({n},) and values of zero or more, "
            "not all zero"
        )
        problem += f"; got shape {weights.shape} and the least value {weights.min():g}"
        raise KerhrmError(problem, "leave it out to weigh all rows alike")
    return np.maximum(weights / weights.max(), NO_WEIGHT)


def read_labels(labels: Any, n: int, what: str) -> np.ndarray:
    """Labels of any kind, ``what`` in the plural: (n,), one for each row.

    Raises KerhrmError if there is not one for each row.
    """
    values = np.asarray(labels)
    if values.shape != (n,):
        problem = f"{what} have shape {values.shape} for {n} rows"
        raise KerhrmError(problem, "give one label for each row")
    if (missing := pd.isna(values)).any():
        rows = f"{missing.sum()} rows, the first is {first_row(missing, labels)}"
        raise KerhrmError(
            f"{what} are missing in {rows}", "drop these rows, or label them"
        )
    return values


def first_row(bad: Any, table: Any = None) -> str:
    """Name the first of some rows as pandas counts.

    By its index, or from 0 if it has none.
    """
    row, index = int(np.argmax(bad)), getattr(table, "index", None)
    return (
        f"index {index[row]}"
        if isinstance(index, pd.Index)
        else f"row {row} (counted from 0)"
    )


def check_values(x: np.ndarray, names: list[str], table: Any = None) -> None:
    """Refuse what is not finite or enormous, by column, in the rows of a table."""
    bad = ~(np.abs(x) < LARGEST)  # True of NaN
    if bad.any():
        j = int(bad.any(0).argmax())
        rows = f"{bad[:, j].sum()} rows, the first is {first_row(bad[:, j], table)}"
        what = (
            f"{names[j]} has missing (NaN), infinite (inf) or enormous values in {rows}"
        )
        value = x[bad[:, j].argmax(), j]
        raise KerhrmError(f"{what}, with {value:g}", "drop these rows, or fill them in")


def _name_text(X: Any, error: Exception) -> None:
    """Raise an error that names the first column that is not numbers,
    if there is one."""
    if isinstance(error, TypeError) and not hasattr(X, "iloc"):
        return  # not a table
    try:
        table = pd.DataFrame(X)
    except (ValueError, TypeError):
        return
    for name, column in table.items():
        numbers = pd.to_numeric(column, errors="coerce")
        text = numbers.isna() & column.notna() | (column.dtype.kind in "mM")
        if text.any():
            row = int(text.to_numpy().argmax())
            value = " ".join(str(column.iloc[row]).split())[:40]
            where = first_row(text, X)
            problem = f"column {name!r} must hold numbers; got '{value}' in {where}"
            hint = "drop the column, or encode it: make_pipeline(table_encoder(), ...)"
            raise KerhrmError(problem, hint) from error


@dataclass(frozen=True)
class Units:
    """Units of inputs and targets.

    Mean 0 and standard deviation 1 over the training rows.

    Labels become -1 and +1, by ``classes``; a constant column becomes 0.

    """

    mean: np.ndarray  #: of the inputs, (d,), float64, as ``scale``
    scale: np.ndarray
    y_mean: float = 0.0  #: of the target, as ``y_scale``
    y_scale: float = 1.0
    classes: np.ndarray | None = None  #: (2,), sorted; None in regression

    @classmethod
    def of(
        cls, x: np.ndarray, y: np.ndarray, task: Task, weights: np.ndarray | None
    ) -> Self:
        """Units of training rows x (n, d) and targets y (n,), whose
        weights may differ."""
        inputs = _mean_and_scale(x, weights)
        if task == "classification":
            return cls(*inputs, classes=np.unique(y))
        mean, scale = _mean_and_scale(y[:, None], weights)
        return cls(*inputs, float(mean[0]), float(scale[0]))

    def inputs(self, x: np.ndarray) -> Tensor:
        """(m, d), float32."""
        return torch.from_numpy(((x - self.mean) / self.scale).astype(np.float32))

    def target(self, y: np.ndarray) -> Tensor:
        """(m,), float32.

        Raises KerhrmError if a label is neither of the classes.
        """
        if self.classes is None:
            return torch.from_numpy(
                ((y - self.y_mean) / self.y_scale).astype(np.float32)
            )
        if not (known := np.isin(y, self.classes)).all():
            problem = f"label {y[~known].tolist()[0]!r} was not among those of the fit"
            raise KerhrmError(
                problem, "known are {!r} and {!r}".format(*self.classes.tolist())
            )
        return torch.from_numpy(
            np.where(y == self.classes[1], 1.0, -1.0).astype(np.float32)
        )


def _mean_and_scale(
    x: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Moments of columns (n, d), by StandardScaler; powers of two avoid underflow."""
    size = np.ldexp(1.0, np.frexp(np.abs(x).max(0))[1] - 1)
    scaler = StandardScaler().fit(x / size, sample_weight=weights)
    scale = np.where(np.ptp(x, axis=0) == 0, 1.0, scaler.scale_ * size)
    return scaler.mean_ * size, scale


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
        problem = f"validation_fraction must be between 0 and 1; got {fraction!r}"
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
