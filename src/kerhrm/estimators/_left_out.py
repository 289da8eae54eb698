"""What KerHRM's direction says of training rows that it has not seen."""

from dataclasses import replace

import torch
from torch import Tensor

from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Direction, Memberships

FOLDS = 5  #: parts of the training points, each left out in turn
#: least ridge of these directions: fewer points may leave a system singular
RIDGE = 1e-9


def left_out(
    problem: Problem,
    environments: Memberships,
    final: Direction,
    options: KerHRMOptions,
) -> Tensor:
    """Outputs (n,) of training points, by directions learned without them.

    Every fifth point is left out in turn.  Points are sorted by their values, so that
    the parts are alike, and no seed draws them.  Features, k, alpha and the points'
    environments stay those of the fit: only the k coefficients are learned again.

    Parameters
    ----------
    problem : Problem
        Of all points.
    environments : Memberships
        The candidate over which the direction was learned.
    final : Direction
        That direction.
    options : KerHRMOptions
        Of Algorithm 1.
    """
    ridge = max(options.ridge, RIDGE)
    update = {"alpha": [final.alpha], "ridge": ridge}
    options = options.model_copy(update=update)
    n = len(problem.y)
    numbers = torch.arange(n, device=problem.y.device)
    part = numbers % FOLDS
    outputs = torch.zeros_like(problem.y)
    for fold in part.unique():
        out = part == fold
        kept = ~out
        theta = _learned(problem, environments, kept, options)
        others = replace(final, theta=theta)
        psi = problem.u[out] * problem.s
        f = others.predict(psi, problem.f0_train[out])
        outputs[out] = f.to(outputs)
    return outputs


def _learned(
    problem: Problem,
    environments: Memberships,
    points: Tensor,
    options: KerHRMOptions,
) -> Tensor:
    """Direction (k_max,) of some training points (n,), with their memberships in one
    candidate."""
    weights = None if problem.weights is None else problem.weights[points]
    some = replace(
        problem,
        u=problem.u[points],
        f0_train=problem.f0_train[points],
        y=problem.y[points],
        weights=weights,
    )
    members = Memberships(
        environments.k,
        environments.train[points],
        environments.validation,
        environments.degenerate,
    )
    return learn_directions(some, [Memberships.stack([members])], options).theta[0]
