"""The methods that are given the rows' environments, as estimators.

Parameters are those of :mod:`kerhrm.estimators.baselines`.
"""

from dataclasses import dataclass
from typing import Any, Self

from kerhrm.estimators._start import GivenRows
from kerhrm.estimators.baselines import Baseline
from kerhrm.methods.options import PointLoss
from kerhrm.options import Task


class _Labelled(Baseline):
    """Base of the methods that are given the rows' environments."""

    _labelled = True

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        environments: Any = None,
        validation: Any = None,
    ) -> Self:
        """Train on a table with labels of environments, one for each row.

        Rows for ``validation`` have none: the mean score over all of them chooses the
        weights that are kept.
        """
        return self._fit(GivenRows(X, y, validation, environments=environments))


@dataclass(kw_only=True, eq=False, repr=False)
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
    evaluate_every : int, optional
        Steps between looks at the held-out rows: the weights with the best mean score
        in the worst environment are kept. None: those of the last step.
    task, network, validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    classes_, seed_, n_features_in_, feature_names_in_
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

    loss: PointLoss | None = None
    penalty_weight: float = 1e4
    anneal: int = 50
    steps: int = 200
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    evaluate_every: int | None = 25
    task: Task = "classification"
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False, repr=False)
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
    evaluate_every : int, optional
        Steps between looks at the held-out rows: the weights with the best mean score
        in the worst environment are kept. None: those of the last step.
    task, network, validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    classes_, seed_, n_features_in_, feature_names_in_
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

    loss: PointLoss | None = None
    eta: float = 0.1
    steps: int = 200
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    evaluate_every: int | None = 25
    task: Task = "classification"
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0
