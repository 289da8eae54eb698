"""What a training leaves: its weights after some steps, the best of them, or those of its end."""

from collections.abc import Callable, Sequence
from typing import Generic

import torch
from torch import Tensor

from kerhrm.networks.protocol import N


class Snapshots(Generic[N]):
    """For ``after_step`` of :func:`kerhrm.networks.training.train`: the weights after some steps.

    Parameters
    ----------
    initial : Network
        Of B networks, where the training starts.
    stops : sequence of int
        The steps.
    device : torch.device
        Where the training runs.
    """

    def __init__(self, initial: N, stops: Sequence[int], *, device: torch.device) -> None:
        self.stops = list(stops)
        self.networks = [initial.trainable_copy(device).frozen() for _ in stops]

    @property
    def state(self) -> list[Tensor]:
        """What a checkpoint has to hold: ``keep`` of the training."""
        return [p for network in self.networks for p in network.parameters()]

    @torch.no_grad()
    def __call__(self, step: int, current: N, rows: slice, losses: Tensor) -> None:
        """Keep the networks of a slice, if it is one of the steps."""
        if step in self.stops:
            kept = self.networks[self.stops.index(step)].parameters()
            for old, new in zip(kept, current.parameters(), strict=True):
                old[rows] = new


class KeepBest(Generic[N]):
    """For ``after_step``: the best weights so far.

    Parameters
    ----------
    initial : Network
        Of B networks, where the training starts.
    score : callable
        ``score(networks, rows)`` (b,), the larger the better, of the networks in a slice.
    every, steps : int
        Steps between two looks, and the last step, which is looked at, too, and none after it.
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
        """Look at the networks of a slice, if it is time to."""
        if self.due(step):
            self.note(step, current, rows, self.score(current, rows))

    def due(self, step: int) -> bool:
        """Whether it is time to look."""
        return step == self.steps or (step < self.steps and step % self.every == 0)

    @torch.no_grad()
    def note(self, step: int, current: N, rows: slice, score: Tensor) -> None:
        """Keep the networks of a slice that score (b,) better; among equals the earliest stays."""
        score = score.to(self.best_score)
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
