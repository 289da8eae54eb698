"""Other ways to the kernel, its decomposition and training, written plainly."""

import functools

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from kerhrm.features.ntf import FactoredNTF
from kerhrm.networks.base import Network


def as_module(network: Network) -> nn.Sequential:
    """The network as PyTorch's users would write it."""
    (w, v), weights = (
        (network.weights[f"weight_{i}"] for i in (0, 1)),
        network.weights.values(),
    )
    module = nn.Sequential(nn.Linear(*w.T.shape), nn.ReLU(), nn.Linear(*v.T.shape))
    module.load_state_dict(dict(zip(module.state_dict(), weights, strict=True)))
    return module


def released_loop(module: nn.Module, x: Tensor) -> Tensor:
    """Phi (n, p) in the way of the authors' code.

    All outputs hang on one graph, through which every point's backward pass goes;
    gradients accumulate, so that the sum of the rows so far is taken off each.
    """
    module.zero_grad()
    parameters = list(module.parameters())
    outputs = module(x).squeeze(-1)
    phi = torch.zeros(len(x), sum(p.numel() for p in parameters))
    for row, output in zip(phi, outputs, strict=True):
        output.backward(retain_graph=True)
        total = torch.cat([p.grad.flatten() for p in parameters if p.grad is not None])
        row.copy_(total - phi.sum(0))
    return phi


def vmap_matrix(module: nn.Module, x: Tensor, chunk: int = 50) -> Tensor:
    """Phi (n, p) by ``torch.func``, written into one matrix chunk by chunk."""
    parameters = {name: p.detach() for name, p in module.named_parameters()}

    def output(values: dict[str, Tensor], point: Tensor) -> Tensor:
        return functional_call(module, values, (point[None],)).sum()

    rows = vmap(grad(output), in_dims=(None, 0))
    phi = torch.empty(len(x), sum(p.numel() for p in parameters.values()))
    for part, at in zip(x.split(chunk), phi.split(chunk), strict=True):
        torch.cat(
            [g.flatten(1) for g in rows(parameters, part).values()], dim=1, out=at
        )
    return phi


def plain_products(ntf: FactoredNTF) -> Tensor:
    """The kernel (n, n) from its factors, each product in full."""
    factors = zip(ntf.inputs, ntf.deltas, strict=True)
    terms = ((a @ a.mT).add_(1).mul_(d @ d.mT) for a, d in factors)
    return functools.reduce(Tensor.add_, terms)


def plain_training(
    module: nn.Module, x: Tensor, y: Tensor, steps: int, rate: float
) -> Tensor:
    """Outputs (n,) after PyTorch's usual full-batch loop with squared loss."""
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = ((module(x).squeeze(-1) - y) ** 2).mean()
        loss.backward()
        optimiser.step()
    return module(x).detach().squeeze(-1)
