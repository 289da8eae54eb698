"""Neural tangent features phi(x) = grad_w f_{w_0}(x) in R^p, whose matrix is never
formed.

In an MLP the gradient with respect to layer l is an outer product,

    d f / d W_l = delta_l(x) a_l(x)^T,      d f / d b_l = delta_l(x),

of the layer's input a_l and the back-propagated delta_l = d f / d (W_l a_l + b_l).  So
a_l and delta_l (a few thousand numbers a point instead of millions) hold all of Phi,
and the empirical neural tangent kernel is

    kappa(x, x') = phi(x)^T phi(x')
                 = sum_l (a_l(x)^T a_l(x') + 1) (delta_l(x)^T delta_l(x')).

Of any other network ``torch.func`` takes the gradient of every point, and the kernel is
a sum over blocks b of parameters, one of which is held at a time,

    kappa(x, x') = sum_b phi_b(x)^T phi_b(x'),

at the price of one forward and backward pass a block (Novak et al. 2022, "Fast finite
width neural tangent kernel": Jacobian contraction).

Source: Jacot et al. 2018 (the kernel); paper, section 3.1 (the features).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.func import grad, vmap

from kerhrm.errors import KerhrmError
from kerhrm.networks.base import Network, affine
from kerhrm.networks.build import (
    MLP,
    activations,
)
from kerhrm.networks.modules import derivatives_of
from kerhrm.progress import progress

ROWS = 512  #: of a kernel at a time on a CPU: few enough to stay in a cache
ROWS_ON_GPU = 2048  #: many enough to occupy its multiprocessors
BLOCK_SIZE = 2**14  #: parameters of a block; float64, n = 5000: 0.7 GB
CHUNK_SIZE = 128  #: points differentiated at once

Block = list[tuple[str, int, int]]  # (parameter, start, stop) in its flattened entries


class TangentFeatures(Protocol):
    """Phi(X), (n, p), of one network."""

    def kernel(self, other: Any) -> Tensor:
        """Phi(X) Phi(X')^T, (n, n'), with features of the same network."""


def extract(network: Network, x: Tensor) -> tuple[TangentFeatures, Tensor]:
    """Phi (n, p) and the offsets f_0 (n,) at w_0 of points (n, d).

    Raises KerhrmError if the points have another number of columns than the network.
    """
    if isinstance(network, MLP):
        first_weight = network.weights["weight_0"]
        d = first_weight.shape[-1]
        if x.shape[1:] != (d,):
            shape = tuple(x.shape)
            problem = f"points of shape {shape} do not fit a network of {d} inputs"
            raise KerhrmError(problem, f"give points (n, {d})")
        return factorise(network, x)
    with torch.no_grad():
        features = PerSampleNTF(network, x)
        outputs = network(x)
    return features, outputs


@dataclass(frozen=True)
class FactoredNTF:
    """Phi(X) of an MLP, as factors.

    Attributes
    ----------
    inputs : list of Tensor, each (n, d_l)
        Inputs a_l of the layers l = 0, 1, ...
    deltas : list of Tensor, each (n, d_{l+1})
        Gradients of the output with respect to the layers' pre-activations; ones in the
        last layer, whose pre-activation is the output.
    """

    inputs: list[Tensor]
    deltas: list[Tensor]

    def kernel(self, other: "FactoredNTF") -> Tensor:
        """kappa(X, X'), (n, n'), in O(n n' sum_l (d_l + d_{l+1})) operations, not O(n
        n' p).

        With itself kappa is symmetric: only blocks on and above the diagonal are
        computed, and the others are their mirror images, bit for bit.
        """
        own_inputs = self.inputs[0]
        n = len(own_inputs)
        other_inputs = other.inputs[0]
        m = len(other_inputs)
        symmetric = other is self
        kappa = own_inputs.new_empty(n, m)
        n_rows = ROWS if own_inputs.device.type == "cpu" else ROWS_ON_GPU
        starts = range(0, n, n_rows)
        for start in progress(starts, "blocks of the Gram matrix"):
            stop = start + n_rows
            rows = slice(start, stop)
            first_column = start if symmetric else 0
            columns = slice(first_column, m)
            kappa[rows, columns] = self._block(other, rows, columns)
            if symmetric:
                on_diagonal = kappa[rows, rows]
                lower = on_diagonal.tril()
                below = on_diagonal.tril(-1)
                mirrored = below.mT
                on_diagonal.copy_(lower + mirrored)  # products round by position
                right = kappa[rows, rows.stop :]
                kappa[rows.stop :, rows] = right.mT
        return kappa

    def _block(self, other: "FactoredNTF", rows: slice, columns: slice) -> Tensor:
        """Some rows and columns of kappa, summed over the layers in their order."""
        kappa: Tensor | None = None
        last = len(self.inputs) - 1
        factors = zip(self.inputs, self.deltas, other.inputs, other.deltas, strict=True)
        for number, (a, delta, other_a, other_delta) in enumerate(factors):
            of_inputs = affine(a[rows], other_a[columns])
            layer = of_inputs.add_(1)
            if number < last:  # else the deltas are ones
                of_deltas = affine(delta[rows], other_delta[columns])
                layer.mul_(of_deltas)
            kappa = layer if kappa is None else kappa.add_(layer)
        assert kappa is not None  # a network has a layer
        return kappa


def factorise(mlp: MLP, x: Tensor) -> tuple[FactoredNTF, Tensor]:
    """Phi (n, p) and f_0 (n,) at points x (n, d), by back-propagation."""
    *inputs, output = activations(mlp.layers, x)
    delta = torch.ones_like(output)
    deltas = [delta]
    later_layers = mlp.layers[1:]
    later_weights = [weight for weight, _ in later_layers]
    hidden = inputs[1:]
    backwards = zip(later_weights[::-1], hidden[::-1], strict=True)
    for weight, activation in backwards:
        active = activation > 0
        propagated = delta @ weight
        delta = propagated * active
        deltas.insert(0, delta)
    features = FactoredNTF(inputs, deltas)
    return features, output.squeeze(-1)


@dataclass(frozen=True)
class PerSampleNTF:
    """Phi(X) of any network, as what its rows are computed from.

    Attributes
    ----------
    network : Network
        At w_0.
    x : Tensor, (n, d)
        Points.
    block_size : int
        Parameters per block: (n + n') * block_size entries of Phi are held at once.  A
        larger parameter tensor is cut.
    chunk_size : int
        Points differentiated at once; lowered where their gradients, whole tensors at
        first, would outgrow the block (but to no less than one point).
    """

    network: Network
    x: Tensor
    block_size: int = BLOCK_SIZE
    chunk_size: int = CHUNK_SIZE

    def kernel(self, other: "PerSampleNTF") -> Tensor:
        """kappa(X, X'), (n, n'), summed in float64."""
        n = len(self.x)
        m = len(other.x)
        total = self.x.new_zeros((n, m), dtype=torch.float64)
        own_weights = self.network.weights.values()
        n_weights = sum(w.numel() for w in own_weights)
        n_blocks = -(-n_weights // self.block_size)
        blocks = progress(self._blocks(), "blocks of the features", n_blocks)
        for block in blocks:
            left = self._columns(block)
            right = left if other is self else other._columns(block)
            total.addmm_(left, right.mT)
            del left, right  # or they would live on while the next block is made
        return total

    def _blocks(self) -> Iterator[Block]:
        """Lay the parameters end to end and cut them into blocks."""
        block: Block = []
        room = self.block_size
        for name, parameter in self.network.weights.items():
            start = 0
            end = parameter.numel()
            while start < end:
                stop = min(start + room, end)
                block.append((name, start, stop))
                room -= stop - start
                start = stop
                if room == 0:
                    yield block
                    block = []
                    room = self.block_size
        if block:
            yield block

    @torch.inference_mode(False)  # whose tensors know no gradient
    @torch.no_grad()  # of the graph around; torch.func.grad differentiates anyway
    def _columns(self, block: Block) -> Tensor:
        """Columns of Phi that belong to one block: (n, size of the block)."""
        x = self.x.clone()
        weights = {name: w.clone() for name, w in self.network.weights.items()}
        touched = {name: weights[name] for name, _, _ in block}

        def output(touched: dict[str, Tensor], point: Tensor) -> Tensor:
            all_weights = weights | touched
            alone = point[None]
            outputs = self.network.forward(all_weights, alone)
            return outputs.reshape(())

        def gradient(point: Tensor) -> Tensor:
            gradient_of = grad(output)
            gradients = gradient_of(touched, point)
            entries = []
            for name, start, stop in block:
                of_weight = gradients[name]
                flat = of_weight.flatten()
                entries.append(flat[start:stop])
            return torch.cat(entries)

        n = len(x)
        size = sum(stop - start for _, start, stop in block)
        phi = x.new_empty((n, size), dtype=torch.float64)
        # a gradient has the size of whole tensors before it is cut to the block
        whole_size = sum(w.numel() for w in touched.values())
        that_fit = n * size // whole_size
        smaller = min(self.chunk_size, that_fit)
        chunk_size = max(1, smaller)
        of_points = vmap(gradient)
        starts = range(0, n, chunk_size)
        for first in progress(starts, "gradients"):
            last = first + chunk_size
            rows = slice(first, last)
            with derivatives_of(self.network):
                gradients_of_rows = of_points(x[rows])
                phi[rows].copy_(gradients_of_rows)
        return phi
