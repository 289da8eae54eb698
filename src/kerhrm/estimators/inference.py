"""The methods that infer environments, or rows that count more, as estimators.

Parameters are those of :mod:`kerhrm.estimators.baselines`.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch

from kerhrm.estimators.baselines import Baseline
from kerhrm.methods.inputs import Fitted
from kerhrm.methods.options import PointLoss
from kerhrm.networks.base import Network
from kerhrm.options import Task


@dataclass(kw_only=True, eq=False, repr=False)
class EIIL(Baseline):
    """Environment inference for invariant learning (Creager et al. 2021).

    Environments are inferred from the errors of a reference network, and IRMv1 trains
    on them; ``environments_`` has those of the rows.

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
    evaluate_every : int, optional
        Steps between looks at the held-out rows: the weights with the best mean score
        in the worst inferred environment are kept. None: those of the last step.
    reference_steps : int
        Steps of the reference network.
    inference_steps, inference_rate : int, float
        Of Adam on the soft assignment.
    task, network, validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    environments_ : ndarray of shape (n_samples,)
        Likelier inferred environment of every row; by the logistic loss 1 are those
        that the reference network gets wrong.
    classes_, seed_, n_features_in_, feature_names_in_
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import EIIL
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> EIIL(random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "eiil"

    loss: PointLoss = "squared"
    penalty_weight: float = 1e4
    anneal: int = 50
    steps: int = 200
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    evaluate_every: int | None = 25
    reference_steps: int = 50
    inference_steps: int = 1000
    inference_rate: float = 1e-2
    task: Task = "classification"
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False, repr=False)
class JTT(Baseline):
    """Just Train Twice (Liu et al. 2021), a classifier.

    Rows that a first network gets wrong count more in the training of a second one;
    ``environments_`` is 1 for them and 0 for the others.

    Parameters
    ----------
    identification_steps : int
        Of the first network, by ERM.
    upweight : float
        How often a row of the error set counts.
    loss : {"squared", "logistic"}
        Of a point.
    steps, learning_rate : int, float
        Of Adam, on all points; the rate is that of both networks.
    evaluate_every : int, optional
        Steps between looks at the held-out rows: the weights with the best mean score
        in the worst group, right or wrong, are kept. None: those of the last step.
    network, validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    task : "classification"
        The only one.
    environments_ : ndarray of shape (n_samples,)
        1 for rows that the first network gets wrong, and 0 for the others.
    classes_, seed_, n_features_in_, feature_names_in_
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import JTT
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> JTT(random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "jtt"
    task = "classification"

    identification_steps: int = 50
    upweight: float = 5.0
    loss: PointLoss = "logistic"
    steps: int = 200
    learning_rate: float = 1e-3
    evaluate_every: int | None = 25
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False, repr=False)
class HRM(Baseline):
    """Heterogeneous risk minimisation (Liu et al. 2021), of linear models.

    Gates select columns; ``environments_`` has the inferred environments of the rows.
    There is no intercept: where one class is rarer than the other, balance the classes
    first.

    Parameters
    ----------
    n_environments : int
        K, of the clustering.
    n_iterations : int
        Turns of clustering and selection.
    cluster_steps, cluster_rounds, cluster_rate, cluster_l1 : int, int, float, float
        Of Adam for the clusters' linear models: steps, reassignments among them,
        learning rate, and a gate-weighted L1.
    gate_steps, gate_rate, gate_noise : int, float, float
        Of Adam for the gates and the invariant model: steps, learning rate, noise of
        the gates.
    gate_cost, gate_goal : float, {"few", "all"}
        Cost of open gates, or of the square of closed ones.
    penalty_weight, growth : float
        Alpha, of the gradients' variance, and a factor of both weights per iteration.
    threshold : float
        Gate probability above which a column is selected.
    task : optional
        As in :class:`~kerhrm.ERM`.
    validation_fraction : float
        Not used: all rows train.
    random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    network : tuple
        Empty: the model is linear.
    environments_ : ndarray of shape (n_samples,)
        Inferred environment of every row.
    classes_, seed_, n_features_in_, feature_names_in_
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import HRM
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> model = HRM(gate_steps=500, cluster_steps=50, n_iterations=1, random_state=0)
    >>> model = model.fit(X, y)
    >>> model.predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "hrm"
    _holds_out = False  # nothing is chosen by held-out rows
    network = ()

    n_environments: int = 3
    n_iterations: int = 5
    cluster_steps: int = 3000
    cluster_rounds: int = 10
    cluster_rate: float = 1e-3
    cluster_l1: float = 0.01
    gate_steps: int = 6000
    gate_rate: float = 1e-3
    gate_noise: float = 0.1
    gate_cost: float = 0.1
    gate_goal: Literal["few", "all"] = "few"
    penalty_weight: float = 1000.0
    growth: float = 1.05
    threshold: float = 0.2
    task: Task = "classification"
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    def _network_of(self, fitted: Fitted, network: Network) -> Network:
        """Linear model as a network without hidden layers."""
        model = fitted.networks["model"]
        first = network.weights["weight_0"]
        points = torch.eye(self.n_features_in_).to(first)
        slopes = model(points)[None].double()
        no_bias = torch.zeros_like(slopes[:, 0])
        weights = {"weight_0": slopes, "bias_0": no_bias}
        return network.with_weights(weights)
