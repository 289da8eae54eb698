"""What classification with spurious correlation may be told."""

from typing import Literal

from pydantic import Field

from kerhrm.sections import Count, PositiveFloat, Probability, Section, option


class ClassificationData(Section):
    """Classification with spurious correlation (paper, section 5.1)."""

    generator: Literal["classification"] = Field(description="this data set")
    r1: Probability = option(0.9, "bias rate of the first training environment")
    r2: Probability = option(0.7, "bias rate of the second one")
    r_test: Probability = option(0.1, "bias rate of the test environment")
    d: Count = option(5, "dimension of S and of V")
    sigma_s: PositiveFloat = option(3.0, "noise of S")
    sigma_v: PositiveFloat = option(0.3, "noise of V")
    noise_unit: Literal["std", "variance"] = option(
        "std",
        "what the sigmas are; std: as in the released code and in accord with the paper's table, "
        "variance: as its appendix says",
    )
    scramble: Literal["fixed", "per_seed", "identity"] = option(
        "fixed", "the orthogonal matrix H: one for all seeds, one for each, or none"
    )
    n_train_per_environment: Count = option(1000, "training points of each environment")
    n_validation_per_environment: Count = option(500, "likewise for validation")
    n_test: Count = option(1000, "test points")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_train_per_environment

    @property
    def n_inputs(self) -> int:
        """Number of predictors."""
        return 2 * self.d
