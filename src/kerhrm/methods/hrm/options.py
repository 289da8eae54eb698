"""What heterogeneous risk minimisation may be told."""

from typing import Literal

from kerhrm.sections import Count, NonNegative, PositiveFloat, Probability, Section, option


class HRM(Section):
    """Heterogeneous risk minimisation: gated linear models on raw features.

    They have no intercept: where one class is rarer than the other, balance the classes first.
    """

    clusters: Count = option(3, "K")
    iterations: Count = option(5, "of clustering and selection in turn")
    cluster_steps: Count = option(3000, "of Adam for the clusters' linear models")
    cluster_rounds: Count = option(10, "reassignments, each after an equal share of the steps")
    cluster_rate: PositiveFloat = option(1e-3, "learning rate of the clusters")
    cluster_l1: NonNegative = option(0.01, "gate-weighted L1 of the clusters' linear models")
    gate_steps: Count = option(6000, "of Adam for the gates and the invariant linear model")
    gate_rate: PositiveFloat = option(1e-3, "learning rate of the gates")
    gate_noise: PositiveFloat = option(0.1, "sigma of the stochastic gates")
    gate_cost: NonNegative = option(0.1, "lambda, of what gate_goal says")
    gate_goal: Literal["few", "all"] = option(
        "few", "few: E[open gates] costs; all: E[closed gates]^2"
    )
    penalty: NonNegative = option(1000.0, "of the gradients' variance in the gated coordinates")
    growth: PositiveFloat = option(1.05, "factor of gate_cost and penalty per iteration")
    threshold: Probability = option(0.2, "gate probability above which a feature is kept")
