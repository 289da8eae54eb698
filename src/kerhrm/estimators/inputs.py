"""From what users hand over to arrays: one line for each thing wrong, with the column and the cure.

Errors are :class:`kerhrm.errors.KerhrmError`, which are ``ValueError``s, as scikit-learn asks for.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from kerhrm.data.dataset import Task
from kerhrm.errors import KerhrmError
from kerhrm.estimators.notices import DataWarning

#: beyond it a value is a code for a missing one, or in a unit that no table is kept in
LARGEST = 1e20
FILL = "drop these rows, or fill them in (SimpleImputer)"
RESCALE = "drop or fill in these rows if it stands for a missing value, else rescale the column"


def read_features(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Inputs (n, d), float64, finite; ``reset`` when fitting, which learns the columns' names.

    Raises
    ------
    KerhrmError
        Naming the column: text, NaN, infinite or enormous values, a name that stands twice, columns
        other than those of the fit.
    ValueError, TypeError
        scikit-learn's own, of what is no table at all.
    """
    _unique_names(X)
    try:
        x = validate_data(
            estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False, copy=True
        )
    except (ValueError, TypeError) as error:
        _tell_text(X, error)
        if not reset and ("feature names should match" in str(error) or "features," in str(error)):
            cure = f"give the columns of the fit, in its order\n{error}"
            raise KerhrmError(_other_columns(estimator, X), cure) from error
        raise
    names = column_names(X, x.shape[1])
    _check_values(x, names.__getitem__)
    if reset:
        _warn_of_columns(x, names)
    return np.asarray(x + 0.0)  # without negative zeros, which sort and compare as zeros do


def read_target(y: Any, n: int, task: Task, *, varies: bool = True) -> np.ndarray:
    """Target (n,): labels as they are, or numbers in float64; of two values or more if it varies.

    Raises
    ------
    KerhrmError
        Naming the target: missing, of another length, NaN, infinite, text in a regression, one
        value, or more than two classes.
    """
    name = target_name(y)
    if y is None:
        raise KerhrmError("the estimator requires y to be passed, but the target y is None")
    if getattr(y, "ndim", 1) == 2 and 1 not in np.shape(y):
        raise KerhrmError(f"{name} has {np.shape(y)[1]} columns", "fit one estimator for each")
    y = column_or_1d(np.asarray(_without_missing(y, name)), warn=True)
    if len(y) != n:
        raise KerhrmError(f"{n} rows of X but {len(y)} of {name}", "give one target for each row")
    values = _labels(y, name) if task == "classification" else _numbers(y, name)
    if varies and task == "regression" and len(values) > 1 and np.ptp(values) == 0:
        problem = f"{name} is constant ({values[0]:g})"
        raise KerhrmError(problem, "there is nothing to learn: choose another target")
    if varies and task == "classification" and (values == values[0]).all():
        problem = f"{name} has only one class, {values[0].item()!r}"
        raise KerhrmError(problem, "give rows of a second one")
    return values


def _labels(y: np.ndarray, name: str) -> np.ndarray:
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise KerhrmError(f"{name} has infinite values", "drop these rows")
    y = plain(y)
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        problem = f"Only binary classification is supported. The type of the target is {kind}"
        raise KerhrmError(problem, "wrap the estimator: OneVsRestClassifier(...)")
    return y


def plain(y: Any) -> Any:
    """Truth values and numbers among objects (n,) in a type of their own; all else as it is."""
    values = np.asarray(y)
    if not values.dtype.hasobject or values.ndim != 1 or any(isinstance(v, str) for v in values):
        return y
    return pd.Series(values).infer_objects().to_numpy()


def _numbers(y: np.ndarray, name: str) -> np.ndarray:
    if y.dtype.kind == "c":
        raise KerhrmError(f"{name}: Complex data not supported", "give real numbers")
    try:
        numbers = y.astype(np.float64)
    except (ValueError, TypeError) as error:
        text = next(v for v in y if not _is_number(v))
        cure = "give numbers, or use a classifier"
        raise KerhrmError(f"{name} holds {text!r}, which is no number", cure) from error
    _check_values(numbers[:, None], lambda _: name)
    return numbers


def read_counts(sample_weight: Any, n: int) -> np.ndarray | None:
    """How often each of n rows counts; None if all alike.

    Weights are relative: 2, 4, 2 is 1, 2, 1, and a row of weight 2 is two rows.

    Raises
    ------
    KerhrmError
        Unless they are whole numbers that are not negative, one for each row, not all zero.
    """
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, weight)
    if weight.shape != (n,):
        problem = f"sample_weight has shape {weight.shape} for {n} rows"
        raise KerhrmError(problem, "give one number for each row")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        bad = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise KerhrmError(f"sample_weight of row {bad} is {weight[bad]:g}", "give 0, 1, 2, ...")
    if not weight.any():
        raise KerhrmError("sample_weight is zero in every row", "give some rows a weight")
    if (weight == weight[0]).all():
        return None
    if (weight != np.round(weight)).any():
        bad = int(np.flatnonzero(weight != np.round(weight))[0])
        problem = f"sample_weight of row {bad} is {weight[bad]:g}, but EM and the validation split"
        cure = "give whole numbers (a row of weight 2 is two rows), or draw rows by weight"
        raise KerhrmError(f"{problem} take whole rows", cure)
    counts = weight.astype(np.int64)
    return counts // np.gcd.reduce(counts)


def refuse_missing(environments: Any) -> None:
    """Refuse labels of environments that are None or NaN.

    Raises
    ------
    KerhrmError
        Telling of how many rows.
    """
    if missing := int(pd.isna(np.asarray(environments, dtype=object)).sum()):
        cure = "drop these rows, or name their environment"
        raise KerhrmError(f"environments are missing in {missing} rows", cure)


def column_names(X: Any, d: int) -> list[str]:
    """What to call the columns of a table in a message."""
    if hasattr(X, "columns"):
        return [f"column {name!r}" for name in X.columns]
    return [f"column {j}" for j in range(d)]


def target_name(y: Any) -> str:
    """What to call the target."""
    name = getattr(y, "name", None)
    return f"target {name!r}" if isinstance(name, str) else "the target y"


def _without_missing(y: Any, name: str) -> Any:
    missing = pd.isna(np.ravel(np.asarray(y)))
    if missing.any():
        problem = f"{name} is missing (NaN) in {missing.sum()} rows, first in row"
        raise KerhrmError(f"{problem} {int(np.flatnonzero(missing)[0])}", "drop these rows")
    return y


def _check_values(x: np.ndarray, name: Callable[[int], str]) -> None:
    """Refuse what is not finite or enormous, by column."""
    size = np.abs(x)
    if (size < LARGEST).all():  # of NaN that is false
        return
    for j in range(x.shape[1]):
        missing, infinite, enormous = np.isnan(x[:, j]), np.isinf(x[:, j]), size[:, j] >= LARGEST
        for rows, what, cure in (
            (missing, "missing values (NaN)", FILL),
            (infinite, "infinite values (inf)", FILL),
            (enormous, f"values beyond {LARGEST:g}", RESCALE),
        ):
            if rows.any():
                first = int(np.flatnonzero(rows)[0])
                problem = f"{name(j)} has {what} in {rows.sum()} rows, first in row {first}"
                raise KerhrmError(problem, cure)


def _warn_of_columns(x: np.ndarray, names: Sequence[str]) -> None:
    """Columns that tell nothing, or nothing new; fits go on."""
    if len(x) < 2:
        return
    for j in np.flatnonzero((x == x[0]).all(0)).tolist():
        told = f"{names[j]} is constant ({x[0, j]:g}) and tells nothing; drop it"
        warnings.warn(told, DataWarning, stacklevel=4)
    seen: dict[bytes, int] = {}
    for j in range(x.shape[1]):
        first = seen.setdefault(x[:, j].tobytes(), j)
        if first != j and not (x[:, j] == x[0, j]).all():
            told = f"{names[j]} repeats {names[first]} in every row; drop one of them"
            warnings.warn(told, DataWarning, stacklevel=4)


def _unique_names(X: Any) -> None:
    pandas = hasattr(X, "iloc") and hasattr(X, "columns")  # elsewhere columns are no index
    if pandas and len(twice := X.columns[X.columns.duplicated()]):
        raise KerhrmError(f"two columns are called {twice[0]!r}", "rename or drop one of them")


def _tell_text(X: Any, error: Exception) -> None:
    """Raise what :func:`read_features` tells of the first column that is no numbers, if one is."""
    table = hasattr(X, "iloc") and hasattr(X, "columns")
    if not table and isinstance(error, TypeError):
        return
    array = None if table else np.asarray(X)
    if array is not None and (array.ndim != 2 or array.dtype.kind not in "OUS"):
        return
    columns = X.shape[1] if array is None else array.shape[1]
    for j, name in enumerate(column_names(X, columns)):
        values = X.iloc[:, j].to_numpy() if array is None else array[:, j]
        bad = next((i for i, value in enumerate(values) if not _is_number(value)), None)
        if bad is not None:
            value = " ".join(str(values[bad]).split())[:40]
            problem = f"{name} holds '{value}' (row {bad}), which is no number"
            cure = "drop the column, or encode it (OneHotEncoder(sparse_output=False))"
            raise KerhrmError(problem, cure) from error


def _is_number(value: Any) -> bool:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return False
    try:
        float(value)
    except (ValueError, TypeError):
        return value is None or str(value) == "<NA>"  # missing, which is told as such
    return True


def _other_columns(estimator: Any, X: Any) -> str:
    """First line of the error that the columns are not those of the fit."""
    known = list(getattr(estimator, "feature_names_in_", ()))
    given = list(getattr(X, "columns", ()))
    new = [name for name in given if name not in known]
    missing = [name for name in known if name not in given]
    if not known or not given:
        return f"the fit had {estimator.n_features_in_} columns and here are {np.shape(X)[-1]}"
    if new or missing:
        parts = [f"{name!r} is new" for name in new] + [f"{name!r} is missing" for name in missing]
        return f"other columns than in the fit: {', '.join(parts[:4])}"
    return "the columns are in another order than in the fit"
