"""Other ways to the kernel, its decomposition and training, written plainly."""

import functools

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from kerhrm.features.ntf import FactoredNTF
from kerhrm.networks.base import Network

CHUNK = 50  #: points that torch.func differentiates at once


def as_module(network: Network) -> nn.Sequential:
    """The network as PyTorch's users would write it."""
    weights = network.weights
    hidden_weight = weights["weight_0"].T
    output_weight = weights["weight_1"].T
    hidden = nn.Linear(*hidden_weight.shape)
    output = nn.Linear(*output_weight.shape)
    module = nn.Sequential(hidden, nn.ReLU(), output)
    names = module.state_dict()
    state = dict(zip(names, weights.values(), strict=True))
    module.load_state_dict(state)
    return module


def released_loop(module: nn.Module, x: Tensor) -> Tensor:
    """Phi (n, p) in the way of the authors' code.

    All outputs hang on one graph, through which every point's backward pass goes;
    gradients accumulate, so that the sum of the rows so far is taken off each.
    """
    module.zero_grad()
    parameters = list(module.parameters())
    sizes = [weights.numel() for weights in parameters]
    n_weights = sum(sizes)
    outputs = module(x).squeeze(-1)
    phi = torch.zeros(len(x), n_weights)
    for row, output in zip(phi, outputs, strict=True):
        output.backward(retain_graph=True)
        gradients = [weights.grad for weights in parameters]
        accumulated = [g.flatten() for g in gradients if g is not None]
        total = torch.cat(accumulated)
        earlier = phi.sum(0)
        row.copy_(total - earlier)
    return phi


def vmap_matrix(module: nn.Module, x: Tensor) -> Tensor:
    """Phi (n, p) by ``torch.func``, written into one matrix chunk by chunk."""
    parameters = {}
    for name, weights in module.named_parameters():
        parameters[name] = weights.detach()

    def output(values: dict[str, Tensor], point: Tensor) -> Tensor:
        rows = point[None]
        of_point = functional_call(module, values, (rows,))
        return of_point.sum()

    gradients = vmap(grad(output), in_dims=(None, 0))
    sizes = [weights.numel() for weights in parameters.values()]
    n_weights = sum(sizes)
    phi = torch.empty(len(x), n_weights)
    blocks = x.split(CHUNK)
    blocks_of_phi = phi.split(CHUNK)
    for points, rows in zip(blocks, blocks_of_phi, strict=True):
        by_name = gradients(parameters, points)
        flat = [gradient.flatten(1) for gradient in by_name.values()]
        torch.cat(flat, dim=1, out=rows)
    return phi


def plain_products(ntf: FactoredNTF) -> Tensor:
    """The kernel (n, n) from its factors, each product in full."""
    terms = []
    for inputs, deltas in zip(ntf.inputs, ntf.deltas, strict=True):
        of_inputs = inputs @ inputs.mT
        of_inputs = of_inputs.add_(1)
        of_deltas = deltas @ deltas.mT
        terms.append(of_inputs.mul_(of_deltas))
    return functools.reduce(Tensor.add_, terms)


def plain_training(
    module: nn.Module, x: Tensor, y: Tensor, steps: int, rate: float
) -> Tensor:
    """Outputs (n,) after PyTorch's usual full-batch loop with squared loss."""
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        outputs = module(x).squeeze(-1)
        residuals = outputs - y
        loss = (residuals**2).mean()
        loss.backward()
        optimiser.step()
    outputs = module(x).detach()
    return outputs.squeeze(-1)
