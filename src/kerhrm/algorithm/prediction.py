"""KerHRM's end: the direction after the last iteration, and the NTF predictor."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from kerhrm.algorithm.directions import choose_iteration, predict
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
        return predict(psi, f0, self.theta.unsqueeze(1)).squeeze(1)


def ntf_predictions(problem: Problem, test: TestFeatures | None, theta: Tensor) -> Predictions:
    """f_0(x) + psi(x)^T theta of one direction per seed, or of C candidates.

    theta (B, k) gives fields (B, m), theta (B, C, k) gives fields (B, C, m).  Without test points
    their field is empty.
    """
    if theta.ndim == 2:
        return ntf_predictions(problem, test, theta.unsqueeze(1)).take(slice(None), 0)
    new = test or TestFeatures(problem.psi_validation[:, :0], problem.f0_validation[:, :0])
    return Predictions(
        predict(problem.psi_train, problem.f0_train, theta),
        predict(problem.psi_validation, problem.f0_validation, theta),
        predict(new.psi, new.f0, theta),
    )


def finish(
    problem: Problem, learned: Sequence[Environments], history: Sequence[Directions]
) -> FinalDirection:
    """End the iterations: choose T by the selection rule and take that direction.

    Parameters
    ----------
    problem : Problem
    learned, history : sequences of length T
        Environments and directions of iterations 1, ..., T.
    """
    best = choose_iteration(problem, history, learned)
    ends = [directions.winner for directions in history]
    return FinalDirection.stack(
        FinalDirection(
            theta=ends[t].theta[b],
            k=ends[t].k[b],
            alpha=ends[t].alpha[b],
            iteration=best[b] + 1,
            score=ends[t].score[b],
        )
        for b, t in enumerate(best.tolist())
    )
