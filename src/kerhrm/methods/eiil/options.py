"""What environment inference may be told."""

from kerhrm.methods.irm.options import IRM, LOSS, PointLoss
from kerhrm.sections import Count, PositiveFloat, option


class EIIL(IRM):
    """Environment inference, then IRMv1 on what it found."""

    loss: PointLoss = option("squared", LOSS)
    reference_steps: Count = option(50, "of the reference network, by ERM")
    inference_steps: Count = option(1000, "of Adam on the soft assignment")
    inference_rate: PositiveFloat = option(1e-2, "learning rate of the inference")
