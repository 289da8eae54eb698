"""The perfect invariant model of Colored MNIST: ERM without colour."""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.data.samples import Predictor, Samples
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.networks.protocol import Network


def train_grayscale(
    samples: Samples, network: Network, options: ERM, stops: Sequence[int]
) -> list[Predictor]:
    """ERM on images both of whose channels hold the gray one, so that the network is the same."""
    gray = dataclasses.replace(
        samples, x=without_colour(samples.x), x_validation=without_colour(samples.x_validation)
    )
    return [_blind(trained) for trained in train_erm(gray, network, options, stops)]


def _blind(network: Network) -> Predictor:
    return lambda x: network(without_colour(x))


def without_colour(x: Tensor) -> Tensor:
    """Mean of the two colour channels in both: (..., 2 p) to (..., 2 p)."""
    gray = x.unflatten(-1, (2, -1)).mean(-2)
    return torch.cat([gray, gray], dim=-1)
