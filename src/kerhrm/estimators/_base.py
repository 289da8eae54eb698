"""What all estimators share: preparing a fit, and predicting in blocks."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from kerhrm.estimators._data import BLOCK, Units, cores, device_of, read_features
from kerhrm.options import Task


def _classifies(estimator: Any) -> bool:
    return bool(estimator._task == "classification")


class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators; ``_task`` says what is learned."""

    _task: Task
    _logistic = False
    _units: Units
    _predictor: Any
    network: Any
    validation_fraction: float
    random_state: Any
    device: str
    n_jobs: int | None

    def _evaluate(self, predictor: Any, x: Tensor) -> Tensor:
        """Outputs (m,) of a network, at points (m, d)."""
        return predictor(x.double())

    def _outputs(self, X: Any) -> np.ndarray:
        """f(x) of a table's rows (m,), in the units of the fit."""
        check_is_fitted(self)
        x = read_features(self, X, reset=False)
        predictor = self._predictor.to(device_of(self.device))
        outputs = self._in_blocks(lambda points: self._evaluate(predictor, points), x)
        if not np.isfinite(outputs).all():
            text = f"{(~np.isfinite(outputs)).sum()} predictions are not finite"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return outputs

    def _in_blocks(self, function: Callable[[Tensor], Tensor], x: np.ndarray) -> np.ndarray:
        """A function of standardised points, of rows x (m, d): (m,), float64."""
        device = device_of(self.device)
        outputs = np.empty(len(x))
        with cores(self.n_jobs), torch.no_grad():
            for start in range(0, len(x), BLOCK):
                rows = slice(start, start + BLOCK)
                outputs[rows] = function(self._units.inputs(x[rows]).to(device)).cpu().numpy()
        return outputs

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels of ``classes_``, or numbers in the target's own unit, (n_samples,)."""
        outputs = self._outputs(X)
        if self._units.classes is None:
            return outputs * self._units.y_scale + self._units.y_mean
        return np.asarray(self._units.classes[(outputs > 0).astype(int)])

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """Output f(x), (n_samples,), positive for the second of ``classes_``."""
        return self._outputs(X)

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of ``classes_``, (n_samples, 2).

        The least-squares regression of labels -1 and +1 is P(+1) - P(-1), so that (1 + f(x)) / 2,
        cut at 0 and 1, is the second class's; with a logistic loss it is 1 / (1 + exp(-f(x))).
        """
        outputs = self._outputs(X)
        if self._logistic:
            second = 1 / (1 + np.exp(-np.clip(outputs, -500, 500)))
        else:
            second = np.clip((1 + outputs) / 2, 0.0, 1.0)
        return np.column_stack([1 - second, second])
