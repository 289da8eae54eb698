"""Refuse draws that no method could learn, or that a score would get wrong.

Each error is one line with the part and the array, replicates and rows counted from 0,
and a hint for the author of the generator.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kerhrm.errors import KerhrmError, shown
from kerhrm.given import LARGEST
from kerhrm.options import Task
from kerhrm_paper.data.draws import Draws, Split

LABELS = (-1.0, 1.0)  #: of a classification
#: of the arrays of a part: seeds S, points n
SHAPES = {
    "x": "(S, n, d)",
    "y": "(S, n)",
    "auxiliary": "(S, n, c)",
    "environment": "(S, n)",
}


def check_generated(
    generated: Any, where: str, task: Task, n_points: int, seeds: Sequence[int]
) -> Draws:
    """Return what a generator returned, if it fits what was declared.

    Parameters
    ----------
    generated : object
        What the generator returned.
    where : str
        Name of the generator, with which every error begins.
    task : "classification" or "regression"
        That the generator declares.
    n_points : int
        Training points that its options promise.
    seeds : sequence of int
        That the generator was given.

    Returns
    -------
    Draws
        The same object.

    Raises
    ------
    KerhrmError
        In one line, before anything is written.
    """
    try:
        if not isinstance(generated, Draws):
            problem = f"generate must return Draws; got {type(generated).__name__}"
            raise KerhrmError(problem, "return Draws(train, validation, test, ...)")
        _check_draws(generated, task, n_points, seeds)
    except KerhrmError as error:
        raise KerhrmError(f"{where}: {error.problem}", error.hint) from error
    return generated


def _check_draws(draws: Draws, task: Task, n_points: int, seeds: Sequence[int]) -> None:
    _check_declared(draws, task, seeds)
    splits = {
        "train": draws.train,
        "validation": draws.validation,
        "test": draws.test,
    }
    for part, split in splits.items():
        if not isinstance(split, Split):
            problem = f"{part} must be a Split; got {type(split).__name__}"
            hint = "make it by draw_parts, or as Split(x, y, e)"
            raise KerhrmError(problem, hint)
        _check_arrays(split, part, len(seeds))
        _check_columns(split, part, draws.train)
        if task == "classification":
            _check_labels(split.y, part)
    n_train = draws.train.x.shape[1]
    if n_train != n_points:
        problem = f"train has {n_train} points, "
        problem += f"but n_points of its options is {n_points}"
        raise KerhrmError(problem, "let n_points count the training points")
    _check_test_environments(draws.test_environments, draws.test.environment)
    _check_headline(draws.n_headline, len(draws.test_environments))
    _check_unit(draws.unit, len(seeds))
    if not isinstance(draws.source, str):
        problem = f"source must be text; got {shown(draws.source)}"
        raise KerhrmError(problem, "name where the data come from")


def _check_declared(draws: Draws, task: Task, seeds: Sequence[int]) -> None:
    if draws.task != task:
        problem = f"task must be {task}, as its Generator says; got {draws.task!r}"
        raise KerhrmError(problem, "let both say the same")
    expected = [*seeds]
    drawn = None
    if isinstance(draws.seeds, Iterable):
        drawn = [*draws.seeds]
    if drawn != expected:
        problem = f"seeds must be those that generate was given, {shown(expected)}"
        problem += f"; got {shown(draws.seeds)}"
        raise KerhrmError(problem, "write seeds=seeds, one replicate for each")


def _check_arrays(split: Split, part: str, n_seeds: int) -> None:
    """Refuse arrays of another type or shape, and numbers that are not finite."""
    # y first, whose points the others are compared with
    arrays = {"y": split.y}
    arrays |= split.known()
    arrays |= {"environment": split.environment}
    for name, array in arrays.items():
        where = f"{part}.{name}"
        if not isinstance(array, np.ndarray):
            problem = f"{where} must be a NumPy array; got {type(array).__name__}"
            raise KerhrmError(problem, "pass it through np.stack")
        if isinstance(array, np.ma.MaskedArray):
            problem = f"{where} must be a plain array; got a masked one"
            hint = "give array.filled(value), or leave its rows out"
            raise KerhrmError(problem, hint)
        _check_shape(array, where, SHAPES[name], n_seeds)
        has_every_point = array.shape[:2] == split.y.shape
        if not has_every_point or not array.size:
            n = split.y.shape[1]
            problem = f"{where} must have a row for each of the n={n}"
            problem += f" points of y, and one at least; got {array.shape}"
            raise KerhrmError(problem, "give every point all of its values")
        if name == "environment":
            _check_environment_numbers(array, where)
        else:
            _check_numbers(array, where)


def _check_shape(array: np.ndarray, where: str, shape: str, n_seeds: int) -> None:
    n_axes = shape.count(",") + 1
    has_axes = array.ndim == n_axes
    if not has_axes or len(array) != n_seeds:
        problem = f"{where} must have shape {shape} with S={n_seeds} seeds"
        problem += f"; got {array.shape}"
        raise KerhrmError(problem, "stack one replicate for each seed")


def _check_environment_numbers(array: np.ndarray, where: str) -> None:
    problem = f"{where} must hold the whole numbers 0, 1, ...; got "
    hint = "number the environments from 0"
    is_whole = np.issubdtype(array.dtype, np.integer)
    if not is_whole:
        raise KerhrmError(f"{problem}{array.dtype}", hint)
    least = array.min()
    if least < 0:
        raise KerhrmError(f"{problem}{least}", hint)


def _check_numbers(array: np.ndarray, where: str) -> None:
    if array.dtype != np.float32:
        problem = f"{where} must be float32; got {array.dtype}"
        raise KerhrmError(problem, "add .astype(np.float32)")
    # replicate by replicate: a mask of all may be large
    for s, replicate in enumerate(array):
        finite = np.isfinite(replicate)
        if not finite.all():
            rows = np.argwhere(~finite)
            row = rows[0][0]
            problem = f"{where} must be finite; got NaN or infinity"
            problem += f" in row {row} of replicate {s}"
            raise KerhrmError(problem, "leave such points out, or fill them in")
        largest = np.abs(replicate).max()
        if largest >= LARGEST:
            problem = f"{where} must be below {LARGEST:g} in size; got {largest:g}"
            problem += f" in replicate {s}"
            raise KerhrmError(problem, "divide by a constant: squares overflow")


def _check_columns(split: Split, part: str, train: Split) -> None:
    """Refuse a part whose points have other columns than those of training."""
    _check_width(split.x, train.x, part, "x")
    if part != "test":  # nothing reads auxiliary variables of test points
        _check_width(split.auxiliary, train.auxiliary, part, "auxiliary")


def _check_width(
    array: np.ndarray | None, of_train: np.ndarray | None, part: str, name: str
) -> None:
    width = None if array is None else array.shape[2]
    expected = None if of_train is None else of_train.shape[2]
    if width != expected:
        problem = f"{part}.{name} must have the {expected} columns of"
        problem += f" train.{name}; got {width}"
        raise KerhrmError(problem, "give all parts the same columns")


def _check_labels(y: np.ndarray, part: str) -> None:
    """Refuse labels of a classification other than -1 and +1; of training, both."""
    is_other = ~np.isin(y, LABELS)
    if is_other.any():
        problem = f"{part}.y must be -1 and +1 in a classification"
        problem += f"; got {shown(y[is_other][0])}"
        raise KerhrmError(problem, "code the two classes so")
    if part != "train":
        return
    for s, labels in enumerate(y):
        if len(np.unique(labels)) < 2:
            problem = f"train.y of replicate {s} has one class alone"
            raise KerhrmError(problem, "draw more points, or both classes")


def _check_test_environments(names: Any, numbers: np.ndarray) -> None:
    """Refuse test environments without a name of their own, or without points."""
    if not _are_names(names):
        problem = f"test_environments must be a list of names; got {shown(names)}"
        raise KerhrmError(problem, "name each test environment")
    names = list(names)
    if len(set(names)) < len(names):
        twice = max(names, key=names.count)
        problem = f"test_environments has {twice!r} twice"
        raise KerhrmError(problem, "give each test environment its own name")
    is_other = numbers != numbers[0]
    if is_other.any():
        problem = "test.environment must be the same for every seed"
        hint = "let the test points of all seeds have one order"
        raise KerhrmError(problem, hint)
    first = np.unique(numbers[0])
    occupied = first.tolist()
    expected = list(range(len(names)))
    if occupied != expected:
        problem = f"test_environments has {len(names)} names, but test.environment"
        problem += f" has the numbers {shown(occupied)}"
        raise KerhrmError(problem, "give each number from 0 on a name and points")


def _check_headline(n_headline: Any, n_environments: int) -> None:
    if n_headline is None:
        return
    is_bool = isinstance(n_headline, bool)
    is_number = isinstance(n_headline, int) and not is_bool
    if not is_number or not 1 <= n_headline <= n_environments:
        problem = f"n_headline must be None or a number from 1 to {n_environments},"
        problem += f" the test environments; got {shown(n_headline)}"
        raise KerhrmError(problem, "count the first ones, which the headline is of")


def _are_names(names: Any) -> bool:
    is_list = isinstance(names, Sequence) and not isinstance(names, str)
    if not is_list:
        return False
    return all(isinstance(name, str) and name.strip() for name in names)


def _check_unit(unit: Any, n_seeds: int) -> None:
    if unit is None:
        return
    sizes = np.asarray(unit)
    are_numbers = sizes.shape == (n_seeds,) and sizes.dtype.kind in "iuf"
    if are_numbers:
        is_positive = np.isfinite(sizes) & (sizes > 0)
        are_numbers = bool(is_positive.all())
    if not are_numbers:
        problem = f"unit must be {n_seeds} positive numbers; got {shown(unit)}"
        raise KerhrmError(problem, "give one for each seed, or leave it out")
