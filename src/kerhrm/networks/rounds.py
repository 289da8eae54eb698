"""Training of a network in several rounds, by one optimiser."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

from kerhrm.networks.base import Network
from kerhrm.networks.training import Adam, Callback
from kerhrm.progress import progress

N = TypeVar("N", bound=Network)


@dataclass(frozen=True)
class Descent(Generic[N]):
    """A network in training, whose optimiser goes on from round to round.

    Attributes
    ----------
    network : N
        A network, whose weights are changed in place.
    optimiser : Adam
        Of these weights.
    """

    network: N
    optimiser: Adam

    @classmethod
    def start(cls, network: N, device: torch.device, rate: float) -> "Descent[N]":
        """Train a copy of a network."""
        copy = network.trainable(device)
        weights = list(copy.weights.values())
        optimiser = Adam(weights, rate)
        return cls(copy, optimiser)

    def run(
        self,
        objective: Callable[[], Tensor],
        steps: int,
        callbacks: Sequence[Callback[N]] = (),
    ) -> None:
        """Take steps that lower the objective of the network as it then is.

        Callbacks are those of :func:`kerhrm.networks.training.train`; none ends it.
        """
        for step in progress(range(1, steps + 1), "training steps"):
            loss = objective()
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            for callback in callbacks:
                callback(step, self.network, loss.detach())
