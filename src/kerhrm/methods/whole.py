"""Methods that go from features to a network: ``entry(network, problem, test, points, options)``.

They return predictions of all points, one for each of the method's rows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.predictions import Predictions
from kerhrm.data.samples import Files, load_points
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network

Options = TypeVar("Options")
#: x of the training, validation and test points, each (B, m, d)
Points = tuple[Tensor, Tensor, Tensor]


def prepare(
    entry: Callable[[Network, Problem, TestFeatures, Points, Options], Sequence[Predictions]],
    files: Files,
    seeds: Mapping[str, Sequence[int]],
    network: Mapping[str, Any],
    device: torch.device,
) -> Callable[[Options], Sequence[Predictions]]:
    """As :func:`kerhrm.methods.points.prepare`; the files of both points and features."""
    problem = Problem.load(files["features"], device)
    test = TestFeatures.load(files["test_features"], device)
    points = load_points(files, device)
    w0 = build(NetworkOptions(**network), seeds["network"], points[0].shape[-1]).to(device)
    return lambda options: entry(w0, problem, test, points, options)
