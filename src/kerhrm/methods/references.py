"""Predictors that tell what a method's figure is worth; trained like any method."""

import dataclasses

import torch
from torch import Tensor

from kerhrm.config.methods import ERM, LeastSquares
from kerhrm.features.mlp import MLP
from kerhrm.methods.erm import train_erm
from kerhrm.methods.samples import Predictor, Samples


def train_least_squares(samples: Samples, mlp: MLP, options: LeastSquares) -> Predictor:
    r"""f(x) = a + b^T x, of least norm among the minimisers of sum_i (f(x_i) - y_i)^2.

    Collinear predictors are no harm: the solution is the pseudo-inverse's, by SVD.
    """
    centre = samples.x.double().mean(-2, keepdim=True)
    level = samples.y.double().mean(-1, keepdim=True)
    # the points are rounded to single precision: smaller singular values are that rounding
    noise = max(samples.x.shape[-2:]) * torch.finfo(torch.float32).eps
    slope = torch.linalg.pinv(samples.x - centre, rtol=noise) @ (samples.y - level).unsqueeze(-1)
    return lambda x: (level + ((x - centre) @ slope).squeeze(-1)).to(x)


def train_grayscale(samples: Samples, mlp: MLP, options: ERM) -> Predictor:
    """ERM on images without colour: the perfect invariant model of Colored MNIST.

    Both colour channels hold the gray image, so that the network is the same.
    """
    gray = dataclasses.replace(
        samples, x=without_colour(samples.x), x_validation=without_colour(samples.x_validation)
    )
    network = train_erm(gray, mlp, options)
    return lambda x: network(without_colour(x))


def without_colour(x: Tensor) -> Tensor:
    """Mean of the two colour channels in both: (..., 2 p) to (..., 2 p)."""
    gray = x.unflatten(-1, (2, -1)).mean(-2)
    return torch.cat([gray, gray], dim=-1)
