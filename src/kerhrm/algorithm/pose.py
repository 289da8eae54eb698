"""From tangent features and labels to the problem that the algorithm solves."""

from torch import Tensor

from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.dataset import Task
from kerhrm.features.extract import TangentFeatures
from kerhrm.features.reduction import reduce


def pose(
    train: tuple[TangentFeatures, Tensor],
    validation: tuple[TangentFeatures, Tensor],
    test: tuple[TangentFeatures, Tensor],
    y: Tensor,
    y_validation: Tensor,
    *,
    k: int,
    task: Task,
    seeds: list[int],
) -> tuple[Problem, TestFeatures]:
    """Decompose the training points' NTF and project the other points onto it.

    Parameters
    ----------
    train, validation, test : pairs
        Features of the same networks and their outputs f_0 (B, m), as
        :func:`kerhrm.features.extract.extract` gives them.
    y, y_validation : Tensor, (B, n), (B, m), float64
    k : int
        Reduced dimension.
    task, seeds
        As in :class:`Problem`.

    Raises
    ------
    KerhrmError
        If k exceeds n or the features' rank.
    """
    ntf, f0 = train
    reduction = reduce(ntf.kernel(ntf), k)
    (psi_validation, f0_validation), new = (
        (reduction.project(part.kernel(ntf)), outputs.double())
        for part, outputs in (validation, test)
    )
    problem = Problem(
        u=reduction.u,
        s=reduction.s,
        psi_validation=psi_validation,
        f0_train=f0.double(),
        f0_validation=f0_validation,
        y=y,
        y_validation=y_validation,
        task=task,
        seeds=seeds,
    )
    return problem, TestFeatures(*new)
