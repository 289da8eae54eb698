"""What a fitted KerHRM says of rows: outputs, environments, a report."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.estimators._auxiliary import AuxiliaryColumns
from kerhrm.estimators._base import TableEstimator
from kerhrm.estimators._data import read_features
from kerhrm.estimators._found import FoundEnvironments
from kerhrm.estimators._guard import ALL
from kerhrm.estimators._report import Report, compare, facts, indicators
from kerhrm.estimators._settings import computation
from kerhrm.estimators._target import read_target
from kerhrm.features.ridge import RidgeModel
from kerhrm.networks.base import resolve_device


class FittedInvariant(TableEstimator):
    """Base of the estimators once they are fitted; :mod:`._model` has the fit."""

    predictor_: str
    selected_: dict[str, Any]
    history_: list[dict[str, Any]]
    _found: FoundEnvironments | None  #: None where none were looked for
    _columns: AuxiliaryColumns | None  #: auxiliary columns of the fit
    _reason: str | None  #: why ERM predicts
    _simple: dict[str, RidgeModel]

    def predict_environment_proba(
        self, X: Any, y: Any = None, *, auxiliary: Any = None
    ) -> np.ndarray:
        """Probabilities (n_samples, n_environments inferred) of rows X with targets y.

        After a fit with auxiliary columns: of rows with such columns; their targets do
        not matter.  Where none were found all rows are in one environment.
        """
        check_is_fitted(self)
        x = read_features(self, X, reset=False)
        if self._columns is None:
            if auxiliary is not None:
                problem = "the fit had no auxiliary columns, and these rows have some"
                raise KerhrmError(problem, "leave auxiliary out")
            if y is None:
                problem = "environments are told by rows and their targets; y is None"
                hint = "give y, or fit with auxiliary columns"
                raise KerhrmError(problem, hint)
            target = read_target(y, len(x), **self._like(X))
            if self._found is None:
                self._units.target(target)  # which refuses what is no label
                return np.ones((len(x), 1))
            with computation(self.n_jobs):
                return self._found.of_targets(x, target)
        if self._found is None or self._found.auxiliary is None:
            if auxiliary is not None:
                self._columns.check(auxiliary, len(x), X)
            return np.ones((len(x), 1))
        if auxiliary is None:
            problem = "the fit had auxiliary columns, and these rows have none"
            raise KerhrmError(problem, "give auxiliary=... as well")
        z = self._columns.read(auxiliary, len(x), X)
        return self._found.auxiliary.environments_of(z).cpu().numpy()

    def _like(self, X: Any) -> dict[str, Any]:
        """How the target of rows X is read."""
        return {"task": self._task, "varies": False, "table": X}

    def report(
        self, X: Any, y: Any, groups: Any = None, *, auxiliary: Any = None
    ) -> Report:
        """Errors on rows X with targets y, next to simpler models, in all and by
        environment.

        Best of rows that ``fit`` has not seen.  ``groups``, labels (n_samples,) of any
        kind, are compared as well; a name of theirs is kept.  After a fit with
        auxiliary columns the environments of the rows need theirs.
        """
        outputs = self._outputs(X)
        x = read_features(self, X, reset=False)
        if auxiliary is not None and self._columns is None:
            problem = "the fit had no auxiliary columns, and these rows have some"
            raise KerhrmError(problem, "leave auxiliary out")
        y = read_target(y, len(x), **self._like(X))
        parts: dict[str, np.ndarray] = {}
        found = self._found
        if found is not None and (found.auxiliary is None or auxiliary is not None):
            memberships = self.predict_environment_proba(X, y, auxiliary=auxiliary).T
            parts = {f"environment {j}": part for j, part in enumerate(memberships)}
        if groups is not None:
            parts |= indicators(groups, len(x), taken={ALL, *parts}, table=X)
        device = resolve_device(self.device)
        models = {name: model.to(device) for name, model in self._simple.items()}
        others = {name: self._in_blocks(model, x) for name, model in models.items()}
        target = self._units.target(y).double().numpy()
        errors = compare({"KerHRM": outputs, **others}, target, parts, self._task)
        if self._task == "regression":
            columns = errors.columns.drop("rows")
            errors[columns] = errors[columns] ** 0.5 * self._units.y_scale
        return Report(errors, facts(self))

    def _evaluate(self, predictor: Any, x: Tensor) -> Tensor:
        """Outputs (m,) of a network or, by the first direction of a linearisation, of
        theta."""
        if self.predictor_ != "linear":
            return predictor(x.double())
        f0, along = predictor(x)
        return f0 + along[:, 0]
