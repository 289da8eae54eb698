"""What all estimators share: reading tables, predicting in blocks, saving and loading."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kerhrm.data.dataset import Task
from kerhrm.data.samples import Samples
from kerhrm.devices import resolve_device
from kerhrm.estimators.files import read_fit, write_fit
from kerhrm.estimators.inputs import plain, read_counts, read_features, read_target
from kerhrm.estimators.predictors import Predictor
from kerhrm.estimators.surroundings import cores
from kerhrm.estimators.tables import Units, prepare
from kerhrm.estimators.tangents import blocks

#: points that are put into units at a time
BLOCK = 2**12


def _classifies(estimator: Any) -> bool:
    return bool(estimator._task == "classification")


class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators; ``_task`` says whether one classifies."""

    _task: Task
    _units: Units
    _predictor: Predictor
    network: Any
    validation_fraction: float
    device: str
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if _classifies(self):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags

    def _samples(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: Any,
        seed: int,
        environments: Callable[[int], np.ndarray] | None = None,
    ) -> tuple[Samples, np.ndarray]:
        """Read all that fits are given; learns units and, of a classifier, classes.

        Beside the samples stands which rows they are, as :func:`prepare` tells it.

        ``environments`` gives the labels of so many rows, for methods that are given them.
        """
        x = read_features(self, X, reset=True)
        rows = x, read_target(y, len(x), self._task)
        held_out = None
        if validation is not None:
            points = read_features(self, validation[0], reset=False)
            labels = read_target(validation[1], len(points), self._task, varies=False)
            held_out = points, labels
        self._units, samples, origin = prepare(
            rows,
            held_out,
            read_counts(sample_weight, len(x)),
            self._task,
            fraction=self.validation_fraction,
            seed=seed,
            environment=environments and environments(len(x)),
        )
        if self._units.classes is not None:
            self.classes_ = self._units.classes
        device = resolve_device(self.device)
        tensors = {n: t for n, t in vars(samples).items() if isinstance(t, torch.Tensor)}
        moved: dict[str, Any] = {name: tensor.to(device) for name, tensor in tensors.items()}
        return dataclasses.replace(samples, **moved), origin

    def _outputs(self, X: Any) -> np.ndarray:
        """f(x) of a table's rows (m,), in the units of the fit."""
        check_is_fitted(self)
        x = read_features(self, X, reset=False)
        device = resolve_device(self.device)
        outputs = np.empty(len(x))
        with cores(self.n_jobs), torch.no_grad():
            predictor = self._predictor.to(device)
            for rows in blocks(len(x), BLOCK):
                points = self._units.inputs(x[rows]).to(device)
                outputs[rows] = predictor(points).cpu().numpy()
        return outputs

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of ``classes_``, or numbers in the target's own unit.
        """
        outputs = self._outputs(X)
        if self._units.classes is None:
            return outputs * self._units.spread + self._units.level
        return np.asarray(self._units.classes[(outputs > 0).astype(int)])

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """Output f(x), positive for the second of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of labels -1 and +1.
        """
        return self._outputs(X)

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of ``classes_``.

        The least squares of labels -1 and +1 is P(+1) - P(-1), so that (1 + f(x)) / 2, cut at 0 and
        1, is the second class's; of a logistic loss it is 1 / (1 + exp(-f(x))).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Which sum to one in each row.
        """
        outputs = self._outputs(X)
        if getattr(self, "_logistic", False):
            second = 1 / (1 + np.exp(-np.clip(outputs, -500, 500)))
        else:
            second = np.clip((1 + outputs) / 2, 0.0, 1.0)
        return np.column_stack([1 - second, second])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R^2 of a regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The columns of the fit.
        y : array-like of shape (n_samples,)
            What is to be predicted.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, 0 or more.

        Returns
        -------
        float
            The higher the better.
        """
        measure = accuracy_score if _classifies(self) else r2_score
        return float(measure(plain(y), self.predict(X), sample_weight=sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one ``.npz`` file, which holds no pickle.

        Parameters
        ----------
        path : path-like
            Of the file to be written.

        Raises
        ------
        KerhrmError
            If a parameter, for instance a random generator, has no place in such a file.
        """
        check_is_fitted(self)
        write_fit(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote.

        A file whose network is a module names a function, which is imported and called: load such
        files only from people you trust.  Others run no code.

        Parameters
        ----------
        path : path-like
            Of the file.

        Returns
        -------
        estimator
            Fitted; predicts what the saved one did.

        Raises
        ------
        KerhrmError
            If the file holds no estimator of this class.
        """
        estimator = read_fit(path, cls)
        assert isinstance(estimator, cls)
        return estimator
