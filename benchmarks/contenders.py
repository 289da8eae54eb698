"""Other ways to the kernel and its decomposition, written plainly."""

import functools

import numpy as np
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.extmath import randomized_svd
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from kerhrm.features.ntf import FactoredNTF
from kerhrm.networks.mlp import MLP


def as_module(mlp: MLP, row: int = 0) -> nn.Sequential:
    """One network of a batch as PyTorch's users would write it."""
    layers: list[nn.Module] = []
    with torch.no_grad():
        for weight, bias in zip(mlp.weights, mlp.biases, strict=True):
            layer = nn.Linear(weight.shape[2], weight.shape[1])
            layer.weight.copy_(weight[row])
            layer.bias.copy_(bias[row])
            layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def released_loop(module: nn.Module, x: Tensor) -> np.ndarray:
    """Phi (n, p) in the way of the released code.

    All outputs hang on one graph, through which every point's backward pass goes; gradients
    accumulate, so that the sum of the rows so far is taken off each.
    """
    module.zero_grad()
    parameters = list(module.parameters())
    outputs = module(x).squeeze(-1)
    phi = torch.zeros(len(x), sum(p.numel() for p in parameters))
    for row, output in zip(phi, outputs, strict=True):
        output.backward(retain_graph=True)
        total = torch.cat([p.grad.flatten() for p in parameters if p.grad is not None])
        row.copy_(total - phi.sum(0))
    return phi.numpy()


def plain_loop(module: nn.Module, x: Tensor) -> np.ndarray:
    """Phi (n, p) by one forward and backward pass a point."""
    parameters = list(module.parameters())
    phi = torch.empty(len(x), sum(p.numel() for p in parameters))
    for row, point in zip(phi, x, strict=True):
        gradients = torch.autograd.grad(module(point[None]).sum(), parameters)
        torch.cat([g.flatten() for g in gradients], out=row)
    return phi.numpy()


def vmap_matrix(module: nn.Module, x: Tensor, chunk: int = 50) -> Tensor:
    """Phi (n, p) by ``torch.func``, written into one matrix chunk by chunk."""
    parameters = {name: p.detach() for name, p in module.named_parameters()}

    def output(values: dict[str, Tensor], point: Tensor) -> Tensor:
        result: Tensor = functional_call(module, values, (point[None],))
        return result.sum()

    rows = vmap(grad(output), in_dims=(None, 0))
    phi = torch.empty(len(x), sum(p.numel() for p in parameters.values()))
    for part, at in zip(x.split(chunk), phi.split(chunk), strict=True):
        torch.cat([g.flatten(1) for g in rows(parameters, part).values()], dim=1, out=at)
    return phi


def plain_products(ntf: FactoredNTF) -> Tensor:
    """The kernel from its factors, each product in full: (B, n, n)."""
    factors = zip(ntf.activations, ntf.deltas, strict=True)
    terms = ((a @ a.mT).add_(1).mul_(d @ d.mT) for a, d in factors)
    return functools.reduce(Tensor.add_, terms)


def released_svd(phi: np.ndarray, k: int) -> np.ndarray:
    """Singular values as the released code finds them: scikit-learn, ten power iterations."""
    values: np.ndarray = randomized_svd(phi, n_components=k, n_iter=10, random_state=42)[1]
    return values


def truncated_svd(phi: np.ndarray, k: int, algorithm: str) -> np.ndarray:
    """Singular values by scikit-learn's ``TruncatedSVD``."""
    decomposition = TruncatedSVD(k, algorithm=algorithm, random_state=0)
    decomposition.fit(phi)
    return np.asarray(decomposition.singular_values_)
