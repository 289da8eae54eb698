"""Linear least squares on the raw inputs, which tells what a method's figure is worth."""

from kerhrm.data.samples import Predictor, Samples
from kerhrm.methods.least_squares.options import LeastSquares
from kerhrm.methods.linear import least_norm
from kerhrm.networks.protocol import Network


def train_least_squares(samples: Samples, network: Network, options: LeastSquares) -> Predictor:
    """f(x) = a + b^T x with the b of :func:`least_norm` for centred x and y."""
    centre = samples.x.double().mean(-2, keepdim=True)
    level = samples.y.double().mean(-1, keepdim=True)
    slope = least_norm(samples.x - centre, samples.y - level)
    return lambda x: (level + ((x - centre) @ slope).squeeze(-1)).to(x)
