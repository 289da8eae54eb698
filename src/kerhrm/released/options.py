"""What KerHRM as released may be told."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kerhrm.sections import (
    Count,
    Natural,
    NonNegative,
    Number,
    PositiveFloat,
    Probability,
    Section,
    misfit,
    option,
)


class Released(Section):
    """KerHRM as its authors released it; every departure from the paper is an option.

    The other choice of each option is what the paper describes.
    """

    k: Count = option(15, "reduced dimension")
    iterations: Count = option(19, "of clustering and invariant learning in turn")
    clusters: Count = option(2, "K")
    environments_used: Annotated[int, Field(ge=2), Number] = option(
        2, "clusters 0, 1, ... that M_p sees; the points of the others are dropped"
    )
    assignment: Literal["hard", "soft"] = option("hard", "to the smallest residual, or EM")
    intercept: bool = option(True, "of the clusters' regressions")
    centres: Literal["lasso", "ridge"] = option("lasso", "Adam on the L1 penalty, or closed form")
    cluster_steps: Count = option(3000, "of Adam for the clusters' models, if lasso")
    cluster_rate: PositiveFloat = option(1e-3, "its learning rate")
    cluster_l1: NonNegative = option(0.01, "of centres 'lasso', per coefficient")
    cluster_ridge: PositiveFloat = option(1e-2, "of centres 'ridge', in units as in Clustering")
    reuse_assignment: bool = option(True, "the next clustering starts from the last assignment")
    stop_share: Probability = option(
        0.1, "clustering ends when at most this share of n/K points moves"
    )
    max_reassignments: Count = option(100, "the released loop has no cap; steps of EM, if soft")
    penalty: Literal["scale_gradient", "gradient_variance"] = option(
        "scale_gradient", "squared differences of scale-gradients, or of theta-gradients"
    )
    weight: NonNegative = option(60.0, "of the penalty")
    first_weight: NonNegative = option(1.0, "before the anneal step")
    anneal: Natural = option(500, "steps before the weight applies")
    theta: Literal["early_stopped", "converged"] = option(
        "early_stopped", "Adam's steps, or the minimum"
    )
    reuse_theta: bool = option(
        False, "Adam starts from the last theta; not known of the released code"
    )
    steps: Count = option(2000, "of Adam for theta")
    learning_rate: PositiveFloat = option(1e-4, "of Adam for theta")

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        if self.k == 1 and self.iterations > 1:
            raise misfit("k=1 leaves nothing to cluster after the first iteration: raise k", "k")
        if self.environments_used > self.clusters:
            why = f"environments_used={self.environments_used} exceeds clusters={self.clusters}"
            raise misfit(why, "environments_used")
        if self.assignment == "soft" and self.centres == "lasso":
            raise misfit('"soft" is EM in closed form: set centres to "ridge"', "assignment")
        if self.theta == "converged" and self.penalty == "scale_gradient":
            why = '"converged" needs the quadratic penalty "gradient_variance"'
            raise misfit(
                f"{why}: the other is of fourth order and need not have one minimum", "theta"
            )
        return self
