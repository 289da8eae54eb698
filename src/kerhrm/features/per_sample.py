"""Neural tangent features of any network, by automatic differentiation.

The factored form of :mod:`kerhrm.features.ntf` needs a plain MLP.  Here the gradient
phi(x) = grad_w f_{w_0}(x) of every point is taken by ``torch.func``, so convolutions, shared
weights and the like all work.  The n x p matrix Phi is not formed either: the kernel is a
sum over blocks b of parameters, of which one of one network is held at a time,

    kappa(x, x') = phi(x)^T phi(x') = sum_b phi_b(x)^T phi_b(x').

The price is time: one forward and backward pass a block.

Source: Novak et al. 2022, "Fast finite width neural tangent kernel" (Jacobian
contraction); paper, section 3.1 (the features).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad, vmap

from kerhrm.networks.build import save_network
from kerhrm.networks.protocol import Network

BLOCK_SIZE = 2**14  # float64, n = 5000: 0.7 GB
CHUNK_SIZE = 128

Block = list[tuple[int, int, int]]  # (parameter, start, stop) in its flattened entries


@dataclass(frozen=True)
class PerSampleNTF:
    """Phi(X) of B networks, as what its rows are computed from.

    Attributes
    ----------
    network : Network
        At w_0.
    x : Tensor, (B, n, d)
    block_size : int
        Parameters per block: (n + n') * block_size entries of Phi are held at once.  A larger
        parameter tensor is cut.
    chunk_size : int
        Points differentiated at once; lowered where their gradients, whole tensors at
        first, would outgrow the block (but to no less than one point).
    """

    network: Network
    x: Tensor
    block_size: int = BLOCK_SIZE
    chunk_size: int = CHUNK_SIZE

    def kernel(self, other: "PerSampleNTF") -> Tensor:
        """kappa(X, X'), (B, n, n'), summed in float64."""
        shape = (len(self.x), self.x.shape[1], other.x.shape[1])
        total = self.x.new_zeros(shape, dtype=torch.float64)
        for b, of_one in enumerate(total):
            for block in self._blocks():
                left = self._columns(b, block)
                right = left if other is self else other._columns(b, block)
                of_one.addmm_(left, right.mT)
                del left, right  # or they would live on while the next block is made
        return total

    def save(self, path: str | os.PathLike[str], f0: Tensor) -> None:
        save_network(path, self.network, x=self.x, f0=f0)

    def _blocks(self) -> Iterator[Block]:
        """Lay the parameters of a network end to end and cut them into blocks."""
        block: Block = []
        room = self.block_size
        for number, parameter in enumerate(self.network.parameters()):
            start, end = 0, parameter[0].numel()
            while start < end:
                stop = min(start + room, end)
                block.append((number, start, stop))
                room -= stop - start
                start = stop
                if room == 0:
                    yield block
                    block, room = [], self.block_size
        if block:
            yield block

    @torch.inference_mode(False)  # whose tensors know no gradient
    @torch.no_grad()  # of the graph around; torch.func.grad differentiates all the same
    def _columns(self, b: int, block: Block) -> Tensor:
        """The columns of Phi that belong to one block of network b: (n, size of the block)."""
        x = self.x[b].clone()
        network = self.network.take(slice(b, b + 1)).each(Tensor.clone)
        parameters = network.parameters()
        touched = {number: parameters[number] for number, _, _ in block}
        size = sum(stop - start for _, start, stop in block)
        whole = sum(w.numel() for w in touched.values())
        chunk_size = max(1, min(self.chunk_size, len(x) * size // whole))

        def output(touched: dict[int, Tensor], point: Tensor) -> Tensor:
            inner = network.replace([touched.get(i, p) for i, p in enumerate(parameters)])
            return inner(point[None, None]).reshape(())

        def gradient(point: Tensor) -> Tensor:
            gradients = grad(output)(touched, point)
            return torch.cat([gradients[i].flatten()[start:stop] for i, start, stop in block])

        phi = x.new_empty((len(x), size), dtype=torch.float64)
        for part, at in zip(torch.split(x, chunk_size), torch.split(phi, chunk_size), strict=True):
            at.copy_(vmap(gradient)(part))
        return phi
