"""Early stopping: of all that a training passes through, the weights with the best score."""

from collections.abc import Callable
from typing import Generic

import torch
from torch import Tensor

from kerhrm.networks.protocol import N


class KeepBest(Generic[N]):
    """For ``after_step`` of :func:`kerhrm.networks.training.train`: the best weights so far.

    Parameters
    ----------
    initial : Network
        Of B networks, where the training starts.
    score : callable
        ``score(networks, rows)`` (b,), the larger the better, of the networks in a slice.
    every, steps : int
        Steps between two looks, and the last step, which is looked at, too.
    device : torch.device
        Where the training runs.
    """

    def __init__(
        self,
        initial: N,
        score: Callable[[N, slice], Tensor],
        *,
        every: int,
        steps: int,
        device: torch.device,
    ) -> None:
        self.best = initial.trainable_copy(device).frozen()
        n = initial.n_networks
        self.best_score = torch.full((n,), -torch.inf, dtype=torch.float64, device=device)
        self.best_step = torch.zeros(n, dtype=torch.float64, device=device)
        self.score, self.every, self.steps = score, every, steps

    @property
    def state(self) -> list[Tensor]:
        """What a checkpoint has to hold: ``keep`` of the training."""
        return [*self.best.parameters(), self.best_score, self.best_step]

    @torch.no_grad()
    def __call__(self, step: int, current: N, rows: slice) -> None:
        """Look at the networks of a slice, if it is time to; among equals the earliest stays."""
        if step % self.every and step != self.steps:
            return
        score = self.score(current, rows).to(self.best_score)
        better = score > self.best_score[rows]
        self.best_score[rows][better] = score[better]
        self.best_step[rows][better] = step
        for kept, new in zip(self.best.parameters(), current.parameters(), strict=True):
            kept[rows][better] = new[better]
