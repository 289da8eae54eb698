"""Data of the studies, and their units of work."""

import functools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from kerhrm import NetworkOptions, Problem, build
from kerhrm.algorithm.records import FeatureMap
from kerhrm.methods.inputs import Inputs
from kerhrm.paper.data.colored_mnist import colour
from kerhrm.paper.data.dataset import Dataset
from kerhrm.paper.data.drawing import mixing_matrix
from kerhrm.paper.data.registry import DATA_SETS, RAW
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
    return {str(name): np.asarray(column.tolist()) for name, column in compute().items()}


def draw(generator: str, options: dict[str, Any], seed: int, on_missing: Any = "fail") -> Dataset:
    """One replicate of a data set of the paper."""
    kind = DATA_SETS[generator]
    raw = [RAW[kind.raw].fetch(on_missing=on_missing)] if kind.raw else []
    return kind.generate(kind.options(**options), [seed], *raw)


def inputs(data: Dataset, width: int = 1024) -> Inputs:
    """Training and validation points of a replicate, and w_0."""
    (x, y, of_train), (x_validation, y_validation, of_validation) = (
        [torch.from_numpy(a[0]) for a in (part.x, part.y, part.environment.astype("int64"))]
        for part in (data.train, data.validation)
    )
    seed, validation = data.seeds[0], (x_validation, y_validation)
    network = build(NetworkOptions(widths=[width]), seed, x.shape[-1])
    return Inputs(x, y, *validation, data.task, seed, network, of_train, of_validation)


def reduced(own: Inputs, features: FeatureMap) -> Problem:
    """Reduced features and labels."""
    validation = own.x_validation, own.y, own.y_validation
    return Problem.from_features(features, *validation, own.task, own.seed)


def expected(data: Dataset) -> np.ndarray:
    """What M_c should find, (n,) of training points.

    Table 3: the point's environment; else whether the colour, or Table 1's attribute, agrees with
    the label.  The attribute is read from V, whose spread is small.
    """
    x, y = data.train.x[0], data.train.y[0]
    if data.task == "regression":
        return np.asarray(data.train.environment[0] == 0)
    if data.source != "synthetic":
        return np.asarray(colour(x) == (y > 0))
    v = (x @ mixing_matrix("fixed", x.shape[1], data.seeds[0]))[:, x.shape[1] // 2 :]
    return np.asarray((v.mean(1) > 0) == (y > 0))
