r"""The linearised network without its training points.

.. math::
    \psi(x)^\top t = \phi(x)^\top V t = \frac{d}{d\epsilon} f_{w_0 + \epsilon V t}(x)

is a derivative along one direction of the weights, :math:`V t = \Phi(X)^\top U S^{-1}
t`, or, by landmarks Z, :math:`\Phi(Z)^\top W t`.  So what has been learned in the space
of n points is carried over to the weights once, by a backward pass over them, and a new
point costs two forward passes, however many points were trained on.  In float64: single
precision would lose the directions of small singular values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.func import jvp

from kerhrm.networks.base import Network
from kerhrm.networks.mlp import MLP, activations, layers

#: points at a time
BLOCK = 2048


@dataclass(frozen=True)
class Linearisation:
    """f at w_0 and its derivatives along J directions of the weights.

    Attributes
    ----------
    network : Network
        f_{w_0}, float32.
    directions : dict of str to Tensor, each (J, ...), float64
        As the network's weights.
    """

    network: Network
    directions: dict[str, Tensor]

    @classmethod
    def along(cls, network: Network, x: Tensor, coefficients: Tensor) -> Self:
        """Directions sum_i c_ij phi(x_i) of the weights, of points (n,
        d) and c (n, J)."""
        weights = {
            n: w.detach().double().requires_grad_(True)
            for n, w in network.weights.items()
        }
        totals = [
            w.new_zeros(coefficients.shape[-1], *w.shape) for w in weights.values()
        ]
        for rows in _blocks(len(x)):
            f = _outputs(network, weights, x[rows].double())
            for j, c in enumerate(coefficients[rows].double().unbind(-1)):
                gradients = torch.autograd.grad(
                    f @ c, list(weights.values()), retain_graph=True, allow_unused=True
                )
                for total, gradient in zip(totals, gradients, strict=True):
                    if gradient is not None:
                        total[j] += gradient
        return cls(
            network, dict(zip(weights, (t.detach() for t in totals), strict=True))
        )

    @torch.no_grad()
    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f_0 (m,) and derivatives (m, J) of points (m, d), float64, in
        bounded memory."""
        weights = {
            name: w.detach().double() for name, w in self.network.weights.items()
        }
        n_directions = len(next(iter(self.directions.values())))
        f0 = x.new_empty(len(x), dtype=torch.float64)
        along = f0.new_empty(len(x), n_directions)
        for rows in _blocks(len(x)):
            points = x[rows].double()
            for j in range(n_directions):
                tangents = {name: d[j] for name, d in self.directions.items()}
                f0[rows], along[rows, j] = jvp(
                    lambda w, points=points: _outputs(self.network, w, points),
                    (weights,),
                    (tangents,),
                )[:2]
        return f0, along

    def first(self) -> Self:
        """The first direction alone, which costs a J-th."""
        return type(self)(
            self.network, {name: d[:1] for name, d in self.directions.items()}
        )

    def to(self, device: torch.device | str) -> Self:
        """The same on another device."""
        directions = {name: d.to(device) for name, d in self.directions.items()}
        return type(self)(self.network.to(device), directions)


def _blocks(n: int) -> Iterator[slice]:
    """Slices of at most ``BLOCK`` of n points."""
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))


def _outputs(network: Network, weights: Mapping[str, Tensor], points: Tensor) -> Tensor:
    """f of weights at points (m, d), by code that knows forward mode: (m,)."""
    if isinstance(network, MLP):
        return activations(layers(weights), points)[-1].squeeze(-1)
    return network.forward(weights, points)
