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

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kerhrm.networks.mlp import MLP, forward
from kerhrm.storage.arrays import save_arrays


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

    @property
    def shape(self) -> tuple[int, int, int]:
        """(B, n, p) of the matrix that the factors stand for."""
        batch, n, _ = self.activations[0].shape
        factors = zip(self.activations, self.deltas, strict=True)
        return batch, n, sum((a.shape[-1] + 1) * d.shape[-1] for a, d in factors)

    def rows(self, index: slice | Tensor) -> Tensor:
        """Rows of Phi, exactly: (B, m, p), ordered W_0, b_0, W_1, b_1, ..."""
        blocks = []
        for a, d in zip(self.activations, self.deltas, strict=True):
            a, d = a[:, index], d[:, index]
            blocks += [(d.unsqueeze(-1) * a.unsqueeze(-2)).flatten(-2), d]
        return torch.cat(blocks, dim=-1)

    def kernel(self, other: "FactoredNTF") -> Tensor:
        """kappa(X, X') = Phi(X) Phi(X')^T, shape (B, n, n'), without forming Phi.

        O(n n' sum_l (d_l + d_{l+1})) operations instead of O(n n' p).
        """
        total = None
        for a, d, a2, d2 in zip(
            self.activations, self.deltas, other.activations, other.deltas, strict=True
        ):
            term = (a @ a2.mT).add_(1).mul_(d @ d2.mT)
            total = term if total is None else total.add_(term)
        assert total is not None
        return total

    def save(self, path: str | os.PathLike[str], f0: Tensor) -> None:
        """Write the factors and f_0 (B, n) to one file."""
        factors = {f"activation_{i}": a for i, a in enumerate(self.activations)}
        factors |= {f"delta_{i}": d for i, d in enumerate(self.deltas)}
        save_arrays(path, {n: t.cpu().numpy() for n, t in (factors | {"f0": f0}).items()})

    @classmethod
    def load(cls, arrays: Mapping[str, np.ndarray]) -> "FactoredNTF":
        """What :meth:`save` wrote, on the CPU."""
        layers = range(len(arrays) // 2)
        activations, deltas = (
            [torch.from_numpy(arrays[f"{name}_{i}"]) for i in layers]
            for name in ("activation", "delta")
        )
        return cls(activations, deltas)

    def to(self, device: torch.device | str) -> "FactoredNTF":
        return FactoredNTF(
            [a.to(device) for a in self.activations], [d.to(device) for d in self.deltas]
        )


def factorise(mlp: MLP, x: Tensor) -> tuple[FactoredNTF, Tensor]:
    """Neural tangent features and outputs of B networks at w_0.

    Parameters
    ----------
    mlp : MLP
    x : Tensor, (B, n, d)

    Returns
    -------
    ntf : FactoredNTF
        Phi, shape (B, n, p), as factors.
    f0 : Tensor, (B, n)
        f_{w_0}(x), the offset that is kept in every later step.
    """
    *inputs, output = forward(mlp, x)
    delta = torch.ones_like(output)
    deltas = [delta]
    for layer in range(len(mlp.weights) - 1, 0, -1):
        delta = (delta @ mlp.weights[layer]) * (inputs[layer] > 0)
        deltas.insert(0, delta)
    return FactoredNTF(inputs, deltas), output.squeeze(-1)
