"""What a fitted KerHRM says of rows: outputs, environments, a report; and how it
compares with simpler models, which decides what predicts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from kerhrm.algorithm.records import Direction, Environments
from kerhrm.errors import KerhrmError
from kerhrm.estimators._auxiliary import refuse_auxiliary, require_auxiliary
from kerhrm.estimators._base import TableEstimator, computation, threads_for
from kerhrm.estimators._calibration import probabilities, sigmoid_slope
from kerhrm.estimators._compared import ComparedPoints, simple_models
from kerhrm.estimators._describe import Describing
from kerhrm.estimators._guard import (
    ALL,
    ASKED_FOR,
    constant_only,
    not_better,
    worse_than_constant,
)
from kerhrm.estimators._left_out import left_out
from kerhrm.estimators._named_options import WithOptions
from kerhrm.estimators._parameters import read_options
from kerhrm.estimators._report import Report, facts, indicators
from kerhrm.estimators._steps import InferredEnvironments, Prepared
from kerhrm.estimators.options import EstimatorOptions
from kerhrm.features.ridge import Columns, RidgeModel
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.base import resolve_device
from kerhrm.tables.auxiliary import AuxiliaryColumns
from kerhrm.tables.data import read_features
from kerhrm.tables.loaders import unloaded
from kerhrm.tables.targets import read_target


def slower(rate: float) -> str:
    """Hint for a training that diverged: the usual learning rate, or a tenth of it."""
    usual = EstimatorOptions().learning_rate
    lower = usual if rate > usual else rate / 10
    return f'give options={{"learning_rate": {lower:g}}}'


class FittedInvariant(Describing, WithOptions, TableEstimator):
    """Base of the estimators once they are fitted; :mod:`._model` has the fit."""

    predictor_: str
    selected_: dict[str, Any]
    history_: list[dict[str, Any]]
    _inferred: InferredEnvironments | None  #: None where none were looked for
    _columns: AuxiliaryColumns | None  #: auxiliary columns of the fit
    _reason: str | None  #: why ERM predicts
    _shares: np.ndarray  #: of the environments among the rows of the fit
    _fingerprint: str  #: of the rows of the fit
    _parameters: dict[str, Any]  #: of the fit, which may be set anew afterwards
    _simple: dict[str, RidgeModel]
    _slope: float | None = None  #: of calibrated probabilities
    #: errors of KerHRM, ERM and a constant on all rows, training rows left out
    _all_rows: pd.DataFrame | None

    def predict_environment_proba(
        self, X: Any, y: Any = None, *, auxiliary: Any = None
    ) -> np.ndarray:
        """Probabilities (n_samples, n_environments inferred) of rows X with targets y.

        After a fit with auxiliary columns: of rows with such columns; their targets do
        not matter.  Where none were found all rows are in one environment.

        Raises KerhrmError where the targets, or the auxiliary columns, are missing or
        do not fit the rows, and scikit-learn's NotFittedError before a fit.
        """
        check_is_fitted(self)
        X, y = unloaded(X, y, needs_y=False)
        x = read_features(self, X, reset=False)
        if self._columns is None:
            refuse_auxiliary(auxiliary)
            if y is None:
                problem = "environments are told by rows and their targets; y is None"
                hint = "give y, or fit with auxiliary columns"
                raise KerhrmError(problem, hint)
            like_fit = self._like(X)
            target = read_target(y, len(x), **like_fit)
            if self._inferred is None:
                self._units.target(target)  # which refuses what is no label
                return np.ones((len(x), 1))
            with computation(self.n_jobs), threads_for(self.n_jobs, x.shape):
                return self._inferred.of_targets(x, target)
        if self._inferred is None or self._inferred.auxiliary is None:
            n = len(x)
            if auxiliary is not None:
                self._columns.check(auxiliary, n, X)
            return np.ones((n, 1))
        require_auxiliary(auxiliary)
        n_rows = len(x)
        z = self._columns.read(auxiliary, n_rows, X)
        return self._inferred.of_auxiliary(z)

    def _like(self, X: Any) -> dict[str, Any]:
        """How the target of rows X is read."""
        return {"task": self._task, "varies": False, "table": X}

    def report(
        self, X: Any, y: Any = None, groups: Any = None, *, auxiliary: Any = None
    ) -> Report:
        """Errors on rows X with targets y, next to simpler models, in all and by
        environment.

        Best of rows that ``fit`` has not seen.  ``groups``, labels (n_samples,) of any
        kind, are compared as well; a name of theirs is kept.  After a fit with
        auxiliary columns the environments of the rows need theirs.
        """
        X, y = unloaded(X, y)
        outputs = self._outputs(X)
        x = read_features(self, X, reset=False)
        if self._columns is None:
            refuse_auxiliary(auxiliary)
        like_fit = self._like(X)
        y = read_target(y, len(x), **like_fit)
        members: dict[str, np.ndarray] = {}
        inferred = self._inferred
        known = auxiliary is not None
        if inferred is not None and (inferred.auxiliary is None or known):
            memberships = self.predict_environment_proba(X, y, auxiliary=auxiliary)
            for j, of_environment in enumerate(memberships.T):
                members[f"environment {j}"] = of_environment
        if groups is not None:
            taken = {ALL, *members}
            members |= indicators(groups, len(x), taken=taken, table=X)
        device = resolve_device(self.device)
        of_models = {"KerHRM": outputs}
        for name, model in self._simple.items():
            on_device = model.to(device)
            of_models[name] = self._in_blocks(on_device, x)
        scaled_target = self._units.target(y)
        target = scaled_target.double().numpy()
        errors = ComparedPoints(of_models, target, members, self._task).errors()
        if self._task == "regression":
            columns = errors.columns.drop("rows")
            root_errors = errors[columns] ** 0.5
            errors[columns] = root_errors * self._units.y_scale
        return Report(errors, facts(self))

    def _calmer(self) -> str:
        """Hint for outputs that are not finite, which a network alone learns."""
        if self.predictor_ != "network":
            return "look for outliers"
        return slower(read_options(self.options).learning_rate)

    def _less_memory(self) -> str:
        """Hint where the memory is not enough, with the options for landmarks."""
        landmarks = 'options={"max_exact": 1000, "n_landmarks": 500}'
        return f"{super()._less_memory()}, or {landmarks}"

    def _evaluate(self, predictor: Any, x: Tensor) -> Tensor:
        """Outputs (m,) of a network or, by the first direction of a linearisation, of
        theta."""
        if self.predictor_ != "linear":
            inputs = x.double()
            return predictor(inputs)
        f0, along = predictor(x)
        change = along[:, 0]
        return f0 + change

    def _compare(
        self, prepared: Prepared, environments: Environments, final: Direction
    ) -> str | None:
        """Compare KerHRM, the final direction over environments, with what is simpler;
        why it is not better, if so."""
        assert self._inferred is not None
        inputs = prepared.inputs
        models, columns = self._keep_simple(inputs)
        on_validation = self._compared_on_validation(inputs, models)
        # in environments that are seen ERM may be better: what counts lies beyond them
        by_auxiliary = self._inferred.auxiliary is not None
        compared = on_validation
        if not by_auxiliary:
            y = inputs.y.double().cpu().numpy()
            constant = on_validation.outputs["constant"][0]
            of_train = {
                "KerHRM": self._unseen(prepared, environments, final),
                "ERM": columns.left_out(models["ERM"], y),
                "constant": np.full(len(y), constant),
            }
            compared = ComparedPoints.of_all(
                inputs, of_train, on_validation.outputs, self._inferred.of_fit()
            )
        self.report_ = on_validation.errors()
        report = self._all_rows = compared.errors()
        self._losses = compared.losses()
        margin = prepared.options.margin
        if margin == 1:
            return ASKED_FOR
        if self.if_not_better == "fit":
            return None
        doubt = compared.doubts()[report.index]
        if by_auxiliary:
            worse = worse_than_constant(report, inputs.task, doubt)
            return constant_only(self.heterogeneity_) or worse
        return not_better(report, inputs.task, margin, self.n_features_in_, doubt)

    def _compared_on_validation(
        self, inputs: Inputs, models: Mapping[str, RidgeModel]
    ) -> ComparedPoints:
        """Validation points with the outputs of KerHRM and of simpler models."""
        assert self._inferred is not None
        points = inputs.x_validation.cpu()
        with torch.no_grad():
            outputs = {"KerHRM": self._evaluate(self._predictor, points).numpy()}
            for name, model in models.items():
                outputs[name] = model(points).numpy()
        memberships = self._inferred.of_fit()
        return ComparedPoints.of_validation(inputs, outputs, memberships)

    def _unseen(
        self, prepared: Prepared, environments: Environments, final: Direction
    ) -> np.ndarray:
        """KerHRM's outputs (n,) of training points as if it had not seen them.

        Of labels what the direction gains by a fifth of the draws is taken off; of
        numbers residuals are divided by 1 - k / n, as in generalised cross-validation,
        with n draws.
        """
        inputs = prepared.inputs
        problem = prepared.problem
        with torch.no_grad():
            points = inputs.x.cpu()
            evaluated = self._evaluate(self._predictor, points)
            outputs = evaluated.double()
        if inputs.task == "regression":
            y = inputs.y.double().cpu()
            n = len(y)
            if inputs.units is not None:  # one of the equal draws is left out
                n = int(inputs.units.sum())
            k = min(final.k, n // 2)
            residuals = (y - outputs) / (1 - k / n)
            return (y - residuals).numpy()
        seen = final.predict(problem.psi_train, problem.f0_train)
        unseen = left_out(
            problem, environments, final, prepared.options, units=inputs.units
        )
        overfit = (seen - unseen).double()
        return (outputs - overfit.cpu()).numpy()

    def _second(self, outputs: np.ndarray) -> np.ndarray:
        if self._slope is None:
            return super()._second(outputs)
        return probabilities(outputs, self._slope)

    def _calibrate(
        self, outputs: np.ndarray, y: Tensor, weights: Tensor | None
    ) -> None:
        """Keep the sigmoid of two labels, by outputs of rows that are not seen."""
        counts = None
        if weights is not None:
            counts = weights.cpu().numpy()
        positive = y.cpu().numpy() > 0
        self._slope = sigmoid_slope(outputs, positive, counts)

    def _keep_simple(self, inputs: Inputs) -> tuple[dict[str, RidgeModel], Columns]:
        """Simpler models of the training rows, which a report compares with."""
        models, columns = simple_models(inputs)
        self._simple = {name: f.to("cpu") for name, f in models.items()}
        return self._simple, columns
