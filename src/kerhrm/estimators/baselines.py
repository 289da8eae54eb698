"""The methods that KerHRM is compared with, as estimators.

Parameters are the fields of the method's options, with the same defaults.  Inputs are standardised,
and so is the target of a regression.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import ClassifierTags, RegressorTags
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.estimators import DataWarning
from kerhrm.estimators._base import (
    TableEstimator,
    all_or_nothing,
    cores,
    finish,
    in_table,
    options_of,
    start,
)
from kerhrm.methods.inputs import Fitted
from kerhrm.methods.irm import PointLoss
from kerhrm.methods.registry import METHODS
from kerhrm.networks.base import Network
from kerhrm.options import Task


class _Baseline(TableEstimator):
    """Base of the baselines; ``_method`` is the key of one in the registry."""

    _method: str
    _holds_out = True  #: whether some rows validate

    def __init__(
        self,
        task: Task,
        network: Any,
        validation_fraction: float,
        random_state: Any,
        device: str,
        n_jobs: int | None,
    ) -> None:
        self.task = task
        self.network = network
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs

    @property
    def _task(self) -> Task:  # type: ignore[override]
        return self.task

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.task == "classification":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy in classification, R^2 in regression; the higher the better."""
        mixin = ClassifierMixin if self.task == "classification" else RegressorMixin
        return float(mixin.score(self, X, y, sample_weight))

    def fit(self, X: Any, y: Any, *, validation: Any = None) -> Self:
        """Train on a table; rows (X, y) for ``validation`` are held out in place of a share."""
        return self._fit(X, y, validation)

    def _fit(
        self,
        X: Any,
        y: Any,
        validation: Any,
        environments: Callable[[int], Tensor] | None = None,
        sample_weight: Any = None,
    ) -> Self:
        if self.task not in ("classification", "regression"):
            raise KerhrmError(f"task={self.task!r} is not known", "classification or regression")
        method = METHODS[self._method]
        options: Any = options_of(self, method.options)
        method.check(options, self.task)
        with all_or_nothing(self), cores(self.n_jobs):
            hold_out = self._holds_out and validation is None
            given = {"hold_out": hold_out, "sample_weight": sample_weight}
            inputs, rows = start(self, X, y, validation, environments, **given)
            fitted = method.train(inputs, options)
            finish(self, self._network_of(fitted, inputs.network), inputs.x)
        if fitted.environments is not None:
            self.environments_ = in_table(fitted.environments.argmax(1).cpu().numpy(), rows)
        loss = getattr(options, "loss", "squared")  # None: as the task asks for
        self._logistic = self.task == "classification" and loss in ("logistic", None)
        return self

    def _network_of(self, fitted: Fitted, network: Network) -> Network:
        """Trained network, in float64."""
        trained: Any = fitted.networks["model"]
        return trained.to(torch.float64)


class ERM(_Baseline):
    """Empirical risk minimisation: a network trained on all rows alike.

    The weights with the best score on the held-out rows are kept.

    Parameters
    ----------
    steps, learning_rate : int, float
        Of Adam, on all points.
    evaluate_every : int
        Steps between two scores.
    task : {"classification", "regression"}
        Of two labels of any kind, or of numbers.
    network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.KerHRMClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kerhrm import ERM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ERM(network=(64,), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _method = "erm"

    def __init__(
        self,
        *,
        steps: int = 200,
        learning_rate: float = 1e-3,
        evaluate_every: int = 10,
        task: Task = "classification",
        network: Any = (1024,),
        validation_fraction: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(task, network, validation_fraction, random_state, device, n_jobs)
        self.steps = steps
        self.learning_rate = learning_rate
        self.evaluate_every = evaluate_every


class TangentRidge(_Baseline):
    """ERM in closed form: ridge regression on tangent features, its penalty by leave-one-out.

    What :class:`~kerhrm.KerHRMRegressor` and :class:`~kerhrm.KerHRMClassifier` fall back to.  The
    inputs alone are tried, too, so that it is hardly ever worse than least squares.

    Parameters
    ----------
    n_landmarks : int
        Rows whose tangent features span the others'.
    task : {"classification", "regression"}
        Of two labels of any kind, or of numbers.
    network, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.KerHRMClassifier`.

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

    def __init__(
        self,
        *,
        n_landmarks: int = 300,
        task: Task = "classification",
        network: Any = (1024,),
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(task, network, 0.2, random_state, device, n_jobs)
        self.n_landmarks = n_landmarks

    def fit(self, X: Any, y: Any, *, validation: Any = None, sample_weight: Any = None) -> Self:
        """Fit to a table whose rows may have weights; rows for ``validation`` change nothing."""
        return self._fit(X, y, validation, sample_weight=sample_weight)


class ChiSquareDRO(_Baseline):
    """Distributionally robust optimisation (Duchi & Namkoong 2021).

    What counts is the worst reweighting of the rows in a chi-square ball around equal weights.

    Parameters
    ----------
    rho : float
        Radius of the ball.
    steps, learning_rate : int, float
        Of Adam, on all points.
    task : {"classification", "regression"}
        Of two labels of any kind, or of numbers.
    network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.KerHRMClassifier`.
    """

    _method = "dro"

    def __init__(
        self,
        *,
        rho: float = 0.5,
        steps: int = 200,
        learning_rate: float = 1e-3,
        task: Task = "classification",
        network: Any = (1024,),
        validation_fraction: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(task, network, validation_fraction, random_state, device, n_jobs)
        self.rho = rho
        self.steps = steps
        self.learning_rate = learning_rate


class IRM(_Baseline):
    """Invariant risk minimisation, IRMv1 (Arjovsky et al. 2019).

    Environments of the rows are given to ``fit``.

    Parameters
    ----------
    loss : {"squared", "logistic"}, optional
        Of a point; logistic in classification alone. By default logistic, in a
        regression squared.
    penalty_weight : float
        Lambda, of the squared scale-gradients.
    anneal : int
        Steps before the penalty's weight applies.
    steps, learning_rate, weight_decay : int, float, float
        Of Adam, on all points; the decay is part of the objective.
    task : {"classification", "regression"}
        Of two labels of any kind, or of numbers.
    network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.KerHRMClassifier`.
    """

    _method = "irm"

    def __init__(
        self,
        *,
        loss: PointLoss | None = None,
        penalty_weight: float = 1e4,
        anneal: int = 50,
        steps: int = 200,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        task: Task = "classification",
        network: Any = (1024,),
        validation_fraction: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(task, network, validation_fraction, random_state, device, n_jobs)
        self.loss = loss
        self.penalty_weight = penalty_weight
        self.anneal = anneal
        self.steps = steps
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay

    def fit(self, X: Any, y: Any, *, environments: Any = None, validation: Any = None) -> Self:
        """Train on a table with labels of environments, one for each row."""
        labels = functools.partial(environment_labels, environments)
        return self._fit(X, y, validation, labels)


class EIIL(_Baseline):
    """Environment inference for invariant learning (Creager et al. 2021).

    Environments are inferred from the errors of a reference network, and IRMv1 trains on them;
    ``environments_`` has those of the rows.

    Parameters
    ----------
    loss : {"squared", "logistic"}
        Of a point; logistic in classification alone.
    penalty_weight : float
        Lambda, of the squared scale-gradients.
    anneal : int
        Steps before the penalty's weight applies.
    steps, learning_rate, weight_decay : int, float, float
        Of Adam, on all points; the decay is part of the objective.
    reference_steps : int
        Steps of the reference network.
    inference_steps, inference_rate : int, float
        Of Adam on the soft assignment.
    task : {"classification", "regression"}
        Of two labels of any kind, or of numbers.
    network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.KerHRMClassifier`.
    """

    _method = "eiil"

    def __init__(
        self,
        *,
        loss: PointLoss = "squared",
        penalty_weight: float = 1e4,
        anneal: int = 50,
        steps: int = 200,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        reference_steps: int = 50,
        inference_steps: int = 1000,
        inference_rate: float = 1e-2,
        task: Task = "classification",
        network: Any = (1024,),
        validation_fraction: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(task, network, validation_fraction, random_state, device, n_jobs)
        self.loss = loss
        self.penalty_weight = penalty_weight
        self.anneal = anneal
        self.steps = steps
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.reference_steps = reference_steps
        self.inference_steps = inference_steps
        self.inference_rate = inference_rate


class HRM(_Baseline):
    """Heterogeneous risk minimisation (Liu et al. 2021), of linear models.

    Gates select columns; ``environments_`` has the inferred environments of the rows.  There is no
    intercept: where one class is rarer than the other, balance the classes first.

    Parameters
    ----------
    n_environments : int
        K, of the clustering.
    n_iterations : int
        Turns of clustering and selection.
    cluster_steps, cluster_rounds, cluster_rate, cluster_l1 : int, int, float, float
        Of Adam for the clusters' linear models: steps, reassignments among them, learning rate, and
        a gate-weighted L1.
    gate_steps, gate_rate, gate_noise : int, float, float
        Of Adam for the gates and the invariant model: steps, learning rate, noise of the gates.
    gate_cost, gate_goal : float, {"few", "all"}
        Cost of open gates, or of the square of closed ones.
    penalty_weight, growth : float
        Alpha, of the gradients' variance, and a factor of both weights per iteration.
    threshold : float
        Gate probability above which a column is selected.
    task : {"classification", "regression"}
        Of two labels of any kind, or of numbers.
    validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.KerHRMClassifier`.
    """

    _method = "hrm"

    def __init__(
        self,
        *,
        n_environments: int = 3,
        n_iterations: int = 5,
        cluster_steps: int = 3000,
        cluster_rounds: int = 10,
        cluster_rate: float = 1e-3,
        cluster_l1: float = 0.01,
        gate_steps: int = 6000,
        gate_rate: float = 1e-3,
        gate_noise: float = 0.1,
        gate_cost: float = 0.1,
        gate_goal: Literal["few", "all"] = "few",
        penalty_weight: float = 1000.0,
        growth: float = 1.05,
        threshold: float = 0.2,
        task: Task = "classification",
        validation_fraction: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(task, (), validation_fraction, random_state, device, n_jobs)
        self.n_environments = n_environments
        self.n_iterations = n_iterations
        self.cluster_steps = cluster_steps
        self.cluster_rounds = cluster_rounds
        self.cluster_rate = cluster_rate
        self.cluster_l1 = cluster_l1
        self.gate_steps = gate_steps
        self.gate_rate = gate_rate
        self.gate_noise = gate_noise
        self.gate_cost = gate_cost
        self.gate_goal = gate_goal
        self.penalty_weight = penalty_weight
        self.growth = growth
        self.threshold = threshold

    def _network_of(self, fitted: Fitted, network: Network) -> Network:
        """Linear model as a network without hidden layers."""
        points = torch.eye(self.n_features_in_).to(network.weights["weight_0"])
        slopes = fitted.networks["model"](points)[None].double()
        return network.with_weights({"weight_0": slopes, "bias_0": torch.zeros_like(slopes[:, 0])})


def environment_labels(environments: Any, n: int) -> Tensor:
    """Labels 0, 1, ... (n,) of the rows' environments, from labels of any kind; all 0 without.

    Raises
    ------
    KerhrmError
        Unless there is one for each row.
    """
    if environments is None:
        text = "no environments given: all rows count as one; fit(X, y, environments=...)"
        warnings.warn(text, DataWarning, stacklevel=5)
        environments = np.zeros(n)
    labels = np.asarray(environments)
    if labels.shape != (n,):
        problem = f"environments have shape {labels.shape} for {n} rows"
        raise KerhrmError(problem, "give one label for each row")
    if missing := int(pd.isna(labels).sum()):
        hint = "drop these rows, or name their environment"
        raise KerhrmError(f"environments are missing in {missing} rows", hint)
    return torch.from_numpy(np.unique(labels, return_inverse=True)[1])
