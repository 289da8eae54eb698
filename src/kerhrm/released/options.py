"""What KerHRM as released may be told."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kerhrm.sections import (
    Count,
    Natural,
    NonNegative,
    PositiveFloat,
    Probability,
    Section,
    misfit,
)


class Released(Section):
    """KerHRM as its authors released it; every departure from the paper is an option.

    The other choice of each option is what the paper describes.
    """

    k: Count = Field(15, description="reduced dimension")
    iterations: Count = Field(19, description="of clustering and invariant learning in turn")
    clusters: Count = Field(2, description="K")
    environments_used: Annotated[Natural, Field(ge=2)] = Field(
        2, description="clusters 0, 1, ... that M_p sees; the points of the others are dropped"
    )
    assignment: Literal["hard", "soft"] = Field(
        "hard", description="to the smallest residual, or EM"
    )
    intercept: bool = Field(True, description="of the clusters' regressions")
    centres: Literal["lasso", "ridge"] = Field(
        "lasso", description="Adam on the L1 penalty, or closed form"
    )
    cluster_steps: Count = Field(3000, description="of Adam for the clusters' models, if lasso")
    cluster_rate: PositiveFloat = Field(1e-3, description="its learning rate")
    cluster_l1: NonNegative = Field(0.01, description="of centres 'lasso', per coefficient")
    cluster_ridge: PositiveFloat = Field(
        1e-2, description="of centres 'ridge', in units as in ``Clustering``"
    )
    reuse_assignment: bool = Field(
        True, description="the next clustering starts from the last assignment"
    )
    stop_share: Probability = Field(
        0.1, description="clustering ends when at most this share of n/K points moves"
    )
    max_reassignments: Count = Field(
        100, description="the released loop has no cap; steps of EM, if soft"
    )
    penalty: Literal["scale_gradient", "gradient_variance"] = Field(
        "scale_gradient",
        description="squared difference of the scale-gradients, or mean squared difference of"
        " theta-gradients",
    )
    weight: NonNegative = Field(60.0, description="of the penalty")
    first_weight: NonNegative = Field(1.0, description="before the anneal step")
    anneal: Natural = Field(500, description="steps before the weight applies")
    theta: Literal["early_stopped", "converged"] = Field(
        "early_stopped", description="Adam's steps, or the minimum"
    )
    reuse_theta: bool = Field(
        False, description="Adam starts from the last theta; not known of the released code"
    )
    steps: Count = Field(2000, description="of Adam for theta")
    learning_rate: PositiveFloat = Field(1e-4, description="of Adam for theta")

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        if self.k == 1 and self.iterations > 1:
            why = "k=1 leaves nothing to cluster after the first iteration: raise k"
            raise misfit(["k"], self.k, why)
        if self.environments_used > self.clusters:
            why = f"environments_used={self.environments_used} exceeds clusters={self.clusters}"
            raise misfit(["environments_used"], self.environments_used, why)
        if self.assignment == "soft" and self.centres == "lasso":
            why = '"soft" is EM in closed form: set centres to "ridge"'
            raise misfit(["assignment"], self.assignment, why)
        if self.theta == "converged" and self.penalty == "scale_gradient":
            why = (
                '"converged" needs the quadratic penalty "gradient_variance": the other is of fourth'
                " order and need not have one minimum"
            )
            raise misfit(["theta"], self.theta, why)
        return self
