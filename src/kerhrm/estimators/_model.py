"""KerHRM on a table.

The library's steps in a row, and the attributes of the estimators.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch

from kerhrm.algorithm.igd import TrainedNetwork, train_network
from kerhrm.algorithm.invariance import erm_direction
from kerhrm.algorithm.loop import Fit
from kerhrm.algorithm.records import Direction, Environments
from kerhrm.errors import HeterogeneityNotDetectedWarning, PriceWarning, warn
from kerhrm.estimators._auxiliary import auxiliary_options, refuse_unused
from kerhrm.estimators._base import (
    all_or_nothing,
    computation,
    fingerprint,
    finish,
    threads_for,
)
from kerhrm.estimators._fitted import FittedInvariant
from kerhrm.estimators._guard import ASKED_FOR, not_detected, price
from kerhrm.estimators._parameters import FitOptions, fit_options
from kerhrm.estimators._start import (
    GivenRows,
    ReadRows,
    learn_units,
    points_of,
    read_rows,
)
from kerhrm.estimators._steps import (
    InferredEnvironments,
    Prepared,
    iterated,
    prepare,
    tested,
    with_number,
)
from kerhrm.memory import keeping
from kerhrm.methods.auxiliary import AuxiliaryFit, fit_auxiliary
from kerhrm.networks.base import Network
from kerhrm.progress import shown_if
from kerhrm.tables.auxiliary_column import CATEGORIES
from kerhrm.tables.unusual import check_training_column

#: parameters that a fit to other rows takes as they are then
OF_MACHINE = frozenset({"random_state", "device", "n_jobs"})


class InvariantEstimator(FittedInvariant):
    """Base of :class:`kerhrm.KerHRMClassifier` and :class:`kerhrm.KerHRMRegressor`."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        auxiliary: Any = None,
        validation: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Infer environments, and learn a model that is invariant over them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or DataLoader
            Numbers, standardised inside.  A loader of batches (x, y) is read once, and
            has to keep the order of its rows.
        y : array-like of shape (n_samples,)
            Two labels of any kind, or numbers, standardised inside; of a loader its
            own.
        auxiliary : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Columns that are no features, such as a time or a place.  Environments are
            then functions of them: these can be tested for any target, and are known
            of new rows without their targets.  There is one iteration.  Of ``pretest``
            the level and the number of permutations count.  Options of the clustering
            and of the penalty are refused, a ``margin`` but 1, and ``stop_by`` without
            a network; ``n_environments=None`` is 2.
        validation : pair of array-like, optional
            Rows (X, y) that choose k, alpha, the iteration and lambda, in place of a
            ``validation_fraction`` of the rows.
        sample_weight : array-like of shape (n_samples,), optional
            Rows count in proportion to it, 0 or more, wherever a mean over rows is
            taken; in the pre-test all rows with a weight count alike.  Whole numbers
            are numbers of draws: a weight of two is a row twice.  Where one is not
            whole their unit does not matter: their mean is one draw.

        Returns
        -------
        Self
            The estimator.

        Raises
        ------
        KerhrmError
            A ``ValueError`` in one line that names the column, parameter or option.
        """
        given = GivenRows(X, y, validation, sample_weight, auxiliary)
        options = fit_options(self)
        if auxiliary is not None:
            refuse_unused(options)
        with (
            all_or_nothing(self),
            computation(self.n_jobs),
            torch.no_grad(),
            shown_if(self.verbose),
        ):
            rows = self._read(given)
            with (
                threads_for(self.n_jobs, rows.x.shape),
                keeping(rows.x.nbytes),
            ):
                prepared = self._prepare(given, rows, options)
                prepared, reason = self._pretest(prepared)
                singular_values = prepared.problem.s.double().cpu()
                self.singular_values_ = singular_values.numpy()
                learned = None
                if reason is None or self.if_not_detected == "fit":
                    learned = self._loop(prepared)
                reason = self._decide(prepared, learned, reason)
                if reason is not None:
                    self._predict_as_erm(prepared, reason)
            of_rows = rows.x, rows.target, rows.weights, rows.z
            self._fingerprint = fingerprint(self, *of_rows)
            self._given = given
            parameters = self.get_params(deep=False)
            elsewhere = OF_MACHINE & parameters.keys()
            for name in elsewhere:
                del parameters[name]
            self._parameters = parameters
        return self

    def _read(self, given: GivenRows) -> ReadRows:
        """Read the table, and forget what an earlier fit has learned."""
        self._inferred = self._columns = self.report_ = self._all_rows = None
        self._losses = self._slope = None
        return read_rows(self, given)

    def _prepare(
        self, given: GivenRows, rows: ReadRows, options: FitOptions
    ) -> Prepared:
        """Learn units, draw the network's start, and reduce its features."""
        points = learn_units(self, rows)
        inputs, positions = points_of(self, rows, points)
        return prepare(given, rows, inputs, positions, options)

    def _pretest(self, prepared: Prepared) -> tuple[Prepared, str | None]:
        """Test for environments, and choose their number if it is not given.

        Returns why ERM predicts, too, if the test detects none or one is best.  Where
        KerHRM is fitted all the same the number is chosen all the same.
        """
        if prepared.rows.z is not None:
            by_auxiliary = self._fit_auxiliary(prepared)
            self.heterogeneity_ = by_auxiliary.result
            reason = not_detected(by_auxiliary.result, by_auxiliary=True)
            return replace(prepared, by_auxiliary=by_auxiliary), reason
        self.heterogeneity_ = tested(prepared)
        reason = not_detected(self.heterogeneity_)
        fits = reason is None or self.if_not_detected == "fit"
        if self.n_environments is not None or not fits:
            return prepared, reason
        prepared, single = with_number(prepared)
        return prepared, reason or single

    def _loop(self, prepared: Prepared) -> tuple[Environments, Direction]:
        """Learn environments and directions in turn, whatever the test has said.

        Returns the final direction, and the environments that it is invariant over.
        """
        iterations = iterated(prepared)
        final = iterations.final
        of_iteration = iterations.environments[final.iteration - 1]
        environments = of_iteration.candidate(final.k)
        predictor, trained = self._learned(prepared, iterations, environments)
        weight = None if trained is None else trained.cosine_weight
        self._keep(self.predictor, final, weight)
        diverged = trained is not None and trained.diverged
        finish(self, predictor, prepared.inputs.x, diverged=diverged)
        self.history_ = iterations.history(prepared.problem)
        text = "iteration {iteration}: k={k}, alpha={alpha:g}, score {score:.4f}"
        if prepared.by_auxiliary is not None:
            text += " (minus the extrapolated risk)"
        for row in self.history_ if self.verbose else ():
            print(text.format(**row))
        if bool(environments.degenerate):
            text = "every initialisation repeats the label or leaves one environment"
            text += " empty; try another k or a larger n_init"
            warn(text, HeterogeneityNotDetectedWarning)
        return environments, final

    def _decide(
        self,
        prepared: Prepared,
        learned: tuple[Environments, Direction] | None,
        reason: str | None,
    ) -> str | None:
        """Decide what predicts: KerHRM, or ERM for the reason that is returned."""
        if learned is not None:
            reason = self._compare(prepared, *learned)
        self._reason = reason
        self._keep_memberships(prepared)
        untested = self._task == "classification" and self._columns is None
        if reason is None and untested:
            self._warn_of_price()
        if reason is None and self._calibrates(prepared):
            inputs = prepared.inputs
            points = inputs.x_validation.cpu()
            outputs = self._evaluate(self._predictor, points).numpy()
            self._calibrate(outputs, inputs.y_validation, inputs.weights_validation)
        return reason

    def _calibrates(self, prepared: Prepared) -> bool:
        """Whether probabilities are calibrated."""
        labels = self._task == "classification"
        return labels and prepared.options.calibration == "sigmoid"

    def _predict_as_erm(self, prepared: Prepared, reason: str) -> None:
        """Predict as ERM in closed form, of all rows and in their units."""
        if reason != ASKED_FOR:
            parameter = "if_not_detected" if self._inferred is None else "if_not_better"
            text = f"{reason}; predicting as ERM: {parameter}='fit' keeps KerHRM"
            warn(text, HeterogeneityNotDetectedWarning)
        rows = prepared.rows.without_auxiliary()
        points = learn_units(self, rows, hold_out=False)
        inputs, _ = points_of(self, rows, points)
        if self._inferred is None:
            self.history_ = []
        models, columns = self._keep_simple(inputs)
        direction = erm_direction(prepared.problem, prepared.options.k)
        self._keep("erm", direction, None)
        erm = models["ERM"]
        finish(self, erm, inputs.x)
        if self._calibrates(prepared):
            labels = inputs.y.double()
            y = labels.cpu().numpy()
            left_out = columns.left_out(erm, y)
            self._calibrate(left_out, inputs.y, inputs.weights)

    def _learned(
        self, prepared: Prepared, iterations: Fit, environments: Environments
    ) -> tuple[Any, TrainedNetwork[Network] | None]:
        """What predicts, and its training if it is a network; keeps what reads new
        rows."""
        options, final = prepared.options, iterations.final
        of_features = options.first_kernel == "features" or final.iteration > 1
        directions = final.theta[:, None]
        if of_features:
            directions = torch.cat([directions, environments.slopes.mT], dim=1)
        predictor: Any
        with torch.enable_grad():
            linear = prepared.features.linearise(directions)
            predictor, trained = linear.first(), None
            if self.predictor == "network":
                trained = train_network(
                    prepared.inputs.network,
                    prepared.inputs.x,
                    prepared.inputs.x_validation,
                    prepared.problem,
                    final,
                    iterations.environments,
                    options,
                )
                predictor = trained.network.to(torch.float64)
        by_auxiliary = prepared.by_auxiliary
        self._inferred = InferredEnvironments.keep(
            environments,
            self._units,
            linear,
            # what reads new rows; the iteration holds all rows' memberships
            by_auxiliary and replace(by_auxiliary, iteration=None),
            inputs=prepared.inputs,
            of_features=of_features,
            of_residuals=options.clustering_target == "residual",
        )
        return predictor, trained

    def _fit_auxiliary(self, prepared: Prepared) -> AuxiliaryFit:
        """Test auxiliary columns, and learn over environments that are functions of
        them."""
        assert self._columns is not None
        columns = self._columns.columns
        kinds = [column.kind for column in columns]
        inputs = prepared.inputs
        z, z_validation = (part.cpu().numpy() for part in inputs.require_auxiliary())
        if len(columns) == 1:
            check_training_column(z, columns[0].name)
        return fit_auxiliary(
            prepared.problem,
            inputs.x,
            z,
            z_validation,
            auxiliary_options(prepared.options),
            categories=[kind == CATEGORIES for kind in kinds],
            anyway=self.if_not_detected == "fit",
        )

    def _warn_of_price(self) -> None:
        """Warn what the assumption costs if all rows are of one environment."""
        if (costs := price(self._all_rows)) is not None:
            text = f"KerHRM's share of wrong labels is {costs}"
            hint = "if environments are no concern, options={'margin': 1} predicts as"
            warn(f"{text}: {hint} ERM", PriceWarning)

    def _keep_memberships(self, prepared: Prepared) -> None:
        """Keep memberships (n_samples, K) of the given rows.

        Those of rows of weight 0 are those of new rows.
        """
        inferred = self._inferred
        positions = prepared.positions
        n_points = positions.max() + 1
        points = np.ones((n_points, 1))
        if inferred is not None:
            points = inferred.of_fit()
        table = points[positions]
        unused = positions < 0
        if unused.any():
            given = prepared.given
            of_given = self.predict_environment_proba(given.X, given.y)
            table[unused] = of_given[unused]
        self.environment_proba_ = table
        self.environments_ = table.argmax(1)
        self._shares = np.average(table, axis=0, weights=prepared.rows.weights)

    def _keep(self, name: str, final: Direction, weight: float | None) -> None:
        """Keep attributes of the final direction, and the name of what predicts."""
        self.predictor_ = name
        self.theta_ = final.theta.cpu().numpy()
        self.selected_ = {
            "k": final.k,
            "alpha": final.alpha,
            "iteration": final.iteration,
            "cosine_weight": weight,
            "score": final.score,
        }
