r"""The linearised network without its training points.

.. math::
    \psi(x)^\top t = \phi(x)^\top V t = \frac{d}{d\epsilon} f_{w_0 + \epsilon V t}(x)

is a derivative along one direction of the weights, :math:`V t = \Phi(X)^\top U S^{-1} t`, or, by
landmarks Z, :math:`\Phi(Z)^\top W t`.  So what has been found in the space of n points is
carried over to the weights once, by a backward pass over them, and a new point costs two
forward passes, however many points were trained on.  In float64: single precision
would lose the directions of small singular values.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.func import jvp

from kerhrm.networks.mlp import MLP, forward
from kerhrm.networks.protocol import Network

#: points at a time
BLOCK = 2048


@dataclass(frozen=True)
class Tangents:
    """f at w_0 and its derivatives along J directions of the weights.

    Attributes
    ----------
    network : Network
        One network (B = 1), float32, at w_0.
    directions : list of Tensor, each (J, ...), float64
        As the network's parameters without their leading axis.
    """

    network: Network
    directions: list[Tensor]

    @classmethod
    def of(cls, network: Network, x: Tensor, coefficients: Tensor) -> Self:
        """Directions sum_i c_ij phi(x_i), of points (n, d) and coefficients (n, J)."""
        parameters = [p.double().requires_grad_(True) for p in network.parameters()]
        directions = [p.new_zeros(coefficients.shape[-1], *p.shape[1:]) for p in parameters]
        for rows in blocks(len(x)):
            f = _outputs(network)(parameters, x[rows].double())
            for j, weights in enumerate(coefficients[rows].double().unbind(-1)):
                gradients = torch.autograd.grad(
                    f @ weights, parameters, retain_graph=True, allow_unused=True
                )
                for total, gradient in zip(directions, gradients, strict=True):
                    if gradient is not None:
                        total[j] += gradient[0]
        return cls(network, [d.detach() for d in directions])

    @torch.no_grad()
    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f_0 (m,) and derivatives (m, J) of points (m, d); float64, in bounded memory."""
        parameters = [p.detach().double() for p in self.network.parameters()]
        f0 = x.new_empty(len(x), dtype=torch.float64)
        along = f0.new_empty(len(x), len(self.directions[0]))
        for rows in blocks(len(x)):
            at = functools.partial(_outputs(self.network), points=x[rows].double())
            for j in range(along.shape[-1]):
                tangent = [d[j : j + 1] for d in self.directions]
                f0[rows], along[rows, j] = jvp(at, (parameters,), (tangent,))[:2]
        return f0, along

    def take(self, which: slice) -> Self:
        """Some of the directions."""
        return type(self)(self.network, [d[which] for d in self.directions])

    def to(self, device: torch.device) -> Self:
        """On another device."""
        return type(self)(self.network.to(device), [d.to(device) for d in self.directions])


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices of at most ``size`` of n points."""
    return (slice(start, start + size) for start in range(0, n, size))


def _outputs(network: Network) -> Callable[..., Tensor]:
    """f of parameters, each (1, ...), and points (m, d): (m,)."""

    def f(parameters: Sequence[Tensor], points: Tensor) -> Tensor:
        one = network.replace(parameters)
        if isinstance(one, MLP):  # whose code for one hidden layer knows no forward mode
            return forward(one, points[None])[-1][0, :, 0]
        return one(points[None])[0]

    return f
