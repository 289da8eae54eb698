"""Tables of users: checked and standardised."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data
from torch import Tensor

from kerhrm.algorithm.records import NO_WEIGHT
from kerhrm.errors import InputTypeError, KerhrmError, shown
from kerhrm.estimators._arrays import (
    check_order,
    column,
    family,
    frame,
    is_frame,
    kind,
    plain,
)
from kerhrm.estimators._arrays import first_row as first_row
from kerhrm.options import Task

#: larger values stand for missing ones, or are in a unit whose squares overflow in
#: float32
LARGEST = 1e20
EXACT = 2**53  #: larger integers share their float64 with others
HINT = "give a DataFrame or an array (n_samples, n_features) of numbers"


def read_features(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Inputs (n, d), float64 and finite, row by row in memory.

    ``reset`` when fitting, which learns the columns' names.

    Raises
    ------
    KerhrmError
        Naming the column: text, a date, NaN, a masked cell, infinite or enormous
        values, a repeated name.
    ValueError, TypeError
        scikit-learn's own, for other columns than in the fit.
    """
    X = plain(X, "X")
    names = list(getattr(X, "columns", ()))
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise KerhrmError(
            f"two columns are called {twice[0]!r}", "rename or drop one of them"
        )
    # their numbers would depend on the unit that the dates are stored in
    dates = any(dtype.kind in "mM" for dtype in _dtypes(X))
    if dates and (told := _not_a_number(X)) is not None:
        raise told
    try:
        x = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
            copy=True,
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise _unreadable(X, error) from error
    # no negative zeros, which would compare differently as bytes
    x = np.asarray(x + 0.0)
    columns = [f"column {name!r}" for name in names or range(x.shape[1])]
    check_values(x, columns, X)
    _check_exact(X, x, columns)
    return x


def read_target(
    y: Any, n: int, task: Task, *, varies: bool = True, table: Any = None
) -> np.ndarray:
    """Target (n,) of a table: labels as they are, or numbers in float64.

    Of two values or more if it varies.

    Raises KerhrmError if it is missing or infinite, of another length or order than the
    table, of several kinds, constant, or has more than two classes.
    """
    values = read_values(y, n, table)
    _check_kinds(values)
    infinite = np.isinf(values) if values.dtype.kind == "f" else np.zeros(n, dtype=bool)
    if infinite.any():
        rows = f"{infinite.sum()} rows, the first is {first_row(infinite, y)}"
        problem = "Input y contains infinity or a value too large for dtype('float64')"
        raise KerhrmError(f"{problem}, in {rows}", "drop these rows")
    values = _numbers(values, y) if task == "regression" else _classes(values)
    if varies and n > 1 and (values == values[0]).all():
        hint = "there is nothing to learn: choose other rows"
        problem = (
            f"the target y is constant: it has only one class or value, {values[0]}"
        )
        raise KerhrmError(problem, hint)
    return values


def read_values(y: Any, n: int, table: Any = None) -> np.ndarray:
    """Target (n,) of a table, of any kind, of which none is missing."""
    if y is None:
        problem = "the estimator requires y to be passed, but the target y is None"
        raise KerhrmError(problem, "call fit(X, y)")
    check_order(table, y, "y")
    values = column(y, "y")
    missing = pd.isna(values)
    if missing.any():
        rows = f"{missing.sum()} rows, the first is {first_row(missing, y)}"
        raise KerhrmError(f"the target y is missing (NaN) in {rows}", "drop these rows")
    if len(values) != n:
        raise KerhrmError(
            f"{n} rows of X but {len(values)} of y", "give one target for each row"
        )
    return values


def _numbers(y: np.ndarray, given: Any) -> np.ndarray:
    """Target (n,) of a regression, float64."""
    if y.dtype.kind in "mM":
        hint = "give a number, as days since a date"
        raise KerhrmError("the target y must hold numbers; got dates", hint)
    try:
        values = y.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        wrong = np.array([not _is_number(value) for value in y])
        if y.dtype.kind == "c" or not wrong.any():
            problem = f"the target y must hold numbers in a regression ({error})"
            raise KerhrmError(problem, "give real numbers") from error
        where = f"{shown(y[wrong.argmax()])} in {first_row(wrong, given)}"
        problem = f"the target y must hold numbers in a regression; got {where}"
        hint = "drop such rows, or use a classifier for two labels"
        raise KerhrmError(problem, hint) from error
    check_values(values[:, None], ["the target y"], given)
    return np.asarray(values)


def _classes(y: np.ndarray) -> np.ndarray:
    """Target (n,) of a classification, of one or two labels of one kind."""
    try:
        check_classification_targets(y)
        number = type_of_target(y, input_name="y", raise_unknown=True)
    except (ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".:; ")
        problem = f"the target y must be two labels, numbers or text: {reason}"
        hint = "give pd.Series(y).astype(str), or use a regressor"
        raise KerhrmError(problem, hint) from error
    if number != "binary":
        problem = (
            "Only binary classification is supported. The type of the target "
            f"is {number}"
        )
        raise KerhrmError(problem, "wrap the estimator in OneVsRestClassifier")
    return y


def _check_kinds(y: np.ndarray) -> None:
    """Refuse values (n,) of several kinds, some of which might be one, as 1 and "1"."""
    kinds = {kind(value): value for value in reversed(y)} if y.dtype == object else {}
    if len(kinds) > 1:
        pair = " and ".join(f"{shown(v)} ({k})" for k, v in sorted(kinds.items())[:2])
        problem = f"the target y must have values of one kind; got {pair}"
        raise KerhrmError(problem, "give pd.Series(y).astype(str), or recode it")


def read_weights(sample_weight: Any, n: int, table: Any = None) -> np.ndarray | None:
    """Weights (n,) of the rows of a table, zero or positive; None: all alike.

    Raises KerhrmError if there is not a finite weight for each row, in the table's
    order, or none is positive.
    """
    if sample_weight is None:
        return None
    check_order(table, sample_weight, "sample_weight")
    hint = "give one number for each row, or leave it out to weigh all alike"
    given = plain(sample_weight, "sample_weight")
    try:
        weights = np.asarray(given)
        if weights.dtype.kind in "cmM":
            raise TypeError("no numbers")
        weights = weights.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        problem = f"sample_weight must be numbers; got {shown(sample_weight)}"
        raise KerhrmError(problem, hint) from error
    if weights.shape != (n,):
        problem = f"sample_weight must have shape ({n},); got shape {weights.shape}"
        raise KerhrmError(problem, hint)
    if (bad := ~(np.isfinite(weights) & (weights >= 0))).any():
        rows = f"{bad.sum()} rows, the first is {first_row(bad, sample_weight)}"
        problem = f"sample_weight must be finite and 0 or more; it is not in {rows}"
        raise KerhrmError(f"{problem}, with {weights[bad.argmax()]:g}", hint)
    if not weights.any():
        raise KerhrmError("sample_weight is zero in all rows", hint)
    return np.maximum(weights / weights.max(), NO_WEIGHT)


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


def _check_exact(X: Any, x: np.ndarray, names: list[str]) -> None:
    """Refuse a column of whole numbers some of which are one in float64."""
    for j in np.flatnonzero(np.abs(x).max(0) > EXACT):
        whole = frame(X).iloc[:, j] if is_frame(X) else np.asarray(X)[:, j]
        if whole.dtype.kind in "iu" and pd.unique(whole).size > np.unique(x[:, j]).size:
            problem = f"{names[j]} has integers too large for float64 to tell apart"
            raise KerhrmError(problem, "subtract the column's minimum")


def _dtypes(X: Any) -> list[Any]:
    """Types of the columns of an array or DataFrame."""
    if is_frame(X):
        return list(frame(X).dtypes)
    return [X.dtype] if isinstance(X, np.ndarray) else []


def _unreadable(X: Any, error: Exception) -> Exception:
    """Why a table cannot be read: the first cell that is no number, or scikit-learn's
    reason in one line."""
    text = str(error)
    if "feature names" in text.casefold():  # scikit-learn's lists of columns
        return error
    cells = hasattr(X, "iloc") or isinstance(error, ValueError)
    if cells and (told := _not_a_number(X)) is not None:
        return told
    reason = text.partition("\n")[0].rstrip(".:; ")
    if isinstance(error, OverflowError):
        return KerhrmError(f"X has a number that float64 cannot hold ({reason})", HINT)
    kind = InputTypeError if isinstance(error, TypeError) else KerhrmError
    hint = HINT
    if "Reshape your data" in text:
        hint = "Reshape your data: X.reshape(-1, 1) is one column"
    elif "features as input" in text:
        hint = "give the columns of the fit"
    return kind(f"X cannot be used: {reason}", hint)


def _not_a_number(X: Any) -> KerhrmError | None:
    """Error that names the first column that is not numbers, if there is one."""
    try:
        table = frame(X)
    except (ValueError, TypeError):
        return None
    for name, values in table.items():
        if pd.api.types.is_numeric_dtype(values):
            continue
        wrong = np.array([not _is_number(value) for value in values], dtype=bool)
        if wrong.any():
            value = shown(" ".join(str(values.iloc[int(wrong.argmax())]).split()), 42)
            where = first_row(wrong, X)
            problem = f"column {name!r} must hold numbers; got {value} in {where}"
            hint = "drop the column, or encode it: make_pipeline(table_encoder(), ...)"
            return KerhrmError(problem, hint)
    return None


def _is_number(value: Any) -> bool:
    """Whether a cell is a number, numbers as text included, or missing."""
    if isinstance(value, np.datetime64 | np.timedelta64 | date | timedelta):
        return False
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return True
    try:
        float(value)
    except OverflowError:
        return True
    except (ValueError, TypeError):
        return False
    return True


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
        alike = family(y.dtype) == family(self.classes.dtype)
        known = np.isin(y, self.classes) if alike else np.zeros(len(y), dtype=bool)
        if not known.all():
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
