"""What a method is given, and what it gives back: one contract for all of them.

A method is a function ``train_<name>(samples, network, options)`` that returns a predictor, or
several, as :mod:`kerhrm.methods.points` says.  It sees training and validation points;
environment labels only if it is one of those that are given them; test points never.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from kerhrm.data.dataset import Files as Files
from kerhrm.data.dataset import Task
from kerhrm.rows import copies
from kerhrm.storage.arrays import load_arrays

#: f: points (B, m, d) to outputs (B, m)
Predictor = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Samples:
    """Training and validation points of B replicates.

    Attributes
    ----------
    x, y : Tensor, (B, n, d), (B, n), float32
        Labels are -1 and +1 in classification.
    x_validation, y_validation : Tensor, (B, m, d), (B, m), float32
    environment : Tensor, (B, n), int64, or None
        Labels 0, 1, ... of the training points' true environments.
    seeds : sequence of int, length B
        Numbers by which a method's random starts go.
    task : "classification" or "regression"
    """

    x: Tensor
    y: Tensor
    x_validation: Tensor
    y_validation: Tensor
    environment: Tensor | None
    seeds: Sequence[int]
    task: Task

    def copies(self, times: int) -> "Samples":
        """The replicates again and again: C B of them."""
        if times == 1:
            return self
        tensors: dict[str, Any] = {
            name: copies(value, times)
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return replace(self, **tensors, seeds=[*self.seeds] * times)


@dataclass(frozen=True)
class Inferred:
    """A predictor whose training inferred environments by itself.

    Attributes
    ----------
    predictor : callable
    memberships : Tensor, (B, E, n + m), float32
        Of the training points and then the validation points in them, soft or 0 and 1.
    """

    predictor: Predictor
    memberships: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (B, m) of points (B, m, d)."""
        return self.predictor(x)


def memberships(environment: Tensor, count: int) -> Tensor:
    """0 and 1 from labels 0, ..., ``count`` - 1: (B, m) to (B, count, m), float32."""
    labels = torch.arange(count, device=environment.device)
    return (environment.unsqueeze(-2) == labels[:, None]).to(torch.float32)


def load_samples(files: Files, device: torch.device, seeds: Sequence[int]) -> Samples:
    """Read ``train``, ``validation`` and, where a rule has it, ``environments``."""
    x, x_validation = (_read(files[name], "x", device) for name in ("train", "validation"))
    y, y_validation, task = load_labels(files, device)
    labels = files.get("environments")
    environment = _read(labels, "train", device, torch.int64) if labels else None
    return Samples(x, y, x_validation, y_validation, environment, seeds, task)


def load_labels(
    files: Files, device: torch.device, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Task]:
    """Labels of the training (B, n) and validation points (B, m), and the task."""
    train, facts = load_arrays(files["train"])
    validation, _ = load_arrays(files["validation"])
    y, y_validation = (torch.from_numpy(a["y"]).to(device, dtype) for a in (train, validation))
    return y, y_validation, facts["task"]


def load_points(files: Files, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """x of the training, validation and test points, each (B, m, d), float32."""
    train, validation, test = (
        _read(files[name], "x", device) for name in ("train", "validation", "test_inputs")
    )
    return train, validation, test


def load_inputs(
    paths: Sequence[str | PathLike[str]], device: torch.device
) -> tuple[Tensor, Tensor] | None:
    """x of training and validation points, (B, n, d) and (B, m, d), if their files are given."""
    if not paths:
        return None
    train, validation = (_read(path, "x", device) for path in paths)
    return train, validation


def _read(
    path: str | PathLike[str], name: str, device: torch.device, dtype: torch.dtype = torch.float32
) -> Tensor:
    return torch.from_numpy(load_arrays(path)[0][name]).to(device, dtype)
