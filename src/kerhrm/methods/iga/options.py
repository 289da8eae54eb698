"""What inter-gradient alignment may be told."""

from pydantic import Field

from kerhrm.methods.irm.options import LOSS, PointLoss
from kerhrm.sections import Count, NonNegative, PositiveFloat, Section


class IGA(Section):
    """Inter-gradient alignment, with environment labels."""

    loss: PointLoss = Field("squared", description=LOSS)
    penalty: NonNegative = Field(100.0, description="lambda of the gradients' variance")
    steps: Count = Field(100, description="of Adam, on all points")
    learning_rate: PositiveFloat = Field(1e-3, description="of Adam")
