"""Options of every method but KerHRM: defaults and ranges, with which nothing is
imported.
"""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kerhrm.algorithm.options import HeterogeneityOptions, KerHRMOptions
from kerhrm.features.options import N_LANDMARKS
from kerhrm.options import (
    LARGEST,
    Count,
    Finite,
    Natural,
    NonNegative,
    Options,
    PositiveFloat,
    Probability,
    Some,
    Task,
    misfit,
    option,
)

#: of every method that trains a network, steps between looks at the validation points
EVALUATE_EVERY = 25
STOPPING = "steps between looks at the validation points; none: the last step's network"


class ERMOptions(Options):
    """Empirical risk minimisation."""

    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)


class DROOptions(Options):
    """Distributionally robust optimisation over a chi-square ball."""

    rho: PositiveFloat = option(0.5, "radius of the ball")
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)


PointLoss = Literal["squared", "logistic"]
LOSS = "of a point; logistic: classification alone"


def loss_of(loss: PointLoss | None, task: Task) -> PointLoss:
    """The loss that is asked for; by default logistic, in a regression squared."""
    if loss is not None:
        return loss
    return "logistic" if task == "classification" else "squared"


class IRMOptions(Options):
    """IRMv1, with environment labels."""

    loss: PointLoss | None = option(
        None, "of a point; none: logistic, in a regression squared"
    )
    penalty_weight: NonNegative = option(1e4, "lambda of the squared scale-gradients")
    anneal: Natural = option(50, "steps before the penalty's weight applies")
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    weight_decay: NonNegative = option(
        0.0, "times the sum of squared weights joins the risks"
    )
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)


class IGAOptions(Options):
    """Inter-gradient alignment, with environment labels."""

    loss: PointLoss = option("squared", LOSS)
    penalty_weight: NonNegative = option(100.0, "lambda of the gradients' variance")
    steps: Count = option(100, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)


class GroupDROOptions(Options):
    """Distributionally robust optimisation, with environment labels."""

    loss: PointLoss | None = option(
        None, "of a point; none: logistic, in a regression squared"
    )
    eta: NonNegative = option(0.1, "step size of the environments' weights")
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    weight_decay: NonNegative = option(
        0.0, "times the sum of squared weights joins the risks"
    )
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)


class EIILOptions(IRMOptions):
    """Environment inference, then IRMv1 on the inferred environments."""

    loss: PointLoss = option("squared", LOSS)
    reference_steps: Count = option(50, "of the reference network, by ERM")
    inference_steps: Count = option(1000, "of Adam on the soft assignment")
    inference_rate: PositiveFloat = option(1e-2, "learning rate of the inference")


class JTTOptions(Options):
    """Train, then train again with more weight on the errors."""

    identification_steps: Count = option(
        50, "of the network whose errors count more, by ERM"
    )
    upweight: PositiveFloat = option(
        5.0, "lambda, how often a point of the error set counts"
    )
    loss: PointLoss = option("logistic", LOSS)
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "Adam's, of both networks")
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)


class ClosedFormOptions(Options):
    """Linear least squares, twice; nothing to choose."""


class ZINOptions(IRMOptions):
    """A reference, environments by the auxiliary variable, then IRMv1 on them."""

    anneal: Natural = option(0, "steps before the penalty's weight applies")
    steps: Count = option(5000, "of Adam on IRMv1, on all points")
    learning_rate: PositiveFloat = option(5e-3, "Adam's, of the reference and of IRMv1")
    weight_decay: NonNegative = option(
        1e-3, "times the sum of squared weights joins the risks"
    )
    reference_steps: Count = option(5000, "of the reference, by ERM")
    inference_steps: Count = option(5000, "of Adam on the environments' network")
    inference_rate: PositiveFloat = option(5e-3, "learning rate of the inference")
    hidden: Count = option(16, "units of the hidden layer of the environments' network")


class HRMOptions(Options):
    """Heterogeneous risk minimisation: gated linear models on raw features.

    They have no intercept: where one class is rarer than the other, balance the classes
    first.
    """

    n_environments: Count = option(3, "K, of the clustering")
    n_iterations: Count = option(5, "of clustering and selection in turn")
    cluster_steps: Count = option(3000, "of Adam for the clusters' linear models")
    cluster_rounds: Count = option(
        10, "reassignments, each after an equal share of the steps"
    )
    cluster_rate: PositiveFloat = option(1e-3, "learning rate of the clusters")
    cluster_l1: NonNegative = option(
        0.01, "gate-weighted L1 of the clusters' linear models"
    )
    gate_steps: Count = option(
        6000, "of Adam for the gates and the invariant linear model"
    )
    gate_rate: PositiveFloat = option(1e-3, "learning rate of the gates")
    gate_noise: Annotated[Finite, Field(ge=1e-6)] = option(
        0.1, "sigma of the stochastic gates"
    )
    gate_cost: NonNegative = option(0.1, "lambda, of what gate_goal says")
    gate_goal: Literal["few", "all"] = option(
        "few", "few: E[open gates] costs; all: E[closed gates]^2"
    )
    penalty_weight: NonNegative = option(
        1000.0, "alpha of the gradients' variance in the gated coordinates"
    )
    growth: PositiveFloat = option(
        1.05, "factor of gate_cost and penalty_weight per iteration"
    )
    threshold: Probability = option(
        0.2, "gate probability above which a feature is selected"
    )

    @model_validator(mode="after")
    def _room_to_grow(self) -> Self:
        n_growths = self.n_iterations - 1
        if n_growths * math.log(self.growth) > math.log(LARGEST):
            why = f"{self.growth:g} to the power of {n_growths} is beyond {LARGEST:g}"
            raise misfit(f"{why}; lower growth or n_iterations", "growth")
        return self


class AsPrintedOptions(KerHRMOptions):
    """Algorithm 1 as printed.

    What the paper does not say (ridges, grids, T, the optimiser), or says in two ways
    (the kernel of the first iteration and of later ones), is as in KerHRM.
    """

    n_init: Count = option(1, "random initialisations")
    clustering_ridge: Some[PositiveFloat] = option(
        [1e-2], "of the environments' regressions"
    )
    clustering_target: Literal["residual", "label"] = option(
        "label", "what clusters regress"
    )
    max_label_information: Probability = option(1.0, "1: no clustering is degenerate")
    min_share: Probability = option(0.0, "0: no environment is dropped")
    total: Literal["mean", "sum"] = option("sum", "of the environments' losses in M_p")
    cosine: Literal["signed", "absolute", "smoothed"] = option(
        "absolute", "in the network's loss"
    )
    steps: Count = option(600, "of Adam at most, full batch")
    check_every: Count | None = option(None, "null: the network of the last step")
    stop_by: Literal["worst_inferred", "pooled"] = option(
        "pooled", "what picks k, alpha and lambda: the paper's rule"
    )
    final: Literal["best", "last"] = option("last", "iteration that predicts")
    pretest: HeterogeneityOptions | None = option(None, "the paper has none")


class ReleasedOptions(Options):
    """KerHRM as its authors released it."""

    k: Count = option(15, "number of reduced features")
    n_iterations: Count = option(19, "of clustering and invariant learning in turn")
    n_environments: Count = option(2, "K, of the clustering; M_p sees two of them")
    penalty: Literal["scale_gradients", "theta_gradients"] = option(
        "scale_gradients",
        "what differs between clusters: the classification or the regression script's",
    )
    penalty_weight: NonNegative = option(60.0, "of the squared difference of gradients")
    first_weight: NonNegative = option(1.0, "before the anneal step")
    steps: Count = option(2000, "of Adam for theta")
    learning_rate: PositiveFloat = option(1e-4, "Adam's, for theta")
    clustering_target: Literal["residual", "label"] = option(
        "residual", "what clusters regress; label: y, as the scripts do"
    )
    intercept_start: Literal["zero", "layer"] = option(
        "zero", "of the clusters' models; layer: PyTorch's default, as the scripts have"
    )
    max_reassignments: Count = option(100, "of a clustering; the scripts have no cap")


class TrueEnvironmentsOptions(Options):
    """KerHRM with the true environments given: one dimension and one weight."""

    k: Count = option(15, "number of reduced features")
    alpha: NonNegative = option(1.0, "weight of the penalty, in its unit")


class GivenSplitOptions(KerHRMOptions):
    """KerHRM whose environments do not come from M_c."""

    split: Literal["true_environments", "errors", "random"] = option(
        "true_environments",
        "or right and wrong of least squares, or two halves at random",
    )


class LeastSquaresOptions(Options):
    """Linear least squares on the raw inputs; nothing to choose."""


class RidgeOptions(Options):
    """Ridge regression, its penalty by leave-one-out."""

    n_landmarks: Count = option(
        N_LANDMARKS, "points whose tangent features span the others'"
    )
