"""Neural tangent features of an MLP in factored form.

The neural tangent feature of a point is phi(x) = grad_w f_{w_0}(x) in R^p.  In
an MLP the gradient with respect to layer l is an outer product,

    d f / d W_l = delta_l(x) a_l(x)^T,      d f / d b_l = delta_l(x),

of the layer's input a_l and the back-propagated delta_l = d f / d (W_l a_l + b_l).
So the n x p matrix Phi never has to be formed: a_l and delta_l (a few thousand
numbers a point instead of millions) hold all of it, and the empirical neural
tangent kernel is

    kappa(x, x') = phi(x)^T phi(x')
                 = sum_l (a_l(x)^T a_l(x') + 1) (delta_l(x)^T delta_l(x')).

Source: Jacot et al. 2018 (the kernel); paper, section 3.1 (the features).
"""

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.networks.mlp import MLP, forward
from kerhrm.networks.products import affine
from kerhrm.storage.arrays import save_arrays

BLOCK = 512  #: rows of a kernel at a time: few enough to stay in a cache


@dataclass(frozen=True)
class FactoredNTF:
    """Phi(X) of B networks, as factors.

    Attributes
    ----------
    activations : list of Tensor, each (B, n, d_l)
        Inputs a_l of the layers l = 0, 1, ...
    deltas : list of Tensor, each (B, n, d_{l+1})
        Gradients of the output with respect to the layers' pre-activations.
    """

    activations: list[Tensor]
    deltas: list[Tensor]

    def kernel(self, other: "FactoredNTF") -> Tensor:
        """kappa(X, X'), (B, n, n'), in O(n n' sum_l (d_l + d_{l+1})) operations, not O(n n' p).

        With itself kappa is symmetric: only blocks on and above the diagonal are computed, and
        the others are their mirror images, bit for bit.
        """
        first = self.activations[0]
        n, m = first.shape[1], other.activations[0].shape[1]
        kappa = first.new_empty(len(first), n, m)
        for b, of_one in enumerate(kappa):
            for start in range(0, n, BLOCK):
                rows = slice(start, start + BLOCK)
                columns = slice(start if other is self else 0, m)
                of_one[rows, columns] = self._block(other, b, rows, columns)
                if other is self:
                    own = of_one[rows, rows]
                    own.copy_(own.tril() + own.tril(-1).mT)  # products round by position
                    of_one[rows.stop :, rows] = of_one[rows, rows.stop :].mT
        return kappa

    def _block(self, other: "FactoredNTF", b: int, rows: slice, columns: slice) -> Tensor:
        """Some rows and columns of network b's kappa."""
        factors = zip(self.activations, self.deltas, other.activations, other.deltas, strict=True)
        terms = (
            affine(a[b, rows], a2[b, columns]).add_(1).mul_(affine(d[b, rows], d2[b, columns]))
            for a, d, a2, d2 in factors
        )
        return functools.reduce(Tensor.add_, terms)

    def save(self, path: str | os.PathLike[str], f0: Tensor) -> None:
        factors = {f"activation_{i}": a for i, a in enumerate(self.activations)}
        factors |= {f"delta_{i}": d for i, d in enumerate(self.deltas)}
        save_arrays(path, {n: t.cpu().numpy() for n, t in (factors | {"f0": f0}).items()})

    @classmethod
    def among(cls, tensors: Mapping[str, Tensor]) -> "FactoredNTF":
        """The factors among the tensors of a file."""
        layers = range(len(tensors) // 2)
        names = ("activation", "delta")
        return cls(*([tensors[f"{name}_{i}"] for i in layers] for name in names))


def factorise(mlp: MLP, x: Tensor) -> tuple[FactoredNTF, Tensor]:
    """Phi (B, n, p) and f_0 (B, n) at points x (B, n, d), by back-propagation."""
    *inputs, output = forward(mlp, x)
    delta = torch.ones_like(output)
    deltas = [delta]
    for layer in range(len(mlp.weights) - 1, 0, -1):
        delta = (delta @ mlp.weights[layer]) * (inputs[layer] > 0)
        deltas.insert(0, delta)
    return FactoredNTF(inputs, deltas), output.squeeze(-1)
