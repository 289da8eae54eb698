"""Which options are in force, given the places that each name some?

Of several places that give an option the last one wins.  Errors name that place.
"""

from collections.abc import Iterator
from typing import Any, get_origin

from pydantic import ValidationError

from kerhrm.errors import KerhrmError, suggest
from kerhrm.options import (
    Options,
    as_json,
    worded,
)
from kerhrm.plugins import Registry
from kerhrm_paper.config.fields import Names, closest
from kerhrm_paper.config.files import Key, Sources
from kerhrm_paper.config.invalid import invalid
from kerhrm_paper.config.strict_yaml import Tree, merge

Grid = dict[str, list[Any]]  #: values that are tried, by option
Model = type[Options]  #: a class of options
Place = Key | str  #: the key where options stand, or the name that gives them
Placed = tuple[Place, Tree]  #: options with their place
Places = list[Placed]  #: later ones win
Origins = dict[str, Place]  #: the place of each option


def numbers(value: Any) -> list[int | float]:
    """A number, or the numbers of a list."""
    if not isinstance(value, list):
        value = [value]
    kept: list[int | float] = []
    for item in value:
        if isinstance(item, bool):
            continue
        if isinstance(item, int | float):
            kept.append(item)
    return kept


def place_of(places: Places, option: Any) -> Place:
    """The last place that gives an option; the last one of all, if none does."""
    for place, given in reversed(places):
        if option in given:
            return place
    last, _ = places[-1]
    return last


def origins(places: Places) -> Origins:
    """Where each option stands: its key, or the name that gives it."""
    origin: Origins = {}
    for place, given in places:
        for option in given:
            if isinstance(place, str):
                origin[option] = place
            else:
                origin[option] = (*place, option)
    return origin


def dump(sources: Sources, model: Model, places: Places, prefix: str = "") -> Tree:
    """Options with their defaults.

    An error names the file of the last place with the key, or the name that gives it,
    where the key has the prefix.
    """
    options: Tree = {}
    for _, given in places:
        options = merge(options, given)
    try:
        return _validated(model, options)
    except ValidationError as error:
        first = error.errors()[0]
        location = first["loc"]
        option = location[0] if location else None
        place = place_of(places, option)
        if not isinstance(place, str):
            raise invalid(sources, place, error) from error
        raise _misfit(place, error, prefix) from error


def _misfit(name: str, error: ValidationError, prefix: str = "") -> KerhrmError:
    """Error of an option that a name gives; the prefix precedes the option's key."""
    first = error.errors()[0]
    key = "options"
    names = [part for part in first["loc"] if isinstance(part, str)]
    if names:
        dotted = ".".join(names)
        key = prefix + dotted
    problem, hint = worded(first)
    return KerhrmError(f"{name}: {key}: {problem}", hint)


def check_named(model: Model, name: str, options: Tree) -> None:
    """Refuse options of a name that no others could make right."""
    try:
        _validated(model, options)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"]:  # of one option, not of several together
            raise _misfit(name, error) from error


def check_fields(sources: Sources, model: Model, key: Key, options: Tree) -> None:
    """Refuse options that no others could make right, be they used or not."""
    try:
        _validated(model, options)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"]:  # of one option, not of several together
            raise invalid(sources, key, error) from error


def _validated(model: Model, options: Tree) -> Tree:
    """Options with their defaults; a number is a list of one, where lists are meant."""
    given = dict(options)
    for name, field in model.model_fields.items():
        value = given.get(name)
        origin = get_origin(field.annotation)
        is_list = origin is list
        if is_list and isinstance(value, int | float):
            given[name] = [value]
    validated = model.model_validate(given)
    return as_json(validated)


def one_by_one(key: Key, grid: Grid) -> Iterator[tuple[Key, Tree]]:
    """Every value of a grid as options with one entry."""
    for option, tried in grid.items():
        for value in tried:
            yield key, {option: value}


def known(sources: Sources, key: Key, name: str, names: Names) -> str:
    """A name; an error suggests another one if it is not among the known ones."""
    if name in names:
        return name
    hint = closest(name, names) or suggest(name, names)
    if isinstance(names, Registry):
        hint = names.hint(name) or f"{hint} (or install the package that has it)"
    raise sources.error(key, f"'{name}' is unknown", hint)


def entry_of(thing: Any) -> str:
    """``module:name`` of a function or class, by which a job loads it alone."""
    return f"{thing.__module__}:{thing.__qualname__}"
