"""Full-batch training of B networks at once."""

import logging
from collections.abc import Callable

import torch
from torch import Tensor

from kerhrm.features.mlp import MLP

log = logging.getLogger(__name__)


def train(
    mlp: MLP,
    x: Tensor,
    loss: Callable[[Tensor], Tensor],
    *,
    steps: int,
    learning_rate: float,
    after_step: Callable[[int, MLP], None] | None = None,
) -> MLP:
    """Minimise a loss of the outputs by Adam, all B networks in one batch.

    The losses are summed over the batch; as no two networks share a parameter, each is
    trained exactly as it would be alone.

    Parameters
    ----------
    mlp : MLP
        Initial networks; not changed.
    x : Tensor, (B, n, d)
    loss : callable
        From outputs (B, n) to losses (B,).
    steps : int
    learning_rate : float
        Adam's, with the default moments (Kingma & Ba 2015).
    after_step : callable, optional
        Called as ``after_step(step, mlp)`` with step = 1, ..., ``steps``.

    Returns
    -------
    MLP
        Trained networks.
    """
    trained = mlp.trainable_copy(x.device)
    optimiser = torch.optim.Adam(trained.parameters(), lr=learning_rate)
    for step in range(1, steps + 1):
        optimiser.zero_grad()
        losses = loss(trained(x))
        losses.sum().backward()
        optimiser.step()
        if step % max(1, steps // 10) == 0:
            log.info("step %d of %d, mean loss %.4f", step, steps, losses.mean().item())
        if after_step is not None:
            after_step(step, trained)
    return MLP([w.detach() for w in trained.weights], [b.detach() for b in trained.biases])
