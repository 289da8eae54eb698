"""Options of KerHRM's estimators that are no parameters of their own."""

from typing import Literal

from pydantic import Field

from kerhrm.algorithm.options import ClusteringOptions, DirectionOptions
from kerhrm.options import Count, NonNegative, PositiveFloat, Probability, Values


class EstimatorOptions(DirectionOptions, ClusteringOptions):
    """Options of KerHRM's estimators, in addition to their parameters.

    Give an object, or a mapping with some of the names: ``options={"ridge": 1e-3}``.
    The fields have the defaults and ranges of :class:`~kerhrm.KerHRMOptions`, and four
    are the estimators' alone: ``margin``, ``calibration``, ``max_exact`` and
    ``n_landmarks``.  Ridges are in units of the mean eigenvalue of the features' second
    moments.

    Parameters
    ----------
    init : {"random", "nested"}, default="random"
        Starts of the clustering; nested: random for the first k, then from the
        environments of the k before and, later, of the iteration before.
    clustering_ridge : float or list of float, default=[0.001, 0.01]
        Ridges of the environments' regressions to try, by held-out likelihood.
    noise_sd : float, default=None
        Standard deviation of the residuals; None: estimated in each M step.
    noise_variance : {"shared", "per_cluster"}, default="shared"
        One estimated variance for all clusters, or one for each.
    clustering_target : {"residual", "label"}, default="residual"
        What clusters regress: the residual of the network at its start, or the target.
    clustering_intercept : bool, default=False
        Whether the clusters' regressions have an intercept.
    first_kernel : {"features", "inputs"}, default="features"
        Kernel of the first iteration: of tangent features, or of the inputs.
    projection : {"newest", "all"}, default="newest"
        Which of the directions so far the clustering leaves out; all of them one after
        another, so that only the newest is orthogonal to what is left.
    e_step : {"soft", "hard"}, default="soft"
        Whether an EM step assigns probabilities, or whole points.
    assignment : {"soft", "drawn", "hard"}, default="soft"
        What the invariant step gets: probabilities, a draw by them, or the likeliest.
    em_max_iter : int, default=300
        EM steps at most.
    em_tol : float, default=1e-05
        EM ends when its objective falls by less, in nats per point.
    max_label_information : float, default=0.5
        Normalised mutual information with the label above which a clustering is
        degenerate.
    min_share : float, default=0.02
        Share of the points below which an environment counts as empty.
    penalty : str, default="gradient_variance"
        On what differs between environments: a name in
        ``kerhrm.algorithm.registry.PENALTIES``.
    weights : {"equal", "by_size"}, default="equal"
        Weights of the environments' losses.
    total : {"mean", "sum"}, default="mean"
        Of the environments' losses next to the penalty.
    ridge : float, default=1e-06
        Ridge of the invariant direction.
    cosine_weight : float or list of float, default=[10.0, 100.0, 1000.0]
        Weights lambda to try, of a network's training along the invariant direction.
    cosine : {"signed", "absolute", "smoothed"}, default="signed"
        Cosine of that training.
    steps : int, default=400
        Steps of Adam at most, on all points.
    tol : float, default=0.005
        The training ends when a window of steps lowers the objective by no larger
        share.
    window : int, default=50
        Steps of that window.
    learning_rate : float, default=0.001
        Adam's.
    check_every : int, default=25
        Steps between two looks at what chooses the step; None: the last step.
    stop_by : {"worst_inferred", "pooled"}, default="worst_inferred"
        What chooses among k, alpha, lambda, iterations and steps: the worst inferred
        environment, or all validation rows.
    final : {"best", "last"}, default="best"
        Iteration that predicts.
    margin : float, default=None
        Share by which KerHRM's error in the worst inferred environment has to be below
        ERM's; None: .1, and of labels, which no test can see to, .3 or .5 to .575 where
        more of them are wrong than by ERM, with further limits for small tables.
    calibration : {"none", "sigmoid"}, default="none"
        Probabilities of two labels: (1 + f) / 2, cut at 0 and 1, or a sigmoid of f,
        fitted to rows that the model has not seen; ``predict`` is the same.
    max_exact : int, default=5000
        Training rows above which features are reduced by way of landmarks.
    n_landmarks : int, default=4000
        Number of these landmarks.

    Examples
    --------
    >>> from kerhrm import EstimatorOptions, KerHRMClassifier
    >>> KerHRMClassifier(options=EstimatorOptions(ridge=1e-3)).options.ridge
    0.001
    """

    # single values, too
    clustering_ridge: Values[PositiveFloat] = Field(default=[1e-3, 1e-2])
    cosine_weight: Values[NonNegative] = Field(default=[10.0, 100.0, 1000.0])

    # what predicts
    margin: Probability | None = None
    calibration: Literal["none", "sigmoid"] = "none"

    # features of large tables
    max_exact: Count = 5000
    n_landmarks: Count = 4000
