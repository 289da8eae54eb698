"""What a method is given, and what it gives back: one contract for all of them.

A method is a function ``train_<name>(samples, mlp, options)`` that returns a predictor.  It
sees training and validation points; environment labels only if it is one of those that are
given them; test points never.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

import torch
from torch import Tensor

from kerhrm.algorithm.problem import load_labels
from kerhrm.algorithm.selection import Task
from kerhrm.arrays import load_arrays

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
    task : "classification" or "regression"
    """

    x: Tensor
    y: Tensor
    x_validation: Tensor
    y_validation: Tensor
    environment: Tensor | None
    seeds: Sequence[int]
    task: Task


def load_samples(files: Mapping[str, str | PathLike[str]], device: torch.device) -> Samples:
    """Read ``train``, ``validation`` and, where a rule has it, ``environments``."""
    arrays, facts = load_arrays(files["train"])
    validation, _ = load_arrays(files["validation"])
    y, y_validation, task = load_labels(files, device)
    labels = files.get("environments")
    environment = None
    if labels:
        environment = torch.from_numpy(load_arrays(labels)[0]["train"]).to(device, torch.int64)
    return Samples(
        torch.from_numpy(arrays["x"]).to(device),
        y,
        torch.from_numpy(validation["x"]).to(device),
        y_validation,
        environment,
        facts["seeds"],
        task,
    )
