"""What classification with spurious correlation may be told."""

from typing import Literal

from pydantic import Field

from kerhrm.sections import Count, PositiveFloat, Probability, Section


class ClassificationData(Section):
    """Classification with spurious correlation (paper, section 5.1)."""

    generator: Literal["classification"] = Field(description="this data set")
    r1: Probability = Field(0.9, description="bias rate of the first training environment")
    r2: Probability = Field(0.7, description="bias rate of the second one")
    r_test: Probability = Field(0.1, description="bias rate of the test environment")
    d: Count = Field(5, description="dimension of S and of V")
    sigma_s: PositiveFloat = Field(3.0, description="noise of S")
    sigma_v: PositiveFloat = Field(0.3, description="noise of V")
    noise_unit: Literal["std", "variance"] = Field(
        "std", description="what the sigmas are; std: released constants, variance: the paper's"
    )
    scramble: Literal["fixed", "per_seed", "identity"] = Field(
        "fixed", description="the orthogonal matrix H: one for all seeds, one for each, or none"
    )
    n_train_per_environment: Count = Field(1000, description="training points of each environment")
    n_validation_per_environment: Count = Field(500, description="likewise for validation")
    n_test: Count = Field(1000, description="test points")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_train_per_environment
