"""When a training ends: with the best score on the way, or when its losses have stopped falling."""

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
    def __call__(self, step: int, current: N, rows: slice, losses: Tensor) -> None:
        """Look at the networks of a slice, if it is time to; among equals the earliest stays."""
        if step % self.every and step != self.steps:
            return
        score = self.score(current, rows).to(self.best_score)
        better = score > self.best_score[rows]
        self.best_score[rows][better] = score[better]
        self.best_step[rows][better] = step
        for kept, new in zip(self.best.parameters(), current.parameters(), strict=True):
            kept[rows][better] = new[better]


class Convergence(Generic[N]):
    """For ``after_step``: a network is done once its loss has stopped falling.

    Steps are cut into windows; at the end of each the least loss seen so far is compared with that
    of the windows before, and a network whose least loss has fallen by no more than the share
    ``tolerance`` of it keeps its weights of that step, whatever the others of its slice still do.

    Parameters
    ----------
    initial : Network
        Of B networks, where the training starts.
    tolerance : float
        0 means never, unless the loss has not fallen at all.
    window : int
        Steps.
    device : torch.device
        Where the training runs.
    """

    def __init__(self, initial: N, *, tolerance: float, window: int, device: torch.device) -> None:
        self.weights = initial.trainable_copy(device).frozen()
        n = initial.n_networks
        self.least = torch.full((n,), torch.inf, dtype=torch.float64, device=device)
        self.before = self.least.clone()
        self.ended = torch.zeros(n, dtype=torch.float64, device=device)  #: at which step, or 0
        self.tolerance, self.window = tolerance, window

    @property
    def state(self) -> list[Tensor]:
        """What a checkpoint has to hold: ``keep`` of the training."""
        return [*self.weights.parameters(), self.least, self.before, self.ended]

    @torch.no_grad()
    def __call__(self, step: int, current: N, rows: slice, losses: Tensor) -> bool:
        """Note a step of a slice; whether all of its networks are done."""
        least, before, ended = self.least[rows], self.before[rows], self.ended[rows]
        torch.minimum(least, losses.to(least), out=least)
        if step % self.window:
            return False
        ends = (ended == 0) & (before - least <= self.tolerance * least.abs())
        ended[ends] = step
        for kept, new in zip(self.weights.parameters(), current.parameters(), strict=True):
            kept[rows][ends] = new[ends]
        before.copy_(least)
        return bool(ended.all())

    def result(self, last: N) -> N:
        """The weights of each network's own end, given all those after the last step."""
        parts = zip(self.weights.parameters(), last.parameters(), strict=True)
        return last.replace([torch.where(_like(self.ended > 0, w), w, p) for w, p in parts])


def _like(rows: Tensor, p: Tensor) -> Tensor:
    """Rows (B,) broadcastable to a parameter (B, ...)."""
    return rows.reshape(-1, *[1] * (p.ndim - 1))
