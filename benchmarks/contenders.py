"""Other ways to the kernel, its decomposition and training, written plainly."""

import functools

import numpy as np
import torch
from sklearn.utils.extmath import randomized_svd
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from kerhrm.features.ntf import FactoredNTF
from kerhrm.networks.mlp import MLP


def as_module(network: MLP) -> nn.Sequential:
    """The network as PyTorch's users would write it."""
    modules: list[nn.Module] = []
    with torch.no_grad():
        for weight, bias in network.layers:
            layer = nn.Linear(weight.shape[1], weight.shape[0])
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
            modules += [layer, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def released_loop(module: nn.Module, x: Tensor) -> np.ndarray:
    """Phi (n, p) in the way of the authors' code.

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
    """The kernel (n, n) from its factors, each product in full."""
    factors = zip(ntf.inputs, ntf.deltas, strict=True)
    terms = ((a @ a.mT).add_(1).mul_(d @ d.mT) for a, d in factors)
    return functools.reduce(Tensor.add_, terms)


def released_svd(phi: np.ndarray, k: int) -> np.ndarray:
    """Singular values as the authors' code finds them: scikit-learn, ten power iterations."""
    values: np.ndarray = randomized_svd(phi, n_components=k, n_iter=10, random_state=42)[1]
    return values


def plain_training(module: nn.Module, x: Tensor, y: Tensor, steps: int, rate: float) -> Tensor:
    """Outputs (n,) after PyTorch's usual full-batch loop with squared loss."""
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = ((module(x).squeeze(-1) - y) ** 2).mean()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        outputs: Tensor = module(x).squeeze(-1)
        return outputs
