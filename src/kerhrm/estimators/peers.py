"""The methods that came after KerHRM and infer groups, as estimators; all classify.

Parameters are those of :mod:`kerhrm.estimators.baselines`.
"""

from dataclasses import dataclass
from typing import Any

from kerhrm.estimators.baselines import Baseline
from kerhrm.methods.options import PointLoss
from kerhrm.methods.peer_options import Balance, GroupsBy


@dataclass(kw_only=True, eq=False, repr=False)
class DataBalancing(Baseline):
    """Balanced groups (Idrissi et al. 2022), here the inferred ones.

    Rows that a first network gets wrong, and the two labels, make four groups, which
    count equally in the training of a second network; ``environments_`` is 1 for these
    rows and 0 for the others.

    Parameters
    ----------
    identification_steps : int
        Of the first network, by ERM.
    balance : {"reweight", "subsample"}
        All rows with weights, or as many rows of each group as the smallest one has.
    groups : {"environments_and_labels", "environments", "labels"}
        What makes groups.
    loss : {"squared", "logistic"}
        Of a point.
    steps, learning_rate, weight_decay : int, float, float
        Of Adam, on all points; the rate is that of both networks, the decay a part of
        the second one's objective.
    network, validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import DataBalancing
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> DataBalancing(random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "balancing"
    task = "classification"

    identification_steps: int = 50
    balance: Balance = "reweight"
    groups: GroupsBy = "environments_and_labels"
    loss: PointLoss = "logistic"
    steps: int = 200
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class AFR(Baseline):
    """Automatic feature reweighting (Qiu et al. 2023).

    ERM trains a network on a part of the rows, and on the others its last layer is
    learned again, where rows that ERM predicts poorly count more.  The second step is a
    convex problem, solved; with the squared loss in closed form.  ``environments_`` is
    1 for rows that ERM gets wrong and 0 for the others.

    Parameters
    ----------
    share : float
        Of the training rows, those of the second step.
    gamma : float
        How much more poorly predicted rows count.
    penalty_weight : float
        Lambda, of the squared distance from ERM's last layer.
    loss : {"squared", "logistic"}
        Of a point.
    steps, learning_rate : int, float
        Of Adam, for ERM.
    network : sequence of int
        Hidden widths; other networks have no last layer to retrain.
    validation_fraction, random_state, device, n_jobs : optional
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import AFR
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> AFR(random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "afr"
    task = "classification"

    share: float = 0.2
    gamma: float = 4.0
    penalty_weight: float = 0.1
    loss: PointLoss = "logistic"
    steps: int = 200
    learning_rate: float = 1e-3
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
