"""Empirical risk minimisation: argmin_w (1/n) |f_w(X) - y|^2 (paper, section 5).

How long to train is chosen by the paper's rule for methods without environment labels:
the best result on the pooled validation sample, looked at every few steps.
"""

from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.options import ERMOptions
from kerhrm.networks.base import Network


def train_erm(inputs: Inputs, options: ERMOptions) -> Fitted:
    """Train a network, and keep the weights of its best validation score."""

    def squared_error(f: Tensor, network: Network, step: int) -> Tensor:
        residuals = f - inputs.y
        squares = residuals**2
        return squares.mean()

    model = inputs.train_model(squared_error, options)
    return Fitted({"model": model})
