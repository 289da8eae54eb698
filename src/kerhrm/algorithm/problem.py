"""What every step of the algorithm works on, read from the workflow's files."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kerhrm.algorithm.selection import Task
from kerhrm.arrays import load_arrays
from kerhrm.devices import resolve_device
from kerhrm.features.reduction import ReducedFeatures


@dataclass(frozen=True)
class Problem:
    """Reduced features and labels of B data sets.

    Attributes
    ----------
    features : ReducedFeatures
        Psi of all points, and the untrained network's outputs f_0.
    y, y_validation : Tensor, (B, n), (B, m), float64
        Labels.
    task : "classification" or "regression"
    """

    features: ReducedFeatures
    y: Tensor
    y_validation: Tensor
    task: Task

    @property
    def device(self) -> torch.device:
        return self.y.device

    @property
    def seeds(self) -> range:
        """Replicates are numbered 0, 1, ..."""
        return range(len(self.y))

    @property
    def target(self) -> Tensor:
        """y - f_0 of the training points: what psi^T theta has to explain, (B, n)."""
        return self.y - self.features.f0_train

    @property
    def target_validation(self) -> Tensor:
        """y - f_0 of the validation points, (B, m)."""
        return self.y_validation - self.features.f0_validation


def load_problem(files: Any, device: str) -> Problem:
    """Read ``psi``, ``train`` and ``validation``.

    Parameters
    ----------
    files : mapping of names to paths
        For example a rule's input.
    device : str
        As in the configuration.
    """
    where = resolve_device(device)
    y, y_validation, task = load_labels(files, where, torch.float64)
    return Problem(ReducedFeatures.load(files["psi"], where), y, y_validation, task)


def load_labels(
    files: Any, device: torch.device, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Task]:
    """Labels of the training (B, n) and validation points (B, m), and the task."""
    train, facts = load_arrays(files["train"])
    validation, _ = load_arrays(files["validation"])
    y, y_validation = (torch.from_numpy(a["y"]).to(device, dtype) for a in (train, validation))
    return y, y_validation, facts["task"]
