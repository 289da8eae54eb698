"""A data set, and its files.

``train``, ``validation`` and ``test_inputs`` are for every method, ``environments`` for
those that are given environment labels, ``test_labels`` for scoring alone: in files of
their own no rule that trains can read them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Options, Task
from kerhrm_paper.runs.arrays import save_arrays

LABELS = (-1.0, 1.0)  #: of a classification


#: of the arrays of a part: seeds S, points n
SHAPES = {
    "x": "(S, n, d)",
    "y": "(S, n)",
    "auxiliary": "(S, n, c)",
    "environment": "(S, n)",
}


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

    def check(self, part: str, n_seeds: int) -> None:
        """Refuse arrays of another type or shape, and numbers that are not finite."""
        # y first, whose points the others are compared with
        arrays = {"y": self.y} | self.known() | {"environment": self.environment}
        axes = {"x": 3, "auxiliary": 3}
        for name, array in arrays.items():
            where, shape = f"{part}.{name}", SHAPES[name]
            if not isinstance(array, np.ndarray):
                problem = f"{where} must be a NumPy array; got {type(array).__name__}"
                raise KerhrmError(problem, "pass it through np.stack")
            if array.ndim != axes.get(name, 2) or len(array) != n_seeds:
                problem = f"{where} must have shape {shape} with S={n_seeds} seeds"
                problem += f"; got {array.shape}"
                raise KerhrmError(problem, "stack one replicate for each seed")
            if array.shape[:2] != self.y.shape or not array.size:
                problem = f"{where} must have a row for each of the n={self.y.shape[1]}"
                problem += f" points of y, and one at least; got {array.shape}"
                raise KerhrmError(problem, "give every point all of its values")
            if name == "environment":
                integers = np.issubdtype(array.dtype, np.integer)
                if not integers or array.min() < 0:
                    got = array.min() if integers else array.dtype
                    problem = (
                        f"{where} must hold the whole numbers 0, 1, ...; got {got}"
                    )
                    raise KerhrmError(problem, "number the environments from 0")
                continue
            if array.dtype != np.float32:
                problem = f"{where} must be float32; got {array.dtype}"
                raise KerhrmError(problem, "add .astype(np.float32)")
            for s, one in enumerate(array):  # one by one: a copy of all may be large
                if not np.isfinite(one).all():
                    row = np.argwhere(~np.isfinite(one))[0][0]
                    problem = f"{where} must be finite; got NaN or infinity"
                    problem += f" in row {row} of replicate {s}"
                    raise KerhrmError(problem, "leave such points out, or fill them in")


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

    def check(self, task: Task, n_points: int, seeds: Sequence[int]) -> None:
        """Refuse what no method could learn, or what a score would get wrong.

        Parameters
        ----------
        task : "classification" or "regression"
            That the data set declares.
        n_points : int
            Training points that its options promise.
        seeds : sequence of int
            That the generator was given.

        Raises
        ------
        KerhrmError
            In one line with the part and the array, the replicates and rows counted
            from 0.
        """
        if self.task != task:
            problem = f"task must be {task}, as its DataSet says; got {self.task!r}"
            raise KerhrmError(problem, "let both say the same")
        own = [*self.seeds] if isinstance(self.seeds, Iterable) else None
        if own != [*seeds]:
            problem = f"seeds must be those that generate was given, {shown([*seeds])}"
            problem += f"; got {shown(self.seeds)}"
            raise KerhrmError(problem, "write seeds=seeds, one replicate for each")
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        for name, part in parts.items():
            if not isinstance(part, Split):
                problem = f"{name} must be a Split; got {type(part).__name__}"
                raise KerhrmError(
                    problem, "make it by draw_parts, or as Split(x, y, e)"
                )
            part.check(name, len(seeds))
            self._check_columns(name, part)
            if task == "classification":
                _check_labels(name, part.y)
        if (n := self.train.x.shape[1]) != n_points:
            problem = f"train has {n} points, but n_points of its options is {n_points}"
            raise KerhrmError(problem, "let n_points count the training points")
        self._check_environments()
        unit = np.ones(len(seeds)) if self.unit is None else np.asarray(self.unit)
        numbers = unit.shape == (len(seeds),) and unit.dtype.kind in "iuf"
        if not numbers or not (np.isfinite(unit) & (unit > 0)).all():
            problem = f"unit must be {len(seeds)} positive numbers"
            problem += f"; got {shown(self.unit)}"
            raise KerhrmError(problem, "give one for each seed, or leave it out")
        if not isinstance(self.source, str):
            problem = f"source must be text; got {shown(self.source)}"
            raise KerhrmError(problem, "name where the data come from")

    def _check_columns(self, name: str, part: Split) -> None:
        """Refuse a part whose points have other columns than those of training."""
        for array in ("x", "auxiliary"):
            own, first = (getattr(one, array) for one in (part, self.train))
            if array == "auxiliary" and name == "test":
                continue  # nothing reads it
            widths = [None if one is None else one.shape[2] for one in (own, first)]
            if widths[0] != widths[1]:
                problem = f"{name}.{array} must have the {widths[1]} columns of"
                problem += f" train.{array}; got {widths[0]}"
                raise KerhrmError(problem, "give all parts the same columns")

    def _check_environments(self) -> None:
        """Refuse test environments without a name of their own, or without points."""
        names, numbers = self.test_environments, self.test.environment
        several = isinstance(names, Sequence) and not isinstance(names, str)
        texts = several and all(isinstance(name, str) for name in names)
        if not texts or not all(name.strip() for name in names):
            problem = f"test_environments must be a list of names; got {shown(names)}"
            raise KerhrmError(problem, "name each test environment")
        if len(set(names)) < len(names):
            twice = max(names, key=[*names].count)
            problem = f"test_environments has {twice!r} twice"
            raise KerhrmError(problem, "give each test environment its own name")
        if (numbers != numbers[0]).any():
            problem = "test.environment must be the same for every seed"
            raise KerhrmError(
                problem, "let the test points of all seeds have one order"
            )
        found = np.unique(numbers[0]).tolist()
        if found != list(range(len(names))):
            problem = f"test_environments has {len(names)} names, but test.environment"
            problem += f" has the numbers {shown(found)}"
            raise KerhrmError(problem, "give each number from 0 on a name and points")


def _check_labels(part: str, y: np.ndarray) -> None:
    """Refuse labels of a classification other than -1 and +1; of training, both."""
    other = ~np.isin(y, LABELS)
    if other.any():
        problem = f"{part}.y must be -1 and +1 in a classification"
        raise KerhrmError(
            f"{problem}; got {shown(y[other][0])}", "code the two classes so"
        )
    if part == "train":
        for s, one in enumerate(y):
            if len(np.unique(one)) < 2:
                problem = f"train.y of replicate {s} has one class alone"
                raise KerhrmError(problem, "draw more points, or both classes")


def check_generated(
    made: Any, where: str, task: Task, n_points: int, seeds: Sequence[int]
) -> Dataset:
    """What a generator returned, if it is the data set that was declared.

    Raises KerhrmError, in one line that begins with ``where``, before anything is
    written.
    """
    try:
        if not isinstance(made, Dataset):
            problem = f"generate must return a Dataset; got {type(made).__name__}"
            raise KerhrmError(problem, "return Dataset(train, validation, test, ...)")
        made.check(task, n_points, seeds)
    except KerhrmError as error:
        raise KerhrmError(f"{where}: {error.problem}", error.hint) from error
    return made


@dataclass(frozen=True)
class DataSet:
    """A data set: its options, its generator, and what is known of it."""

    options: type[Options]  #: has ``n_points``, the number of training points
    #: ``(options, seeds)``, or ``(options, seeds, raw)``
    generate: Callable[..., Dataset]
    task: Task
    #: name in :data:`kerhrm_paper.data.registry.RAW` of the data that it is made from
    raw: str | None = None
    #: options to values by reference row, test environment ("": all) and metric
    closed_forms: Callable[[Any], dict[str, dict[tuple[str, str], float]]] | None = None
    attribute: Callable[[np.ndarray], np.ndarray] | None = (
        None  #: x to C, of the figure 2
    )
