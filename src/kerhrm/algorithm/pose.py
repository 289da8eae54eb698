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

    Points are given as :func:`kerhrm.features.extract.extract` leaves them, labels (B, n),
    (B, m) in float64; ``k`` is the reduced dimension.

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
    offsets = f0.double(), f0_validation
    reduced = reduction.u, reduction.s, psi_validation
    return Problem(*reduced, *offsets, y, y_validation, task, seeds), TestFeatures(*new)
