"""Sizes and combinations of options that would only fail in a job."""

import typing
from collections.abc import Mapping
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.methods.inputs import Method

Problem = tuple[str, str | None]  #: what is wrong, and a hint
CANDIDATES = 1000
POINTS = 5_000_000  #: training points
KERNEL_POINTS = 30_000  #: of which a machine holds the kernel matrix
UNITS = 1_000_000  #: hidden units of a network
LARGEST = 1e12  #: number in options
STARTS = 10_000  #: n_init


def is_number(value: Any) -> bool:
    """Whether a value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_list(annotation: Any) -> bool:
    """Whether a field is a list."""
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return typing.get_origin(annotation) is list


def number(name: str, value: Any) -> Problem | None:
    """Problem of a number that is too large, if there is one."""
    values = value if isinstance(value, list) else [value]
    for one in values:
        if is_number(one) and abs(one) > LARGEST:
            return f"{one:g} is larger than {LARGEST:g}", "write a smaller number"
    if name == "n_init" and value > STARTS:
        return f"more than {STARTS} initialisations", "write a smaller number"
    if name == "widths" and sum(value) > UNITS:
        return f"more than {UNITS} hidden units", "write smaller numbers"
    return None


def size(setting: Mapping[str, Any], n_points: int) -> Problem | None:
    """Problem of a setting's number of points, if there is one."""
    if n_points > POINTS:
        return f"n={n_points} training points are more than {POINTS}", "lower n"
    if setting["k_max"] and setting["k_max"] > n_points:
        return (
            f"k={setting['k_max']} exceeds the n={n_points} training points",
            "lower k or raise n",
        )
    if setting["k_max"] and not setting["features"] and n_points > KERNEL_POINTS:
        problem = f"n={n_points} training points are too many for a whole kernel matrix"
        return problem, "set features: {n_landmarks: 8000}"
    return None


def fit(
    method: Method, options: Mapping[str, Any], task: Any, n_points: int
) -> tuple[str, str, str | None] | None:
    """Key, problem and hint of options that do not fit the data, if there are such."""
    parsed = method.options(**options)
    try:
        method.check(parsed, task)
    except KerhrmError as error:
        return "loss" if task in method.tasks else "method", error.problem, error.hint
    k = options.get("k", 0)
    if method.needs_features and (k := max(k) if isinstance(k, list) else k) > n_points:
        return "k", f"k={k} exceeds the n={n_points} training points", "lower k or raise n"
    if options.get("n_environments", 1) > n_points:
        problem = f"K={options['n_environments']} exceed the n={n_points} training points"
        return "n_environments", problem, "lower K or raise n"
    return None
