"""What inter-gradient alignment may be told."""

from kerhrm.methods.irm.options import LOSS, PointLoss
from kerhrm.sections import Count, NonNegative, PositiveFloat, Section, option


class IGA(Section):
    """Inter-gradient alignment, with environment labels."""

    per_network = frozenset({"penalty", "learning_rate"})

    loss: PointLoss = option("squared", LOSS)
    penalty: NonNegative = option(100.0, "lambda of the gradients' variance")
    steps: Count = option(100, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "of Adam")
