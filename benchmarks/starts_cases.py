"""Data sets of the study of M_c's starts and of lambda, with what tells how good a split is."""

import functools
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.pose import pose
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.classification.options import ClassificationData
from kerhrm.data.colored_mnist.channels import colour
from kerhrm.data.colored_mnist.generator import generate as generate_images
from kerhrm.data.colored_mnist.options import ColoredMnistData
from kerhrm.data.dataset import Dataset
from kerhrm.data.drawing import mixing_matrix
from kerhrm.data.registry import generate
from kerhrm.data.sources.mnist import Digits
from kerhrm.features.extract import extract
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network
from kerhrm.scoring.metrics import accuracy, environment_errors

IMAGES = "Colored MNIST"


@dataclass(frozen=True)
class Case:
    """One setting of the tables: what its data are told, the dimension of M_c, and the seeds."""

    data: dict[str, Any]
    k: int
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


CASES = {
    "Table 1, r2=0.70": Case({"generator": "classification", "r2": 0.7}, k=15),
    "Table 1, r2=0.80": Case({"generator": "classification", "r2": 0.8}, k=15),
    "Table 1, r2=0.80, k=25": Case({"generator": "classification", "r2": 0.8}, k=25),
    "Table 3, r=1.9": Case({"generator": "regression", "scenario": 1, "r": 1.9}, k=15),
    IMAGES: Case({"generator": "colored_mnist"}, k=25, seeds=(0, 1)),
}


@dataclass(frozen=True)
class Posed:
    """One replicate: the data, w_0, and the problem of k dimensions."""

    data: Dataset
    network: Network
    problem: Problem
    test: TestFeatures

    def result(self, outputs: np.ndarray) -> float:
        """Test accuracy, or mean squared error over the test environments, of outputs (m,)."""
        y, environment = self.data.test.y[0], self.data.test.environment[0]
        if self.data.task == "classification":
            return float(accuracy(outputs, y))
        return float(environment_errors(outputs, y, environment).mean())

    def points(self) -> tuple[Tensor, Tensor, Tensor]:
        """x of training, validation and test points, each (1, n, d)."""
        parts = self.data.train, self.data.validation, self.data.test
        train, validation, test = (torch.from_numpy(part.x) for part in parts)
        return train, validation, test


@functools.lru_cache(maxsize=1)
def posed(data: Any, k: int, seed: int) -> Posed:
    """Draw one replicate of data, given as sorted items, and reduce its features."""
    drawn = draw(dict(data), seed)
    parts = [torch.from_numpy(p.x) for p in (drawn.train, drawn.validation, drawn.test)]
    network = build(NetworkOptions(), [seed], parts[0].shape[-1])
    y, y_validation = (torch.from_numpy(p.y).double() for p in (drawn.train, drawn.validation))
    features = [extract(network, x) for x in parts]
    problem, test = pose(
        features[0], features[1], features[2], y, y_validation, k=k, task=drawn.task, seeds=[seed]
    )
    return Posed(drawn, network, problem, test)


def pose_case(case: Case, seed: int, k: int | None = None) -> Posed:
    """One replicate of a case; the last one is kept."""
    return posed(tuple(sorted(case.data.items())), k or case.k, seed)


def draw(data: dict[str, Any], seed: int) -> Dataset:
    """One replicate of the project's data."""
    if data["generator"] != "colored_mnist":
        return generate(data, [seed])
    digits = Digits.fetch(os.environ.get("KERHRM_RAW_DIR"), "fail")
    return generate_images(ColoredMnistData(**data), [seed], digits)


def truth(data: Dataset) -> np.ndarray:
    """What M_c should find, one bool per training point of the only replicate: (n,).

    Colored MNIST: the colour agrees with the label.  Table 1: the attribute does, which can be
    read from V, whose spread is small.  Table 3: the point is of the first environment.
    """
    x, y = data.train.x[0], data.train.y[0]
    if data.task == "regression":
        return np.asarray(data.train.environment[0] == 0)
    if data.source == "synthetic":
        options = ClassificationData(generator="classification")
        mixing = mixing_matrix(options.scramble, x.shape[1], data.seeds[0])
        return np.asarray(((x @ mixing)[:, options.d :].mean(1) > 0) == (y > 0))
    return np.asarray(colour(x) == (y > 0))
