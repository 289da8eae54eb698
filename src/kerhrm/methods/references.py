"""References, which tell what a method's result is worth."""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from kerhrm.algorithm.invariance import environment_risks, learn_directions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import minimisers
from kerhrm.algorithm.records import Memberships
from kerhrm.methods.erm import train_erm
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.kerhrm import finish
from kerhrm.methods.options import (
    ERMOptions,
    GivenSplitOptions,
    LeastSquaresOptions,
    TrueEnvironmentsOptions,
)
from kerhrm.randomness import stream


def train_true_environments(inputs: Inputs, options: TrueEnvironmentsOptions) -> Fitted:
    """One M_p step over the true environments: what M_p is worth
    without M_c's errors."""
    problem, usual = inputs.require_problem(), KerHRMOptions()
    environments = inputs.require_environments().to(problem.u.device)
    psi, _ = problem.reduced(options.k)
    risks = environment_risks(
        psi, problem.target, one_hot(environments).double(), ridge=usual.ridge
    )
    theta = minimisers(usual.penalty, psi, risks, [options.alpha])[0]
    theta = pad(theta, (0, len(problem.s) - options.k))
    return Fitted(
        directions={"model": theta}, chosen={"k": options.k, "alpha": options.alpha}
    )


def train_given_split(inputs: Inputs, options: GivenSplitOptions) -> Fitted:
    """M_p and the network of KerHRM over environments that something else than M_c has
    made."""
    problem = inputs.require_problem()
    numbers = split_points(inputs, options.split)
    count = 1 + max(int(part.max()) for part in numbers)
    train, validation = (
        one_hot(part.to(problem.u.device), count)
        .double()
        .expand(len(options.k), -1, -1)
        for part in numbers
    )
    none = torch.zeros(len(options.k), dtype=torch.bool)
    environments = [Memberships(torch.tensor(options.k), train, validation, none)]
    directions = [learn_directions(problem, environments, options)]
    return finish(inputs, options, environments, directions)


def split_points(inputs: Inputs, split: str) -> tuple[Tensor, Tensor]:
    """Environments (n,) and (m,), int64, of training and validation points.

    Errors are those of :func:`train_least_squares` on the training points.
    """
    parts = (inputs.x, inputs.y), (inputs.x_validation, inputs.y_validation)
    if split == "true_environments":
        own, other = inputs.require_environments(), inputs.environments_validation
        assert other is not None  # they come together
        return own, other
    if split == "random":
        draw = stream(inputs.seed, "clustering", "split")
        own, other = (torch.from_numpy(draw.integers(0, 2, len(y))) for _, y in parts)
        return own, other
    fitted = train_least_squares(inputs, LeastSquaresOptions())
    own, other = (
        ((fitted.predict(x)["model"] > 0) != (y > 0)).long() for x, y in parts
    )
    return own, other


def train_grayscale(inputs: Inputs, options: ERMOptions) -> Fitted:
    """ERM on images both of whose channels hold the gray one, so that the network is
    the same."""
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
    return Fitted(
        {"model": lambda points: (level + (points - centre) @ slope).to(points)}
    )


def least_norm(x: Tensor, y: Tensor) -> Tensor:
    """The shortest minimiser b (d,) of |x b - y|^2, of points (n, d), (n,), float64.

    Collinear predictors are no harm to the pseudo-inverse, by SVD.  The points are
    rounded to single precision: smaller singular values are that rounding.
    """
    noise = max(x.shape) * torch.finfo(torch.float32).eps
    return torch.linalg.pinv(x, rtol=noise) @ y
