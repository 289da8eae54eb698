"""Data of the study ``starts``: replicates of the paper's data with their features."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from kerhrm.algorithm.problem import Problem
from kerhrm.features.map import NTFMap
from kerhrm.methods.inputs import Inputs
from kerhrm_paper.data.draws import Draws
from kerhrm_paper.data.paper_data import PaperData, inputs, reduced
from kerhrm_paper.evaluation.metrics import accuracy, environment_errors

IMAGES = "Colored MNIST"


@dataclass(frozen=True)
class PaperCase:
    """Data of the paper, and the dimensions that their features are reduced to."""

    generator: str
    k: int
    seeds: int = 5
    options: dict[str, Any] = field(default_factory=dict)


NARROW = {"r2": 0.7}
WIDE = {"r2": 0.8}
REGRESSION = {"scenario": 1, "r": 1.9}
CASES = {
    "Table 1, r2=0.70": PaperCase("classification", 15, options=NARROW),
    "Table 1, r2=0.80": PaperCase("classification", 15, options=WIDE),
    "Table 1, r2=0.80, k=25": PaperCase("classification", 25, options=WIDE),
    "Table 3, r=1.9": PaperCase("regression", 15, options=REGRESSION),
    IMAGES: PaperCase("colored_mnist", 25, seeds=2),
}


@dataclass(frozen=True)
class Replicate:
    """One replicate of some data, with its reduced features."""

    data: Draws
    points: Inputs
    problem: Problem
    test: tuple[Tensor, Tensor]  #: features and offsets of the test points

    @property
    def x_test(self) -> Tensor:
        """Test points."""
        (x,) = self.data.test.x
        return torch.from_numpy(x)

    def result(self, outputs: Tensor) -> float:
        """Test accuracy, or mean squared error over the test environments, of outputs
        (m,)."""
        predicted = outputs.detach().numpy()
        (y,) = self.data.test.y
        if self.data.task == "classification":
            return float(accuracy(predicted, y))
        (environment,) = self.data.test.environment
        errors = environment_errors(predicted, y, environment)
        return float(errors.mean())


@dataclass(frozen=True)
class Start:
    """What a unit starts from."""

    name: str  #: of the case
    seed: int
    raw_file: str

    @property
    def case(self) -> PaperCase:
        """Data and dimensions."""
        return CASES[self.name]

    def replicate(self, k: int) -> Replicate:
        """The replicate with k dimensions."""
        return replicate(self, k)


@lru_cache(maxsize=2)
def replicate(start: Start, k: int) -> Replicate:
    """Draw one replicate and reduce its features; the last two are kept."""
    case = start.case
    paper = PaperData(case.generator, case.options, start.raw_file)
    data = paper.draw(start.seed)
    points = inputs(data)
    features = NTFMap.fit(points.network, points.x, k)
    problem = reduced(points, features)
    (x_test,) = data.test.x
    new = torch.from_numpy(x_test)
    test = features.transform(new)
    return Replicate(data, points, problem, test)
