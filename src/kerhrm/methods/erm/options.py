"""What empirical risk minimisation may be told."""

from pydantic import Field

from kerhrm.sections import Count, PositiveFloat, Section


class ERM(Section):
    """Empirical risk minimisation."""

    steps: Count = Field(200, description="of Adam, on all points")
    learning_rate: PositiveFloat = Field(1e-3, description="of Adam")
    evaluate_every: Count = Field(
        10, description="steps between looks at the pooled validation sample"
    )
