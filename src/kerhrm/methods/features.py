"""Methods that read the reduced features: ``entry(problem, options, environments)``.

They return directions theta (B, k_max), zero beyond k, that predict f_0(x) + psi(x)^T theta.
"""

from collections.abc import Callable
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
    seeds: Any,
    network: Any,
    device: torch.device,
) -> Callable[[Options], Predictions]:
    """As :func:`kerhrm.methods.points.prepare`, from other files.

    These are ``features``, ``test_features``, and ``environments`` or nothing; ``seeds`` and
    ``network`` are not looked at, for the features are the network's, and know their seeds.
    """
    problem = Problem.load(files["features"], device)
    test = TestFeatures.load(files["test_features"], device)
    environments = None
    if files.get("environments"):
        true, _ = load_arrays(files["environments"])
        train, validation = (torch.from_numpy(true[part]) for part in ("train", "validation"))
        environments = train.to(device, torch.int64), validation.to(device, torch.int64)
    return lambda options: ntf_predictions(problem, test, entry(problem, options, environments))
