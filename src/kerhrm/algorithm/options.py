"""What KerHRM's steps may be told."""

from typing import Literal

from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.sections import Count, NonNegative, PositiveFloat, Probability, Section, Some, option


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
    ridge: NonNegative = option(1e-6, "in units as in Clustering")


class IGD(Section):
    """Step 3, invariant gradient descent of the network."""

    penalty: Some[NonNegative] = option(
        [10.0, 100.0, 1000.0], "lambda, weights of the cosine to try"
    )
    cosine: Literal["signed", "absolute"] = option("signed", "absolute: as printed in the paper")
    steps: Count = option(150, "of Adam, full batch")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    check_every: Count | None = option(
        None, "steps between looks at the selection rule, which then picks the step, too"
    )


class KerHRM(Section):
    """The described algorithm."""

    k: Some[Count] = option([10, 15, 20, 25], "reduced dimensions to try")
    iterations: Count = option(3, "T; KerHRM-s is iteration 1")
    clustering: Clustering = option(Clustering(), "M_c")
    invariance: Invariance = option(Invariance(), "M_p")
    network: IGD = option(IGD(), "step 3")
