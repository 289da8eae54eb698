"""The methods that are given environments, or infer them, as estimators.

Parameters are those of :mod:`kerhrm.estimators.baselines`.
"""

import functools
import warnings
from typing import Any, Literal, Self

import torch
from torch import Tensor

from kerhrm.errors import DataWarning
from kerhrm.estimators.baselines import Baseline
from kerhrm.methods.inputs import Fitted
from kerhrm.methods.options import PointLoss
from kerhrm.networks.base import Network
from kerhrm.options import Task
from kerhrm.tables.labels import read_labels


class _Labelled(Baseline):
    """Base of the methods that are given the rows' environments."""

    def fit(
        self, X: Any, y: Any, *, environments: Any = None, validation: Any = None
    ) -> Self:
        """Train on a table with labels of environments, one for each row."""
        labels = functools.partial(environment_labels, environments, table=X)
        return self._fit(X, y, validation, labels)


class IRM(_Labelled):
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
    task, network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import IRM
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> model = IRM(random_state=0).fit(X, y, environments=["a", "b"] * 20)
    >>> model.predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
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
        self._keep_parameters(locals())


class GroupDRO(_Labelled):
    """Distributionally robust optimisation over environments (Sagawa et al. 2020).

    Environments of the rows are given to ``fit``; the one with the largest loss counts
    most.

    Parameters
    ----------
    loss : {"squared", "logistic"}, optional
        Of a point; logistic in classification alone. By default logistic, in a
        regression squared.
    eta : float
        Step size of the environments' weights; 0 weighs them equally.
    steps, learning_rate, weight_decay : int, float, float
        Of Adam, on all points; the decay is part of the objective.
    task, network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import GroupDRO
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> model = GroupDRO(random_state=0).fit(X, y, environments=["a", "b"] * 20)
    >>> model.predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "group_dro"

    def __init__(
        self,
        *,
        loss: PointLoss | None = None,
        eta: float = 0.1,
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
        self._keep_parameters(locals())


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
    reference_steps : int
        Steps of the reference network.
    inference_steps, inference_rate : int, float
        Of Adam on the soft assignment.
    task, network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import EIIL
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> EIIL(random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
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
        self._keep_parameters(locals())


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
    network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import JTT
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> JTT(random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "jtt"
    task: Task = "classification"

    def __init__(
        self,
        *,
        identification_steps: int = 50,
        upweight: float = 5.0,
        loss: PointLoss = "logistic",
        steps: int = 200,
        learning_rate: float = 1e-3,
        network: Any = (1024,),
        validation_fraction: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self._keep_parameters(locals())


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
    task, validation_fraction, random_state, device, n_jobs : optional
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
    network = ()

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
        self._keep_parameters(locals())

    def _network_of(self, fitted: Fitted, network: Network) -> Network:
        """Linear model as a network without hidden layers."""
        points = torch.eye(self.n_features_in_).to(network.weights["weight_0"])
        slopes = fitted.networks["model"](points)[None].double()
        return network.with_weights(
            {"weight_0": slopes, "bias_0": torch.zeros_like(slopes[:, 0])}
        )


def environment_labels(environments: Any, n: int, table: Any = None) -> Tensor:
    """Labels 0, 1, ... (n,) of the environments of a table's n rows, from any labels.

    All 0 without.  Warns of labels that separate nothing: of one environment, or of as
    many as there are rows.

    Raises KerhrmError unless there is one for each row, in the table's order, and no
    two have the same name.
    """
    if environments is None:
        text = "no environments given: all rows count as one; pass environments= to fit"
        warnings.warn(text, DataWarning, stacklevel=5)
        return torch.zeros(n, dtype=torch.int64)
    labels = read_labels(environments, n, "environments", table)
    if len(labels.names) == 1:
        text = f"environments are all {labels.names[0][:40]!r}: one environment"
        text += " separates nothing; give labels of two or more"
        warnings.warn(text, DataWarning, stacklevel=5)
    elif len(labels.names) == n:
        text = "environments have one row each, which shows no relation within them;"
        text += " give labels that several rows share"
        warnings.warn(text, DataWarning, stacklevel=5)
    return torch.from_numpy(labels.codes)
