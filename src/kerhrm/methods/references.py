"""References, which tell what a method's result is worth."""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.methods.erm import ERMOptions, train_erm
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.options import Count, NonNegative, Options, option


class TrueEnvironmentsOptions(Options):
    """KerHRM with the true environments given: one dimension and one weight."""

    k: Count = option(15, "number of reduced features")
    alpha: NonNegative = option(1.0, "weight of the penalty, in its unit")


class LeastSquaresOptions(Options):
    """Linear least squares on the raw inputs; nothing to choose."""


def train_true_environments(inputs: Inputs, options: TrueEnvironmentsOptions) -> Fitted:
    """One M_p step over the true environments: what M_p is worth without M_c's errors."""
    problem, usual = inputs.require_problem(), KerHRMOptions()
    environments = inputs.require_environments().to(problem.u.device)
    penalty = PENALTIES[usual.penalty]()
    psi, _ = problem.reduced(options.k)
    risks = environment_risks(
        psi, problem.target, one_hot(environments).double(), ridge=usual.ridge
    )
    theta = penalty.minimise(risks, options.alpha * float(penalty.unit(psi)))
    theta = pad(theta, (0, len(problem.s) - options.k))
    return Fitted(directions={"model": theta}, chosen={"k": options.k, "alpha": options.alpha})


def train_grayscale(inputs: Inputs, options: ERMOptions) -> Fitted:
    """ERM on images both of whose channels hold the gray one, so that the network is the same."""
    x, x_validation = without_colour(inputs.x), without_colour(inputs.x_validation)
    fitted = train_erm(replace(inputs, x=x, x_validation=x_validation), options)
    network = fitted.networks["model"]
    return Fitted({"model": lambda points: network(without_colour(points))})


def without_colour(x: Tensor) -> Tensor:
    """Mean of the two colour channels in both: (..., 2 p) to (..., 2 p)."""
    gray = x.unflatten(-1, (2, -1)).mean(-2)
    return torch.cat([gray, gray], dim=-1)


def train_least_squares(inputs: Inputs, options: LeastSquaresOptions) -> Fitted:
    """f(x) = a + b^T x with the b of :func:`least_norm` for centred x and y."""
    x, y = inputs.x.double(), inputs.y.double()
    centre, level = x.mean(0), y.mean()
    slope = least_norm(x - centre, y - level)
    return Fitted({"model": lambda points: (level + (points - centre) @ slope).to(points)})


def least_norm(x: Tensor, y: Tensor) -> Tensor:
    """The shortest minimiser b (d,) of |x b - y|^2, of points (n, d), (n,), float64.

    Collinear predictors are no harm to the pseudo-inverse, by SVD.  The points are rounded to
    single precision: smaller singular values are that rounding.
    """
    noise = max(x.shape) * torch.finfo(torch.float32).eps
    return torch.linalg.pinv(x, rtol=noise) @ y
