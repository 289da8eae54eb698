"""Options of KerHRM, whose defaults are those of the estimators.

The estimators have :class:`ClusteringOptions` and :class:`DirectionOptions` as they
stand here; what these leave out is a parameter there.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.options import (
    Count,
    NonNegative,
    NotBool,
    Options,
    PositiveFloat,
    Probability,
    Some,
    misfit,
    option,
)

PenaltyName = Annotated[str, AfterValidator(PENALTIES.known)]


class PermutationOptions(Options):
    """Of a test by permutations, which can reach no p-value below 1 / (1 + their
    number).

    Where ``level`` alone is given there are as many as it takes; fewer are refused.
    """

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_it_takes(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or "n_permutations" in given:
            return given
        level = given.get("level")
        usual = cls.model_fields["n_permutations"].default
        if isinstance(level, float) and level > 0 and _fewest(level) > usual:
            return {**given, "n_permutations": _fewest(level)}
        return given

    @model_validator(mode="after")
    def _can_detect(self) -> Self:
        values = dict(self)
        level = values["level"]
        number = values["n_permutations"]
        if number is None or level == 0 or _fewest(level) <= number:
            return self
        why = f"{number} permutations reach no p-value of {level:g}"
        raise misfit(f"{why}; give n_permutations={_fewest(level)}", "n_permutations")


def _fewest(level: float) -> int:
    """Permutations that reach a p-value; of a tiny one more than can be asked for."""
    reciprocal = min(1 / level, 1e9)
    return math.ceil(reciprocal - 1e-9) - 1


class HeterogeneityOptions(PermutationOptions):
    """The test whether pooled regression data hold environments at all."""

    k: Count = option(
        25,
        "reduced features of the mixture, where there are too few points for "
        "all inputs",
    )
    n_permutations: Annotated[Count, Field(ge=19)] = option(
        39, "of the residuals, at most"
    )
    level: Probability = option(0.05, "largest p-value that counts as detected")
    min_gain: NonNegative = option(
        0.2,
        "gain beyond the permutations' that is taken for chance, in nats over all "
        "points per square root of their number, of 2 000 at most",
    )
    folds: Annotated[int, Field(ge=2), NotBool] = option(
        5, "of the cross-validation that the scale of the residuals comes from"
    )
    n_init: Count = option(
        1, "random initialisations of EM, in addition to three by moments"
    )
    ridge: PositiveFloat = option(1e-2, "of the mixture's regressions")
    em_max_iter: Count = option(200, "EM steps at most")
    em_tol: PositiveFloat = option(1e-4, "EM ends when its objective falls by less")
    min_share: Probability = option(0.02, "below: an environment counts as empty")


class _Sizes(Options):
    """Numbers of what is tried and inferred."""

    k: Some[Count] = option([10, 15, 20, 25], "numbers of reduced features to try")
    n_iterations: Count = option(3, "T, of Algorithm 1; KerHRM^s is the first one")
    n_environments: Count = option(2, "K, an upper bound")
    n_init: Count = option(10, "random initialisations for each k and ridge")


class ClusteringOptions(Options):
    """Options of M_c, the mixture of kernel ridge regressions."""

    init: Literal["random", "nested"] = option(
        "random",
        "nested: random for the first k, then from the environments of the k before "
        "and, later, of the iteration before",
    )
    clustering_ridge: Some[PositiveFloat] = option(
        [1e-3, 1e-2], "of the environments' regressions, chosen by held-out likelihood"
    )
    noise_sd: PositiveFloat | None = option(
        None, "standard deviation of the residuals; none: estimated in each M step"
    )
    noise_variance: Literal["shared", "per_cluster"] = option(
        "shared", "an estimated noise variance: one for all clusters, or one for each"
    )
    clustering_target: Literal["residual", "label"] = option(
        "residual", "what clusters regress: y - f_0, or y as the paper prints it"
    )
    clustering_intercept: bool = option(
        False, "of the regressions; the authors' code has one"
    )
    first_kernel: Literal["features", "inputs"] = option(
        "features",
        "of the first iteration: phi^T phi, or x^T x as Algorithm 1 prints it",
    )
    projection: Literal["newest", "all"] = option(
        "newest",
        "Psi_V is Psi without the newest theta, or without all so far, one after "
        "another (Algorithm 1): only the newest is then orthogonal to it",
    )
    e_step: Literal["soft", "hard"] = option(
        "soft", "hard: each step assigns whole points, as the authors' code does"
    )
    assignment: Literal["soft", "drawn", "hard"] = option(
        "soft",
        "what M_p gets of P_ij: the probabilities, a draw by them, or the "
        "likeliest cluster",
    )
    em_max_iter: Count = option(300, "EM steps at most")
    em_tol: PositiveFloat = option(
        1e-5, "EM ends when its objective falls by less, nats per point"
    )
    max_label_information: Probability = option(
        0.5,
        "above this normalised mutual information with the label a "
        "clustering is degenerate",
    )
    min_share: Probability = option(
        0.02, "below: an environment counts as empty and is dropped"
    )


class _PenaltyWeights(Options):
    """Weights that are tried."""

    alpha: Some[NonNegative] = option(
        [0.0, 0.1, 1.0, 10.0], "weights of the penalty to try"
    )


class DirectionOptions(Options):
    """Options of M_p, the invariant direction, and of what comes after it."""

    renamed: ClassVar[Mapping[str, str]] = {"selection": "stop_by"}

    penalty: PenaltyName = option(
        "gradient_variance", "kind of penalty on what differs between environments"
    )
    weights: Literal["equal", "by_size"] = option(
        "equal", "of the environments' losses"
    )
    total: Literal["mean", "sum"] = option(
        "mean",
        "of the environments' losses next to the penalty; sum: as the paper prints it",
    )
    ridge: NonNegative = option(1e-6, "of the invariant direction")

    # network training along the invariant direction
    cosine_weight: Some[NonNegative] = option(
        [10.0, 100.0, 1000.0], "lambda, weights to try"
    )
    cosine: Literal["signed", "absolute", "smoothed"] = option(
        "signed",
        "absolute: as the paper prints it; smoothed: signed, and smoothed to the end",
    )
    steps: Count = option(400, "of Adam at most, full batch")
    tol: NonNegative = option(
        5e-3,
        "training ends when a window of steps lowers the objective by no "
        "more, as a share",
    )
    window: Count = option(50, "steps of that window")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    check_every: Count | None = option(
        25,
        "steps between evaluations of the selection rule, which picks the "
        "step; none: the last",
    )

    # what is chosen, and what predicts
    stop_by: Literal["worst_inferred", "pooled"] = option(
        "worst_inferred",
        "what picks k, alpha, the iteration, lambda and the step: the worst "
        "inferred environment, "
        "or pooled validation",
    )
    final: Literal["best", "last"] = option("best", "iteration that predicts")


# Names of cells have options in declared order: of the last base first.
class KerHRMOptions(DirectionOptions, _PenaltyWeights, ClusteringOptions, _Sizes):
    """Options of KerHRM.

    Ridges are in units of the mean eigenvalue of Psi^T Psi / n, alpha in the penalty's
    own unit. Where the paper leaves a choice, an option has its sides.

    Examples
    --------
    >>> from kerhrm import KerHRMOptions
    >>> KerHRMOptions(k=[5], n_iterations=1).n_environments
    2
    """

    pretest: HeterogeneityOptions | None = option(
        HeterogeneityOptions(),
        "of regression data: where it detects no environments, KerHRM is "
        "ERM; none: no test",
    )


class AuxiliaryOptions(PermutationOptions):
    """Options of KerHRM with an auxiliary variable."""

    renamed: ClassVar[Mapping[str, str]] = {"network": "training"}

    k: Some[Count] = option([10, 15, 20, 25], "numbers of reduced features to try")
    n_cells: Annotated[int, Field(ge=2), NotBool] = option(
        10,
        "of the auxiliary variable, at most; a category of 30 points always has one",
    )
    n_environments: Annotated[int, Field(ge=2), NotBool] = option(2, "K")
    n_init: Count = option(5, "random initialisations of the cells, for each k")
    clustering_ridge: PositiveFloat = option(1e-3, "of the environments' regressions")
    alpha: Some[NonNegative] = option(
        [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0], "weights of the penalty to try"
    )
    penalty: PenaltyName = option(
        "whitened_gradient_variance", "on what differs between environments"
    )
    ridge: NonNegative = option(1e-6, "of the invariant direction")
    extrapolation: NonNegative = option(4.0, "lambda of the extrapolated risk")
    folds: Annotated[int, Field(ge=2), NotBool] = option(
        5, "of the training points, for that risk"
    )
    n_permutations: Count | None = option(
        99, "draws of signs, at most, to test for heterogeneity; none: no test"
    )
    level: Probability = option(0.05, "largest p-value that counts as detected")
    training: KerHRMOptions | None = option(
        KerHRMOptions(), "of a network's training along the direction; none: no network"
    )
