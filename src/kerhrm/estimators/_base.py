"""Parts that all estimators share.

Preparing a fit, all or nothing, and predicting in blocks.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from kerhrm.errors import KerhrmError, shown
from kerhrm.estimators import DataWarning
from kerhrm.estimators._data import Units, read_features
from kerhrm.estimators._distinct import (
    DistinctRows,
    alike_by_chance,
    column_order,
)
from kerhrm.estimators._oddities import gives_away
from kerhrm.estimators._parameters import check_size, draw_seed, network_options_of
from kerhrm.estimators._settings import computation
from kerhrm.estimators._settings import cores as cores
from kerhrm.estimators._split import split_rows
from kerhrm.estimators._state import restored, stored
from kerhrm.estimators._target import read_target, read_weights
from kerhrm.features.map import NTFMap, RankError
from kerhrm.features.nystroem import NystroemMap
from kerhrm.features.options import NystroemOptions
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.base import Network, resolve_device
from kerhrm.networks.build import build
from kerhrm.options import Task

BLOCK = 2**12  #: points that are predicted at a time
#: share of a column's range by which a value may lie outside it without a word
BEYOND = 0.5
#: share of rows with the inputs of others above which it is told
REPEATED = 0.1
#: columns from which on one that is nearly constant may be a pixel
PIXELS = 100


def _classifies(estimator: Any) -> bool:
    return bool(estimator._task == "classification")


class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators; ``_task`` says what is learned."""

    _task: Task
    _logistic = False
    _units: Units
    _range: np.ndarray  #: least and largest value of every column of the fit, (2, d)
    _predictor: Any
    network: Any
    validation_fraction: float
    random_state: Any
    device: str
    n_jobs: int | None

    def _keep_parameters(self, given: dict[str, Any]) -> None:
        """Make attributes of the parameters, the ``locals()`` of an ``__init__``."""
        self.__dict__.update(
            {name: value for name, value in given.items() if name != "self"}
        )

    def __getstate__(self) -> dict[str, Any]:
        return stored(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(restored(state))

    def _evaluate(self, predictor: Any, x: Tensor) -> Tensor:
        """Outputs (m,) of a network, at points (m, d)."""
        return predictor(x.double())

    def _outputs(self, X: Any) -> np.ndarray:
        """f(x) of a table's rows (m,), in the units of the fit."""
        check_is_fitted(self)
        x = read_features(self, X, reset=False)
        if (text := outside(x, self._range, self)) is not None:
            warnings.warn(text, DataWarning, stacklevel=3)
        predictor = self._predictor.to(resolve_device(self.device))
        outputs = self._in_blocks(lambda points: self._evaluate(predictor, points), x)
        if not np.isfinite(outputs).all():
            text = (
                f"{(~np.isfinite(outputs)).sum()} predictions are not finite; "
                "look for outliers"
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return outputs

    def _in_blocks(
        self, function: Callable[[Tensor], Tensor], x: np.ndarray
    ) -> np.ndarray:
        """A function of standardised points, of rows x (m, d): (m,), float64."""
        device = resolve_device(self.device)
        outputs = np.empty(len(x))
        with computation(self.n_jobs), torch.no_grad():
            for start in range(0, len(x), BLOCK):
                rows = slice(start, start + BLOCK)
                outputs[rows] = (
                    function(self._units.inputs(x[rows]).to(device)).cpu().numpy()
                )
        return outputs

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels of ``classes_``, or numbers in the target's own unit,
        (n_samples,)."""
        outputs = self._outputs(X)
        if self._units.classes is None:
            return outputs * self._units.y_scale + self._units.y_mean
        return np.asarray(self._units.classes[(outputs > 0).astype(int)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy in classification, R^2 in regression; the higher the better.

        Targets and weights are read as ``fit`` reads them: those of rows in another
        order than X are refused.
        """
        predicted = self.predict(X)
        target = read_target(y, len(predicted), self._task, varies=False, table=X)
        weights = read_weights(sample_weight, len(predicted), X)
        if self._units.classes is None:
            return float(r2_score(target, predicted, sample_weight=weights))
        self._units.target(target)  # which refuses another label
        return float(accuracy_score(target, predicted, sample_weight=weights))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """Output f(x), (n_samples,), positive for the second of ``classes_``."""
        return self._outputs(X)

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of ``classes_``, (n_samples, 2).

        The least-squares regression of labels -1 and +1 is P(+1) - P(-1), so that (1 +
        f(x)) / 2, cut at 0 and 1, is the second class's; with a logistic loss it is 1 /
        (1 + exp(-f(x))).
        """
        outputs = self._outputs(X)
        if self._logistic:
            second = 1 / (1 + np.exp(-np.clip(outputs, -500, 500)))
        else:
            second = np.clip((1 + outputs) / 2, 0.0, 1.0)
        return np.column_stack([1 - second, second])


def _limits(x: np.ndarray) -> np.ndarray:
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


def reduced_features(
    network: Network,
    x: Tensor,
    k: int,
    max_exact: int,
    options: NystroemOptions,
    seed: int,
) -> NTFMap | NystroemMap:
    """Reduce points (n, d) to k dimensions, or to as many as the features have.

    By way of landmarks where there are more than ``max_exact`` points.
    """
    exact = len(x) <= max_exact
    k = k if exact else min(k, options.n_landmarks)
    while True:
        try:
            if exact:
                return NTFMap.fit(network, x, k)
            return NystroemMap.fit(network, x, k, options, seed)
        except RankError as error:
            if k == 1:
                raise
            # the last directions of that rank may be lost, too, where rounding rules
            # them
            k = max(1, min(error.rank, 4 * k // 5))


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
    if z is not None and (text := _telling_auxiliary(z, target, estimator)):
        warnings.warn(text, DataWarning, stacklevel=4)
    beside = [] if z is None else [*z.T]
    beside += [] if labels is None else [labels.numpy()]
    fixed = network_options.module is not None  # its columns may be pixels
    columns, distinct = _distinct_rows(x, target, beside, weights, fixed=fixed)
    if (text := _repeated_inputs(x[distinct.first])) is not None:
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
        if text := _rows_of_the_fit((x[rows], target[rows]), others):
            warnings.warn(text, DataWarning, stacklevel=4)
    check_size(network_options, x.shape[1])
    units = estimator._units = Units.of(
        columns, x[train], target[train], task, drawn.weights
    )
    estimator._range = _limits(x[distinct.first])
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


def _repeated_inputs(x: np.ndarray) -> str | None:
    """How many of distinct rows (n, d) differ in the target alone; None: so few that
    they may be so by chance.

    As several measurements of one patient, or a joined table: such rows tell each
    other's target, so that a model that repeats it looks best.  Rows are sorted by
    their inputs, so that equal ones are neighbours.
    """
    same = np.zeros(len(x) + 1, dtype=bool)  # as the row before it
    same[1:-1] = (x[1:] == x[:-1]).all(axis=1)
    shared = int((same[:-1] | same[1:]).sum())
    if shared <= REPEATED * len(x) or alike_by_chance(x[~same[:-1]]):
        return None
    text = f"{shared} of {len(x)} rows have the inputs of another row with another"
    hint = "give one row for each unit, as the mean of its targets"
    return f"{text} target, and are taken for independent; {hint}"


def _rows_of_the_fit(
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
    again, m = sum(one in known for one in hashes[n:]), len(table) - n
    if again <= REPEATED * m or alike_by_chance(table[:n]):
        return None
    text = f"{again} of {m} validation rows are rows of the fit"
    hint = "leave validation out, or give rows of their own"
    return f"{text}, which cannot tell how it does on others; {hint}"


def _telling_auxiliary(z: np.ndarray, target: np.ndarray, estimator: Any) -> str | None:
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


def finish(estimator: Any, predictor: Any, x: Tensor) -> None:
    """Keep what predicts, and warn if its outputs are not finite at training points."""
    with torch.no_grad():
        finite = bool(torch.isfinite(estimator._evaluate(predictor, x[:BLOCK])).all())
    if not finite:
        text = (
            "the training diverged: outputs are not finite; lower learning_rate "
            "or weights"
        )
        warnings.warn(text, ConvergenceWarning, stacklevel=4)
    estimator._predictor = predictor.to(torch.device("cpu"))


@contextlib.contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if a fit fails.

    Raises KerhrmError if the memory is not enough.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException as error:
        vars(estimator).clear()
        vars(estimator).update(before)
        if _out_of_memory(error):
            problem = "the fit needs more memory than there is"
            hint = "give fewer rows, or a smaller network, n_init or max_exact"
            raise KerhrmError(problem, hint) from error
        raise


def _out_of_memory(error: BaseException) -> bool:
    text = str(error) if isinstance(error, RuntimeError) else ""
    words = "can't allocate memory", "out of memory"
    return isinstance(error, MemoryError) or any(word in text for word in words)
