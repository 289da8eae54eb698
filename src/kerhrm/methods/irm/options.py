"""What invariant risk minimisation may be told."""

from typing import Literal

from kerhrm.sections import Count, Natural, NonNegative, PositiveFloat, Section, option

PointLoss = Literal["squared", "logistic"]
LOSS = "of a point; logistic: classification alone"


class IRM(Section):
    """IRMv1, with environment labels."""

    per_network = frozenset({"weight", "learning_rate"})

    loss: PointLoss = option("logistic", LOSS)
    weight: NonNegative = option(1e4, "lambda of the squared scale-gradients")
    anneal: Natural = option(50, "steps before the weight applies")
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "of Adam")
    weight_decay: NonNegative = option(0.0, "times the sum of squared parameters joins the risks")
