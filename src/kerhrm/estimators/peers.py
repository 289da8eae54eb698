"""The methods that came after KerHRM and infer groups, as estimators; all classify.

Parameters are those of :mod:`kerhrm.estimators.baselines`.
"""

from collections.abc import Mapping
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
    evaluate_every : int, optional
        Steps between looks at the held-out rows: the weights with the best accuracy in
        the worst group, right or wrong, are kept. None: those of the last step.
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
    weight_decay: float = 5e-5
    evaluate_every: int | None = 25
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0


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
    evaluate_every : int, optional
        Steps between looks at the held-out rows, of which ERM's best weights are kept.
        None: those of the last step.
    network : sequence of int
        Hidden widths; other networks have no last layer to retrain.
    validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    task : "classification"
        The only one.
    environments_ : ndarray of shape (n_samples,)
        1 for rows that ERM gets wrong, and 0 for the others.
    classes_, seed_, n_features_in_, feature_names_in_
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
    evaluate_every: int | None = 25
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False, repr=False)
class XRM(Baseline):
    """Cross-risk minimisation (Pezeshki et al. 2024), then GroupDRO.

    Two networks learn halves of the rows, and imitate each other's confident mistakes.
    Rows that either gets wrong are one environment, ``environments_`` 1, and GroupDRO
    trains on the groups of label and environment.  ``flipped_`` is the share of the
    training rows whose label the networks have changed for each other: among options of
    the first step the authors take those with the largest.

    Parameters
    ----------
    twin_steps, twin_rate : int, float
        Of Adam, on both networks of the first step.
    loss : {"squared", "logistic"}
        Of a point, in GroupDRO.
    eta : float
        Step size of the groups' weights; 0 weighs them equally.
    steps, learning_rate, weight_decay : int, float, float
        Of Adam in GroupDRO, on all points; the decay is part of the objective.
    evaluate_every : int, optional
        Steps of GroupDRO between looks at the held-out rows: the weights with the best
        accuracy in the worse environment are kept. None: those of the last step.
    network, validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    task : "classification"
        The only one.
    environments_ : ndarray of shape (n_samples,)
        1 for rows that either network gets wrong, and 0 for the others.
    flipped_ : float
        Share of the training rows whose label the networks have changed for each other.
    classes_, seed_, n_features_in_, feature_names_in_
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import XRM
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> XRM(random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "xrm"
    task = "classification"

    twin_steps: int = 200
    twin_rate: float = 1e-3
    loss: PointLoss = "logistic"
    eta: float = 0.1
    steps: int = 200
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    evaluate_every: int | None = 25
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    def _keep_chosen(self, chosen: Mapping[str, float]) -> None:
        self.flipped_ = chosen["flipped"]


@dataclass(kw_only=True, eq=False, repr=False)
class EVaLS(Baseline):
    """Environment-based validation and loss-based sampling (Ghaznavi et al. 2025).

    ERM trains a network on a part of the rows.  Those of the other rows with the
    highest and the lowest losses train its last layer anew.  The validation rows are
    split as in :class:`~kerhrm.EIIL`, and the accuracy in the worse part chooses how
    many rows train, ``selected_``, and the penalty, ``l1_``.  ``environments_`` has the
    same split of all rows.

    Parameters
    ----------
    share : float
        Of the training rows, those that may train the last layer.
    selected : float or sequence of float, at most 0.5
        Shares of the rarer label's rows with the highest losses, and with the lowest
        ones; as many of the other label.
    l1 : float or sequence of float
        Lambda, of the sum of absolute values of the last layer.
    steps, learning_rate : int, float
        Of Adam, for ERM.
    inference_steps, inference_rate : int, float
        Of Adam on the soft assignment.
    evaluate_every : int, optional
        Steps between looks at the held-out rows, of which ERM's best weights are kept.
        None: those of the last step.
    network : sequence of int
        Hidden widths; other networks have no last layer to retrain.
    validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    task : "classification"
        The only one.
    environments_ : ndarray of shape (n_samples,)
        Part of the split of all rows, 0 or 1.
    selected_ : float
        Share of the rows, at each end of the losses, that train the last layer.
    l1_ : float
        Chosen penalty.
    classes_, seed_, n_features_in_, feature_names_in_
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import EVaLS
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> model = EVaLS(l1=0.01, inference_steps=50, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "evals"
    _loss = "logistic"
    task = "classification"

    share: float = 0.2
    selected: Any = (0.1, 0.25, 0.5)
    l1: Any = (0.003, 0.01, 0.03, 0.1)
    steps: int = 200
    learning_rate: float = 1e-3
    inference_steps: int = 1000
    inference_rate: float = 1e-2
    evaluate_every: int | None = 25
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    def _keep_chosen(self, chosen: Mapping[str, float]) -> None:
        self.selected_ = chosen["selected"]
        self.l1_ = chosen["l1"]


@dataclass(kw_only=True, eq=False, repr=False)
class EDNIL(Baseline):
    """EDNIL (Huang et al. 2022): a network with several heads, and IRMv1, in turn.

    The heads infer environments, ``environments_``, that differ in how the label
    depends on the inputs, and IRMv1 learns on them.

    Parameters
    ----------
    n_environments : int
        K, heads of the network that infers.
    rounds : int
        T, of inference and invariant learning in turn.
    reference_steps, inference_steps : int
        Of Adam: by ERM for the shared layers and one head, and in each round.
    temperature : float
        Tau, of the environments' probabilities.
    label_weight, invariance_weight : float
        Beta, against environments like the label, and gamma, of the variance of the
        invariant losses, in the last round.
    balance_limit : float
        How often a row of a small environment counts at most.
    penalty_weight : float
        Of the squared scale-gradients, after the first round.
    steps, learning_rate, weight_decay : int, float, float
        Of Adam on IRMv1, in each round; rate and decay are those of both networks.
    evaluate_every : int, optional
        Steps of IRMv1 between looks at the held-out rows, in the last round: the
        weights with the best accuracy in the worst environment are kept. None: those of
        the last step.
    network : sequence of int
        Hidden widths; other networks have no last layer to give several heads.
    validation_fraction, random_state, device, n_jobs, verbose : optional
        As in :class:`~kerhrm.ERM`.

    Attributes
    ----------
    task : "classification"
        The only one.
    environments_ : ndarray of shape (n_samples,)
        Likeliest inferred environment of every row.
    classes_, seed_, n_features_in_, feature_names_in_
        As in :class:`~kerhrm.ERM`.

    Examples
    --------
    >>> from kerhrm import EDNIL
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, ["low", "low", "high", "high"] * 10
    >>> model = EDNIL(n_environments=2, rounds=2, network=(64,), random_state=0)
    >>> model = model.fit(X, y)
    >>> model.predict([[0.0], [3.0]]).tolist()
    ['low', 'high']
    """

    _method = "ednil"
    _loss = "logistic"
    task = "classification"

    n_environments: int = 5
    rounds: int = 5
    reference_steps: int = 500
    inference_steps: int = 100
    temperature: float = 0.2
    label_weight: float = 3.0
    invariance_weight: float = 5.0
    balance_limit: float = 2.0
    penalty_weight: float = 100.0
    steps: int = 100
    learning_rate: float = 5e-4
    weight_decay: float = 1e-3
    evaluate_every: int | None = 25
    network: Any = (1024,)
    validation_fraction: float = 0.2
    random_state: Any = None
    device: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0
