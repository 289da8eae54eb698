"""Data of the studies, and their units of work."""

import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from kerhrm import NetworkOptions, NTFMap, Problem, build
from kerhrm.networks.base import Network
from kerhrm.paper.data.colored_mnist import colour
from kerhrm.paper.data.dataset import Dataset
from kerhrm.paper.data.drawing import mixing_matrix
from kerhrm.paper.data.registry import DATA_SETS, fetch
from kerhrm.paper.runs.checkpoints import Checkpoint

STYLE = Path(__file__).parents[1] / "src/kerhrm/paper/reporting/figures.mplstyle"
#: table, key, and the function that computes its rows
Unit = tuple[str, dict[str, Any], Callable[[], pd.DataFrame]]


def tables(units: Iterable[Unit], checkpoint: Checkpoint) -> dict[str, pd.DataFrame]:
    """All units' rows by table; those of an earlier start are taken from its checkpoint."""
    found: dict[str, list[pd.DataFrame]] = {}
    for table, key, compute in units:
        unit = json.dumps([table, *key.values()])
        columns = checkpoint.once(unit, functools.partial(_arrays, compute))
        found.setdefault(table, []).append(pd.DataFrame(key | dict(columns)))
    return {table: pd.concat(rows, ignore_index=True) for table, rows in found.items()}


def _arrays(compute: Callable[[], pd.DataFrame]) -> dict[str, np.ndarray]:
    frame = compute()
    return {str(name): np.asarray(frame[name].tolist()) for name in frame}


@dataclass(frozen=True)
class Case:
    """A setting: generator and its options, dimension of the features, and seeds."""

    generator: str
    options: dict[str, Any]
    k: int
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


@dataclass(frozen=True)
class Replicate:
    """One replicate of a case: data, w_0, the problem, features of the test points."""

    case: Case
    data: Dataset
    network: Network
    problem: Problem
    psi_test: Tensor
    f0_test: Tensor

    @property
    def points(self) -> tuple[Tensor, Tensor, Tensor]:
        """x of training, validation and test points, each (n, d)."""
        train, validation, test = (
            torch.from_numpy(part.x[0])
            for part in (self.data.train, self.data.validation, self.data.test)
        )
        return train, validation, test

    @property
    def expected(self) -> np.ndarray:
        """What M_c should find, a bool per training point.

        Table 3: the point's environment; else whether the spurious attribute agrees with the label.
        """
        if self.data.task == "regression":
            return np.asarray(self.data.train.environment[0] == 0)
        return spurious_agrees(self.data)

    def result(self, outputs: Tensor) -> float:
        """Test accuracy, or mean squared error over the test environments, of outputs (m,)."""
        f, y = outputs.detach().numpy(), self.data.test.y[0]
        if self.data.task == "classification":
            return float(((f > 0) == (y > 0)).mean())
        environment = self.data.test.environment[0]
        return float(np.mean([((f - y)[environment == e] ** 2).mean() for e in set(environment)]))


def draw(generator: str, options: dict[str, Any], seed: int) -> Dataset:
    """One replicate of a data set of the paper."""
    kind = DATA_SETS[generator]
    raw = [fetch(kind.raw)] if kind.raw else []
    return kind.generate(kind.options(**options), [seed], *raw)


@functools.lru_cache(maxsize=2)
def _replicate(generator: str, options: str, k: int, seed: int) -> Replicate:
    case = Case(generator, json.loads(options), k)
    data = draw(generator, case.options, seed)
    parts = data.train, data.validation, data.test
    x, x_validation, x_test = (torch.from_numpy(part.x[0]) for part in parts)
    y, y_validation, _ = (torch.from_numpy(part.y[0]).double() for part in parts)
    network = build(NetworkOptions(), seed, x.shape[-1])
    features = NTFMap.fit(network, x, k)
    problem = Problem.from_features(
        features, x_validation, y=y, y_validation=y_validation, task=data.task, seed=seed
    )
    return Replicate(case, data, network, problem, *features.transform(x_test))


def replicate(case: Case, seed: int) -> Replicate:
    """Draw one replicate and reduce its features; the last two are kept."""
    return _replicate(case.generator, json.dumps(case.options, sort_keys=True), case.k, seed)


def spurious_agrees(data: Dataset) -> np.ndarray:
    """Whether the colour, or Table 1's attribute, agrees with the label: (n,) of training points.

    The attribute is read from V, whose spread is small.
    """
    x, y = data.train.x[0], data.train.y[0]
    if data.source != "synthetic":
        return np.asarray(colour(x) == (y > 0))
    v = (x @ mixing_matrix("fixed", x.shape[1], data.seeds[0]))[:, x.shape[1] // 2 :]
    return np.asarray((v.mean(1) > 0) == (y > 0))
