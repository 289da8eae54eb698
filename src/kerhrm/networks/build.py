"""Networks by their options, drawn at w_0: multilayer perceptrons, or modules.

Perceptrons have ReLU, and on a CPU the kernels of :mod:`kerhrm.networks.kernels`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.networks import kernels
from kerhrm.networks.base import Network
from kerhrm.networks.blocks import Block, blocks, blocks_by_zeros
from kerhrm.networks.modules import init_module
from kerhrm.networks.options import NetworkOptions
from kerhrm.randomness import stream

MIN_POINTS = 64  #: from which the kernels are faster than plain PyTorch


def build(options: NetworkOptions, seed: int, d: int) -> Network:
    """Draw w_0 of a network; float32, on the CPU.

    Parameters
    ----------
    options : NetworkOptions
        The architecture.
    seed : int
        Of the weights.
    d : int
        Number of inputs.

    Returns
    -------
    Network
        Untrained.

    Raises
    ------
    KerhrmError
        If d is below 1, or the options name a module that is no network with one
        output.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, build
    >>> network = build(NetworkOptions(widths=[8]), seed=0, d=3)
    >>> network.n_parameters, network(torch.zeros(5, 3)).shape
    (41, torch.Size([5]))
    """
    if d < 1:
        problem = f"d must be 1 or more; got {d}"
        raise KerhrmError(problem, "give the number of inputs")
    if options.module is not None:
        return init_module(options.module, seed, d)
    sizes = (d, *options.widths, 1)
    return init_mlp(seed, sizes)


class MLP(Network):
    """ReLU network; its weights are ``weight_l`` (d_{l+1}, d_l) and ``bias_l``
    (d_{l+1},)."""

    fixed_operations = True

    @property
    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """Weight and bias of every layer, from the inputs to the output."""
        return layers(self.weights)

    @property
    def n_hidden(self) -> int:
        """Hidden units."""
        *hidden, _ = self.layers
        return sum(len(bias) for _, bias in hidden)

    def forward(self, weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
        one_hidden_layer = len(weights) == 4
        if one_hidden_layer and kernels_take(x):
            width = len(weights["bias_0"])
            points = blocks(x, width)
            return self._in_blocks(weights, points)
        *_, outputs = activations(layers(weights), x)
        return outputs.squeeze(-1)

    def at(self, x: Tensor) -> Callable[["MLP"], Tensor]:
        linear = len(self.weights) == 2
        if linear or not kernels_take(x):
            return super().at(x)
        width = len(self.weights["bias_0"])
        points = blocks_by_zeros(x, width)
        return lambda network: self._in_blocks(network.weights, points)

    @staticmethod
    def _in_blocks(weights: Mapping[str, Tensor], points: Sequence[Block]) -> Tensor:
        if len(weights) > 4:
            return kernels.deep_outputs(points, layers(weights))
        hidden_layer, output_layer = layers(weights)
        weight, bias = hidden_layer
        out, level = output_layer
        return kernels.outputs(
            points,
            weight=weight,
            bias=bias,
            out=out.squeeze(0),
            level=level,
        )


def layers(weights: Mapping[str, Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Weight and bias of every layer of an MLP with these weights."""
    n_layers = len(weights) // 2
    pairs = []
    for i in range(n_layers):
        weight = weights[f"weight_{i}"]
        bias = weights[f"bias_{i}"]
        pairs.append((weight, bias))
    return pairs


def activations(layers: Sequence[tuple[Tensor, Tensor]], x: Tensor) -> list[Tensor]:
    """Activations (n, d_l).

    The points, the hidden layers after ReLU, the output (n, 1).
    """
    all_layers = [x]
    for weight, bias in layers:
        x = torch.addmm(bias, x, weight.T)
        if len(all_layers) < len(layers):
            x = torch.relu_(x)  # in place: no second copy of the largest array
        all_layers.append(x)
    return all_layers


def init_mlp(seed: int, sizes: Sequence[int]) -> MLP:
    """Draw w_0 by PyTorch's default rule for ``nn.Linear``; float32, on the CPU.

    Weights and biases of a layer with fan-in m are U(-1/sqrt(m), 1/sqrt(m)), from the
    stream ``weights`` of the seed.  ``sizes`` are d, the hidden widths, 1: in the paper
    (d, 1024, 1).
    """
    random = stream(seed, "weights")
    weights = {}

    def draw(bound: float, *shape: int) -> Tensor:
        uniform = random.uniform(-bound, bound, shape)
        single = uniform.astype("float32")
        return torch.from_numpy(single)

    for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        bound = fan_in**-0.5
        weights[f"weight_{i}"] = draw(bound, fan_out, fan_in)
        weights[f"bias_{i}"] = draw(bound, fan_out)
    return MLP(weights)


def kernels_take(x: Tensor) -> bool:
    """Whether the kernels take these points, and are faster."""
    many = len(x) >= MIN_POINTS
    on_cpu = x.device.type == "cpu"
    return many and on_cpu and not x.requires_grad
