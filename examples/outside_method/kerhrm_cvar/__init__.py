"""The declaration, which is read wherever a configuration is: nothing heavy is imported."""

from kerhrm.methods.declared import POOLED, Method, Row
from kerhrm.sections import Count, PositiveFloat, Probability, Section, option


class CVaR(Section):
    """Conditional value at risk."""

    share: Probability = option(0.2, "of the points, those with the largest losses")
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "of Adam")


METHOD = Method(
    name="cvar",
    rows=(Row("cvar", "CVaR", "described", POOLED),),
    reads="points",
    entry="kerhrm_cvar.train:train_cvar",
    options="kerhrm_cvar:CVaR",
    path="steps",
)
