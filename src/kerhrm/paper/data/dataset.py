"""A data set, and its files.

``train``, ``validation`` and ``test_inputs`` are for every method, ``environments`` for
those that are given environment labels, ``test_labels`` for scoring alone: in files of
their own no rule that trains can read them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerhrm.options import Options, Task
from kerhrm.paper.runs.arrays import save_arrays


@dataclass(frozen=True)
class Split:
    """Points of S replicates."""

    x: np.ndarray  #: (S, n, d), float32
    y: np.ndarray  #: (S, n), float32; -1 / +1 in classification
    environment: np.ndarray  #: (S, n), int8; true environment, hidden from training
    auxiliary: np.ndarray | None = (
        None  #: (S, n, c), float32; numbers that are no features
    )

    def known(self) -> dict[str, np.ndarray]:
        """Arrays that every method may read."""
        arrays = {"x": self.x, "y": self.y}
        return (
            arrays if self.auxiliary is None else arrays | {"auxiliary": self.auxiliary}
        )


@dataclass(frozen=True)
class Dataset:
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

    def save(self, paths: Any) -> None:
        """Write the five files; ``paths[name]`` is each one's path."""
        facts: dict[str, Any] = {"source": self.source, "task": self.task}
        facts |= {
            "test_environments": [*self.test_environments],
            "seeds": [*self.seeds],
        }
        train, validation, test = self.train, self.validation, self.test
        unit = np.ones(len(self.seeds)) if self.unit is None else self.unit
        contents = {
            "train": train.known(),
            "validation": validation.known(),
            "test_inputs": {"x": test.x},
            "environments": {
                "train": train.environment,
                "validation": validation.environment,
            },
            "test_labels": {"y": test.y, "environment": test.environment, "unit": unit},
        }
        for name, arrays in contents.items():
            save_arrays(paths[name], arrays, **facts)


@dataclass(frozen=True)
class DataSet:
    """A data set: its options, its generator, and what is known of it."""

    options: type[Options]  #: has ``n_points``, the number of training points
    #: ``(options, seeds)``, or ``(options, seeds, raw)``
    generate: Callable[..., Dataset]
    task: Task
    #: name in :data:`kerhrm.paper.data.registry.RAW` of the data that it is made from
    raw: str | None = None
    #: options to values by reference row, test environment ("": all) and metric
    closed_forms: Callable[[Any], dict[str, dict[tuple[str, str], float]]] | None = None
    attribute: Callable[[np.ndarray], np.ndarray] | None = (
        None  #: x to C, of the figure 2
    )
