"""The methods without environments that KerHRM is compared with, as estimators, and
their base.

Parameters are the fields of the method's options, with the same defaults.  Inputs are
standardised, and so is the target of a regression.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from sklearn.exceptions import ConvergenceWarning

from kerhrm.algorithm.invariance import point_scores
from kerhrm.errors import KerhrmError, shown, warn
from kerhrm.estimators._base import (
    BLOCK,
    TableEstimator,
    all_or_nothing,
    computation,
    finish,
    threads_for,
)
from kerhrm.estimators._parameters import options_of
from kerhrm.estimators._start import GivenRows, learn_units, points_of, read_rows
from kerhrm.memory import keeping
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.options import PointLoss, loss_of
from kerhrm.methods.registry import METHODS
from kerhrm.networks.base import Network
from kerhrm.options import Task
from kerhrm.progress import shown_if

#: times a constant's error on the training rows, from which a network is untrained
WORSE = 1.05


class Baseline(TableEstimator):
    """Base of the baselines; ``_method`` is the key of one in the registry."""

    _method: str
    _holds_out = True  #: whether some rows validate
    _weighs = False  #: whether rows may have weights
    _all_rows_alike = False  #: whether the error on all rows is what is trained
    _loss: PointLoss = "squared"  #: of a method that has no such option
    task: Task
    verbose: int

    @property
    def _task(self) -> Task:  # type: ignore[override]
        return self.task

    def fit(self, X: Any, y: Any = None, *, validation: Any = None) -> Self:
        """Train on a table.

        Rows (X, y) for ``validation`` are held out in place of a share.
        """
        return self._fit(GivenRows(X, y, validation))

    def _fit(self, given: GivenRows) -> Self:
        if self.task not in ("classification", "regression"):
            problem = (
                f"task must be 'classification' or 'regression'; got {shown(self.task)}"
            )
            raise KerhrmError(problem, "pass task='regression' for a numeric target")
        method = METHODS[self._method]
        options: Any = options_of(self, method.options)
        method.check(options, self.task)
        with all_or_nothing(self), computation(self.n_jobs), shown_if(self.verbose):
            rows = read_rows(self, given)
            with (
                threads_for(self.n_jobs, rows.x.shape),
                keeping(rows.x.nbytes),
            ):
                points = learn_units(
                    self, rows, hold_out=self._holds_out, weighs=self._weighs
                )
                inputs, positions = points_of(self, rows, points)
                fitted = method.train(inputs, options)
                network = self._network_of(fitted, inputs.network)
                self._keep_chosen(fitted.chosen)
                finish(self, network, inputs.x)
                linear = isinstance(self.network, tuple | list) and not self.network
                if self._all_rows_alike or (linear and hasattr(self, "steps")):
                    self._warn_if_untrained(network, inputs)
        if fitted.environments is not None:
            likeliest = fitted.environments.argmax(1)
            numbers = likeliest.cpu().numpy()
            self.environments_ = numbers[positions]
        named = getattr(options, "loss", self._loss)
        loss = loss_of(named, self.task)
        self._logistic = loss == "logistic"
        return self

    @torch.no_grad()
    def _warn_if_untrained(self, network: Network, inputs: Inputs) -> None:
        """Warn if a constant does better on the training rows."""
        blocks = inputs.x.split(BLOCK)
        f = torch.cat([self._evaluate(network, block) for block in blocks])
        if not bool(f.isfinite().all()):
            return  # a warning has said so
        y = inputs.y.double()
        scores = point_scores(f, y, self.task)
        if self.task == "classification":
            error = (1 - scores).mean()
            n_high = (y > 0).double().mean()
            of_constant = torch.minimum(n_high, 1 - n_high)
            what = "share of wrong labels"
        else:
            error = -scores.mean()
            of_constant = y.var(correction=0)
            what = "mean squared error, standardised,"
        if float(error) > WORSE * float(of_constant):
            numbers = f"{float(error):.3g} against {float(of_constant):.3g}"
            text = f"a constant does better on the training rows: {what} {numbers}; "
            text += f"raise steps={self.steps} or learning_rate"
            if self.network == ():
                text += ": network=() wants about 0.1"
            warn(text, ConvergenceWarning)

    def _keep_chosen(self, chosen: Mapping[str, float]) -> None:
        """Set attributes to what the method's own rule has chosen."""

    def _network_of(self, fitted: Fitted, network: Network) -> Network:
        """Trained network, in float64."""
        trained: Any = fitted.networks["model"]
        return trained.to(torch.float64)


@dataclass(kw_only=True, eq=False, repr=False)
class ERM(Baseline):
    """Empirical risk minimisation: a network trained on all rows alike.

    The weights with the best score on the held-out rows are kept.

    Parameters
    ----------
    steps, learning_rate : int, float
        Of Adam, on all points.
    evaluate_every : int, optional
        Steps between two scores. None: the weights of the last step.
    task : {"classification", "regression"}
        Of two labels of any kind, or of numbers.
    network, validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.KerHRMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted; of a classification alone.
    seed_ : int
        Seed of the fit: as ``random_state`` it gives the same model again.
    n_features_in_ : int
        Columns of the fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Of a table with column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kerhrm import ERM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ERM(network=(64,), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _method = "erm"
    _all_rows_alike = True

    steps: int = 200
    learning_rate: float = 1e-3
    evaluate_every: int | None = 25
    task: Task = "classification"
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False, repr=False)
class TangentRidge(Baseline):
    """ERM in closed form.

    Ridge regression on tangent features, its penalty by leave-one-out.

    What :class:`~kerhrm.KerHRMRegressor` and :class:`~kerhrm.KerHRMClassifier` fall
    back to.  The inputs alone are tried, too, so that it is hardly ever worse than
    least squares.

    Parameters
    ----------
    n_landmarks : int
        Rows whose tangent features span the others'.
    task, network, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    validation_fraction : float
        Not used: all rows train.
    classes_, seed_, n_features_in_, feature_names_in_
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kerhrm import TangentRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> TangentRidge(task="regression", random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    _method = "ridge"
    _holds_out = False
    _weighs = True
    validation_fraction = 0.2

    n_landmarks: int = 300
    task: Task = "classification"
    network: Any = (1024,)
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        validation: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit to a table whose rows may have weights.

        Rows for ``validation`` change nothing.
        """
        return self._fit(GivenRows(X, y, validation, sample_weight))


@dataclass(kw_only=True, eq=False, repr=False)
class ChiSquareDRO(Baseline):
    """Distributionally robust optimisation (Duchi & Namkoong 2021).

    What counts is the worst reweighting of the rows in a chi-square ball around equal
    weights.

    Parameters
    ----------
    rho : float
        Radius of the ball.
    steps, learning_rate : int, float
        Of Adam, on all points.
    evaluate_every : int, optional
        Steps between looks at the held-out rows, of which the best weights are kept.
        None: those of the last step.
    task, network, validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    classes_, seed_, n_features_in_, feature_names_in_
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import ChiSquareDRO
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> ChiSquareDRO(random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "dro"

    rho: float = 0.5
    steps: int = 200
    learning_rate: float = 1e-3
    evaluate_every: int | None = 25
    task: Task = "classification"
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0
