"""Methods that read the reduced features: ``entry(problem, options, environments)``.

They return directions theta (B, k_max), zero beyond k, that predict f_0(x) + psi(x)^T theta.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from kerhrm.algorithm.prediction import ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.predictions import Trial
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
    *,
    path: str,
) -> Callable[[Sequence[Sequence[Options]]], list[list[list[Trial]]]]:
    """As :func:`kerhrm.methods.points.prepare`, from other files.

    These are ``features``, ``test_features``, and ``environments`` or nothing; ``seeds``,
    ``network`` and ``path`` are not looked at, for the features are the network's, know their
    seeds, and have no path.
    """
    problem = Problem.load(files["features"], device)
    test = TestFeatures.load(files["test_features"], device)
    environments = None
    if files.get("environments"):
        true, _ = load_arrays(files["environments"])
        known, held_out = (torch.from_numpy(true[part]) for part in ("train", "validation"))
        environments = known.to(device, torch.int64), held_out.to(device, torch.int64)

    def trials(options: Options) -> list[Trial]:
        return [Trial.of(ntf_predictions(problem, test, entry(problem, options, environments)))]

    def train(lot: Sequence[Sequence[Options]]) -> list[list[list[Trial]]]:
        return [[trials(options) for options in group] for group in lot]

    return train
