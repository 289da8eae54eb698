"""What predicts when a fit is over; each maps points (m, d), in units, to outputs (m,), float64."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.estimators.tangents import Tangents
from kerhrm.networks.build import build
from kerhrm.networks.modules import init_modules
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network


class Predictor(Protocol):
    """Outputs of points, and itself on another device."""

    def __call__(self, x: Tensor) -> Tensor:
        """(m, d) to (m,)."""

    def to(self, device: torch.device) -> Self:
        """On another device."""


@dataclass(frozen=True)
class NTFPredictor:
    """f_0(x) + psi(x)^T theta, by the only direction of ``tangents``."""

    tangents: Tangents

    def __call__(self, x: Tensor) -> Tensor:
        f0, along = self.tangents(x)
        return f0 + along[:, 0]

    def to(self, device: torch.device) -> "NTFPredictor":
        return NTFPredictor(self.tangents.to(device))


@dataclass(frozen=True)
class TrainedNetwork:
    """A single network."""

    network: Network

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        return self.network.to(torch.float64)(x.double()[None])[0]

    def to(self, device: torch.device) -> "TrainedNetwork":
        return TrainedNetwork(self.network.to(device))


@dataclass(frozen=True)
class LinearPredictor:
    """x^T slope + level, of tensors (d,) and ()."""

    slope: Tensor
    level: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return x.double() @ self.slope + self.level

    def to(self, device: torch.device) -> "LinearPredictor":
        return LinearPredictor(self.slope.to(device), self.level.to(device))


def as_predictor(trained: Callable[[Tensor], Tensor], x: Tensor, name: str) -> Predictor:
    """What a method's training on points x (1, n, d) returned, as something to keep.

    Networks stay what they are; of any other function it is found out whether it is linear.

    Raises
    ------
    KerhrmError
        If it is neither.
    """
    if hasattr(trained, "parameters") and hasattr(trained, "facts"):
        return TrainedNetwork(trained)  # type: ignore[arg-type]
    d = x.shape[-1]
    random = torch.randn(16, d, generator=torch.Generator().manual_seed(0)).to(x)
    probes = torch.cat([torch.zeros_like(random[:1]), torch.eye(d).to(x), random])
    outputs = trained(probes[None])[0].double().detach()
    found = LinearPredictor(outputs[1 : d + 1] - outputs[0], outputs[0])
    if not torch.allclose(found(random), outputs[d + 1 :], rtol=1e-3, atol=1e-4):
        problem = f"method '{name}' returns a function that is neither a network nor linear"
        raise KerhrmError(problem, "return a kerhrm.networks.protocol.Network")
    return found


def initial_network(network: Any, seed: int, d: int) -> Network:
    """w_0 of one network: hidden widths, or a factory of a torch module, or its name.

    Raises
    ------
    KerhrmError
        If it is none of these, or no network with one output comes of it.
    """
    cure = "give hidden widths such as (1024,), 'package.module:function', or such a function"
    if isinstance(network, str):
        load(network)  # says what is wrong with it
        return init_modules(network, [seed], d)
    if callable(network):
        return init_modules(entry_of(network), [seed], d)
    try:
        widths = [int(width) for width in ([network] if isinstance(network, int) else network)]
    except (TypeError, ValueError) as error:
        raise KerhrmError(f"network={network!r} is no network", cure) from error
    if any(width < 1 for width in widths):
        raise KerhrmError(f"network={network!r} has a layer without units", cure)
    return build(NetworkOptions(widths=widths), [seed], d)


def entry_of(factory: Callable[..., Any]) -> str:
    """Name "module:function" of a factory at the top level of a module.

    Raises
    ------
    KerhrmError
        If Python would not find it by that name.
    """
    entry = f"{getattr(factory, '__module__', '')}:{getattr(factory, '__qualname__', '')}"
    try:
        found = load(entry)
    except KerhrmError:
        found = None
    if found is not factory:
        problem = f"network={factory!r} cannot be found again by its name"
        raise KerhrmError(problem, "define the function at the top level of a module")
    return entry
