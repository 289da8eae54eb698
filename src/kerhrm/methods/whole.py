"""Methods that go from features to a network.

``entry(network, problem, test, points, options, none_found)`` returns predictions of all points,
one for each of the method's rows, and memberships (B, E, n + m) of the training and then the
validation points in the environments that it inferred, or None.  ``none_found`` (B,), bool, says in
which seeds the test of heterogeneity found nothing; it is None where there was no test.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.predictions import Predictions, Trial
from kerhrm.data.samples import Files, load_points
from kerhrm.heterogeneity.records import HeterogeneityTest
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network

Options = TypeVar("Options")
#: x of the training, validation and test points, each (B, m, d)
Points = tuple[Tensor, Tensor, Tensor]


def prepare(
    entry: Callable[
        [Network, Problem, TestFeatures, Points, Options, Tensor | None],
        tuple[Sequence[Predictions], Tensor | None],
    ],
    files: Files,
    seeds: Mapping[str, Sequence[int]],
    network: Mapping[str, Any],
    device: torch.device,
    *,
    path: str,
) -> Callable[[Sequence[Sequence[Options]]], list[list[list[Trial]]]]:
    """As :func:`kerhrm.methods.points.prepare`, with as many trials as the method has rows.

    The files are those of both points and features, and ``heterogeneity`` or nothing; ``path`` is
    not looked at.
    """
    problem = Problem.load(files["features"], device)
    test = TestFeatures.load(files["test_features"], device)
    points = load_points(files, device)
    w0 = build(NetworkOptions(**network), seeds["network"], points[0].shape[-1]).to(device)
    none_found = None
    if files.get("heterogeneity"):
        none_found = HeterogeneityTest.load(files["heterogeneity"], device).none_found

    def trials(options: Options) -> list[Trial]:
        rows, environments = entry(w0, problem, test, points, options, none_found)
        return [Trial.of(outputs, environments) for outputs in rows]

    def train(lot: Sequence[Sequence[Options]]) -> list[list[list[Trial]]]:
        return [[trials(options) for options in group] for group in lot]

    return train
