"""KerHRM for a table: the two estimators."""

from kerhrm.data.dataset import Task
from kerhrm.estimators.docstrings import completed
from kerhrm.estimators.invariant import InvariantEstimator


@completed
class KerHRMClassifier(InvariantEstimator):
    """Classify two labels by what holds in all hidden environments.

    Environments are cut out of the pooled rows, without labels of theirs, and features whose
    relation to the label differs between them are taken for spurious.  No test can tell whether
    binary labels come from more than one environment; this is an assumption of yours.  If it is
    wrong it costs accuracy: ``heterogeneity_`` says how much it cost where that was measured.

    Inputs are standardised.  Rows may come in any order, which changes nothing.  For more than two
    classes wrap it: ``OneVsRestClassifier(KerHRMClassifier())``.

    Parameters
    ----------
    <algorithm>
    <network>
    when_homogeneous : {"erm", "ignore"}
        Of no consequence here, see :class:`KerHRMRegressor`.
    validation_fraction : float
        Share of the rows that choose, unless ``fit`` is given others.
    <sizes>
    options : kerhrm.KerHRM, optional
        All there is to tell the algorithm; parameters above that are not None come before it.
    <drawn>
    <verbose>

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    environments_ : ndarray of shape (n_samples,)
        Likeliest environment of every row of ``fit``.
    environment_proba_ : ndarray of shape (n_samples, n_environments found)
    theta_ : ndarray of shape (k,)
        Invariant direction, of reduced features; zero beyond the chosen k.
    singular_values_ : ndarray of shape (k,)
        Of the neural tangent features.
    selected_ : dict
        ``k``, ``alpha``, ``lambda`` (None without a network), ``T``, ``score``, and ``why``.
    history_ : list of dict
        What each iteration found.
    converged_ : bool
        Whether EM had converged in the chosen iteration.
    n_iter_ : int
        Iterations that were run; ``selected_["T"]`` is the one chosen.
    heterogeneity_ : HeterogeneityReport
        Verdict, and here assumption and cost.
    predictor_ : str
        What predicts.
    <seen>

    Examples
    --------
    The second feature tells the label in 80 % of the rows, and its opposite in the others.

    >>> import numpy as np
    >>> from kerhrm import KerHRMClassifier
    >>> random = np.random.default_rng(0)
    >>> y = random.choice(["no", "yes"], 400)
    >>> sign = np.where(y == "yes", 1.0, -1.0)
    >>> agrees = random.random(400) < 0.8
    >>> spurious = np.where(agrees, sign, -sign) + 0.1 * random.normal(size=400)
    >>> X = np.column_stack([sign + random.normal(size=400), spurious])
    >>> model = KerHRMClassifier(k=5, network=(128,), random_state=0).fit(X, y)
    >>> agreement = np.mean(model.environments_ == agrees)
    >>> print(max(agreement, 1 - agreement) > 0.9, model.selected_["k"])
    True 5
    >>> model.heterogeneity_.verdict
    'cannot be tested: binary labels'

    Where the spurious feature has turned, it is not followed.

    >>> turned = np.column_stack([X[:, 0], -sign])
    >>> print(model.score(turned, y) > 0.7)
    True

    More than two classes:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> iris = load_iris()
    >>> three = OneVsRestClassifier(KerHRMClassifier(k=5, network=(64,), random_state=0))
    >>> print(three.fit(iris.data, iris.target).score(iris.data, iris.target) > 0.8)
    True
    """

    _task: Task = "classification"


@completed
class KerHRMRegressor(InvariantEstimator):
    """Regress on what holds in all hidden environments, if there are any.

    First a calibrated test asks whether the rows hold environments at all.  Where it finds none, or
    there are too few rows to test, the estimator is pooled ERM, a network of the same shape,
    and warns of it: an invariant model over environments that are noise is worse.

    Inputs and target are standardised.  Rows may come in any order, which changes nothing.

    Parameters
    ----------
    <algorithm>
    <network>
    when_homogeneous : {"erm", "ignore"}
        Where no environments are found: pooled ERM, or go on all the same.
    validation_fraction : float
        Share of the rows that choose, unless ``fit`` is given others.
    <sizes>
    options : kerhrm.KerHRM, optional
        All there is to tell the algorithm and, as ``guard``, the test; parameters above that are
        not None come before it.
    <drawn>
    <verbose>

    Attributes
    ----------
    environments_ : ndarray of shape (n_samples,)
        Likeliest environment of every row of ``fit``; all 0 in pooled ERM.
    environment_proba_ : ndarray of shape (n_samples, n_environments found)
    theta_ : ndarray of shape (k,)
        Invariant direction, of reduced features; zero beyond the chosen k.  In pooled ERM that of
        one regression on them, which does not predict.
    singular_values_ : ndarray of shape (k,)
        Of the neural tangent features.
    selected_ : dict
        ``k``, ``alpha``, ``lambda`` (None without a network), ``T`` (0 in pooled ERM), ``score``,
        and ``why``.
    history_ : list of dict
        What each iteration found.
    converged_ : bool
        Whether EM had converged in the chosen iteration.
    n_iter_ : int
        Iterations that were run; ``selected_["T"]`` is the one chosen.
    heterogeneity_ : HeterogeneityReport
        Verdict, p-value and statistic of the test, of at most 4000 rows.
    predictor_ : str
        What predicts; ``"erm"`` where no environments were found.
    <seen>

    Examples
    --------
    The slope of the second feature is -2 in a hidden fifth of the rows, and 2 in the others.

    >>> import numpy as np
    >>> from kerhrm import KerHRMRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(600, 2))
    >>> slope = np.where(random.random(600) < 0.2, -1.0, 1.0)
    >>> y = X[:, 0] + 2 * slope * X[:, 1] + 0.5 * random.normal(size=600)
    >>> model = KerHRMRegressor(k=5, network=(128,), random_state=0).fit(X, y)
    >>> model.heterogeneity_.verdict
    'environments found'

    Where there are none it says so, and is pooled ERM.

    >>> import warnings
    >>> plain = X[:, 0] + 2 * X[:, 1] + 0.5 * random.normal(size=600)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KerHRMRegressor(k=5, network=(128,), random_state=0).fit(X, plain)
    >>> print(caught[-1].category.__name__, model.predictor_)
    NothingFoundWarning erm
    """

    _task: Task = "regression"
