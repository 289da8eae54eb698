"""What invariant risk minimisation may be told."""

from typing import Literal

from pydantic import Field

from kerhrm.sections import Count, Natural, NonNegative, PositiveFloat, Section

PointLoss = Literal["squared", "logistic"]
LOSS = "of a point; logistic: classification alone"


class IRM(Section):
    """IRMv1, with environment labels."""

    loss: PointLoss = Field("logistic", description=LOSS)
    weight: NonNegative = Field(1e4, description="lambda of the squared scale-gradients")
    anneal: Natural = Field(50, description="steps before the weight applies")
    steps: Count = Field(200, description="of Adam, on all points")
    learning_rate: PositiveFloat = Field(1e-3, description="of Adam")
