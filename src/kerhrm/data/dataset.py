"""What every experiment's data look like, and the files they live in.

Labels of the test points and the true environments are written to files of their own,
so that a rule which trains cannot read them: ``train``, ``validation`` and
``test_inputs`` are for every method, ``environments`` for methods that are given
environment labels, ``test_labels`` for scoring alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kerhrm.storage.arrays import save_arrays

Task = Literal["classification", "regression"]
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
        Numbers of the replicates; the random streams of later steps go by them, too.
    task : "classification" (labels -1, +1) or "regression"
    """

    train: Split
    validation: Split
    test: Split
    source: str
    test_environments: Sequence[str]
    seeds: Sequence[int]
    task: Task = "classification"

    def save(self, paths: Any) -> None:
        """Write the files named in :data:`FILES`; ``paths[name]`` is each one's path."""
        facts = {
            "source": self.source,
            "test_environments": list(self.test_environments),
            "seeds": list(self.seeds),
            "task": self.task,
        }
        contents = {
            "train": {"x": self.train.x, "y": self.train.y},
            "validation": {"x": self.validation.x, "y": self.validation.y},
            "test_inputs": {"x": self.test.x},
            "environments": {
                "train": self.train.environment,
                "validation": self.validation.environment,
            },
            "test_labels": {"y": self.test.y, "environment": self.test.environment},
        }
        for name in FILES:
            save_arrays(paths[name], contents[name], facts)


def stack(splits: Sequence[Split]) -> Split:
    """Replicates of equal size, one Split each without a batch axis, as one batch."""
    return Split(
        np.stack([s.x for s in splits]).astype(np.float32),
        np.stack([s.y for s in splits]).astype(np.float32),
        np.stack([s.environment for s in splits]).astype(np.int8),
    )


def pool(splits: Sequence[Split]) -> Split:
    """Environments of one replicate, one after another."""
    return Split(
        np.concatenate([s.x for s in splits]),
        np.concatenate([s.y for s in splits]),
        np.concatenate([s.environment for s in splits]),
    )
