r"""The linearised network without its training points.

.. math::
    \psi(x)^\top t = \phi(x)^\top V t = \frac{d}{d\epsilon} f_{w_0 + \epsilon V t}(x)

is a derivative along one direction of the weights, :math:`V t = \Phi(X)^\top U S^{-1}
t`, or, by landmarks Z, :math:`\Phi(Z)^\top W t`.  So what has been learned in the space
of n points is carried over to the weights once, by a backward pass over them, and a new
point costs two forward passes, however many points were trained on.  In float64: single
precision would lose the directions of small singular values.

PyTorch's forward mode would give these derivatives in one call, but its levels belong
to the process: two threads that differentiate at once mix up their numbers.  So the
derivative of a multilayer perceptron is written out, and that of any other network is
the derivative of u^T J d with respect to u, by two backward passes (Townsend 2017).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from kerhrm.networks.base import Network
from kerhrm.networks.kernels import threshold_backward
from kerhrm.networks.mlp import MLP, activations, layers

#: points at a time: their hidden layer of 1024 units, 8 MB, stays in a cache
BLOCK = 1024


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
    @torch.inference_mode(False)  # gradients, also where the caller has none
    def along(cls, network: Network, x: Tensor, coefficients: Tensor) -> Self:
        """Directions sum_i c_ij phi(x_i) of the weights, of x (n, d) and c (n, J)."""
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

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f_0 (m,) and derivatives (m, J) of points (m, d), float64, bounded memory."""
        weights = {n: w.detach().double() for n, w in self.network.weights.items()}
        n_directions = len(next(iter(self.directions.values())))
        f0 = x.new_empty(len(x), dtype=torch.float64)
        along = f0.new_empty(len(x), n_directions)
        closed = isinstance(self.network, MLP)
        for rows in _blocks(len(x)):
            points = x[rows].double()
            if closed:
                parts = _layer_by_layer(weights, self.directions, points)
            else:
                parts = _by_two_passes(self.network, weights, self.directions, points)
            f0[rows], along[rows] = parts
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


@torch.no_grad()
def _layer_by_layer(
    weights: Mapping[str, Tensor], directions: Mapping[str, Tensor], x: Tensor
) -> tuple[Tensor, Tensor]:
    r"""f (m,) of an MLP and its derivatives (m, J) at points x (m, d).

    With the activations a_l of layer l, a_0 = x, and their derivatives t_l, t_0 = 0,
    along a direction (D_l, e_l) of the weights (W_l, b_l),

    .. math::
        z_{l+1} = W_l a_l + b_l, \quad a_{l+1} = \max(z_{l+1}, 0), \qquad
        t_{l+1} = [z_{l+1} > 0] \cdot (D_l a_l + e_l + W_l t_l),

    without the cut at zero in the last layer.
    """
    first, *others = layers(weights)
    if len(others) == 1:
        return _one_hidden_layer(weights, directions, x)
    n_directions = len(next(iter(directions.values())))
    changes = [
        layers({name: d[j] for name, d in directions.items()})
        for j in range(n_directions)
    ]
    values = torch.addmm(first[1], x, first[0].T)
    tangents = [torch.addmm(bias, x, weight.T) for (weight, bias), *_ in changes]
    for index, (weight, bias) in enumerate(others, start=1):
        values = torch.relu_(values)
        for j, change in enumerate(changes):
            # of where the layer is above zero
            tangent = threshold_backward(tangents[j], values, 0)
            moved = torch.addmm(change[index][1], values, change[index][0].T)
            tangents[j] = moved.addmm_(tangent, weight.T)
        values = torch.addmm(bias, values, weight.T)
    return values[:, 0], torch.cat(tangents, 1)


def _one_hidden_layer(
    weights: Mapping[str, Tensor], directions: Mapping[str, Tensor], x: Tensor
) -> tuple[Tensor, Tensor]:
    r"""f (m,) and its derivatives (m, J), by one product less of hidden layer's size.

    With the mask s_j = [W_j x + b_j > 0] of hidden unit j both are linear in x,

    .. math::
        f = c + \sum_j s_j w_j (W_j x + b_j), \qquad
        \frac{df}{d\epsilon} = \gamma + \sum_j s_j (w_j (D_j x + e_j)
        + \omega_j (W_j x + b_j)),

    along a direction (D, e, omega, gamma) of (W, b, w, c): the mask times a matrix of
    d + 1 columns gives the coefficients of x.
    """
    (weight, bias), (out, level) = layers(weights)
    hidden, levels = torch.cat([weight, bias[:, None]], 1), [level]
    slopes = [out.T * hidden]
    for j in range(len(directions["bias_1"])):
        parts = layers({name: d[j] for name, d in directions.items()})
        (change, shift), (moved, gamma) = parts
        inner = torch.cat([change, shift[:, None]], 1)
        slopes.append(out.T * inner + moved.T * hidden)
        levels.append(gamma)
    points = torch.cat([x, x.new_ones(len(x), 1)], 1)
    active = (points @ hidden.T).gt_(0)
    coefficients = (active @ torch.cat(slopes, 1)).view(len(x), len(slopes), -1)
    outputs = (coefficients * points[:, None]).sum(-1) + torch.cat(levels)
    return outputs[:, 0], outputs[:, 1:]


@torch.inference_mode(False)  # whose tensors know no gradient
@torch.enable_grad()
def _by_two_passes(
    network: Network,
    weights: Mapping[str, Tensor],
    directions: Mapping[str, Tensor],
    x: Tensor,
) -> tuple[Tensor, Tensor]:
    """f (m,) of any network and its derivatives (m, J) at points x (m, d).

    The gradient u^T J of u^T f is linear in u, so that the derivative of its product
    with a direction with respect to u is J times that direction.
    """
    leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
    f = _outputs(network, leaves, x.clone())
    u = torch.zeros_like(f, requires_grad=True)
    gradients = torch.autograd.grad(
        f, list(leaves.values()), u, create_graph=True, allow_unused=True
    )
    used = {
        name: gradient
        for name, gradient in zip(leaves, gradients, strict=True)
        if gradient is not None
    }
    along = f.new_empty(len(x), len(next(iter(directions.values()))))
    for j in range(along.shape[1]):
        products = [(g * directions[name][j]).sum() for name, g in used.items()]
        product = torch.stack(products).sum()
        (along[:, j],) = torch.autograd.grad(product, u, retain_graph=True)
    return f.detach(), along


def _outputs(network: Network, weights: Mapping[str, Tensor], points: Tensor) -> Tensor:
    """f of weights at points (m, d), by code that autograd differentiates: (m,)."""
    if isinstance(network, MLP):
        return activations(layers(weights), points)[-1].squeeze(-1)
    return network.forward(weights, points)
