"""What a trained learner predicts, as it goes to disk and as scoring reads it.

Without PyTorch, which scoring does without.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kerhrm.record import Record

#: where the points of each part are
FILES = {"train": "train", "validation": "validation", "test": "test_inputs"}


@dataclass(frozen=True)
class Predictions(Record):
    """Outputs of a learner on one replicate, at all points.

    Attributes
    ----------
    outputs : ndarray, (O,), str
        Names of the outputs.
    train, validation, test : ndarray, (O, n), (O, m), (O, l)
        Outputs at the training, validation and test points: float32, or float64 where
        an output is linear in float64 features.
    chosen : ndarray, (C,), str
        What the method's own rule has chosen, by name.
    choices : ndarray, (C,), float64
        And the values.
    memberships : ndarray, (n + m, K), float32, optional
        Of the training and then the validation points, in inferred environments.
    iterations : ndarray, (T,), int64, optional
        Numbers of the iterations, of methods that iterate; 0 is ERM.
    iteration_train, iteration_test : ndarray, (T, n), (T, l), optional
        Outputs after each of them.
    iteration_memberships : ndarray, (T, n, K), optional
        Memberships of the training points; 0 in iteration 0.
    failed : ndarray, (), str, optional
        Why there are no outputs, of a learner with a time limit; they are NaN then.
    """

    outputs: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    chosen: np.ndarray
    choices: np.ndarray
    memberships: np.ndarray | None = None
    iterations: np.ndarray | None = None
    iteration_train: np.ndarray | None = None
    iteration_test: np.ndarray | None = None
    iteration_memberships: np.ndarray | None = None
    failed: np.ndarray | None = None

    @property
    def reason(self) -> str:
        """Why there are no outputs; empty if there are."""
        return "" if self.failed is None else str(self.failed)

    def output(self, name: str, part: str) -> np.ndarray:
        """One output (points,) at the points of a part."""
        names = self.outputs.tolist()
        number = names.index(name)
        of_part = getattr(self, part)
        return np.asarray(of_part[number])


def aligned(units: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    """Arrays of replicates that stack.

    Those that infer fewer environments get empty ones; what one has not chosen is NaN;
    where one has failed, the reason of the others is empty.
    """
    names: dict[str, None] = {}
    most = 0  # environments of one replicate
    has_failed = any("failed" in unit for unit in units)
    for unit in units:
        chosen = unit["chosen"].tolist()
        names |= dict.fromkeys(chosen)
        if "memberships" in unit:
            memberships = unit["memberships"]
            n_environments = memberships.shape[-1]
            most = max(most, n_environments)
    stackable = []
    for unit in units:
        arrays = dict(unit)
        chosen = unit["chosen"].tolist()
        values = unit["choices"].tolist()
        choices = dict(zip(chosen, values, strict=True))
        aligned_choices = [choices.get(name, np.nan) for name in names]
        arrays["chosen"] = np.array(list(names), dtype=str)
        arrays["choices"] = np.array(aligned_choices)
        if has_failed:
            no_reason = np.array("")
            arrays.setdefault("failed", no_reason)
        if "memberships" in unit:
            memberships = unit["memberships"]
            n_empty = most - memberships.shape[-1]
            padding = [(0, 0), (0, n_empty)]
            arrays["memberships"] = np.pad(memberships, padding)
        stackable.append(arrays)
    return stackable


def stack(replicates: Sequence[Predictions], name: str) -> np.ndarray:
    """A field of all replicates, (S, ...)."""
    fields = [getattr(prediction, name) for prediction in replicates]
    return np.stack(fields)
