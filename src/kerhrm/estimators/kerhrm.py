"""KerHRM for a table: the two estimators."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from sklearn.base import ClassifierMixin, RegressorMixin

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.estimators._model import InvariantEstimator
from kerhrm.options import Task

_PARAMETERS = """    Parameters
    ----------
    k : int or sequence of int
        Numbers of reduced features to try; lowered to their rank, and to the training
        rows per environment.  Many unrelated columns need a k as large as their number.
    n_iterations, n_environments, n_init : int
        T of Algorithm 1; K, an upper bound (None: 1 to 5, by held-out likelihood);
        random initialisations of the clustering.
    init, clustering_ridge, noise_sd, noise_variance : str, float, float, str
        Of the clustering, as those that follow; see :class:`~kerhrm.KerHRMOptions`.
    clustering_target : str
        What is clustered, as the three that follow.
    clustering_intercept : bool
    first_kernel, projection : str
    e_step, assignment, em_max_iter, em_tol : str, str, int, float
        Of EM.
    max_label_information, min_share : float
        When a clustering is degenerate, and when an environment counts as empty.
    alpha : float or sequence of float
        Weights to try, of the penalty on what differs between environments.
    penalty : str
        Its kind: a name in ``kerhrm.algorithm.registry.PENALTIES``.
    weights, total, ridge : str, str, float
        Of the environments' losses.
    cosine_weight : float or sequence of float
        Weights lambda to try, of the network's training along the invariant direction.
    cosine : str
        Of that training, as those that follow.
    steps, tol, window : int, float, int
    learning_rate, check_every : float, int
    stop_by : {"worst_inferred", "pooled"}
        What chooses among k, alpha, lambda and iterations: the worst inferred
        environment, or all validation rows.
    final : {"best", "last"}
        Iteration that predicts.
    pretest : bool or HeterogeneityOptions
        Whether a numeric target is tested for environments, or how.
    if_not_detected : {"erm", "fit"}
        What to do if none are detected: ERM, or KerHRM anyway.
    if_not_better : {"erm", "fit"}
        What to do if KerHRM is worse than a constant, or not better than ERM in the
        worst inferred environment: on all rows, training rows as if they were left out.
    margin : float, optional
        Share by which its error there has to be below ERM's; by default .1, and of
        labels, which no test can see to, .3 or .5 to .575 where more of them are wrong
        than by ERM.
    predictor : {"linear", "network"}
        What predicts: the invariant direction of the linearised network, or a network
        that is trained along it, which takes longer.
    network : sequence of int, str or callable
        Hidden widths; or a function at the top level of a module, from the number of
        columns to a torch module with one output, or its name
        ``"package.module:function"``.
    max_exact, n_landmarks : int
        Training rows above which features are reduced by way of so many of them.
    validation_fraction : float
        Share of the rows that choose, unless ``fit`` is given others.
    random_state : int, RandomState or None
        Seed of the network and of EM's starts; ``seed_`` is that of the fit.  Which
        rows validate and the pretest go by the rows' values alone.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    n_jobs : int, optional
        Cores, by default those that PyTorch takes; -1, or more than there are: all.
    verbose : int
        1: print a line for each iteration.

"""


class _KerHRM(InvariantEstimator):
    """The parameters; each is an attribute of its own name."""

    def __init__(
        self,
        *,
        k: int | Sequence[int] = (10, 15, 20, 25),
        n_iterations: int = 3,
        n_environments: int | None = 2,
        n_init: int = 10,
        init: Literal["random", "nested"] = "random",
        clustering_ridge: float | Sequence[float] = (1e-3, 1e-2),
        noise_sd: float | None = None,
        noise_variance: Literal["shared", "per_cluster"] = "shared",
        clustering_target: Literal["residual", "label"] = "residual",
        clustering_intercept: bool = False,
        first_kernel: Literal["features", "inputs"] = "features",
        projection: Literal["newest", "all"] = "newest",
        e_step: Literal["soft", "hard"] = "soft",
        assignment: Literal["soft", "drawn", "hard"] = "soft",
        em_max_iter: int = 300,
        em_tol: float = 1e-5,
        max_label_information: float = 0.5,
        min_share: float = 0.02,
        alpha: float | Sequence[float] = (0.0, 0.1, 1.0, 10.0),
        penalty: str = "gradient_variance",
        weights: Literal["equal", "by_size"] = "equal",
        total: Literal["mean", "sum"] = "mean",
        ridge: float = 1e-6,
        cosine_weight: float | Sequence[float] = (10.0, 100.0, 1000.0),
        cosine: Literal["signed", "absolute", "smoothed"] = "signed",
        steps: int = 400,
        tol: float = 5e-3,
        window: int = 50,
        learning_rate: float = 1e-3,
        check_every: int | None = 25,
        stop_by: Literal["worst_inferred", "pooled"] = "worst_inferred",
        final: Literal["best", "last"] = "best",
        pretest: bool | HeterogeneityOptions = True,
        if_not_detected: Literal["erm", "fit"] = "erm",
        if_not_better: Literal["erm", "fit"] = "erm",
        margin: float | None = None,
        predictor: Literal["linear", "network"] = "linear",
        network: int | Sequence[int] | str | Callable[[int], torch.nn.Module] = (1024,),
        max_exact: int = 5000,
        n_landmarks: int = 4000,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())


class KerHRMClassifier(ClassifierMixin, _KerHRM):  # type: ignore[misc]
    __doc__ = f"""Classify two labels by what holds in all hidden environments.

    Environments are inferred from the pooled rows, without labels of theirs, and
    features whose relation to the label differs between them are taken as spurious.  No
    test can detect whether binary labels come from more than one environment: it is an
    assumption, and costs accuracy if it is wrong.  Inputs are standardised; the order
    of the rows changes nothing.  For more than two classes wrap it:
    ``OneVsRestClassifier(KerHRMClassifier())``.

{_PARAMETERS}    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted.
    environments_ : ndarray of shape (n_samples,)
        Most probable environment of every row of ``fit``.
    environment_proba_ : ndarray of shape (n_samples, n_environments inferred)
        Memberships of the rows, as the fit has used them.
    theta_ : ndarray of shape (k,)
        Invariant direction, of reduced features; zero beyond the chosen k.
    singular_values_ : ndarray of shape (k,)
        Of the neural tangent features.
    selected_ : dict
        ``k``, ``alpha``, ``iteration``, ``cosine_weight``, ``score``.
    history_ : list of dict
        Scores and clusterings of the iterations.
    heterogeneity_ : HeterogeneityResult or None
        Of the pretest: ``detected``, ``p_value``, ``gain``, ``excess``, ``null``; None
        without it.
    report_ : DataFrame or None
        Errors on validation rows of KerHRM, closed-form ERM, least squares and a
        constant: on all rows, and in every inferred environment.  None where KerHRM was
        not fitted.
    seed_ : int
        Seed of the fit: as ``random_state`` it gives the same model again.
    predictor_ : str
        What predicts: ``"linear"``, ``"network"``; ``"erm"`` where KerHRM does not
        help.
    n_features_in_ : int
        Columns of the fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Of a table with column names.

    Examples
    --------
    The second feature equals the label in 80 % of the rows, and its opposite in the
    others.

    >>> import numpy as np
    >>> from kerhrm import KerHRMClassifier
    >>> random = np.random.default_rng(1)
    >>> y = random.choice([-1.0, 1.0], 400)
    >>> agrees = random.random(400) < 0.8
    >>> spurious = np.where(agrees, y, -y) + 0.1 * random.normal(size=400)
    >>> X = np.column_stack([y + random.normal(size=400), spurious])
    >>> model = KerHRMClassifier(k=5, network=(128,), random_state=0).fit(X, y)
    >>> agreement = np.mean(model.environments_ == agrees)
    >>> bool(max(agreement, 1 - agreement) > 0.9)
    True
    """

    _task: Task = "classification"
    score = InvariantEstimator.score  # scikit-learn's reads targets otherwise

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class KerHRMRegressor(RegressorMixin, _KerHRM):  # type: ignore[misc]
    __doc__ = f"""Regress on what holds in all hidden environments, if there are any.

    First a calibrated test asks whether the rows hold environments.  Where it detects
    none, there are too few rows to test, or KerHRM does not help, the estimator warns
    and is :class:`~kerhrm.TangentRidge`: an invariant model over environments that are
    noise is worse. Inputs and target are standardised; the order of the rows changes
    nothing.  Attributes are those of :class:`KerHRMClassifier`; in ERM ``predictor_``
    is ``"erm"`` and the selected iteration 0.  Environments that were found but do not
    help stay in ``environments_``; where none were, they are 0.

{_PARAMETERS}    Examples
    --------
    The slope of the second feature is -2 in a hidden fifth of the rows, and 2 in the
    others.

    >>> import numpy as np
    >>> from kerhrm import KerHRMRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(500, 2))
    >>> slope = np.where(random.random(500) < 0.2, -2.0, 2.0)
    >>> y = 2 * X[:, 0] + slope * X[:, 1] + 0.3 * random.normal(size=500)
    >>> model = KerHRMRegressor(k=5, n_init=2, network=(64,), random_state=0).fit(X, y)
    >>> model.heterogeneity_.detected, model.predictor_
    (True, 'linear')
    """

    _task: Task = "regression"
    score = InvariantEstimator.score
