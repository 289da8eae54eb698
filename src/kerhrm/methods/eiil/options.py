"""What environment inference may be told."""

from pydantic import Field

from kerhrm.methods.irm.options import IRM, LOSS, PointLoss
from kerhrm.sections import Count, PositiveFloat


class EIIL(IRM):
    """Environment inference, then IRMv1 on what it found."""

    loss: PointLoss = Field("squared", description=LOSS)
    reference_steps: Count = Field(50, description="of the reference network, by ERM")
    inference_steps: Count = Field(1000, description="of Adam on the soft assignment")
    inference_rate: PositiveFloat = Field(1e-2, description="learning rate of the inference")
