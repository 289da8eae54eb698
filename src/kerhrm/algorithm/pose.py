"""From tangent features and labels to the problem that the algorithm solves."""

from torch import Tensor

from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.dataset import Task
from kerhrm.features.extract import TangentFeatures
from kerhrm.features.landmarks import LandmarkMap
from kerhrm.features.options import Landmarks
from kerhrm.features.reduction import reduce
from kerhrm.networks.protocol import Network


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


def pose_by_landmarks(
    network: Network,
    x: Tensor,
    x_validation: Tensor,
    x_test: Tensor,
    y: Tensor,
    y_validation: Tensor,
    *,
    k: int,
    task: Task,
    seeds: list[int],
    options: Landmarks,
    draws: list[int],
) -> tuple[LandmarkMap, Problem, TestFeatures]:
    """As :func:`pose`, of points (B, n, d) too many for a kernel matrix; all in float32.

    ``draws`` are the seeds by which landmarks are drawn.

    Raises
    ------
    KerhrmError
        If k exceeds the number or the rank of the landmarks.
    """
    landmarks, reduction, f0 = LandmarkMap.fit(network, x, k, options, draws)
    (psi_validation, f0_validation), new = (landmarks.transform(p) for p in (x_validation, x_test))
    reduced = reduction.u, reduction.s, psi_validation, f0, f0_validation
    return landmarks, Problem(*reduced, y, y_validation, task, seeds), TestFeatures(*new)
