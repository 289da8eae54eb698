"""What KerHRM's steps may be told."""

from typing import Annotated, Literal

from pydantic import Field

from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.sections import (
    Count,
    NonNegative,
    Number,
    PositiveFloat,
    Probability,
    Section,
    Some,
    option,
)

SelectionRule = Literal["worst_learned", "pooled"]
LastIteration = Literal["best", "last"]


class Clustering(Section):
    """M_c: the mixture of kernel ridge regressions.

    Ridges count in units of the mean eigenvalue of Psi^T Psi / n.
    """

    clusters: Count = option(2, "K, an upper bound")
    restarts: Count = option(10, "random starts per seed and per (k, ridge)")
    starts: Literal["random", "nested"] = option(
        "random", "nested: random for the first k alone, the others from what was found before"
    )
    ridge: Some[PositiveFloat] = option(
        [1e-3, 1e-2], "of the centres; chosen by held-out likelihood"
    )
    sigma: PositiveFloat | None = option(
        None, "standard deviation of the residuals; null: estimated in each M step"
    )
    spread: Literal["shared", "each"] = option(
        "shared", "an estimated sigma: one for all clusters, or each one's own"
    )
    target: Literal["residual", "label"] = option(
        "residual", "what clusters regress: y - f_0, or y as the paper prints it"
    )
    intercept: bool = option(False, "of the centres; the released code has one")
    kernel: Literal["features", "inputs"] = option(
        "features", "of the first iteration: phi^T phi, or x^T x as Algorithm 1 prints it"
    )
    projection: Literal["newest", "all"] = option(
        "newest", "Psi_V is Psi without the newest theta, or, as in Algorithm 1, without all so far"
    )
    later_k: Literal["kept", "free"] = option(
        "kept", "k after the first iteration: as chosen there, or every one on trial again"
    )
    e_step: Literal["soft", "hard"] = option(
        "soft", "hard: each step assigns whole points, as the released code does"
    )
    assignment: Literal["soft", "drawn", "hard"] = option(
        "soft", "what M_p gets of P_ij: the probabilities, a draw by them, or the likeliest cluster"
    )
    max_iterations: Count = option(300, "EM steps at most")
    tolerance: PositiveFloat = option(
        1e-5, "EM ends when its objective falls by less, nats per point"
    )
    max_label_information: Probability = option(0.5, "above: the split only repeats the label")
    min_share: Probability = option(0.02, "below: an environment counts as empty and is dropped")


class Invariance(Section):
    """M_p: the invariant direction."""

    alpha: Some[NonNegative] = option(
        [0.0, 0.1, 1.0, 10.0], "weights of the penalty to try, in its unit"
    )
    penalty: Literal[tuple(PENALTIES)] = option(  # type: ignore[valid-type]
        "gradient_variance", "of what differs between environments"
    )
    weights: Literal["uniform", "shares"] = option(
        "uniform", "of the environments: all alike, or by their points"
    )
    total: Literal["mean", "sum"] = option(
        "mean", "of the environments' losses beside the penalty; sum: as the paper prints it"
    )
    ridge: NonNegative = option(1e-6, "in units as in Clustering")


class IGD(Section):
    """Step 3, invariant gradient descent of the network."""

    penalty: Some[NonNegative] = option(
        [10.0, 100.0, 1000.0], "lambda, weights of the cosine to try"
    )
    cosine: Literal["signed", "absolute", "smoothed"] = option(
        "signed", "absolute: as printed in the paper; smoothed: signed, and smoothed to the end"
    )
    steps: Count = option(400, "of Adam at most, full batch")
    tolerance: NonNegative = option(
        5e-3, "training ends when a window of steps lowers the objective by no more, as a share"
    )
    window: Count = option(50, "steps of that window")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    check_every: Count | None = option(
        25, "steps between looks at the selection rule, which then picks the step, too"
    )


class Heterogeneity(Section):
    """The test whether pooled regression data hold environments at all (docs/heterogeneity.md)."""

    k: Count = option(25, "reduced features that the mixture is fitted on, if there are as many")
    nulls: Annotated[int, Field(ge=19), Number] = option(19, "permutations of the residuals")
    level: Probability = option(0.05, "largest p-value that counts as found")
    smallest_gain: NonNegative = option(
        10.0, "smallest gain beyond the permutations' mean that counts, nats over all points"
    )
    folds: Annotated[int, Field(ge=2), Number] = option(
        5, "of the cross-validation that residuals and their scale come from"
    )
    restarts: Count = option(1, "random starts of EM, beside those that moments point to")
    ridge: PositiveFloat = option(1e-2, "of the mixture's centres")
    max_iterations: Count = option(200, "EM steps at most")
    tolerance: PositiveFloat = option(1e-4, "EM ends when its objective falls by less")
    min_share: Probability = option(0.02, "below: an environment counts as empty")


class KerHRM(Section):
    """The described algorithm."""

    k: Some[Count] = option([10, 15, 20, 25], "reduced dimensions to try")
    iterations: Count = option(3, "T; KerHRM-s is iteration 1")
    clustering: Clustering = option(Clustering(), "M_c")
    invariance: Invariance = option(Invariance(), "M_p")
    network: IGD = option(IGD(), "step 3")
    selection: SelectionRule = option(
        "worst_learned",
        "what picks k, alpha and lambda: the worst learned environment, or pooled validation",
    )
    end: LastIteration = option("best", "direction of the best iteration by that rule, or the last")
    guard: Heterogeneity | None = option(
        Heterogeneity(),
        "of regression data: where this test finds no environments, KerHRM is pooled ERM; "
        "null: not tested",
    )
