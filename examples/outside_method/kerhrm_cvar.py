"""Least mean loss of the worst share of the points (Rockafellar & Uryasev 2000)."""

from kerhrm.methods.base import Method
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.networks.training import train
from kerhrm.options import Count, Options, PositiveFloat, Probability, option


class CVaR(Options):
    """Conditional value at risk."""

    share: Probability = option(0.2, "of the points, those with the largest losses")
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "of Adam")


def train_cvar(inputs: Inputs, options: CVaR) -> Fitted:
    """Train the network on the worst share of the points at each step."""
    n_worst = max(1, round(options.share * len(inputs.y)))
    network = train(
        inputs.network,
        inputs.x,
        lambda f, _network, _step: ((f - inputs.y) ** 2).topk(n_worst).values.mean(),
        steps=options.steps,
        learning_rate=options.learning_rate,
    )
    return Fitted(networks={"model": network})


METHOD = Method("cvar", CVaR, train_cvar)
