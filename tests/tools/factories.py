"""Modules that tests name as ``"factories:function"``: some to be taken, some to be
refused."""

import math

import torch
from torch import Tensor, nn


def mlp(n_inputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(n_inputs, 6),
        nn.ReLU(),
        nn.Linear(6, 4),
        nn.ReLU(),
        nn.Linear(4, 1),
    )


def wide(n_inputs: int) -> nn.Module:
    hidden = nn.Linear(n_inputs, 64)
    output = nn.Linear(64, 1)
    return nn.Sequential(hidden, nn.ReLU(), output)


class Tied(nn.Module):
    """Output (n,) instead of (n, 1), and one weight matrix used twice."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(n_inputs, n_inputs)
        self.second = nn.Linear(n_inputs, n_inputs)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.tensor([0.7]))

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.tanh(self.first(x))
        return self.scale * self.second(hidden).sum(-1)


def vector(n_inputs: int) -> nn.Module:
    return nn.Linear(n_inputs, 2)


class BatchMean(nn.Linear):
    """One number for the whole batch."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__(n_inputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).mean(0)


def dropout(n_inputs: int) -> nn.Module:
    hidden = nn.Linear(n_inputs, 8)
    output = nn.Linear(8, 1)
    return nn.Sequential(hidden, nn.Dropout(), output)


def dropout_switched_off(n_inputs: int) -> nn.Module:
    return dropout(n_inputs).eval()


def running_statistics(n_inputs: int) -> nn.Module:
    layer = nn.Linear(n_inputs, 1)
    return nn.Sequential(layer, nn.BatchNorm1d(1)).eval()


def batch_statistics(n_inputs: int) -> nn.Module:
    norm = nn.BatchNorm1d(n_inputs, track_running_stats=False)
    layer = nn.Linear(n_inputs, 1)
    return nn.Sequential(norm, layer).eval()


def images_only(n_inputs: int) -> nn.Module:
    images = nn.Unflatten(1, (2, 7, 7))
    output = nn.Linear(98, 1)
    return nn.Sequential(images, nn.Flatten(), output)


def nothing_to_train(n_inputs: int) -> nn.Module:
    return nn.Flatten(0)


number = float
in_c = math.sqrt


def no_module(n_inputs: int) -> object:
    return n_inputs


def fails(n_inputs: int) -> nn.Module:
    raise ValueError("as a factory\nsays it")


def not_finite(n_inputs: int) -> nn.Module:
    layer = nn.Linear(n_inputs, 1)
    with torch.no_grad():
        layer.weight.fill_(math.nan)
    return layer


def double_precision(n_inputs: int) -> nn.Module:
    return nn.Linear(n_inputs, 1).double()


def leaves(n_inputs: int) -> nn.Module:
    raise SystemExit(0)
