"""A perceptron as its last layer, which is linear, and the features that enter it."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.networks.base import Network
from kerhrm.networks.build import MLP, activations


@dataclass(frozen=True)
class LastLayer:
    """f(x) = z(x)^T v, z the last hidden layer and a constant 1.

    Without hidden layers z are the inputs and the constant.

    Attributes
    ----------
    network : MLP
        Whose last layer it is.
    """

    network: MLP

    @classmethod
    def from_network(cls, network: Network) -> Self:
        """Take a network apart; :class:`KerhrmError` if it is no perceptron."""
        if not isinstance(network, MLP):
            module = getattr(network, "module", network)
            kind = type(module).__name__
            problem = (
                f"the method retrains the last layer of a perceptron; got a {kind}"
            )
            raise KerhrmError(problem, "give hidden widths, as network=(64,)")
        return cls(network)

    @property
    def coefficients(self) -> Tensor:
        """v, (q + 1,), float64; the last one is the bias."""
        *_, last_layer = self.network.layers
        weight, bias = last_layer
        return torch.cat([weight[0], bias]).double()

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """z of points (n, d): (n, q + 1), float64."""
        *_, last_hidden, _ = activations(self.network.layers, x)
        hidden = last_hidden.double()
        first_column = hidden[:, :1]
        ones = torch.ones_like(first_column)
        return torch.cat([hidden, ones], dim=1)

    def replaced(self, coefficients: Tensor) -> MLP:
        """The network with other coefficients (q + 1,) of its last layer."""
        *earlier, last_layer = self.network.layers
        number = len(earlier)
        weight, bias = last_layer
        new = coefficients.to(weight)
        weights = dict(self.network.weights)
        weights[f"weight_{number}"] = new[None, :-1]
        weights[f"bias_{number}"] = new[-1:].to(bias)
        return self.network.with_weights(weights)
