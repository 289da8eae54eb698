"""Data of the studies, and their units of work."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from kerhrm import NetworkOptions, Problem, build
from kerhrm.algorithm.problem import FeatureMap
from kerhrm.methods.inputs import Inputs
from kerhrm_paper.data.colored_mnist import colour
from kerhrm_paper.data.dataset import Dataset
from kerhrm_paper.data.drawing import mixing_matrix
from kerhrm_paper.data.registry import DATA_SETS, RAW

if TYPE_CHECKING:
    import pandas as pd  # half a second, which benchmarks need not spend

#: table, key, and the function that computes its rows
Unit = tuple[str, dict[str, Any], Callable[[], "pd.DataFrame"]]


def draw(
    generator: str, options: dict[str, Any], seed: int, on_missing: Any = "fail"
) -> Dataset:
    """One replicate of a data set of the paper."""
    kind = DATA_SETS[generator]
    raw = [RAW[kind.raw].fetch(on_missing=on_missing)] if kind.raw else []
    return kind.generate(kind.options(**options), [seed], *raw)


def inputs(data: Dataset, width: int = 1024) -> Inputs:
    """Training and validation points of a replicate, and w_0."""
    (x, y, of_train), (x_validation, y_validation, of_validation) = (
        [
            torch.from_numpy(a[0])
            for a in (part.x, part.y, part.environment.astype("int64"))
        ]
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

    Table 3: the point's environment; else whether the colour, or Table 1's attribute,
    agrees with the label.  The attribute is read from V, whose spread is small.
    """
    x, y = data.train.x[0], data.train.y[0]
    if data.task == "regression":
        return np.asarray(data.train.environment[0] == 0)
    if data.source != "synthetic":
        return np.asarray(colour(x) == (y > 0))
    v = (x @ mixing_matrix("fixed", x.shape[1], data.seeds[0]))[:, x.shape[1] // 2 :]
    return np.asarray((v.mean(1) > 0) == (y > 0))
