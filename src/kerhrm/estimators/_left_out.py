"""What KerHRM's direction says of training rows that it has not seen."""

from collections.abc import Iterator
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
    units: Tensor | None = None,
) -> Tensor:
    """Outputs (n,) of training points, by directions learned without them.

    Every fifth draw is left out in turn.  Points are sorted by their values, so that
    the parts are alike, and no seed draws them.  Of a point that stands for several
    equal draws the others stay, and its output is the mean over its draws.  Features,
    k, alpha and the points' environments stay those of the fit: only the k coefficients
    are learned again.

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
    units : Tensor, (n,), optional
        Equal draws that each point stands for; by default one.
    """
    ridge = max(options.ridge, RIDGE)
    update = {"alpha": [final.alpha], "ridge": ridge}
    options = options.model_copy(update=update)
    outputs = torch.zeros_like(problem.y)
    for share in _left_out_shares(problem.y, units):
        out = share > 0
        theta = _learned(problem, environments, 1 - share, options)
        others = replace(final, theta=theta)
        psi = problem.u[out] * problem.s
        f = others.predict(psi, problem.f0_train[out])
        outputs[out] += share[out] * f.to(outputs)
    return outputs


def _left_out_shares(y: Tensor, units: Tensor | None) -> Iterator[Tensor]:
    """Share (n,) of each point's draws that a part leaves out, by part.

    Draws are numbered through; the number's remainder is its part.
    """
    draws = torch.ones_like(y) if units is None else units.to(y)
    ends = draws.cumsum(0)
    starts = ends - draws
    for fold in range(FOLDS):
        # draws i in [start, end) with i mod FOLDS = fold: of 0, ..., e - 1 there are
        # 1 + floor((e - 1 - fold) / FOLDS)
        last_of_fold_before_end = torch.floor((ends - 1 - fold) / FOLDS)
        last_of_fold_before_start = torch.floor((starts - 1 - fold) / FOLDS)
        of_fold = last_of_fold_before_end - last_of_fold_before_start
        if bool((of_fold > 0).any()):
            yield of_fold / draws


def _learned(
    problem: Problem,
    environments: Memberships,
    kept: Tensor,
    options: KerHRMOptions,
) -> Tensor:
    """Direction (k_max,) of the training points, of each of which a share (n,) is kept,
    with their memberships in one candidate."""
    points = kept > 0
    kept = kept[points]
    weights = None if problem.weights is None else problem.weights[points] * kept
    some = replace(
        problem,
        u=problem.u[points],
        f0_train=problem.f0_train[points],
        y=problem.y[points],
        weights=weights,
    )
    members = Memberships(
        environments.k,
        environments.train[points] * kept[:, None],
        environments.validation,
        environments.degenerate,
    )
    return learn_directions(some, [Memberships.stack([members])], options).theta[0]
