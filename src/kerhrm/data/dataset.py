"""What every experiment's data look like, and the files they live in.

``train``, ``validation`` and ``test_inputs`` are for every method, ``environments`` for those
that are given environment labels, ``test_labels`` for scoring alone: in files of their own no
rule that trains can read them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

import numpy as np

from kerhrm.storage.arrays import save_arrays

Task = Literal["classification", "regression"]
#: their paths, or some of them
Files = Mapping[str, str | PathLike[str]]
FILES = ("train", "validation", "test_inputs", "environments", "test_labels")


@dataclass(frozen=True)
class Split:
    """Points of B replicates.

    Attributes
    ----------
    x : ndarray, (B, n, d), float32
    y : ndarray, (B, n), float32; -1 / +1 in classification
    environment : ndarray, (B, n), int8; true environment, hidden from training
    """

    x: np.ndarray
    y: np.ndarray
    environment: np.ndarray


@dataclass(frozen=True)
class Dataset:
    """One setting of an experiment, all seeds.

    Attributes
    ----------
    train, validation : Split
        From the same pooled distribution; validation selects hyper-parameters.
    test : Split
        Out of distribution; ``environment`` numbers the test environments.
    source : str
        Where the raw data come from, for example ``"synthetic"`` or ``"mnist"``;
        names of stand-ins begin with ``"stand-in:"``.
    test_environments : sequence of str
        Names of the test environments, by number.
    seeds : sequence of int, length B
    task : "classification" or "regression"
    unit : ndarray, (B,), optional
        What y = 1 comes to in the unit that all replicates' errors are told in; absent: 1.
    about : mapping, optional
        What a report should tell of the data, JSON-able: names of the features, for example.
    """

    train: Split
    validation: Split
    test: Split
    source: str
    test_environments: Sequence[str]
    seeds: Sequence[int]
    task: Task
    unit: np.ndarray | None = None
    about: Mapping[str, Any] | None = None

    def save(self, paths: Any) -> None:
        """Write the files named in :data:`FILES`; ``paths[name]`` is each one's path."""
        facts = {
            "source": self.source,
            "test_environments": list(self.test_environments),
            "seeds": list(self.seeds),
            "task": self.task,
        } | ({"about": dict(self.about)} if self.about else {})
        train, validation, test = self.train, self.validation, self.test
        unit = np.ones(len(self.seeds)) if self.unit is None else self.unit
        contents = {
            "train": {"x": train.x, "y": train.y},
            "validation": {"x": validation.x, "y": validation.y},
            "test_inputs": {"x": test.x},
            "environments": {"train": train.environment, "validation": validation.environment},
            "test_labels": {"y": test.y, "environment": test.environment, "unit": unit},
        }
        for name in FILES:
            save_arrays(paths[name], contents[name], facts)
