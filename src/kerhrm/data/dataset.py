"""What every experiment's data look like, and the files they live in.

Labels of the test points and the true environments are written to files of their own,
so that a rule which trains cannot read them: ``train``, ``validation`` and
``test_inputs`` are for every method, ``environments`` for methods that are given
environment labels, ``test_labels`` for scoring alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kerhrm.arrays import load_arrays, save_arrays

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
    """

    train: Split
    validation: Split
    test: Split
    source: str
    test_environments: Sequence[str]

    def save(self, paths: Mapping[str, str | Path]) -> None:
        """Write the files named in :data:`FILES`; ``paths`` gives each one's path."""
        facts = {"source": self.source, "test_environments": list(self.test_environments)}
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


@dataclass(frozen=True)
class TrainingData:
    """What a method may see: no test label, no true environment."""

    x: np.ndarray
    y: np.ndarray
    x_validation: np.ndarray
    y_validation: np.ndarray
    x_test: np.ndarray


def load_training_data(paths: Mapping[str, str | Path]) -> TrainingData:
    """Read ``train``, ``validation`` and ``test_inputs``."""
    train, _ = load_arrays(paths["train"])
    validation, _ = load_arrays(paths["validation"])
    test, _ = load_arrays(paths["test_inputs"])
    return TrainingData(train["x"], train["y"], validation["x"], validation["y"], test["x"])


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
