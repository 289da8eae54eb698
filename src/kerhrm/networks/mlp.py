"""Multilayer perceptrons: all B run, and are differentiated, in one batched matrix product.

On a CPU the paper's network, with one hidden layer, has code of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.networks.blocks import Block, by_zeros, in_order
from kerhrm.networks.one_hidden import outputs
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.products import affine
from kerhrm.networks.protocol import Network
from kerhrm.randomness import stream

FEW = 64  #: points below which the code for one hidden layer saves nothing


@dataclass(frozen=True)
class MLP(Network):
    """B ReLU networks f_w: R^d -> R with the same architecture.

    Attributes
    ----------
    weights : list of Tensor, each (B, d_{l+1}, d_l)
    biases : list of Tensor, each (B, d_{l+1})
    """

    weights: list[Tensor]
    biases: list[Tensor]

    @property
    def facts(self) -> dict[str, Any]:
        options = NetworkOptions(widths=[w.shape[1] for w in self.weights[:-1]])
        return {"n_inputs": self.weights[0].shape[2], "network": options.model_dump()}

    def parameters(self) -> list[Tensor]:
        return [*self.weights, *self.biases]

    def replace(self, parameters: Sequence[Tensor]) -> "MLP":
        layers = len(self.weights)
        return MLP(list(parameters[:layers]), list(parameters[layers:]))

    def __call__(self, x: Tensor) -> Tensor:
        if len(self.weights) == 2 and _in_blocks(x):
            return self._outputs([in_order(points, self._width) for points in x])
        return forward(self, x)[-1].squeeze(-1)

    def on(self, x: Tensor) -> Callable[["MLP"], Tensor]:
        if len(self.weights) == 1 or not _in_blocks(x):
            return super().on(x)
        blocks = [by_zeros(points, self._width) for points in x]
        if len(self.weights) == 2:
            return lambda networks: networks._outputs(blocks)
        return lambda networks: torch.stack(
            [forward_blocks(networks.take(slice(b, b + 1)), own) for b, own in enumerate(blocks)]
        )

    @property
    def _width(self) -> int:
        return self.weights[0].shape[1]

    def _outputs(self, blocks: Sequence[Sequence[Block]]) -> Tensor:
        (weight, out), (bias, level) = self.weights, self.biases
        each = zip(blocks, weight, bias, out.squeeze(1), level, strict=True)
        return torch.stack([outputs(*one) for one in each])


def _in_blocks(x: Tensor) -> bool:
    return x.shape[1] >= FEW and x.device.type == "cpu" and not x.requires_grad


def init_mlp(seeds: Sequence[int], sizes: Sequence[int]) -> MLP:
    """Draw w_0 by PyTorch's default rule for ``nn.Linear``; float32, on the CPU.

    Weights and biases of a layer with fan-in m are U(-1/sqrt(m), 1/sqrt(m)), from the stream
    ``weights`` of each seed.  ``sizes`` are d, hidden widths, 1: in the paper (d, 1024, 1).
    """
    weights: list[list[np.ndarray]] = [[] for _ in sizes[1:]]
    biases: list[list[np.ndarray]] = [[] for _ in sizes[1:]]
    for seed in seeds:
        rng = stream(seed, "weights")
        for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
            bound = fan_in**-0.5
            weights[layer].append(rng.uniform(-bound, bound, (fan_out, fan_in)))
            biases[layer].append(rng.uniform(-bound, bound, fan_out))

    def batch(draws: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.stack(draws).astype(np.float32))

    return MLP([batch(w) for w in weights], [batch(b) for b in biases])


def forward(mlp: MLP, x: Tensor) -> list[Tensor]:
    """Activations (B, n, d_l): x, the hidden layers after ReLU, the output (B, n, 1)."""
    activations = [x]
    for weight, bias in zip(mlp.weights, mlp.biases, strict=True):
        x = torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))
        if len(activations) < len(mlp.weights):
            x = torch.relu_(x)  # in place: no second copy of the largest array
        activations.append(x)
    return activations


def forward_blocks(mlp: MLP, points: Sequence[Block]) -> Tensor:
    """f (n,) of one network with two hidden layers or more, at points in blocks."""
    weights, biases = ([p[0] for p in ps] for ps in (mlp.weights, mlp.biases))
    first = torch.cat([weights[0], biases[0][:, None]], 1)
    f = first.new_empty(sum(block.count for block in points))
    for block in points:
        h = block.times(first).relu_()
        for weight, bias in zip(weights[1:-1], biases[1:-1], strict=True):
            h = affine(h, weight, bias).relu_()
        f[block.rows] = torch.addmv(biases[-1], h[: block.count], weights[-1][0])
    return f
