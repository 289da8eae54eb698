"""References, which tell what a method's result is worth."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from kerhrm.algorithm.invariance import environment_risks, learn_directions
from kerhrm.algorithm.minimisers import minimisers
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Memberships
from kerhrm.errors import KerhrmError
from kerhrm.methods.erm import train_erm
from kerhrm.methods.inputs import Fitted, Inputs, errors
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
    usual = KerHRMOptions()
    problem = inputs.require_problem()
    device = problem.u.device
    given = inputs.require_environments()
    environments = given.to(device)
    psi, _ = problem.reduced(options.k)
    indicators = one_hot(environments)
    counts, _ = problem.counts
    memberships = indicators.double() * counts.to(device)[:, None]
    risks = environment_risks(psi, problem.target, memberships, ridge=usual.ridge)
    (theta,) = minimisers(usual.penalty, psi, risks, [options.alpha])
    n_unused = len(problem.s) - options.k
    padded = pad(theta, (0, n_unused))
    return Fitted(
        directions={"model": padded},
        chosen={"k": options.k, "alpha": options.alpha},
    )


def train_given_split(inputs: Inputs, options: GivenSplitOptions) -> Fitted:
    """M_p and the network of KerHRM over environments that something else than M_c has
    made."""
    problem = inputs.require_problem()
    of_train, of_validation = split_points(inputs, options.split)
    largest_train = int(of_train.max())
    largest_validation = int(of_validation.max())
    last = max(largest_train, largest_validation)
    count = 1 + last
    n_candidates = len(options.k)
    device = problem.u.device

    def memberships(environments: Tensor, weights: Tensor) -> Tensor:
        on_device = environments.to(device)
        members = one_hot(on_device, count)
        weighted = members.double() * weights.to(device)[:, None]
        return weighted.expand(n_candidates, -1, -1)

    counts, counts_validation = problem.counts
    none_degenerate = torch.zeros(n_candidates, dtype=torch.bool, device=device)
    given = Memberships(
        k=torch.tensor(options.k, device=device),
        train=memberships(of_train, counts),
        validation=memberships(of_validation, counts_validation),
        degenerate=none_degenerate,
    )
    directions = learn_directions(problem, [given], options)
    return finish(inputs, options, [given], [directions])


def split_points(inputs: Inputs, split: str) -> tuple[Tensor, Tensor]:
    """Environments (n,) and (m,), int64, of training and validation points.

    Errors are those of :func:`train_least_squares` on the training points.  Raises
    KerhrmError if the split needs environments that the inputs do not have.
    """
    if split == "true_environments":
        of_train = inputs.require_environments()
        of_validation = inputs.environments_validation
        if of_validation is None:
            problem = "the split needs environments of the validation points"
            hint = "pass Inputs(environments_validation=...)"
            raise KerhrmError(problem, hint)
        return of_train, of_validation
    if split == "random":
        random = stream(inputs.seed, "clustering", "split")
        halves = random.integers(0, 2, len(inputs.y))
        halves_validation = random.integers(0, 2, len(inputs.y_validation))
        of_train = torch.from_numpy(halves)
        of_validation = torch.from_numpy(halves_validation)
        return of_train, of_validation
    fitted = train_least_squares(inputs, LeastSquaresOptions())
    model = fitted.networks["model"]
    of_train = errors(model, inputs.x, inputs.y)
    of_validation = errors(model, inputs.x_validation, inputs.y_validation)
    return of_train, of_validation


def train_grayscale(inputs: Inputs, options: ERMOptions) -> Fitted:
    """ERM on images both of whose channels hold the gray one, so that the network is
    the same."""
    gray = replace(
        inputs,
        x=without_colour(inputs.x),
        x_validation=without_colour(inputs.x_validation),
    )
    fitted = train_erm(gray, options)
    network = fitted.networks["model"]

    def model(points: Tensor) -> Tensor:
        gray_points = without_colour(points)
        return network(gray_points)

    return Fitted({"model": model})


def without_colour(x: Tensor) -> Tensor:
    """Mean of the two colour channels in both: (..., 2 p) to (..., 2 p)."""
    by_colour = x.unflatten(-1, (2, -1))
    gray = by_colour.mean(-2)
    return torch.cat([gray, gray], dim=-1)


def train_least_squares(inputs: Inputs, options: LeastSquaresOptions) -> Fitted:
    """f(x) = a + b^T x with the b of :func:`least_norm` for centred x and y."""
    x = inputs.x.double()
    y = inputs.y.double()
    centre = x.mean(0)
    level = y.mean()
    centred = x - centre
    slope = least_norm(centred, y - level)
    model = linear_model(level, centre, slope)
    return Fitted({"model": model})


def linear_model(
    level: Tensor, centre: Tensor, slope: Tensor
) -> Callable[[Tensor], Tensor]:
    """level + slope^T (x - centre) of points x (m, d), in the points' precision."""

    def model(points: Tensor) -> Tensor:
        deviations = points - centre
        outputs = level + deviations @ slope
        return outputs.to(points)

    return model


def least_norm(x: Tensor, y: Tensor) -> Tensor:
    """The shortest minimiser b (d,) of |x b - y|^2, of points (n, d), (n,), float64.

    Collinear predictors are no harm to the pseudo-inverse, by SVD.  The points are
    rounded to single precision: smaller singular values are that rounding.
    """
    eps = torch.finfo(torch.float32).eps
    longer_side = max(x.shape)
    noise = longer_side * eps
    inverse = torch.linalg.pinv(x, rtol=noise)
    return inverse @ y
