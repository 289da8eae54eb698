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
from kerhrm.networks.build import (
    MLP,
    activations,
    layers,
)
from kerhrm.networks.kernels import joined_layer, threshold_backward
from kerhrm.networks.modules import derivatives_of

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
        weights = {}
        for name, weight in network.weights.items():
            leaf = weight.detach().double()
            weights[name] = leaf.requires_grad_(True)
        n_directions = coefficients.shape[-1]
        directions = {}
        for name, weight in weights.items():
            directions[name] = weight.new_zeros(n_directions, *weight.shape)
        leaves = list(weights.values())
        n_points = len(x)
        for rows in _blocks(n_points):
            points = x[rows].double()
            f = _outputs(network, weights, points)
            of_rows = coefficients[rows].double()
            columns = of_rows.unbind(-1)
            for j, column in enumerate(columns):
                weighted_outputs = f @ column
                gradients = torch.autograd.grad(
                    weighted_outputs,
                    leaves,
                    retain_graph=True,
                    allow_unused=True,
                )
                for name, gradient in zip(weights, gradients, strict=True):
                    if gradient is not None:
                        directions[name][j] += gradient
        return cls(network, directions)

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f_0 (m,) and derivatives (m, J) of points (m, d), float64, bounded memory."""
        weights = {}
        for name, weight in self.network.weights.items():
            weights[name] = weight.detach().double()
        n_points = len(x)
        n_directions = _number_of(self.directions)
        f0 = x.new_empty(n_points, dtype=torch.float64)
        derivatives = f0.new_empty(n_points, n_directions)
        for rows in _blocks(n_points):
            points = x[rows].double()
            if isinstance(self.network, MLP):
                f0[rows], derivatives[rows] = _layer_by_layer(
                    weights, self.directions, points
                )
            else:
                with derivatives_of(self.network):
                    f0[rows], derivatives[rows] = _by_two_passes(
                        self.network, weights, self.directions, points
                    )
        return f0, derivatives

    def first(self) -> Self:
        """The first direction alone, which costs a J-th."""
        directions = {}
        for name, along_all in self.directions.items():
            directions[name] = along_all[:1]
        return type(self)(self.network, directions)

    def to(self, device: torch.device | str) -> Self:
        """The same on another device."""
        directions = {}
        for name, direction in self.directions.items():
            directions[name] = direction.to(device)
        network = self.network.to(device)
        return type(self)(network, directions)


def _blocks(n: int) -> Iterator[slice]:
    """Slices of at most ``BLOCK`` of n points."""
    for start in range(0, n, BLOCK):
        stop = start + BLOCK
        yield slice(start, stop)


def _number_of(directions: Mapping[str, Tensor]) -> int:
    """J, the number of directions."""
    first, *_ = directions.values()
    return len(first)


def _layers_along(
    directions: Mapping[str, Tensor], j: int
) -> list[tuple[Tensor, Tensor]]:
    """Change (D_l, e_l) of every layer of an MLP along direction j."""
    direction = {}
    for name, along_all in directions.items():
        direction[name] = along_all[j]
    return layers(direction)


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
    first_layer, *later_layers = layers(weights)
    if len(later_layers) == 1:
        return _one_hidden_layer(weights, directions, x)
    changes = []
    tangents = []
    n_directions = _number_of(directions)
    for j in range(n_directions):
        change = _layers_along(directions, j)
        first_change, first_shift = change[0]
        tangent = torch.addmm(first_shift, x, first_change.T)
        changes.append(change)
        tangents.append(tangent)
    weight, bias = first_layer
    activations = torch.addmm(bias, x, weight.T)
    for number, (weight, bias) in enumerate(later_layers, start=1):
        activations = torch.relu_(activations)
        for j, change in enumerate(changes):
            # t_l, cut to where the layer is above zero
            along = tangents[j]
            tangent = threshold_backward(along, activations, 0)
            weight_change, bias_change = change[number]
            tangent_after = torch.addmm(bias_change, activations, weight_change.T)
            tangents[j] = tangent_after
            tangents[j].addmm_(tangent, weight.T)
        activations = torch.addmm(bias, activations, weight.T)
    outputs = activations[:, 0]
    derivatives = torch.cat(tangents, 1)
    return outputs, derivatives


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
    hidden_layer, output_layer = layers(weights)
    weight, bias = hidden_layer
    out, level = output_layer
    hidden = joined_layer(weight, bias)
    levels = [level]
    slope_of_output = out.T * hidden
    slopes = [slope_of_output]
    n_directions = _number_of(directions)
    for j in range(n_directions):
        hidden_change, out_change = _layers_along(directions, j)
        change, shift = hidden_change
        omega, gamma = out_change
        inner = joined_layer(change, shift)
        by_inner = out.T * inner
        by_outer = omega.T * hidden
        slope = by_inner + by_outer
        slopes.append(slope)
        levels.append(gamma)
    n_points = len(x)
    ones = x.new_ones(n_points, 1)
    points = torch.cat([x, ones], 1)
    preactivations = points @ hidden.T
    active = preactivations.gt_(0)
    all_slopes = torch.cat(slopes, 1)
    coefficients = active @ all_slopes
    n_outputs = len(slopes)
    coefficients = coefficients.view(n_points, n_outputs, -1)
    points_by_output = points[:, None]
    terms = coefficients * points_by_output
    all_levels = torch.cat(levels)
    outputs = terms.sum(-1) + all_levels
    f = outputs[:, 0]
    derivatives = outputs[:, 1:]
    return f, derivatives


@torch.inference_mode(False)  # gradients, also where the caller has none
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
    leaves = {}
    for name, weight in weights.items():
        leaf = weight.clone()
        leaves[name] = leaf.requires_grad_()
    inputs = x.clone()
    f = _outputs(network, leaves, inputs)
    u = torch.zeros_like(f, requires_grad=True)
    weight_leaves = list(leaves.values())
    gradients = torch.autograd.grad(
        f,
        weight_leaves,
        grad_outputs=u,
        create_graph=True,
        allow_unused=True,
    )
    gradient_of = {}  # u^T J by weight, of the weights that f depends on
    for name, gradient in zip(leaves, gradients, strict=True):
        if gradient is not None:
            gradient_of[name] = gradient
    n_directions = _number_of(directions)
    n_points = len(x)
    derivatives = f.new_empty(n_points, n_directions)
    for j in range(n_directions):
        products = []
        for name, gradient in gradient_of.items():
            direction = directions[name][j]
            terms = gradient * direction
            products.append(terms.sum())
        product = torch.stack(products).sum()
        (derivatives[:, j],) = torch.autograd.grad(product, u, retain_graph=True)
    return f.detach(), derivatives


def _outputs(network: Network, weights: Mapping[str, Tensor], points: Tensor) -> Tensor:
    """f of weights at points (m, d), by code that autograd differentiates: (m,)."""
    if isinstance(network, MLP):
        layer_weights = layers(weights)
        *_, output = activations(layer_weights, points)
        return output.squeeze(-1)
    return network.forward(weights, points)
