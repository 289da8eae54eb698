"""KerHRM's end: the direction after the last iteration, and the NTF predictor."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.algorithm.directions import selection_score
from kerhrm.algorithm.linear import predict
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
    score : Tensor, (B,), worst learned environment, training and validation
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
    problem: Problem, learned: Sequence[Environments], history: Sequence[Directions]
) -> FinalDirection:
    """End the iterations: choose T by the selection rule.

    The direction of iterations 1, ..., T that scores best over all environments is taken, the
    earliest among equals.
    """
    ends = Directions.stack(directions.winner for directions in history)  # (T, B, ...)
    thetas = ends.theta.transpose(0, 1).contiguous()
    best = selection_score(problem, thetas, learned).argmax(-1)
    end = ends.take(best, torch.arange(len(best), device=best.device))
    return FinalDirection(end.theta, end.k, end.alpha, best + 1, end.score)
