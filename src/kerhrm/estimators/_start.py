"""The start of a fit: a table is read, its rows are split, and w_0 is drawn."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from kerhrm.errors import DataWarning, KerhrmError, warn
from kerhrm.estimators._network import is_module, network_of
from kerhrm.estimators._parameters import draw_seed
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.base import resolve_device
from kerhrm.options import Task
from kerhrm.tables.auxiliary import AuxiliaryColumns
from kerhrm.tables.auxiliary_column import CATEGORIES
from kerhrm.tables.data import read_features
from kerhrm.tables.distinct import DistinctRows, ordered_rows, repeated_inputs
from kerhrm.tables.held_out import Split, check_fraction, split_rows
from kerhrm.tables.labels import environment_labels
from kerhrm.tables.loaders import LOADERS, unloaded
from kerhrm.tables.targets import read_target, read_weights
from kerhrm.tables.units import Units, limits_of, outside
from kerhrm.tables.unusual import (
    check_auxiliary,
    rows_of_the_fit,
    telling_auxiliary,
)


@dataclass(frozen=True)
class GivenRows:
    """Arguments of ``fit``, as the caller gives them; rows of a loader are arrays.

    Raises KerhrmError if two of them exclude each other, or a loader cannot be read.
    """

    X: Any
    y: Any
    validation: Any = None
    sample_weight: Any = None
    auxiliary: Any = None
    environments: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.X, LOADERS):
            X, y = unloaded(self.X, self.y)
            object.__setattr__(self, "X", X)  # the only change of a frozen value
            object.__setattr__(self, "y", y)
        for name in ("validation", "sample_weight"):
            if self.auxiliary is not None and getattr(self, name) is not None:
                problem = f"auxiliary and {name} cannot be given together"
                raise KerhrmError(problem, "leave one out")


@dataclass(frozen=True)
class ReadRows:
    """A table of n rows as arrays.

    Attributes
    ----------
    x : ndarray, (n, d), float64
        Inputs.
    target : ndarray, (n,)
        Labels or numbers.
    weights : ndarray, (n,), or None
        None: all alike.
    environments : ndarray, (n,), or None
        Numbers of given environments.
    z : ndarray, (n, c), float64, or None
        Auxiliary columns.
    fixed : bool
        Whether columns keep their order, as pixels do.
    columns : ndarray, (d,), int64
        Their order in the fit.
    distinct : DistinctRows
        Different rows; those that differ in z or environments are.
    validation : pair of ndarray, (m, d), (m,), or None
        Inputs and targets of other rows that validate.
    """

    x: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None
    environments: np.ndarray | None
    z: np.ndarray | None
    fixed: bool
    columns: np.ndarray
    distinct: DistinctRows
    validation: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def from_arrays(
        cls,
        x: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        *,
        environments: np.ndarray | None,
        z: np.ndarray | None,
        fixed: bool,
    ) -> Self:
        """Rows with the order of their columns, and which of them are different."""
        beside = [] if z is None else [*z.T]
        if environments is not None:
            beside.append(environments)
        columns, distinct = ordered_rows(x, target, beside, weights, fixed=fixed)
        return cls(x, target, weights, environments, z, fixed, columns, distinct)

    def without_auxiliary(self) -> Self:
        """The same rows; those that differ in auxiliary columns alone are equal."""
        if self.z is None:
            return self
        rows = self.from_arrays(
            self.x,
            self.target,
            self.weights,
            environments=self.environments,
            z=None,
            fixed=self.fixed,
        )
        return replace(rows, validation=self.validation)

    @cached_property
    def different(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets of the distinct rows."""
        first = self.distinct.first
        return self.x[first], self.target[first]

    @cached_property
    def limits(self) -> np.ndarray:
        """Least and largest value of every column, (2, d)."""
        x, _ = self.different
        return limits_of(x)


def read_rows(estimator: Any, given: GivenRows) -> ReadRows:
    """Read a table, warn of what is unusual in it, and draw the fit's seed.

    Learns the names of the columns, the seed, and what auxiliary columns hold.
    """
    resolve_device(estimator.device)  # which refuses one that is not there
    fixed = is_module(estimator.network)
    x = read_features(estimator, given.X, reset=True)
    n = len(x)
    target = read_target(given.y, n, estimator._task, table=given.X)
    weights = read_weights(given.sample_weight, n, given.X)
    environments = None
    z = None
    if estimator._labelled:
        environments = environment_labels(given.environments, n, given.X)
    if given.auxiliary is not None:
        columns = AuxiliaryColumns.learn(given.auxiliary, n, given.X)
        estimator._columns = columns
        z = columns.read(given.auxiliary, n, given.X)
        names = [column.name for column in columns.columns]
        categories = [column.kind == CATEGORIES for column in columns.columns]
        check_auxiliary(z, names, categories)
        if text := telling_auxiliary(z, target, names, estimator._task):
            warn(text, DataWarning)
    rows = ReadRows.from_arrays(
        x, target, weights, environments=environments, z=z, fixed=fixed
    )
    _check_different(rows, estimator._task)
    estimator.seed_ = draw_seed(estimator.random_state)
    if given.validation is not None:
        validation = _read_validation(estimator, given.validation, rows)
        rows = replace(rows, validation=validation)
    return rows


def learn_units(
    estimator: Any, rows: ReadRows, *, hold_out: bool = True, weighs: bool = True
) -> Split:
    """Split the rows of a table, and learn units of those that train.

    Limits of the columns and, of a classifier, classes are learned, too; those of an
    earlier fit are forgotten.

    Parameters
    ----------
    estimator : TableEstimator
        That is fitted.
    rows : ReadRows
        By :func:`read_rows`.
    hold_out : bool
        Whether rows validate if no others are given for that.
    weighs : bool
        Whether the fit takes weights: equal rows become one.  Others keep their rows,
        which train or validate together.

    Returns
    -------
    Split
        Rows that train and that validate.
    """
    task = estimator._task
    if rows.validation is None:  # also where no rows validate
        check_fraction(estimator.validation_fraction)
    points = split_rows(
        rows.distinct,
        rows.target,
        task,
        estimator.validation_fraction,
        hold_out=hold_out and rows.validation is None,
        weighs=weighs,
    )
    x = rows.x[points.train]
    target = rows.target[points.train]
    units = Units.measure(rows.columns, x, target, task, points.weights)
    estimator._units = units
    estimator._range = rows.limits
    vars(estimator).pop("classes_", None)  # of an earlier fit
    if units.classes is not None:
        estimator.classes_ = units.classes
    return points


def points_of(
    estimator: Any, rows: ReadRows, points: Split
) -> tuple[Inputs, np.ndarray]:
    """Points of the rows of a table in the units that are learned, and w_0.

    Parameters
    ----------
    estimator : TableEstimator
        With units.
    rows : ReadRows
        By :func:`read_rows`.
    points : Split
        By :func:`learn_units`.

    Returns
    -------
    inputs : Inputs
        Points that train and that validate, and the network at w_0.
    positions : ndarray, (n,), int64
        Point that stands for each row of the table: of the training points, then of the
        validation points; -1 of a row of weight 0.
    """
    device = resolve_device(estimator.device)
    units = estimator._units
    held_out = rows.x[points.held_out], rows.target[points.held_out]
    if rows.validation is not None:
        held_out = rows.validation
    n_inputs = rows.x.shape[1]
    network = network_of(estimator.network, estimator.seed_, n_inputs)
    on = partial(_tensor, device=device)
    environments_validation = None  # of rows that are given for validation
    if rows.validation is None:
        environments_validation = on(rows.environments, points.held_out)
    weights_validation = None
    if not rows.validation:
        weights_validation = on(points.held_out_weights)
    x_validation, target_validation = held_out
    inputs = Inputs(
        units.inputs(rows.x[points.train]).to(device),
        units.target(rows.target[points.train]).to(device),
        units.inputs(x_validation).to(device),
        units.target(target_validation).to(device),
        estimator._task,
        estimator.seed_,
        network.to(device),
        environments=on(rows.environments, points.train),
        environments_validation=environments_validation,
        auxiliary=on(rows.z, points.train),
        auxiliary_validation=on(rows.z, points.held_out),
        weights=on(points.weights),
        weights_validation=weights_validation,
        units=on(points.units),
    )
    return inputs, points.positions


def _check_different(rows: ReadRows, task: Task) -> None:
    """Warn of inputs that repeat, or are all alike, and refuse rows with weights that
    have one target."""
    x, target = rows.different
    if len(x) > 1 and (x == x[0]).all():
        advice = "X is constant: all rows are alike; give columns that vary"
        warn(advice, DataWarning)
    if (text := repeated_inputs(x, target)) is not None:
        warn(text, DataWarning)
    if len(target) > 1 and (target == target[:1]).all():
        what = "class" if task == "classification" else "value of the target"
        problem = f"the rows with a sample_weight above 0 have only one {what}"
        raise KerhrmError(problem, "give more rows a weight above 0")


def _read_validation(
    estimator: Any, validation: Any, rows: ReadRows
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (m, d) and targets (m,) of other rows that validate; warn of what is odd
    about them."""
    X, y = _pair(validation)
    x = read_features(estimator, X, reset=False)
    target = read_target(y, len(x), estimator._task, varies=False, table=X)
    if text := rows_of_the_fit(rows.different, (x, target)):
        warn(text, DataWarning)
    if text := outside(x, rows.limits, estimator):
        hint = "a Pipeline does not transform validation rows"
        warn(f"validation: {text}; {hint}", DataWarning)
    return x, target


def _tensor(
    array: np.ndarray | None, rows: Any = slice(None), *, device: torch.device
) -> Tensor | None:
    if array is None:
        return None
    tensor = torch.from_numpy(array[rows])
    return tensor.to(device)


def _pair(validation: Any) -> tuple[Any, Any]:
    """Rows that validate, and their target."""
    if isinstance(validation, DataLoader):
        return unloaded(validation)
    if isinstance(validation, list | tuple) and len(validation) == 2:
        return validation[0], validation[1]
    size = f" of {len(validation)}" if isinstance(validation, list | tuple) else ""
    kind = type(validation).__name__
    problem = f"validation must be a pair of rows and their target; got a {kind}{size}"
    raise KerhrmError(problem, "give validation=(X_validation, y_validation)")
