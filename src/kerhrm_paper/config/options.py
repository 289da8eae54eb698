"""Options of data, networks and methods, validated with the place of each."""

import functools
from collections.abc import Collection, Iterator
from typing import Any, get_origin

from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.options import Options, suggest, worded
from kerhrm_paper.config.fields import closest
from kerhrm_paper.config.files import Key, Sources, Tree
from kerhrm_paper.config.strict_yaml import merge

#: options, and the key where they stand, or the name; later ones win
Places = list[tuple[Key | str, Tree]]


def numbers(value: Any) -> list[int | float]:
    """A number, or the numbers of a list."""
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def place_of(places: Places, name: Any) -> Key | str:
    """The last place that gives a key, else the last one."""
    return ([key for key, given in places if name in given] or [places[-1][0]])[-1]


def dump(
    sources: Sources, model: type[Options], places: Places, prefix: str = ""
) -> Tree:
    """Options with their defaults.

    An error names the file of the last place with the key, or the name that gives it,
    where the key has the prefix.
    """
    values: Tree = functools.reduce(merge, (given for _, given in places), {})
    try:
        return model(**_listed(model, values)).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors()[0]
        place = place_of(places, next(iter(first["loc"]), None))
        if not isinstance(place, str):
            raise sources.invalid(place, error) from error
        key = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
        key = f"{prefix}{key}" if key else "options"
        problem, hint = worded(first)
        raise KerhrmError(f"{place}: {key}: {problem}", hint) from error


def check_fields(
    sources: Sources, model: type[Options], key: Key, values: Tree
) -> None:
    """Refuse options that no others could make right, be they used or not."""
    try:
        model(**_listed(model, values))
    except ValidationError as error:
        if error.errors()[0]["loc"]:  # of one option, not of several together
            raise sources.invalid(key, error) from error


def _listed(model: type[Options], values: Tree) -> Tree:
    """Options with a number as a list of one, where lists are meant."""
    lists = {
        name
        for name, field in model.model_fields.items()
        if get_origin(field.annotation) is list
    }
    return {
        name: [value] if name in lists and isinstance(value, int | float) else value
        for name, value in values.items()
    }


def one_by_one(key: Key, grid: dict[str, list[Any]]) -> Iterator[tuple[Key, Tree]]:
    """Every value of a grid as options of its own."""
    for option, values in grid.items():
        for value in values:
            yield key, {option: value}


def known(sources: Sources, key: Key, name: str, names: Collection[str]) -> str:
    """A name; an error suggests another one if it is not among the known ones."""
    if name not in names:
        hint = closest(str(name), names) or suggest(str(name), names)
        raise sources.error(key, f"'{name}' is unknown", hint)
    return name


def entry_of(thing: Any) -> str:
    """``module:name`` of a function or class, by which a job loads it alone."""
    return f"{thing.__module__}:{thing.__qualname__}"
