"""Replicates of the paper's data in memory, and their features."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.problem import FeatureMap, Problem
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm_paper.data.colored_mnist import channel_of
from kerhrm_paper.data.drawing import Scramble, mixing_matrix
from kerhrm_paper.data.draws import Draws, Split
from kerhrm_paper.data.registry import generate


@dataclass(frozen=True)
class PaperData:
    """A data set of the paper with some options."""

    generator: str
    options: dict[str, Any] = field(default_factory=dict)
    raw_file: str | None = None  #: the run's file of the raw data, if there are any

    def draw(self, seed: int) -> Draws:
        """Draw one replicate."""
        return generate(self.generator, self.options, [seed], self.raw_file)


def inputs(data: Draws, width: int = 1024) -> Inputs:
    """Training and validation points of a replicate, and w_0."""
    x, y, environments = _points(data.train)
    x_validation, y_validation, environments_validation = _points(data.validation)
    _, d = x.shape
    (seed,) = data.seeds
    options = NetworkOptions(widths=[width])
    return Inputs(
        x,
        y,
        x_validation,
        y_validation,
        data.task,
        seed,
        network=build(options, seed, d),
        environments=environments,
        environments_validation=environments_validation,
    )


def _points(split: Split) -> tuple[Tensor, ...]:
    """Inputs, targets and environments of the only replicate."""
    (x,) = split.x
    (y,) = split.y
    (environment,) = split.environment.astype("int64")
    arrays = x, y, environment
    return tuple(map(torch.from_numpy, arrays))


def reduced(points: Inputs, features: FeatureMap) -> Problem:
    """Reduced features and labels."""
    return Problem.from_features(
        features,
        points.x_validation,
        points.y,
        points.y_validation,
        points.task,
        points.seed,
    )


def expected(data: Draws, scramble: Scramble = "fixed") -> np.ndarray:
    """What M_c should find, (n,) of training points.

    Table 3: the point's environment; else whether the colour, or Table 1's attribute,
    agrees with the label.  The attribute is read from V, whose spread is small, by the
    H of the data's option ``scramble``.
    """
    (x,) = data.train.x
    (y,) = data.train.y
    if data.task == "regression":
        (environment,) = data.train.environment
        return np.asarray(environment == 0)
    positive = y > 0
    if data.source != "synthetic":
        return np.asarray(channel_of(x) == positive)
    _, d = x.shape
    (seed,) = data.seeds
    mixing = mixing_matrix(scramble, d, seed)
    unmixed = x @ mixing
    v = unmixed[:, d // 2 :]
    attribute = v.mean(1) > 0
    return np.asarray(attribute == positive)
