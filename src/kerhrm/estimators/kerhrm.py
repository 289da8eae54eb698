"""KerHRM for a table: the two estimators."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import torch
from sklearn.base import ClassifierMixin, RegressorMixin

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.estimators._model import InvariantEstimator
from kerhrm.estimators._named_options import without_moved
from kerhrm.estimators.options import EstimatorOptions
from kerhrm.options import Task

_PARAMETERS = """    Parameters
    ----------
    k : int, sequence of int or None, default=None
        Numbers of reduced features to try; lowered to their rank, and to the training
        rows per environment.  None: 10, 15, 20, 25 and, of more than 24 columns, their
        number plus one, at most 100.  More than 100 columns that are not related to
        each other need a k as large as their number.
    alpha : float, sequence of float or None, default=None
        Weights to try, of the penalty on what differs between environments; None: 0,
        0.1, 1 and 10, and with auxiliary columns 0, 1, 3, 10, 30, 100 and 300.
    n_environments : int or None, default=2
        K, an upper bound; None: 1 to 5, by held-out likelihood, and with auxiliary
        columns 2.
    n_iterations : int, default=3
        T of Algorithm 1.
    n_init : int or None, default=None
        Random initialisations of the clustering; None: 10, and with auxiliary columns
        5.
    pretest : bool, mapping or HeterogeneityOptions, default=True
        Whether a numeric target is tested for environments, or how:
        ``pretest={"level": 0.01}``.
    if_not_detected : {"erm", "fit"}, default="erm"
        What to do if none are detected: ERM, or KerHRM anyway.
    if_not_better : {"erm", "fit"}, default="erm"
        What to do if KerHRM is worse than a constant, or not better than ERM in the
        worst inferred environment: on all rows, training rows as if they were left out.
    predictor : {"linear", "network"}, default="linear"
        What predicts: the invariant direction of the linearised network, or a network
        that is trained along it, which takes longer.
    network : sequence of int, torch module, str or callable, default=(1024,)
        Hidden widths; or a torch module with one output, whose weights stay as they
        are and start the fit; or a function at the top level of a module, from the
        number of columns to such a module, or its name ``"package.module:function"``.
    validation_fraction : float, default=0.2
        Share of the rows that are held out, unless ``fit`` is given others.  They alone
        choose EM's start, lambda and the step; all rows choose k, alpha and the
        iteration.
    random_state : int, RandomState or None, default=None
        Seed of the network and of EM's starts; ``seed_`` is that of the fit.  Which
        rows validate and the pretest go by the rows' values alone.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where the fit is computed.
    n_jobs : int or None, default=None
        Cores; None: one for a table of at most 2 000 rows and 100 000 numbers, which
        more hardly speed up, else those that PyTorch takes; -1, or more than there
        are: all.
    verbose : int, default=0
        1: show on standard error how far the fit is, on a terminal by bars, else by a
        line a minute; and print a line for each iteration.
    options : EstimatorOptions, mapping or None, default=None
        Everything else, by name: ``options={"ridge": 1e-3}``.  In a search, and in
        ``set_params``, ``options__ridge`` is one of them.

"""

_ATTRIBUTES = """    environments_ : ndarray of shape (n_samples,)
        Most probable environment of every row of ``fit``; 0 is the largest.
    environment_proba_ : ndarray of shape (n_samples, n_environments inferred)
        Memberships of the rows, as the fit has used them.
    theta_ : ndarray of shape (k,)
        Invariant direction, of reduced features; zero beyond the chosen k.
    singular_values_ : ndarray of shape (k,)
        Of the neural tangent features.
    selected_ : dict
        ``k``, ``alpha``, ``iteration``, ``cosine_weight``, ``score``: what chose the
        iteration.  Accuracy, or minus the squared error, in the worst environment that
        any iteration has inferred, or by ``stop_by`` on all validation rows; with
        auxiliary columns minus the extrapolated squared risk.
    history_ : list of dict
        Scores and clusterings of the iterations; ``score`` as in ``selected_``, of all
        rows over the same environments.  ``chosen`` marks the iteration that KerHRM
        predicts by, also where ERM predicts in its place.
    heterogeneity_ : HeterogeneityResult or None
        Of the pretest: ``detected``, ``p_value`` and others; None without it.
    report_ : DataFrame or None
        Errors on validation rows of KerHRM, closed-form ERM, least squares and a
        constant: on all rows, and in every inferred environment.  Shares of wrong
        labels, or mean squares in variances of the training target.  None where KerHRM
        was not fitted.
    seed_ : int
        Seed of the fit: as ``random_state`` it gives the same model again.
    predictor_ : str
        What predicts: ``"linear"``, ``"network"``; ``"erm"`` where KerHRM does not
        help.
    n_features_in_ : int
        Columns of the fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Of a table with column names.

"""

#: hidden widths, a module, a factory of modules from the number of inputs, or its name
GivenNetwork: TypeAlias = (
    int | Sequence[int] | str | torch.nn.Module | Callable[[int], torch.nn.Module]
)


class _KerHRM(InvariantEstimator):
    """The parameters; each is an attribute of its own name."""

    @without_moved
    def __init__(  # noqa: PLR0913  (an estimator's parameters)
        self,
        *,
        k: int | Sequence[int] | None = None,
        alpha: float | Sequence[float] | None = None,
        n_environments: int | None = 2,
        n_iterations: int = 3,
        n_init: int | None = None,
        pretest: bool | Mapping[str, Any] | HeterogeneityOptions = True,
        if_not_detected: Literal["erm", "fit"] = "erm",
        if_not_better: Literal["erm", "fit"] = "erm",
        predictor: Literal["linear", "network"] = "linear",
        network: GivenNetwork = (1024,),
        validation_fraction: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        options: EstimatorOptions | Mapping[str, Any] | None = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.n_environments = n_environments
        self.n_iterations = n_iterations
        self.n_init = n_init
        self.pretest = pretest
        self.if_not_detected = if_not_detected
        self.if_not_better = if_not_better
        self.predictor = predictor
        self.network = network
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.options = options


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
{_ATTRIBUTES}    Examples
    --------
    The second feature equals the label in 80 % of the rows, and its opposite in the
    others.

    >>> import warnings
    >>> import numpy as np
    >>> from kerhrm import KerHRMClassifier
    >>> random = np.random.default_rng(1)
    >>> y = random.choice([-1.0, 1.0], 400)
    >>> agrees = random.random(400) < 0.8
    >>> spurious = np.where(agrees, y, -y) + 0.1 * random.normal(size=400)
    >>> X = np.column_stack([y + random.normal(size=400), spurious])
    >>> model = KerHRMClassifier(k=5, network=(128,), random_state=0)
    >>> with warnings.catch_warnings(action="ignore"):  # PriceWarning: what it costs
    ...     model = model.fit(X, y)
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
    nothing.  In ERM ``predictor_`` is ``"erm"`` and the selected iteration 0.
    Environments that were found but do not help stay in ``environments_``; where none
    were, they are 0.

{_PARAMETERS}    Attributes
    ----------
{_ATTRIBUTES}    Examples
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
