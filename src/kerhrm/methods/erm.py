"""Empirical risk minimisation: argmin_w (1/n) |f_w(X) - y|^2 (paper, section 5).

How long to train is chosen by the paper's rule for methods without environment labels:
the best result on the pooled validation sample, looked at every few steps.
"""

from torch import Tensor

from kerhrm.algorithm.invariance import point_scores
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.options import ERMOptions
from kerhrm.networks.base import Network
from kerhrm.networks.training import BestWeights


def train_erm(inputs: Inputs, options: ERMOptions) -> Fitted:
    """Train a network, and keep the weights of its best validation score."""

    def squared_error(f: Tensor, network: Network, step: int) -> Tensor:
        return ((f - inputs.y) ** 2).mean()

    def score(network: Network) -> Tensor:
        outputs = network(inputs.x_validation)
        return point_scores(outputs, inputs.y_validation, inputs.task).mean()

    best = BestWeights(
        inputs.network, score, every=options.evaluate_every, steps=options.steps
    )
    inputs.train(squared_error, options, callbacks=[best])
    return Fitted({"model": best.network})
