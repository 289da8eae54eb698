"""The start of a fit: a table is read, its rows are split, and w_0 is drawn; and what
is told of these rows."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.errors import DataWarning, KerhrmError, shown
from kerhrm.estimators._parameters import check_size, draw_seed, network_options_of
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.base import resolve_device
from kerhrm.networks.build import build
from kerhrm.tables.data import Units, read_features
from kerhrm.tables.distinct import (
    DistinctRows,
    alike_by_chance,
    column_order,
    split_rows,
)
from kerhrm.tables.oddities import gives_away
from kerhrm.tables.target import read_target, read_weights

#: share of a column's range by which a value may lie outside it without a word
BEYOND = 0.5
#: share of rows with the inputs of others above which it is told
REPEATED = 0.1
#: columns from which on one that is nearly constant may be a pixel
PIXELS = 100


def start(
    estimator: Any,
    X: Any,
    y: Any,
    validation: Any,
    *,
    environments: Callable[[int], Tensor] | None = None,
    auxiliary: Callable[[int], np.ndarray] | None = None,
    hold_out: bool | None = None,
    sample_weight: Any = None,
    weighs: bool = True,
    seed: int | None = None,
) -> tuple[Inputs, np.ndarray]:
    """Read a table, and draw w_0.

    Learns columns, seed, units and, of a classifier, classes.

    Parameters
    ----------
    estimator : TableEstimator
        That is fitted.
    X, y, validation, sample_weight : optional
        As ``fit`` is given them; rows of ``validation`` count alike.
    environments, auxiliary : callable, optional
        Labels (n,), or numbers (n, c), of n rows. Rows that differ in them are not
        equal.
    hold_out : bool, optional
        Whether rows validate, by default if there is no ``validation``.
    weighs : bool
        Whether the fit takes weights: equal rows become one.  Others keep their rows,
        which train or validate together.
    seed : int, optional
        In place of one by ``random_state``.

    Returns
    -------
    inputs : Inputs
    positions : ndarray, (n,), int64
        Point that stands for each row of the table: of the training points, then of the
        validation points; -1 of a row of weight 0.
    """
    device, task = resolve_device(estimator.device), estimator._task
    network_options = network_options_of(estimator.network)
    x = read_features(estimator, X, reset=True)
    target = read_target(y, len(x), task, table=X)
    weights = read_weights(sample_weight, len(x), X)
    labels = None if environments is None else environments(len(x))
    z = None if auxiliary is None else auxiliary(len(x))
    if z is not None and (text := telling_auxiliary(z, target, estimator)):
        warnings.warn(text, DataWarning, stacklevel=4)
    beside = [] if z is None else [*z.T]
    beside += [] if labels is None else [labels.numpy()]
    fixed = network_options.module is not None  # its columns may be pixels
    columns, distinct = _distinct_rows(x, target, beside, weights, fixed=fixed)
    rows = distinct.first
    if (text := repeated_inputs(x[rows], target[rows])) is not None:
        warnings.warn(text, DataWarning, stacklevel=4)
    of_distinct = target[distinct.first]
    if len(distinct) > 1 and (of_distinct == of_distinct[0]).all():
        what = "class" if task == "classification" else "value of the target"
        problem = f"the rows with a sample_weight above 0 have only one {what}"
        raise KerhrmError(problem, "give more rows a weight above 0")
    estimator.seed_ = draw_seed(estimator.random_state) if seed is None else seed
    hold_out = validation is None if hold_out is None else hold_out
    how: Any = {"hold_out": hold_out, "weighs": weighs}
    drawn = split_rows(distinct, target, task, estimator.validation_fraction, **how)
    train, held_out = drawn.train, drawn.held_out
    others = x[held_out], target[held_out]
    if validation is not None:
        X_validation, y_validation = _pair(validation)
        points = read_features(estimator, X_validation, reset=False)
        how = {"varies": False, "table": X_validation}
        others = points, read_target(y_validation, len(points), task, **how)
        rows = distinct.first
        if text := rows_of_the_fit((x[rows], target[rows]), others):
            warnings.warn(text, DataWarning, stacklevel=4)
    check_size(network_options, x.shape[1])
    units = estimator._units = Units.of(
        columns, x[train], target[train], task, drawn.weights
    )
    estimator._range = limits_of(x[distinct.first])
    if validation is not None and (
        text := outside(points, estimator._range, estimator)
    ):
        hint = "a Pipeline does not transform validation rows"
        warnings.warn(f"validation: {text}; {hint}", DataWarning, stacklevel=4)
    if units.classes is not None:
        estimator.classes_ = units.classes
    network = build(network_options, estimator.seed_, x.shape[1])
    on = partial(_tensor, device=device)
    inputs = Inputs(
        units.inputs(x[train]).to(device),
        units.target(target[train]).to(device),
        units.inputs(others[0]).to(device),
        units.target(others[1]).to(device),
        task,
        estimator.seed_,
        network.to(device),
        environments=None if labels is None else labels[train].to(device),
        auxiliary=None if z is None else on(z[train]),
        auxiliary_validation=None if z is None else on(z[held_out]),
        weights=on(drawn.weights),
        weights_validation=None if validation else on(drawn.held_out_weights),
        units=on(drawn.units),
    )
    return inputs, drawn.positions


def _distinct_rows(
    x: np.ndarray,
    target: np.ndarray,
    beside: list[np.ndarray],
    weights: np.ndarray | None,
    *,
    fixed: bool,
) -> tuple[np.ndarray, DistinctRows]:
    """Order of the columns of inputs (n, d), and their distinct rows, with targets (n,)
    and what stands beside them.

    Columns that are ``fixed`` stay in their order.
    """
    y = (
        target
        if target.dtype.kind == "f"
        else np.unique(target, return_inverse=True)[1]
    )
    given = np.arange(x.shape[1])
    distinct = DistinctRows.find(np.column_stack([y, *beside, x]), weights)
    if fixed:
        return given, distinct
    order = column_order(x[distinct.first], y[distinct.first])
    if (order != given).any():
        table = np.column_stack([y, *beside, x[:, order]])
        distinct = DistinctRows.find(table, weights)
    return order, distinct


def _tensor(array: np.ndarray | None, device: torch.device) -> Tensor | None:
    return None if array is None else torch.from_numpy(array).to(device)


def _pair(validation: Any) -> tuple[Any, Any]:
    """Rows that validate, and their target."""
    if isinstance(validation, list | tuple) and len(validation) == 2:
        return validation[0], validation[1]
    size = f" of {len(validation)}" if isinstance(validation, list | tuple) else ""
    kind = type(validation).__name__
    problem = f"validation must be a pair of rows and their target; got a {kind}{size}"
    raise KerhrmError(problem, "give validation=(X_validation, y_validation)")


def limits_of(x: np.ndarray) -> np.ndarray:
    """Least and largest value of columns (n, d): (2, d).

    A constant column has no limits, since it does not predict.  Nor has one of very
    many that has one value in half of the rows: a pixel.
    """
    limits = np.stack([x.min(0), x.max(0)])
    free = limits[0] == limits[1]
    if x.shape[1] > PIXELS:
        ordered, half = np.sort(x, axis=0), (len(x) + 1) // 2
        free |= (ordered[half - 1 :] == ordered[: len(x) - half + 1]).any(0)
    limits[:, free] = np.array([[-np.inf], [np.inf]])
    return limits


def outside(x: np.ndarray, limits: np.ndarray, estimator: Any) -> str | None:
    """How many rows (m, d) lie well outside the limits (2, d) of the fit, and in which
    column most of them do; None if none does."""
    with np.errstate(invalid="ignore"):  # of columns without limits
        slack = BEYOND * (limits[1] - limits[0])
        beyond = (x < limits[0] - slack) | (x > limits[1] + slack)
    if not beyond.any():
        return None
    j = int(beyond.sum(0).argmax())
    name = getattr(estimator, "feature_names_in_", range(x.shape[1]))[j]
    rows = f"{beyond.any(1).sum()} of {len(x)} rows lie outside the rows of the fit"
    column = f"column {shown(name)}: {limits[0, j]:g} to {limits[1, j]:g} there"
    return f"{rows} ({column}); what is predicted of them is extrapolation"


def repeated_inputs(x: np.ndarray, target: np.ndarray) -> str | None:
    """How many of distinct rows (n, d) have the inputs of another one, with another
    target (n,); None: so few that they may be so by chance.

    As several measurements of one patient, or a joined table: such rows tell each
    other's target, so that a model that repeats it looks best.  Rows are sorted by
    their inputs, so that equal ones are neighbours.
    """
    new = np.ones(len(x), dtype=bool)  # unlike the row before it
    new[1:] = (x[1:] != x[:-1]).any(axis=1)
    of = np.cumsum(new) - 1
    codes = np.unique(target, return_inverse=True)[1]
    # different targets of every row's inputs
    targets = np.bincount(np.unique(np.column_stack([of, codes]), axis=0)[:, 0])[of]
    shared = int((targets > 1).sum())
    if shared <= REPEATED * len(x) or alike_by_chance(x[new]):
        return None
    text = f"{shared} of {len(x)} rows have the inputs of another row with another"
    hint = "give one row for each unit, as the mean of its targets"
    return f"{text} target, and are taken for independent; {hint}"


def rows_of_the_fit(
    rows: tuple[np.ndarray, np.ndarray], validation: tuple[np.ndarray, np.ndarray]
) -> str | None:
    """How many validation rows are among the distinct rows (inputs and targets) of the
    fit; None: so few that they may be so by chance."""
    n = len(rows[0])
    codes = np.unique(np.concatenate([rows[1], validation[1]]), return_inverse=True)[1]
    table = np.column_stack([codes, np.concatenate([rows[0], validation[0]])])
    table += 0.0  # -0.0 is 0.0
    hashes = [hash(row.tobytes()) for row in table]
    known = set(hashes[:n])
    again, m = sum(row in known for row in hashes[n:]), len(table) - n
    if again <= REPEATED * m or alike_by_chance(table[:n]):
        return None
    text = f"{again} of {m} validation rows are rows of the fit"
    hint = "leave validation out, or give rows of their own"
    return f"{text}, which cannot tell how it does on others; {hint}"


def telling_auxiliary(z: np.ndarray, target: np.ndarray, estimator: Any) -> str | None:
    """The first of auxiliary columns (n, c) that gives the target (n,) away."""
    regression = estimator._task == "regression"
    y = target if regression else np.unique(target, return_inverse=True)[1]
    for j, values in enumerate(z.T):
        if gives_away("number", values, y, regression):
            name = estimator._columns.columns[j].name
            column = f"auxiliary column {j if name is None else shown(name)}"
            hint = "give a column that says when, where or how a row came about"
            text = f"{column} gives the target away, so that environments are parts"
            return f"{text} of the target; {hint}"
    return None
