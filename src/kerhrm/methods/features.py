"""Methods that read the reduced features: ``entry(problem, options, environments)``.

They return directions theta (B, k_max), zero beyond k, that predict f_0(x) + psi(x)^T theta.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from kerhrm.algorithm.prediction import ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.predictions import Predictions
from kerhrm.data.samples import Files
from kerhrm.storage.arrays import load_arrays

Options = TypeVar("Options")
#: true environments of the training (B, n) and validation points (B, m), int64
Labels = tuple[Tensor, Tensor]


def prepare(
    entry: Callable[[Problem, Options, Labels | None], Tensor],
    files: Files,
    seeds: Mapping[str, Sequence[int]],
    network: Mapping[str, Any],
    device: torch.device,
) -> Callable[[Options], Predictions]:
    """Read the features; as :func:`kerhrm.methods.points.prepare` otherwise.

    Parameters
    ----------
    entry : callable
    files : mapping
        Paths of ``features``, ``test_features`` and, for methods that are given them,
        ``environments``.
    seeds, network
        Not looked at: the features are the network's, and know their seeds.
    device : torch.device
    """
    problem = Problem.load(files["features"], device)
    test = TestFeatures.load(files["test_features"], device)
    environments = None
    if files.get("environments"):
        true, _ = load_arrays(files["environments"])
        train, validation = (torch.from_numpy(true[part]) for part in ("train", "validation"))
        environments = train.to(device, torch.int64), validation.to(device, torch.int64)
    return lambda options: ntf_predictions(problem, test, entry(problem, options, environments))
