"""What distributionally robust optimisation may be told."""

from pydantic import Field

from kerhrm.sections import Count, PositiveFloat, Section


class DRO(Section):
    """Distributionally robust optimisation over a chi-square ball."""

    rho: PositiveFloat = Field(0.5, description="radius of the ball")
    steps: Count = Field(200, description="of Adam, on all points")
    learning_rate: PositiveFloat = Field(1e-3, description="of Adam")
