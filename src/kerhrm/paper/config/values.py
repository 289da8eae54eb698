"""Options of one thing that stand in several places of the configuration, and their limits."""

import functools
from typing import Any, get_origin

from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.methods.inputs import Method
from kerhrm.options import Options, Task
from kerhrm.paper.config.files import Key, Sources, Tree, merge

POINTS = 5_000_000  #: training points
KERNEL_POINTS = 30_000  #: of which a machine holds the kernel matrix
#: number in options, else 1e12
LARGEST = {"n_init": 10_000, "widths": 1_000_000}
Places = list[tuple[Key, Tree]]  #: options, and the key where they stand; later ones win


def numbers(value: Any) -> list[int | float]:
    """A number, or the numbers of a list."""
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def place_of(places: Places, name: Any) -> Key:
    """The last place that gives a key, else the last one."""
    return ([key for key, given in places if name in given] or [places[-1][0]])[-1]


def dump(sources: Sources, model: type[Options], places: Places) -> Tree:
    """Options with their defaults; an error names the file of the last place with the key."""
    values: Tree = functools.reduce(merge, (given for _, given in places), {})
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is list and numbers(values.get(name)):
            values[name] = numbers(values[name])
    try:
        dumped = model(**values).model_dump(mode="json")
    except ValidationError as error:
        key = next(iter(error.errors()[0]["loc"]), None)
        raise sources.invalid(place_of(places, key), error) from error
    for name, value in dumped.items():
        limit = LARGEST.get(name, 1e12)
        if too_large := [number for number in numbers(value) if abs(number) > limit]:
            problem = f"{too_large[0]:g} is larger than {limit:g}"
            raise sources.error((*place_of(places, name), name), problem, "write a smaller number")
    return dumped


def too_many_points(n: int, whole_kernel: bool) -> tuple[str, str] | None:
    """What is wrong with a number of training points, and a hint."""
    if n > POINTS:
        return f"n={n} training points are more than {POINTS}", "lower n"
    if whole_kernel and n > KERNEL_POINTS:
        problem = f"n={n} training points are too many for a whole kernel matrix"
        return problem, "set features: {n_landmarks: 8000}"
    return None


def misfit(
    method: Method, options: Tree, task: Task, n_points: int
) -> tuple[str, str, str | None] | None:
    """Key, problem and hint of options that do not fit the data."""
    try:
        method.check(method.options(**options), task)
    except KerhrmError as error:
        return "loss" if task in method.tasks else "method", error.problem, error.hint
    k = max(numbers(options.get("k")), default=0) if method.needs_features else 0
    n_environments = options.get("n_environments", 1)
    for name, short, size in (("k", "k", k), ("n_environments", "K", n_environments)):
        if size > n_points:
            problem = f"{short}={size} exceeds the n={n_points} training points"
            return name, problem, f"lower {short} or raise n"
    return None
