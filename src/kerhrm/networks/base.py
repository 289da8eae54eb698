"""Interface of a network, and devices of its tensors."""

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from kerhrm.errors import DeviceError, KerhrmError, shown


@dataclass(frozen=True)
class Network(ABC):
    """A function f_w: R^d -> R and its weights w; immutable.

    Attributes
    ----------
    weights : dict of str to Tensor
        By name.
    """

    weights: dict[str, Tensor]

    @abstractmethod
    def forward(self, weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Outputs (n,) at points x (n, d) with other weights;
        differentiable by both."""

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (n,) at points x (n, d)."""
        return self.forward(self.weights, x)

    def at(self, x: Tensor) -> Callable[[Self], Tensor]:
        """Outputs at fixed points, as a function of the network.

        Equal to a call up to rounding.

        What depends on the points alone is computed once.
        """
        return lambda network: network(x)

    @property
    def n_parameters(self) -> int:
        """Number of weights, p."""
        return sum(w.numel() for w in self.weights.values())

    def with_weights(self, weights: Mapping[str, Tensor]) -> Self:
        """The same architecture with these weights."""
        return dataclasses.replace(self, weights=dict(weights))

    def each(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Change every tensor of weights alike."""
        changed = {name: change(weight) for name, weight in self.weights.items()}
        return self.with_weights(changed)

    def trainable(self, device: torch.device | str | None = None) -> Self:
        """Copy whose weights are leaves that require a gradient."""

        def leaf(weight: Tensor) -> Tensor:
            copy = weight.detach().to(device, copy=True)
            return copy.requires_grad_(True)

        return self.each(leaf)

    def detached(self) -> Self:
        """The same weights without a gradient."""
        return self.each(Tensor.detach)

    def to(self, where: torch.device | str | torch.dtype) -> Self:
        """The same network on another device, or in another precision."""
        return self.each(lambda w: w.to(where))


def resolve_device(name: str | torch.device) -> torch.device:
    """``auto`` takes a GPU where there is one.

    ``cpu``, ``cuda`` and ``cuda:1`` are literal, as a name or as a ``torch.device``.

    Raises
    ------
    KerhrmError
        If it is not one of these: other devices lack operations that are needed, or
        hold no numbers.
    DeviceError
        If this machine lacks that GPU; it is a KerhrmError and a RuntimeError.
    """
    text = str(name) if isinstance(name, str | torch.device) else ""
    if text == "auto":
        text = "cuda" if torch.cuda.is_available() else "cpu"
        return torch.device(text)
    if text in ("cpu", "cpu:0"):
        return torch.device("cpu")
    match = re.fullmatch(r"cuda(?::(0|[1-9][0-9]*))?", text)
    if match is None:
        problem = f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got {shown(name)}"
        raise KerhrmError(problem, "use device='auto'")
    number = int(match[1] or 0)
    n_gpus = torch.cuda.device_count()
    if number >= n_gpus:
        problem = f"device={text}, but PyTorch sees {n_gpus} GPUs"
        hint = "use device=auto or device=cpu, or install a CUDA build of PyTorch"
        raise DeviceError(problem, hint)
    return torch.device(text)
