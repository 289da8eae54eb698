"""Which of the user's files an error comes from, where it names another one."""

import functools
import operator
from collections.abc import Callable, Collection, Iterator
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.files import Key, Sources, Tree

SHOWN = 3  #: keys that an error names


def leaves(tree: Any, above: Key = ()) -> Iterator[Key]:
    """Places of a tree's values."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key)


def cause(
    error: KerhrmError,
    layers: list[tuple[str, Key, Tree]],
    preset_at: int | None,
    names: Collection[str],
    resolve: Callable[[Sources], Any],
) -> KerhrmError:
    """The error, with the file in front without which there is none.

    Parameters
    ----------
    error : KerhrmError
        Of all files together.
    layers : list
        The files, as :class:`Sources` has them.
    preset_at : int, optional
        Number of the preset among them.
    names : collection of str
        Those that the user has written.  An error that names one of them stays.
    resolve : callable
        Raises KerhrmError if the files are wrong.
    """
    if error.problem.startswith(tuple(f"{name}: " for name in names)):
        return error
    for layer in reversed(layers):
        name, place, content = layer
        if name not in names or place or not content:
            continue
        at = layers.index(layer)

        def good(content: Tree, name: str = name, at: int = at) -> bool:
            """Whether there is no error with this content of the file."""
            changed = [*layers[:at], (name, (), content), *layers[at + 1 :]]
            try:
                resolve(Sources(changed, preset_at=preset_at))
            except KerhrmError:
                return False
            return True

        if good({}):
            return _told(error, name, content, _fewest(content, good))
    return error


def _fewest(content: Tree, good: Callable[[Tree], bool]) -> list[Key]:
    """Keys without which a file is good, found by halving."""
    keys = list(leaves(content))
    while len(keys) > 1:
        middle = len(keys) // 2
        halves = keys[:middle], keys[middle:]
        cured = [half for half in halves if good(_without(content, half))]
        if not cured:
            break
        keys = cured[0]
    return keys


def _without(tree: Tree, keys: Collection[Key]) -> Tree:
    """A tree that lacks these values."""
    kept: Tree = {}
    for key, value in tree.items():
        below = [place[1:] for place in keys if place[0] == key]
        if () in below:
            continue
        kept[key] = _without(value, below) if below else value
    return kept


def _told(error: KerhrmError, name: str, content: Tree, keys: list[Key]) -> KerhrmError:
    """The error with the file and its keys in front."""
    shown = ", ".join(map(_dotted, keys[:SHOWN]))
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    problem = f"{name}: {shown}{more}: with it, {error.problem}"
    removed = [key for key in keys if _value(content, key) is None]
    if not removed:
        return KerhrmError(problem, error.hint)
    hint = f"delete {_dotted(removed[0])}: null, or set what uses it to null, too"
    return KerhrmError(problem, hint)


def _dotted(key: Key) -> str:
    return ".".join(map(str, key))


def _value(tree: Tree, key: Key) -> Any:
    return functools.reduce(operator.getitem, key, tree)
