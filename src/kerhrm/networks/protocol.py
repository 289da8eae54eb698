"""What the library asks of networks: a batch of B of one architecture."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor

from kerhrm.rows import copies

N = TypeVar("N", bound="Network")


class Network(Protocol):
    """B networks f_w: R^d -> R; the leading axis of everything is the seeds.

    Its facts, parameters and outputs, and :meth:`replace`, make a network; the rest follows.
    """

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Its architecture, JSON-able: the number of inputs and the NetworkOptions."""

    @abstractmethod
    def parameters(self) -> list[Tensor]:
        """All tensors, each (B, ...); for an optimiser."""

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """f_w(x) for inputs (B, n, d); returns (B, n)."""

    @abstractmethod
    def replace(self, parameters: Sequence[Tensor]) -> Self:
        """The same architecture with these parameters, each (B', ...)."""

    def on(self, x: Tensor) -> Callable[[Self], Tensor]:
        """Outputs at points (B, n, d) that stay, of any networks of this architecture.

        The same as a call, up to rounding; what depends on the points alone is done once.
        """
        return lambda networks: networks(x)

    def each(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Change every parameter alike."""
        return self.replace([change(p) for p in self.parameters()])

    @property
    def n_networks(self) -> int:
        """B."""
        return len(self.parameters()[0])

    @property
    def n_parameters(self) -> int:
        """p, the number of parameters of one network."""
        return sum(p[0].numel() for p in self.parameters())

    def take(self, rows: slice) -> Self:
        """The networks of a slice of the batch."""
        return self.each(lambda p: p[rows])

    def copies(self, times: int) -> Self:
        """The batch again and again: C B networks."""
        return self.each(lambda p: copies(p, times))

    def parts(self, times: int) -> list[Self]:
        """The batches of B among C B networks."""
        size = self.n_networks // times
        return [self.take(slice(c * size, (c + 1) * size)) for c in range(times)]

    def trainable_copy(self, device: torch.device | str | None = None) -> Self:
        """A copy whose tensors are leaves that require a gradient."""
        return self.each(lambda p: p.detach().to(device, copy=True).requires_grad_(True))

    def frozen(self) -> Self:
        """The same networks without a gradient."""
        return self.each(Tensor.detach)

    def to(self, where: torch.device | str | torch.dtype) -> Self:
        """The same networks on another device, or in another precision."""
        return self.each(lambda p: p.to(where))


def concatenate(parts: Sequence[N]) -> N:
    """Batches of networks as one batch."""
    return parts[0].replace(
        [torch.cat(p) for p in zip(*(part.parameters() for part in parts), strict=True)]
    )


def pick(candidates: Sequence[N], chosen: Tensor) -> N:
    """Of every row one candidate: networks (B each) and indices (B,) to networks (B)."""
    rows = enumerate(chosen.tolist())
    return concatenate([candidates[c].take(slice(b, b + 1)) for b, c in rows])
