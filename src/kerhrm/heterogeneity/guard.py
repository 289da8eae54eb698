"""No environments found: pooled ERM.

An invariant direction over environments that are noise is worse than one regression.  Where the
test finds none, KerHRM ends with pooled ERM on the same features, k and ridge by pooled validation.
Over a single environment every gradient is its mean, so that no alpha changes anything.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.algorithm.invariant import invariant_direction
from kerhrm.algorithm.linear import predict
from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.selection import point_scores, pooled_score

#: in units of the mean eigenvalue of Psi^T Psi / n; the smallest is M_p's
RIDGES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)


def pooled_direction(
    problem: Problem, k: Sequence[int], ridges: Sequence[float] = RIDGES
) -> FinalDirection:
    """ERM on the first k columns of Psi; k and ridge by pooled validation.

    Ties go to the smaller k, then the smaller ridge.  In the result ``iteration`` is 0, for there
    is none, and ``score`` the pooled validation's.
    """
    candidates = [(dimension, ridge) for dimension in sorted(k) for ridge in sorted(ridges)]
    n_sets, _, k_max = problem.u.shape
    theta = torch.zeros(
        n_sets, len(candidates), k_max, dtype=torch.float64, device=problem.u.device
    )
    for b in range(n_sets):
        target = problem.target[b].double()
        together = torch.ones_like(target).unsqueeze(-1)
        for c, (dimension, ridge) in enumerate(candidates):
            psi, _ = problem.reduced(b, dimension)
            theta[b, c, :dimension] = invariant_direction(psi, target, together, 0.0, ridge=ridge)
    outputs = predict(problem.psi_validation, problem.f0_validation, theta)
    score = pooled_score(point_scores(outputs, problem.y_validation.unsqueeze(1), problem.task))
    best = score.argmax(-1)
    rows = torch.arange(n_sets, device=best.device)
    dimensions = torch.tensor([dimension for dimension, _ in candidates], device=best.device)
    zero = torch.zeros_like(best)
    return FinalDirection(
        theta[rows, best], dimensions[best], zero.double(), zero, score[rows, best]
    )


def guarded(
    direction: FinalDirection, pooled: FinalDirection, none_found: Tensor
) -> FinalDirection:
    """``pooled`` where nothing was found, (B,), bool; ``direction`` elsewhere."""

    def choose(kept: Tensor, fallback: Tensor) -> Tensor:
        where = none_found.reshape(-1, *[1] * (kept.ndim - 1))
        return torch.where(where, fallback, kept)

    names = FinalDirection.names()
    return FinalDirection(*(choose(getattr(direction, n), getattr(pooled, n)) for n in names))
