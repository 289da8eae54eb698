"""The arrays of a data set, and their files.

``train``, ``validation`` and ``test_inputs`` are for every method, ``environments`` for
those that are given environment labels, ``test_labels`` for scores and the oracle of
``select_hyperparameters``.  They are separate files, so that no rule that trains reads
test labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerhrm.options import Task
from kerhrm_paper.runs.arrays import save_arrays


@dataclass(frozen=True)
class Split:
    """Points of S replicates."""

    x: np.ndarray  #: (S, n, d), float32
    y: np.ndarray  #: (S, n), float32; -1 / +1 in classification
    #: (S, n), int8, or int32 where a number exceeds 127; true environment, hidden from
    #: training
    environment: np.ndarray
    #: (S, n, c), float32; numbers that are no features
    auxiliary: np.ndarray | None = None

    def known(self) -> dict[str, np.ndarray]:
        """Arrays that every method may read."""
        arrays = {"x": self.x, "y": self.y}
        if self.auxiliary is not None:
            arrays["auxiliary"] = self.auxiliary
        return arrays


@dataclass(frozen=True)
class Draws:
    """One setting of an experiment, all seeds."""

    train: Split
    validation: Split  #: from the same pooled distribution; selects hyperparameters
    test: Split  #: out of distribution; ``environment`` numbers the test environments
    test_environments: Sequence[str]  #: their names
    seeds: Sequence[int]
    task: Task
    #: where raw data come from, as ``"mnist"``; that of fallback data begins with
    #: ``"fallback:"``
    source: str = "synthetic"
    #: (S,), size of y = 1 in the unit of all replicates' errors; absent: 1
    unit: np.ndarray | None = None
    #: how many test environments, the first ones, ``test_acc``, ``mean_error`` and the
    #: oracle are of; ``worst_acc`` and ``worst_error`` are of all.  None: all
    n_headline: int | None = None

    def save(self, paths: Any) -> None:
        """Write the five files; ``paths[name]`` is each one's path."""
        names = [*self.test_environments]
        facts = {
            "source": self.source,
            "task": self.task,
            "test_environments": names,
            "n_headline": self.n_headline or len(names),
            "seeds": [*self.seeds],
        }
        unit = self.unit
        if unit is None:
            unit = np.ones(len(self.seeds))
        environments = {
            "train": self.train.environment,
            "validation": self.validation.environment,
        }
        test_labels = {
            "y": self.test.y,
            "environment": self.test.environment,
            "unit": unit,
        }
        contents = {
            "train": self.train.known(),
            "validation": self.validation.known(),
            "test_inputs": {"x": self.test.x},
            "environments": environments,
            "test_labels": test_labels,
        }
        for name, arrays in contents.items():
            save_arrays(paths[name], arrays, **facts)
