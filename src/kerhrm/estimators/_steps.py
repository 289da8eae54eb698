"""Steps of a fit on a table: made ready, tested, iterated by Algorithm 1, and what is
kept of the environments that it infers."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.environments import choose_n_environments
from kerhrm.algorithm.loop import Fit, fit
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments, of_occupied
from kerhrm.errors import KerhrmError, SingularError
from kerhrm.estimators._parameters import FitOptions
from kerhrm.estimators._start import GivenRows, ReadRows
from kerhrm.features.linearised import Linearisation
from kerhrm.features.map import NTFMap, RankError
from kerhrm.features.nystroem import NystroemMap
from kerhrm.features.options import NystroemOptions
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.heterogeneity.test import test_table
from kerhrm.methods.auxiliary import AuxiliaryFit
from kerhrm.methods.inputs import Inputs
from kerhrm.options import as_list
from kerhrm.tables.units import Units

#: ridges with which equations are not singular
WELL_POSED = {"clustering_ridge": 0.01, "ridge": 1e-6}
#: environments that are tried where their number is to be chosen
MAX_ENVIRONMENTS = 5
#: reduced features that are tried at most where no k is given; with 100 a fit takes two
#: to three times as long as with 25
MAX_DEFAULT_K = 100


@dataclass(frozen=True)
class Prepared:
    """Rows ready for Algorithm 1.

    Attributes
    ----------
    given : GivenRows
        Rows as the caller has them.
    rows : ReadRows
        The same as arrays.
    inputs : Inputs
        Standardised training and validation points, and w_0.
    positions : ndarray, (n_samples,), int64
        Point that stands for each given row; -1: none does.
    features : NTFMap or NystroemMap
        Reduced tangent features.
    problem : Problem
        Of these features.
    options : FitOptions
        With no k above the number of features.
    asked : FitOptions
        As they were asked for.
    by_auxiliary : AuxiliaryFit, or None
        Environments as functions of auxiliary columns, once these are tested.
    """

    given: GivenRows
    rows: ReadRows
    inputs: Inputs
    positions: np.ndarray
    features: NTFMap | NystroemMap
    problem: Problem
    options: FitOptions
    asked: FitOptions
    by_auxiliary: AuxiliaryFit | None = None


def prepare(
    given: GivenRows,
    rows: ReadRows,
    inputs: Inputs,
    positions: np.ndarray,
    options: FitOptions,
) -> Prepared:
    """Reduce the features of points that have been read and split."""
    asked = options
    options = _fewer_directions(inputs, asked)
    features = _reduced_features(inputs, options)
    problem = Problem.from_features(
        features,
        inputs.x_validation,
        inputs.y,
        inputs.y_validation,
        inputs.task,
        inputs.seed,
        weights=(inputs.weights, inputs.weights_validation),
    )
    numbers = sorted({min(k, len(features.s)) for k in options.k})
    options = options.model_copy(update={"k": numbers})
    return Prepared(given, rows, inputs, positions, features, problem, options, asked)


def tested(prepared: Prepared) -> HeterogeneityResult | None:
    """The pre-test of a numeric target, on the rows of the table; None: there is none.

    Validation rows count if they are a share of these rows.
    """
    inputs = prepared.inputs
    options = prepared.options.pretest
    if options is None or inputs.task == "classification":
        return None
    x = inputs.x
    y = inputs.y
    if prepared.rows.validation is None:
        x = torch.cat([x, inputs.x_validation])
        y = torch.cat([y, inputs.y_validation])
    distinct = prepared.rows.distinct
    points = prepared.positions[distinct.first]
    table = x.double().cpu().numpy()
    target = y.double().cpu().numpy()
    return test_table(table[points], target[points], options, draws=distinct.units)


def with_number(prepared: Prepared) -> tuple[Prepared, str | None]:
    """Choose the number of environments; and why ERM predicts, if one is best."""
    inputs = prepared.inputs
    most = min(MAX_ENVIRONMENTS, len(inputs.x) // 2)
    points = inputs.x, inputs.x_validation
    number = choose_n_environments(prepared.problem, prepared.options, most, points)
    prepared = _of_number(prepared, max(number, 2))
    single = "one environment explains validation rows best"
    if number > 1:
        return prepared, None
    return prepared, single


def _of_number(prepared: Prepared, number: int) -> Prepared:
    """Rows prepared as if a number of environments had been asked for."""
    update = {"n_environments": number}
    asked = prepared.asked.model_copy(update=update)
    inputs = prepared.inputs
    for_number = _fewer_directions(inputs, asked)
    before = _fewer_directions(inputs, prepared.asked)
    if for_number.k != before.k:
        return prepare(prepared.given, prepared.rows, inputs, prepared.positions, asked)
    options = prepared.options.model_copy(update=update)
    return replace(prepared, options=options, asked=asked)


def iterated(prepared: Prepared) -> Fit:
    """Iterations of Algorithm 1, or the only one over auxiliary columns.

    Raises KerhrmError where rounding makes equations singular.
    """
    by_auxiliary = prepared.by_auxiliary
    inputs = prepared.inputs
    if by_auxiliary is not None and by_auxiliary.iteration is not None:
        return by_auxiliary.iteration
    points = inputs.x, inputs.x_validation
    try:
        return fit(prepared.problem, prepared.options, points)
    except SingularError as error:
        hint = "leave noise_sd out of options, or raise it"
        if error.option != "noise_sd":
            given = as_list(getattr(prepared.options, error.option))
            ridge = max(WELL_POSED[error.option], 10 * max(given))
            hint = f'give options={{"{error.option}": {ridge:g}}}'
        raise KerhrmError(error.problem, hint) from error


@dataclass(frozen=True)
class InferredEnvironments:
    """Environments of the chosen iteration and dimension.

    They are numbered by their size, from 0, the largest one; empty ones have no number.

    Attributes
    ----------
    mixture : Environments
        One candidate.
    by_size : ndarray, (K - number of empty ones,), int64
        Position of each environment among those that are not empty.
    units : Units
        Of the rows that it was fitted to.
    linearisation : Linearisation
        Along theta and then along the environments' slopes, if ``of_features``.
    of_features, of_residuals : bool
        Whether environments are regressions on the features, else on the inputs; of
        residuals y - f_0, else of the target.
    auxiliary : AuxiliaryFit, or None
        Of auxiliary columns, if environments are functions of them.
    """

    mixture: Environments
    by_size: np.ndarray
    units: Units
    linearisation: Linearisation
    of_features: bool
    of_residuals: bool
    auxiliary: AuxiliaryFit | None

    @classmethod
    def keep(
        cls,
        candidate: Environments,
        units: Units,
        linearisation: Linearisation,
        auxiliary: AuxiliaryFit | None,
        *,
        inputs: Inputs,
        of_features: bool,
        of_residuals: bool,
    ) -> Self:
        """Keep a candidate without its leading dimension, on the CPU."""
        arrays = Environments.stack([candidate]).arrays()
        return cls(
            Environments.from_arrays(arrays, "cpu"),
            _by_size(candidate, inputs),
            units,
            linearisation.to("cpu"),
            of_features,
            of_residuals,
            auxiliary,
        )

    def of_fit(self) -> np.ndarray:
        """Memberships (n + m, K) of the training and validation points."""
        chosen = self._chosen
        points = torch.cat([chosen.train, chosen.validation])
        return self._numbered(points)

    @torch.no_grad()
    def of_targets(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Memberships (m, K) of rows x (m, d) by their targets y (m,)."""
        points = self.units.inputs(x)
        target = self.units.target(y).double()
        f0, along = self.linearisation(points)
        means = along[:, 1:]
        if not self.of_features:
            slopes = self._chosen.slopes
            means = points.double() @ slopes.mT
        if self.of_residuals:
            target = target - f0
        k = int(self.mixture.k[0])
        probabilities = self.mixture.probabilities(k, means, target)
        return self._numbered(probabilities)

    def of_auxiliary(self, z: np.ndarray) -> np.ndarray:
        """Memberships (m, K) of rows by their auxiliary columns z (m, c), which the fit
        must have had."""
        assert self.auxiliary is not None
        of_rows = self.auxiliary.environments_of(z)
        return self._numbered(of_rows.cpu())

    def _numbered(self, memberships: Tensor) -> np.ndarray:
        """Memberships (m, K) in the environments that are not empty, the largest one
        first."""
        shares = of_occupied(memberships, self._chosen.occupied)
        return shares[:, self.by_size]

    @property
    def _chosen(self) -> Environments:
        k = int(self.mixture.k[0])
        return self.mixture.candidate(k)


def _by_size(candidate: Environments, inputs: Inputs) -> np.ndarray:
    """Positions of the environments that are not empty, the largest one first."""
    sizes = 0.0
    for memberships, weights in (
        (candidate.train, inputs.weights),
        (candidate.validation, inputs.weights_validation),
    ):
        shares = of_occupied(memberships, candidate.occupied)
        counts = np.ones(len(shares)) if weights is None else weights.cpu().numpy()
        sizes = sizes + counts @ shares
    return np.argsort(-sizes, kind="stable")


def _fewer_directions(inputs: Inputs, options: FitOptions) -> FitOptions:
    """Options whose k, given or by default, is small enough for the training points.

    Raises KerhrmError if there are too few points for the environments.
    """
    n = len(inputs.x)
    n_environments = options.n_environments
    draws = n
    if inputs.units is not None:
        draws = int(inputs.units.sum())
    if draws < 2 * n_environments or n < n_environments:
        problem = f"n_samples: {n} different training rows are too few"
        hint = "give more rows (copies, and those of hardly any weight, do not count)"
        hint += ", or ask for fewer environments"
        raise KerhrmError(f"{problem} for {n_environments} environments", hint)
    most = max(1, n // n_environments)
    numbers = options.k
    if "k" not in options.model_fields_set:
        numbers = _default_k(numbers, inputs.x.shape[1])
    dimensions = [min(k, most) for k in numbers]
    return options.model_copy(update={"k": dimensions})


def _default_k(numbers: list[int], n_columns: int) -> list[int]:
    """Numbers of reduced features, up to one for every column and one for a constant.

    Fewer leave out directions of columns that are not related to each other, whatever
    the target does along these.
    """
    enough = min(n_columns + 1, MAX_DEFAULT_K)
    if enough <= max(numbers):
        return numbers
    return [*numbers, enough]


def _reduced_features(inputs: Inputs, options: FitOptions) -> NTFMap | NystroemMap:
    """Reduce training points to the largest k, or to as many as the features have.

    By way of landmarks where there are more than ``max_exact`` points.
    """
    exact = len(inputs.x) <= options.max_exact
    landmarks = NystroemOptions(n_landmarks=options.n_landmarks)
    k = max(options.k)
    if not exact:
        k = min(k, options.n_landmarks)
    while True:
        try:
            if exact:
                return NTFMap.fit(inputs.network, inputs.x, k)
            return NystroemMap.fit(inputs.network, inputs.x, k, landmarks, inputs.seed)
        except RankError as error:
            if k == 1:
                raise
            # the last directions of that rank may be lost, too, where rounding rules
            # them
            k = max(1, min(error.rank, 4 * k // 5))
