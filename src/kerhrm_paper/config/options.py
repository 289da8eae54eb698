"""Which options are in force, given the places that each name some?

Of several places that give an option the last one wins.  Errors name that place.
"""

import functools
from collections.abc import Collection, Iterator
from typing import Any, get_origin

from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.options import Options, suggest, worded
from kerhrm_paper.config.fields import closest
from kerhrm_paper.config.files import Key, Sources, Tree
from kerhrm_paper.config.invalid import invalid
from kerhrm_paper.config.strict_yaml import merge

#: options, and the key where they stand, or the name; later ones win
Places = list[tuple[Key | str, Tree]]


def numbers(value: Any) -> list[int | float]:
    """A number, or the numbers of a list."""
    items = value if isinstance(value, list) else [value]
    return [
        item
        for item in items
        if isinstance(item, int | float) and not isinstance(item, bool)
    ]


def place_of(places: Places, option: Any) -> Key | str:
    """The last place that gives an option; the last one of all, if none does."""
    for place, given in reversed(places):
        if option in given:
            return place
    last, _ = places[-1]
    return last


def explained(places: Places) -> dict[str, Key | str]:
    """Where each option stands: its key, or the name that gives it."""
    keys: dict[str, Key | str] = {}
    for place, given in places:
        for option in given:
            is_name = isinstance(place, str)
            keys[option] = place if is_name else (*place, option)
    return keys


def dump(
    sources: Sources, model: type[Options], places: Places, prefix: str = ""
) -> Tree:
    """Options with their defaults.

    An error names the file of the last place with the key, or the name that gives it,
    where the key has the prefix.
    """
    trees = (given for _, given in places)
    options: Tree = functools.reduce(merge, trees, {})
    try:
        return _validated(model, options)
    except ValidationError as error:
        first = error.errors()[0]
        location = first["loc"]
        place = place_of(places, location[0] if location else None)
        if not isinstance(place, str):
            raise invalid(sources, place, error) from error
        words = [part for part in location if isinstance(part, str)]
        key = prefix + ".".join(words) if words else "options"
        problem, hint = worded(first)
        raise KerhrmError(f"{place}: {key}: {problem}", hint) from error


def check_fields(
    sources: Sources, model: type[Options], key: Key, options: Tree
) -> None:
    """Refuse options that no others could make right, be they used or not."""
    try:
        _validated(model, options)
    except ValidationError as error:
        location = error.errors()[0]["loc"]
        if location:  # of one option, not of several together
            raise invalid(sources, key, error) from error


def _validated(model: type[Options], options: Tree) -> Tree:
    """Options with their defaults; a number is a list of one, where lists are meant."""
    given = dict(options)
    for name, field in model.model_fields.items():
        is_list = get_origin(field.annotation) is list
        if is_list and isinstance(given.get(name), int | float):
            given[name] = [given[name]]
    return model(**given).model_dump(mode="json")


def one_by_one(key: Key, grid: dict[str, list[Any]]) -> Iterator[tuple[Key, Tree]]:
    """Every value of a grid as options with one entry."""
    for option, tried in grid.items():
        for value in tried:
            yield key, {option: value}


def known(sources: Sources, key: Key, name: str, names: Collection[str]) -> str:
    """A name; an error suggests another one if it is not among the known ones."""
    if name in names:
        return name
    hint = closest(str(name), names)
    hint = hint or suggest(str(name), names)
    raise sources.error(key, f"'{name}' is unknown", hint)


def entry_of(thing: Any) -> str:
    """``module:name`` of a function or class, by which a job loads it alone."""
    return f"{thing.__module__}:{thing.__qualname__}"
