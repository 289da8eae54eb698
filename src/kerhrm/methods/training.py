"""Full-batch training of B networks."""

import logging
from collections.abc import Callable

import torch
from torch import Tensor

from kerhrm.features.mlp import MLP

log = logging.getLogger(__name__)

#: losses (b,) of outputs (b, n) of the networks in a slice of the batch
Loss = Callable[[Tensor, slice], Tensor]


def train(
    mlp: MLP,
    x: Tensor,
    loss: Loss,
    *,
    steps: int,
    learning_rate: float,
    after_step: Callable[[int, MLP, slice], None] | None = None,
) -> MLP:
    """Minimise a loss of the outputs by Adam, for every network of the batch.

    No two networks share a parameter and losses are summed over the batch, so it does not
    matter how many run together.  On a GPU all do; on a CPU one after the other, because
    the activations of one network stay in the cache (measured: 2 to 3 times faster).

    Parameters
    ----------
    mlp : MLP
        Initial networks; not changed.
    x : Tensor, (B, n, d)
    loss : callable
        ``loss(outputs, rows)``: outputs (b, n) of the networks ``rows``, to losses (b,).
    steps : int
    learning_rate : float
        Adam's, with the default moments (Kingma & Ba 2015).
    after_step : callable, optional
        Called as ``after_step(step, networks, rows)`` with step = 1, ..., ``steps``.

    Returns
    -------
    MLP
        Trained networks.
    """
    together = 1 if x.device.type == "cpu" else len(x)
    groups = []
    for first in range(0, len(x), together):
        rows = slice(first, first + together)
        networks = mlp.take(rows).trainable_copy(x.device)
        optimiser = torch.optim.Adam(networks.parameters(), lr=learning_rate)
        for step in range(1, steps + 1):
            optimiser.zero_grad()
            losses = loss(networks(x[rows]), rows)
            losses.sum().backward()
            optimiser.step()
            if after_step is not None:
                after_step(step, networks, rows)
        last = min(first + together, len(x))
        log.info("trained %d of %d networks, last loss %.4f", last, len(x), losses.mean().item())
        groups.append(networks.frozen())
    return MLP.concatenate(groups)
