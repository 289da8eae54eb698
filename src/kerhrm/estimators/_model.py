"""KerHRM on a table.

The library's steps in a row, and the attributes of the estimators.
"""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch

from kerhrm.algorithm.environments import choose_n_environments
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import erm_direction
from kerhrm.algorithm.loop import fit
from kerhrm.algorithm.options import (
    AuxiliaryOptions,
    HeterogeneityOptions,
)
from kerhrm.algorithm.records import Direction, Environments, Problem
from kerhrm.errors import KerhrmError
from kerhrm.estimators import HeterogeneityNotDetectedWarning, PriceWarning
from kerhrm.estimators._auxiliary import AuxiliaryColumns
from kerhrm.estimators._base import (
    all_or_nothing,
    computation,
    finish,
    reduced_features,
)
from kerhrm.estimators._found import FoundEnvironments
from kerhrm.estimators._guard import (
    not_detected,
    price,
)
from kerhrm.estimators._parameters import EstimatorOptions, options_of
from kerhrm.estimators._rows import FittedInvariant
from kerhrm.estimators._start import start
from kerhrm.features.options import NystroemOptions
from kerhrm.heterogeneity.test import HeterogeneityResult, test_table
from kerhrm.methods.auxiliary import AuxiliaryFit, fit_auxiliary
from kerhrm.methods.inputs import Inputs

#: environments that are tried where their number is to be chosen
MAX_ENVIRONMENTS = 5


class InvariantEstimator(FittedInvariant):
    """Base of :class:`kerhrm.KerHRMClassifier` and :class:`kerhrm.KerHRMRegressor`."""

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        auxiliary: Any = None,
        validation: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Infer environments, and learn a model that is invariant over them.

        Inputs X (n_samples, n_features), and two labels of any kind or numbers y
        (n_samples,), are standardised inside.  Rows ``validation=(X, y)`` choose k,
        alpha, the iteration and lambda; by default a ``validation_fraction`` of the
        rows does.  Invalid ones raise a
        :class:`~kerhrm.KerhrmError`, a ``ValueError`` that names the column or
        parameter.

        One or several columns ``auxiliary`` (n_samples, ...) that are no features, such
        as a time or a place, make environments functions of them: these can be tested
        for any target, and are known of new rows without their targets.

        Rows count in proportion to ``sample_weight`` (n_samples,), 0 or more, wherever
        a mean over rows is taken; in the pre-test all rows with a weight count alike.
        """
        for name, other in {
            "validation": validation,
            "sample_weight": sample_weight,
        }.items():
            if auxiliary is not None and other is not None:
                raise KerhrmError(
                    f"auxiliary and {name} cannot be given together", "leave one out"
                )
        pretest = self.pretest
        if isinstance(pretest, bool | np.bool_):
            pretest = HeterogeneityOptions() if pretest else None
        K = 2 if self.n_environments is None else self.n_environments
        options = options_of(self, EstimatorOptions, pretest=pretest, n_environments=K)
        with all_or_nothing(self), computation(self.n_jobs), torch.no_grad():
            self._found = self._columns = None

            def columns(n: int) -> np.ndarray:
                self._columns = AuxiliaryColumns.learn(auxiliary, n, X)
                return self._columns.read(auxiliary, n, X)

            inputs, positions = start(
                self,
                X,
                y,
                validation,
                auxiliary=None if auxiliary is None else columns,
                sample_weight=sample_weight,
            )
            options = _fewer_directions(inputs, options)
            features = reduced_features(
                inputs.network,
                inputs.x,
                max(options.k),
                options.max_exact,
                NystroemOptions(n_landmarks=options.n_landmarks),
                inputs.seed,
            )
            k = sorted({min(one, len(features.s)) for one in options.k})
            options = options.model_copy(update={"k": k})
            problem = Problem.from_features(
                features,
                inputs.x_validation,
                inputs.y,
                inputs.y_validation,
                inputs.task,
                inputs.seed,
                weights=(inputs.weights, inputs.weights_validation),
            )
            self.singular_values_ = problem.s.double().cpu().numpy()
            self.report_ = None
            by_auxiliary, alone = None, None
            if auxiliary is None:
                others = validation is not None
                options, alone = self._look(problem, inputs, options, others=others)
            else:
                by_auxiliary = self._fit_auxiliary(problem, inputs, options)
                self.heterogeneity_ = by_auxiliary.result
            reason = not_detected(self.heterogeneity_) or alone
            if reason is None or self.if_not_detected == "fit":
                learned = self._fit_invariant(
                    problem, inputs, features, options, by_auxiliary
                )
                reason = self._compare(inputs, options, problem, *learned)
            self._reason = reason
            self._keep_memberships(positions, X, y)
            if reason is None:
                if inputs.task == "classification" and auxiliary is None:
                    self._warn_of_price()
                return self
            hint = "if_not_detected='fit' or if_not_better='fit' keeps KerHRM"
            text = f"{reason}; predicting as ERM: {hint}"
            warnings.warn(text, HeterogeneityNotDetectedWarning, stacklevel=2)
            whole, _ = start(
                self,
                X,
                y,
                validation,
                hold_out=False,
                sample_weight=sample_weight,
                seed=self.seed_,
            )
            if self._found is None:
                self.history_ = []
            simple, _ = self._keep_simple(whole)
            direction = erm_direction(problem, options.k)
            self._keep("erm", simple["ERM"], whole, direction, None)
        return self

    def _look(
        self,
        problem: Problem,
        inputs: Inputs,
        options: EstimatorOptions,
        *,
        others: bool,
    ) -> tuple[EstimatorOptions, str | None]:
        """Test for environments, and choose their number if it is not given.

        Validation rows that are ``others`` than those of the table are not tested.
        Returns the options with that number, and why ERM predicts, if one environment
        is best.
        """
        how = options.pretest if inputs.task == "regression" else None
        self.heterogeneity_ = _tested(inputs, how, all_rows=not others) if how else None
        if self.n_environments is not None or not_detected(self.heterogeneity_):
            return options, None
        most = min(MAX_ENVIRONMENTS, len(inputs.x) // 2)
        K = choose_n_environments(problem, options, most)
        options = options.model_copy(update={"n_environments": max(K, 2)})
        if K > 1:
            return options, None
        return options, "one environment explains validation rows best"

    def _warn_of_price(self) -> None:
        """Say what the assumption costs if all rows are of one environment."""
        if (costs := price(self.report_)) is not None:
            text = f"KerHRM's share of wrong labels is {costs}"
            hint = "if environments are no concern, margin=1 predicts as ERM"
            warnings.warn(f"{text}: {hint}", PriceWarning, stacklevel=3)

    def _fit_invariant(
        self,
        problem: Problem,
        inputs: Inputs,
        features: Any,
        options: EstimatorOptions,
        by_auxiliary: AuxiliaryFit | None,
    ) -> tuple[Environments, Direction]:
        """Algorithm 1, whatever the test has said.

        Environments are those of its own mixture, or functions of auxiliary columns.
        Returns the final direction, and the environments that it is invariant over.
        """
        points = inputs.x, inputs.x_validation
        result = None if by_auxiliary is None else by_auxiliary.iteration
        try:
            result = result or fit(problem, options, points)
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            text = "the clustering's equations are singular"
            raise KerhrmError(text, "raise clustering_ridge or noise_sd") from error
        final, weight = result.final, None
        one = result.environments[final.iteration - 1].candidate(final.k)
        directions = final.theta[:, None]
        of_features = self.first_kernel == "features" or final.iteration > 1
        if of_features:
            directions = torch.cat([directions, one.slopes.mT], dim=1)
        with torch.enable_grad():
            linear = features.linearise(directions)
            predictor: Any = linear.first()
            if self.predictor == "network":
                trained = train_network(
                    inputs.network,
                    *points,
                    problem,
                    final,
                    result.environments,
                    options,
                )
                predictor, weight = (
                    trained.network.to(torch.float64),
                    trained.cosine_weight,
                )
        self._found = FoundEnvironments.keep(
            one,
            self._units,
            linear,
            # what reads new rows; the iteration holds all rows' memberships
            by_auxiliary and replace(by_auxiliary, iteration=None),
            of_features=of_features,
            of_residuals=self.clustering_target == "residual",
        )
        self._keep(self.predictor, predictor, inputs, final, weight)
        self.history_ = result.history(problem)
        for row in self.history_ if self.verbose else ():
            text = "iteration {iteration}: k={k}, alpha={alpha:g}, score {score:.4f}"
            print(text.format(**row))
        if bool(one.degenerate):
            text = (
                "every initialisation repeats the label or leaves one environment empty"
            )
            text += "; try another k or a larger n_init"
            warnings.warn(text, HeterogeneityNotDetectedWarning, stacklevel=3)
        return one, final

    def _keep_memberships(self, positions: np.ndarray, X: Any, y: Any) -> None:
        """Keep memberships (n, K) of the rows of the table, which these points stand
        for.

        Those of rows of weight 0 are those of new rows.
        """
        found = self._found
        points = np.ones((positions.max() + 1, 1)) if found is None else found.of_fit()
        table = points[positions]
        others = positions < 0
        if others.any():
            table[others] = self.predict_environment_proba(X, y)[others]
        self.environment_proba_ = table
        self.environments_ = table.argmax(1)

    def _fit_auxiliary(
        self, problem: Problem, inputs: Inputs, options: EstimatorOptions
    ) -> AuxiliaryFit:
        """Test auxiliary columns, and learn over environments that are functions of
        them."""
        values: dict[str, Any] = {
            "k": options.k,
            "n_environments": options.n_environments,
        }
        if options.pretest is None or self.if_not_detected == "fit":
            values["n_permutations"] = None
        z, z_validation = (part.cpu().numpy() for part in inputs.require_auxiliary())
        chosen = AuxiliaryOptions.parse(values)
        return fit_auxiliary(problem, inputs.x, z, z_validation, chosen)

    def _keep(
        self,
        name: str,
        predictor: Any,
        inputs: Inputs,
        final: Direction,
        weight: float | None,
    ) -> None:
        """Attributes of the final direction, and what predicts."""
        self.predictor_ = name
        self.theta_ = final.theta.cpu().numpy()
        self.selected_ = {
            "k": final.k,
            "alpha": final.alpha,
            "iteration": final.iteration,
            "cosine_weight": weight,
            "score": final.score,
        }
        finish(self, predictor, inputs.x)


def _fewer_directions(inputs: Inputs, options: EstimatorOptions) -> EstimatorOptions:
    """Options whose k is small enough for the training points.

    Raises KerhrmError if there are too few points for the environments.
    """
    n, n_environments = len(inputs.x), options.n_environments
    draws = n if inputs.units is None else int(inputs.units.sum())
    if draws < 2 * n_environments:
        problem = f"n_samples: {n} training rows are too few for n_environments"
        hint = "lower it, or give more rows"
        raise KerhrmError(f"{problem}={n_environments}", hint)
    most = max(1, n // n_environments)
    return options.model_copy(update={"k": [min(one, most) for one in options.k]})


def _tested(
    inputs: Inputs, options: HeterogeneityOptions, *, all_rows: bool
) -> HeterogeneityResult:
    """The pre-test on the training rows and, of ``all_rows``, the validation rows."""
    x, y = inputs.x, inputs.y
    if all_rows:
        x = torch.cat([x, inputs.x_validation])
        y = torch.cat([y, inputs.y_validation])
    return test_table(x.double().cpu().numpy(), y.double().cpu().numpy(), options)
