"""Tables of users: checked, in a canonical order, split and standardised.

Rows are sorted by their values before anything is drawn, so that a fit does not depend on the order
in which they come.
"""

import contextlib
import numbers
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
import torch
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d, validate_data
from threadpoolctl import threadpool_limits
from torch import Tensor

from kerhrm.algorithm.records import NO_WEIGHT
from kerhrm.errors import KerhrmError
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.base import resolve_device
from kerhrm.networks.build import NetworkOptions, build
from kerhrm.options import Options, Task
from kerhrm.randomness import stream

T = TypeVar("T", bound=Options)
BLOCK = 2**12  #: points that are predicted at a time
#: larger values stand for missing ones, or are in a unit whose squares overflow in float32
LARGEST = 1e20


def read_features(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Inputs (n, d), float64 and finite; ``reset`` when fitting, which learns the columns' names.

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
        raise KerhrmError(f"two columns are called {twice[0]!r}", "rename or drop one of them")
    try:
        x = validate_data(
            estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False, copy=True
        )
    except (ValueError, TypeError) as error:
        _name_text(X, error)
        raise
    x = np.asarray(x + 0.0)  # no negative zeros, which would compare differently as bytes
    check_values(x, [f"column {name!r}" for name in names or range(x.shape[1])])
    return x


def read_target(y: Any, n: int, task: Task, *, varies: bool = True) -> np.ndarray:
    """Target (n,): labels as they are, or numbers in float64; of two values or more if it varies.

    Raises
    ------
    KerhrmError
        If it is missing, of another length, constant, or has more than two classes.
    ValueError
        scikit-learn's own, for missing or infinite values, and text in a regression.
    """
    if y is None:
        raise KerhrmError("the estimator requires y to be passed, but the target y is None")
    y = column_or_1d(y.detach().cpu().numpy() if isinstance(y, Tensor) else y, warn=True)
    if y.dtype.hasobject:  # numbers and truth values among objects
        y = pd.Series(y).infer_objects().to_numpy()
    missing = pd.isna(y)
    if missing.any():
        rows = f"{missing.sum()} rows, first in row {missing.argmax()}"
        raise KerhrmError(f"the target y is missing (NaN) in {rows}", "drop these rows")
    if len(y) != n:
        raise KerhrmError(f"{n} rows of X but {len(y)} of y", "give one target for each row")
    if task == "regression":
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_values(y[:, None], ["the target y"])
    else:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            problem = f"Only binary classification is supported. The type of the target is {kind}"
            raise KerhrmError(problem, "wrap the estimator: OneVsRestClassifier(...)")
    if varies and len(y) > 1 and (y == y[0]).all():
        hint = "there is nothing to learn: choose other rows"
        raise KerhrmError(f"the target y is constant: it has only one class or value, {y[0]}", hint)
    return y


def check_values(x: np.ndarray, names: list[str]) -> None:
    """Refuse what is not finite or enormous, by column."""
    bad = ~(np.abs(x) < LARGEST)  # True of NaN
    if bad.any():
        j = int(bad.any(0).argmax())
        row = int(bad[:, j].argmax())
        rows = f"{bad[:, j].sum()} rows, first in row {row}"
        what = f"{names[j]} has missing (NaN), infinite (inf) or enormous values in {rows}"
        raise KerhrmError(f"{what} ({x[row, j]:g})", "drop these rows, or fill them in")


def _name_text(X: Any, error: Exception) -> None:
    """Raise an error that names the first column that is not numbers, if there is one."""
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
            problem = f"column {name!r} holds '{value}' (row {row}), which is not a number"
            hint = "drop the column, or encode it (OneHotEncoder(sparse_output=False))"
            raise KerhrmError(problem, hint) from error


@dataclass(frozen=True)
class Units:
    """Units of inputs and targets: mean 0 and standard deviation 1 over the training rows.

    Labels become -1 and +1, by ``classes``; a constant column becomes 0.

    Attributes
    ----------
    mean, scale : ndarray, (d,), float64
        Of the inputs.
    y_mean, y_scale : float
        Of the target; 0 and 1 in classification.
    classes : ndarray, (2,), or None
        Sorted; None in regression.
    """

    mean: np.ndarray
    scale: np.ndarray
    y_mean: float = 0.0
    y_scale: float = 1.0
    classes: np.ndarray | None = None

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, task: Task, weights: np.ndarray | None) -> Self:
        """Units of training rows x (n, d) and targets y (n,), whose weights may differ."""
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

        Raises
        ------
        KerhrmError
            If a label is neither of the classes.
        """
        if self.classes is None:
            return torch.from_numpy(((y - self.y_mean) / self.y_scale).astype(np.float32))
        if not (known := np.isin(y, self.classes)).all():
            problem = f"label {y[~known].tolist()[0]!r} was not among those of the fit"
            raise KerhrmError(problem, "known are {!r} and {!r}".format(*self.classes.tolist()))
        return torch.from_numpy(np.where(y == self.classes[1], 1.0, -1.0).astype(np.float32))


def _mean_and_scale(x: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Of columns (n, d), by StandardScaler; a power of two keeps squares from underflowing."""
    size = np.ldexp(1.0, np.frexp(np.abs(x).max(0))[1] - 1)
    scaler = StandardScaler().fit(x / size, sample_weight=weights)
    scale = np.where(np.ptp(x, axis=0) == 0, 1.0, scaler.scale_ * size)
    return scaler.mean_ * size, scale


def split_table(
    x: np.ndarray, y: np.ndarray, task: Task, fraction: float, seed: int, *, hold_out: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that train and, if some are to be held out, rows that validate; sorted by their values.

    Raises
    ------
    KerhrmError
        If too few rows are left.
    """
    if len(y) < 3:
        problem = f"n_samples={len(y)} rows are too few to train and validate on"
        raise KerhrmError(problem, "give 3 or more")
    order = np.lexsort((y, *x.T))
    if not hold_out:
        return order, order[:0]
    codes = np.unique(y, return_inverse=True)[1][order] if task == "classification" else None
    train, validation = (order[part] for part in split(len(y), fraction, seed, codes))
    if task == "classification" and len(np.unique(y[train])) < 2:
        raise KerhrmError("the training rows have only one class", "give rows of a second one")
    return train, validation


def split(
    n: int, fraction: float, seed: int, classes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that train and rows that validate, one or more; ascending.

    Classes 0, 1, ... of the rows (n,) keep their shares, or, where there are too few of one, at
    least one row that trains.

    Raises
    ------
    KerhrmError
        If the fraction is not between 0 and 1.
    """
    if not (isinstance(fraction, numbers.Real) and 0 < fraction < 1):
        problem = f"validation_fraction={fraction} is not between 0 and 1"
        raise KerhrmError(problem, "take 0.2, say, or give validation=(X, y) to fit")
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


def start(
    estimator: Any,
    X: Any,
    y: Any,
    validation: Any,
    environments: Callable[[int], Tensor] | None = None,
    *,
    hold_out: bool | None = None,
    sample_weight: Any = None,
) -> tuple[Inputs, np.ndarray]:
    """Read a table, and draw w_0; learns columns, seed, units and, of a classifier, classes.

    Next to the inputs stand the rows of the table that its training points are and, unless
    other rows validate, its validation points.  ``environments`` gives the labels of n rows;
    ``hold_out`` says whether rows are held out, by default if there is no ``validation``.
    Rows may have a weight; those of ``validation`` count alike.
    """
    device, task = device_of(estimator.device), estimator._task
    x = read_features(estimator, X, reset=True)
    target = read_target(y, len(x), task)
    if isinstance(estimator.random_state, numbers.Integral):
        estimator.seed_ = int(estimator.random_state)
    else:
        estimator.seed_ = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    parts = estimator.validation_fraction, estimator.seed_
    hold_out = validation is None if hold_out is None else hold_out
    train, held_out = split_table(x, target, task, *parts, hold_out=hold_out)
    others = x[held_out], target[held_out]
    if validation is not None:
        points = read_features(estimator, validation[0], reset=False)
        others = points, read_target(validation[1], len(points), task, varies=False)
    weights = read_weights(sample_weight, len(x))
    if weights is not None and (weights[train] <= NO_WEIGHT).all():
        raise KerhrmError("no training row has a weight", "give more rows a weight above 0")
    units = estimator._units = Units.of(
        x[train], target[train], task, None if weights is None else weights[train]
    )
    if units.classes is not None:
        estimator.classes_ = units.classes
    network = build(_network_options(estimator.network), estimator.seed_, x.shape[1])
    inputs = Inputs(
        units.inputs(x[train]).to(device),
        units.target(target[train]).to(device),
        units.inputs(others[0]).to(device),
        units.target(others[1]).to(device),
        task,
        estimator.seed_,
        network.to(device),
        None if environments is None else environments(len(x))[train].to(device),
        weights=_mean_one(weights, train, device),
        weights_validation=None if validation is not None else _mean_one(weights, held_out, device),
    )
    return inputs, np.concatenate([train, held_out])


def read_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    """Weights (n,) of the rows, zero or positive; None: all alike.

    Raises
    ------
    KerhrmError
        If there is not a finite weight for each row, or none is positive.
    """
    if sample_weight is None:
        return None
    weights = check_array(sample_weight, dtype=np.float64, ensure_2d=False, input_name="weights")
    if weights.shape != (n,) or (weights < 0).any() or not weights.any():
        problem = f"sample_weight has shape {weights.shape} for {n} rows, or a value below zero"
        raise KerhrmError(problem, "give each row a weight of 0 or more, not all of them 0")
    return np.maximum(weights / weights.max(), NO_WEIGHT)


def _mean_one(weights: np.ndarray | None, rows: np.ndarray, device: torch.device) -> Tensor | None:
    """Weights of some rows, of mean 1; None without any."""
    if weights is None or not len(rows):
        return None
    return torch.from_numpy(weights[rows] / weights[rows].mean()).to(device)


def finish(estimator: Any, predictor: Any, x: Tensor) -> None:
    """Keep what predicts, and warn if its outputs are not finite at training points."""
    with torch.no_grad():
        finite = bool(torch.isfinite(estimator._evaluate(predictor, x[:BLOCK])).all())
    if not finite:
        text = "the training diverged: outputs are not finite; lower learning_rate or weights"
        warnings.warn(text, ConvergenceWarning, stacklevel=4)
    estimator._predictor = predictor.to(torch.device("cpu"))


def options_of(estimator: Any, kind: type[T], **given: Any) -> T:
    """Options of a class from the parameters with the names of its fields, or as given.

    Raises
    ------
    KerhrmError
        Naming the first parameter that is refused.
    """
    values = {}
    for name, field in kind.model_fields.items():
        value = given.get(name, getattr(estimator, name))
        if isinstance(field.default, list):
            value = np.atleast_1d(value).tolist()
        values[name] = value.item() if isinstance(value, np.generic) else value
    return kind.parse(values)


@contextlib.contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if a fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextlib.contextmanager
def cores(n_jobs: int | None) -> Iterator[None]:
    """Compute on so many cores; None: as many as PyTorch takes by itself, -1: all.

    Raises
    ------
    KerhrmError
        If n_jobs is zero or not a whole number.
    """
    if n_jobs is None:
        yield
        return
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0:
        raise KerhrmError(f"n_jobs={n_jobs!r} must be a whole number other than 0", "-1: all cores")
    number, before = effective_n_jobs(int(n_jobs)), torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        with threadpool_limits(number):
            yield
    finally:
        torch.set_num_threads(before)


def device_of(name: str) -> torch.device:
    try:
        return resolve_device(name)
    except (RuntimeError, TypeError) as error:
        hint = "take 'auto', 'cpu', 'cuda' or 'cuda:1'"
        raise KerhrmError(f"device={name!r} is not known", hint) from error


def _network_options(network: Any) -> NetworkOptions:
    """Options of a network from hidden widths, a module's factory, or its name.

    Raises
    ------
    KerhrmError
        If it is none of these, or a function that Python would not find by its name.
    """
    if isinstance(network, str):
        return NetworkOptions.parse({"module": network})
    if not callable(network):
        widths = np.atleast_1d(network).tolist()
        return NetworkOptions.parse({"widths": widths}, "network: ")
    entry = f"{getattr(network, '__module__', '')}:{getattr(network, '__qualname__', '')}"
    try:
        return NetworkOptions.parse({"module": entry})
    except KerhrmError as error:
        hint = "define the function at the top level of a module"
        raise KerhrmError(f"network={network!r} cannot be found by its name", hint) from error


def in_table(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Values (n + m, ...) of the training and validation points, in the order of the table."""
    table = np.empty_like(values[: len(rows)])
    table[rows] = values[: len(rows)]
    return table
