"""KerHRM's end: the direction after the last iteration, and the NTF predictor."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.algorithm.directions import selection_score
from kerhrm.algorithm.linear import predict
from kerhrm.algorithm.options import LastIteration, SelectionRule
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.data.predictions import Predictions
from kerhrm.storage.records import Record


@dataclass(frozen=True)
class FinalDirection(Record):
    """The invariant direction that KerHRM ends with, one per seed.

    Attributes
    ----------
    theta : Tensor, (B, k_max), zero beyond k
    k : Tensor, (B,), int64
    alpha : Tensor, (B,)
    iteration : Tensor, (B,), int64, from 1
    score : Tensor, (B,), by the selection rule
    """

    theta: Tensor
    k: Tensor
    alpha: Tensor
    iteration: Tensor
    score: Tensor

    def predict(self, psi: Tensor, f0: Tensor) -> Tensor:
        """f_0(x) + psi(x)^T theta of new points (B, m, k_max), (B, m): (B, m)."""
        return predict(psi, f0, self.theta)


def ntf_predictions(problem: Problem, test: TestFeatures | None, theta: Tensor) -> Predictions:
    """As :func:`predict`, of all points; without test points their field is empty."""
    new = test or TestFeatures(problem.psi_validation[:, :0], problem.f0_validation[:, :0])
    return Predictions(
        predict(problem.psi_train, problem.f0_train, theta),
        predict(problem.psi_validation, problem.f0_validation, theta),
        predict(new.psi, new.f0, theta),
    )


def finish(
    problem: Problem,
    learned: Sequence[Environments],
    history: Sequence[Directions],
    rule: SelectionRule = "worst_learned",
    end: LastIteration = "best",
) -> FinalDirection:
    """End the iterations: choose T by the selection rule.

    The direction of iterations 1, ..., T that scores best over all environments is taken, the
    earliest among equals; or the last one's, if that is the ``end``.
    """
    ends = Directions.stack(directions.winner for directions in history)  # (T, B, ...)
    thetas = ends.theta.transpose(0, 1).contiguous()
    score = selection_score(problem, thetas, learned, rule)
    best = torch.full_like(score[:, 0], len(history) - 1).long()
    if end == "best":
        best = score.argmax(-1)
    taken = ends.take(best, torch.arange(len(best), device=best.device))
    return FinalDirection(taken.theta, taken.k, taken.alpha, best + 1, taken.score)
