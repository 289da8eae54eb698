"""What heterogeneous risk minimisation may be told."""

from typing import Literal

from pydantic import Field

from kerhrm.sections import Count, NonNegative, PositiveFloat, Probability, Section


class HRM(Section):
    """Heterogeneous risk minimisation: gated linear models on raw features."""

    clusters: Count = Field(3, description="K")
    iterations: Count = Field(5, description="of clustering and selection in turn")
    cluster_steps: Count = Field(3000, description="of Adam for the clusters' linear models")
    cluster_rounds: Count = Field(
        10, description="reassignments, each after an equal share of the steps"
    )
    cluster_rate: PositiveFloat = Field(1e-3, description="learning rate of the clusters")
    cluster_l1: NonNegative = Field(
        0.01, description="gate-weighted L1 of the clusters' linear models"
    )
    gate_steps: Count = Field(
        6000, description="of Adam for the gates and the invariant linear model"
    )
    gate_rate: PositiveFloat = Field(1e-3, description="learning rate of the gates")
    gate_noise: PositiveFloat = Field(0.1, description="sigma of the stochastic gates")
    gate_cost: NonNegative = Field(0.1, description="lambda, of what gate_goal says")
    gate_goal: Literal["few", "all"] = Field(
        "few",
        description="few: gate_cost times the expected number of open gates; all: times the"
        " squared expected number of closed ones",
    )
    penalty: NonNegative = Field(
        1000.0, description="of the gradients' variance in the gated coordinates"
    )
    growth: PositiveFloat = Field(1.05, description="factor of gate_cost and penalty per iteration")
    threshold: Probability = Field(
        0.2, description="gate probability above which a feature is kept"
    )
