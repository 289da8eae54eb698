"""What all estimators share once a fit has started (:mod:`._start`).

Predicting in blocks, how a fit computes whatever the caller has set in its process, and
a fit that is all or nothing.
"""

import contextlib
import numbers
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from joblib import cpu_count, effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from kerhrm.errors import DataWarning, KerhrmError, shown, warn
from kerhrm.estimators._calibration import probabilities
from kerhrm.estimators._state import restored, stored
from kerhrm.memory import TooLittleMemory, is_out_of_memory
from kerhrm.networks.base import resolve_device
from kerhrm.options import Task
from kerhrm.scikit_learn import TaskTags
from kerhrm.tables.data import read_features
from kerhrm.tables.loaders import unloaded
from kerhrm.tables.targets import read_target, read_weights
from kerhrm.tables.units import Units, outside
from kerhrm.threads import one_blas_thread, torch_threads

BLOCK = 2**12  #: points that are predicted at a time
#: Rows and numbers of a table up to which PyTorch's further threads bring nothing: a
#: fit to 1 000 x 10 takes 1.3 s on one and on two, to 4 000 x 10 2.9 and 2.5 s.
#: On cores that others keep busy, threads wait for each other: 600 x 2 took 16 to 43 s.
FEW_ROWS = 2000
FEW_NUMBERS = 100_000


def _classifies(estimator: Any) -> bool:
    """Whether it learns labels, and its fit has learned some if there is one."""
    units = getattr(estimator, "_units", None)
    of_numbers = units is not None and units.classes is None
    return bool(estimator._task == "classification") and not of_numbers


class TableEstimator(TaskTags):
    """Base of the estimators; ``_task`` says what is learned."""

    _task: Task
    _logistic = False
    _labelled = False  #: whether the rows' environments are given
    #: attributes that files and copies of an estimator do not hold
    _unsaved: frozenset[str] = frozenset()
    _units: Units
    _range: np.ndarray  #: least and largest value of every column of the fit, (2, d)
    _predictor: Any
    network: Any
    validation_fraction: float
    random_state: Any
    device: str
    n_jobs: int | None

    def __getstate__(self) -> dict[str, Any]:
        attributes = super().__getstate__()
        state = dict(attributes)
        present = self._unsaved & state.keys()
        state |= dict.fromkeys(present)
        return stored(state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = restored(state)
        super().__setstate__(attributes)

    def _evaluate(self, predictor: Any, x: Tensor) -> Tensor:
        """Outputs (m,) of a network, at points (m, d)."""
        points = x.double()
        return predictor(points)

    def _outputs(self, X: Any) -> np.ndarray:
        """f(x) of a table's rows (m,), in the units of the fit."""
        check_is_fitted(self)
        x = read_features(self, X, reset=False)
        if (text := outside(x, self._range, self)) is not None:
            warn(text, DataWarning)
        device = resolve_device(self.device)
        predictor = self._predictor.to(device)
        outputs = self._in_blocks(lambda points: self._evaluate(predictor, points), x)
        finite = np.isfinite(outputs)
        if not finite.all():
            n_others = (~finite).sum()
            text = f"{n_others} predictions are not finite; look for outliers"
            warn(text, ConvergenceWarning)
        return outputs

    def _in_blocks(
        self, function: Callable[[Tensor], Tensor], x: np.ndarray
    ) -> np.ndarray:
        """A function of standardised points, of rows x (m, d): (m,), float64."""
        device = resolve_device(self.device)
        outputs = np.empty(len(x))
        with (
            computation(self.n_jobs),
            threads_for(self.n_jobs, x.shape),
            torch.no_grad(),
        ):
            for start in range(0, len(x), BLOCK):
                stop = start + BLOCK
                rows = slice(start, stop)
                inputs = self._units.inputs(x[rows])
                of_rows = function(inputs.to(device))
                outputs[rows] = of_rows.cpu().numpy()
        return outputs

    def _calmer(self) -> str:
        """Hint for outputs that are not finite: what this estimator can lower."""
        weight = "penalty_weight"
        names = [
            name
            for name in self.get_params(deep=False)
            if name.endswith("rate") or name == weight
        ]
        return f"lower {' or '.join(names)}" if names else "look for outliers"

    def _less_memory(self) -> str:
        """Hint where the memory is not enough: what this estimator can lower."""
        parameters = self.get_params(deep=False)
        names = [
            name
            for name in ("network", "k", "n_init", "n_landmarks")
            if name in parameters
        ]
        *others, last = names or [""]
        choice = f"{', '.join(others)} or {last}" if others else last
        return f"give fewer rows, or a smaller {choice}" if last else "give fewer rows"

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels of ``classes_``, or numbers in the target's own unit,
        (n_samples,)."""
        outputs = self._outputs(X)
        units = self._units
        if units.classes is None:
            return outputs * units.y_scale + units.y_mean
        positive = outputs > 0
        labels = units.classes[positive.astype(int)]
        return np.asarray(labels)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy in classification, R^2 in regression; the higher the better.

        Targets and weights are read as ``fit`` reads them: those of rows in another
        order than X are refused.
        """
        X, y = unloaded(X, y)
        predicted = self.predict(X)
        n = len(predicted)
        target = read_target(y, n, self._task, varies=False, table=X)
        weights = read_weights(sample_weight, n, X)
        if self._units.classes is None:
            share = r2_score(target, predicted, sample_weight=weights)
            return float(share)
        self._units.target(target)  # which refuses another label
        accuracy = accuracy_score(target, predicted, sample_weight=weights)
        return float(accuracy)

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
        second = self._second(outputs)
        first = 1 - second
        return np.column_stack([first, second])

    def _second(self, outputs: np.ndarray) -> np.ndarray:
        """Probabilities (n,) of the second class, of outputs (n,)."""
        if self._logistic:
            return probabilities(outputs, 1.0)
        share = (1 + outputs) / 2
        return np.clip(share, 0.0, 1.0)


def fingerprint(
    model: Any,
    x: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    z: np.ndarray | None,
) -> str:
    """Digits that tell rows (n, d) with these targets (n,) from others, or from the
    same in another order, as a model reads them."""
    units = model._units
    hashed = blake2b(digest_size=16)
    for start in range(0, len(x), BLOCK):
        stop = start + BLOCK
        inputs = units.inputs(x[start:stop])
        hashed.update(inputs.numpy().tobytes())
    numbers = units.target(target)
    hashed.update(numbers.numpy().tobytes())
    if weights is not None and np.ptp(weights) > 0:
        hashed.update(weights.tobytes())
    if z is not None:
        hashed.update(z.tobytes())
    return hashed.hexdigest()


def finish(
    estimator: Any, predictor: Any, x: Tensor, *, diverged: bool = False
) -> None:
    """Keep what predicts, and warn if its outputs are not finite at training points, or
    its training has ``diverged`` in another way."""
    with torch.no_grad():
        outputs = estimator._evaluate(predictor, x[:BLOCK])
        finite_outputs = torch.isfinite(outputs)
    finite = bool(finite_outputs.all())
    if diverged or not finite:
        what = "the training of the network diverged"
        if not finite:
            what = "the training diverged: outputs are not finite"
        warn(f"{what}; {estimator._calmer()}", ConvergenceWarning)
    cpu = torch.device("cpu")
    estimator._predictor = predictor.to(cpu)


@contextlib.contextmanager
def computation(n_jobs: Any) -> Iterator[None]:
    """Compute on so many cores, by PyTorch's and NumPy's own settings.

    Gradients can be taken, new tensors lie on the CPU, products keep their precision,
    and rounding raises nothing, also where the caller has switched gradients off, set
    another device, or uses autocast.  Afterwards all is as the caller had it.

    Raises KerhrmError as :func:`cores`.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(cores(n_jobs))
        stack.enter_context(torch.inference_mode(False))  # and gradients on
        stack.enter_context(np.errstate(all="warn", under="ignore"))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                off = torch.autocast(device, enabled=False)
                stack.enter_context(off)
        yield


@contextlib.contextmanager
def cores(n_jobs: Any) -> Iterator[None]:
    """Threads of PyTorch; None: as many as it takes by itself (:func:`threads_for`
    takes one for a small table), -1: all.

    No more than there are cores: they would wait for each other.

    Raises KerhrmError if n_jobs is zero or not a whole number.
    """
    if n_jobs is None:
        with one_blas_thread():
            yield
        return
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0:
        problem = f"n_jobs must be a whole number other than 0; got {shown(n_jobs)}"
        raise KerhrmError(problem, "use -1 for all cores")
    most = cpu_count()
    number = effective_n_jobs(max(-most, min(int(n_jobs), most)))
    with torch_threads(number), one_blas_thread():
        yield


def threads_for(
    n_jobs: Any, shape: tuple[int, int]
) -> contextlib.AbstractContextManager[None]:
    """One thread of PyTorch for a table of few rows, unless the caller names a number.

    Parameters
    ----------
    n_jobs : int or None
        As the caller has given it.
    shape : pair of int
        Rows and columns.
    """
    n_rows, n_columns = shape
    few = n_rows <= FEW_ROWS and n_rows * n_columns <= FEW_NUMBERS
    if n_jobs is None and few:
        return torch_threads(1)
    return contextlib.nullcontext()


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
        if is_out_of_memory(error):
            problem = "the fit needs more memory than there is"
            if isinstance(error, TooLittleMemory):
                problem = error.problem  # with numbers
            raise KerhrmError(problem, estimator._less_memory()) from error
        raise
