"""Options of KerHRM's estimators that are no parameters of their own."""

from typing import Literal

from pydantic import Field

from kerhrm.algorithm.options import PenaltyName
from kerhrm.options import (
    Count,
    NonNegative,
    Options,
    PositiveFloat,
    Probability,
    Values,
)


class EstimatorOptions(Options):
    """Options of KerHRM's estimators, in addition to their parameters.

    Give an object, or a mapping with some of the names: ``options={"ridge": 1e-3}``.
    The fields have the defaults and ranges of :class:`~kerhrm.KerHRMOptions`, and three
    are the estimators' alone: ``margin``, ``max_exact`` and ``n_landmarks``.  Ridges
    are in units of the mean eigenvalue of the features' second moments.

    Parameters
    ----------
    init : {"random", "nested"}, default="random"
        Starts of the clustering; nested: random for the first k, then from the
        environments of the k before.
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
        Which of the directions so far the clustering leaves out.
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
        more of them are wrong than by ERM.
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

    # the clustering, M_c
    init: Literal["random", "nested"] = "random"
    clustering_ridge: Values[PositiveFloat] = Field(default=[1e-3, 1e-2])
    noise_sd: PositiveFloat | None = None
    noise_variance: Literal["shared", "per_cluster"] = "shared"
    clustering_target: Literal["residual", "label"] = "residual"
    clustering_intercept: bool = False
    first_kernel: Literal["features", "inputs"] = "features"
    projection: Literal["newest", "all"] = "newest"
    e_step: Literal["soft", "hard"] = "soft"
    assignment: Literal["soft", "drawn", "hard"] = "soft"
    em_max_iter: Count = 300
    em_tol: PositiveFloat = 1e-5
    max_label_information: Probability = 0.5
    min_share: Probability = 0.02

    # the invariant direction, M_p
    penalty: PenaltyName = "gradient_variance"
    weights: Literal["equal", "by_size"] = "equal"
    total: Literal["mean", "sum"] = "mean"
    ridge: NonNegative = 1e-6

    # a network's training along that direction
    cosine_weight: Values[NonNegative] = Field(default=[10.0, 100.0, 1000.0])
    cosine: Literal["signed", "absolute", "smoothed"] = "signed"
    steps: Count = 400
    tol: NonNegative = 5e-3
    window: Count = 50
    learning_rate: PositiveFloat = 1e-3
    check_every: Count | None = 25

    # what is chosen, and what predicts
    stop_by: Literal["worst_inferred", "pooled"] = "worst_inferred"
    final: Literal["best", "last"] = "best"
    margin: Probability | None = None

    # features of large tables
    max_exact: Count = 5000
    n_landmarks: Count = 4000
