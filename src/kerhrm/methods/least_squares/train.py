"""Linear least squares on the raw inputs, which tells what a method's figure is worth."""

import torch

from kerhrm.data.samples import Predictor, Samples
from kerhrm.methods.least_squares.options import LeastSquares
from kerhrm.networks.protocol import Network


def train_least_squares(samples: Samples, network: Network, options: LeastSquares) -> Predictor:
    r"""f(x) = a + b^T x, of least norm among the minimisers of sum_i (f(x_i) - y_i)^2.

    Collinear predictors are no harm: the solution is the pseudo-inverse's, by SVD.
    """
    centre = samples.x.double().mean(-2, keepdim=True)
    level = samples.y.double().mean(-1, keepdim=True)
    # the points are rounded to single precision: smaller singular values are that rounding
    noise = max(samples.x.shape[-2:]) * torch.finfo(torch.float32).eps
    slope = torch.linalg.pinv(samples.x - centre, rtol=noise) @ (samples.y - level).unsqueeze(-1)
    return lambda x: (level + ((x - centre) @ slope).squeeze(-1)).to(x)
