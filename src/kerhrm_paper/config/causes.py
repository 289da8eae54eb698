"""Which of the user's files does an error come from, where it names another one?"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.fields import Names
from kerhrm_paper.config.files import Key, Sources
from kerhrm_paper.config.strict_yaml import Tree

Resolve = Callable[[Sources], Any]
IsGood = Callable[[Tree], bool]  #: whether a file may have some content
CHOICES = ("choices",)  #: where a file of choices stands
SHOWN = 3  #: keys that an error names
SINGLE = 20  #: keys that are tried one by one, a third of a second each


def leaves(tree: Any, above: Key = ()) -> Iterator[Key]:
    """Places of a tree's values."""
    for key, value in tree.items():
        place = (*above, key)
        if isinstance(value, dict) and value:
            yield from leaves(value, place)
        else:
            yield place


def cause(
    error: KerhrmError,
    sources: Sources,
    of_user: Names,
    resolve: Resolve,
) -> KerhrmError:
    """The error, with the file in front without which there is none.

    Parameters
    ----------
    error : KerhrmError
        Of all files together.
    sources : Sources
        The files.
    of_user : collection of str
        Names of the files that the user has written.  An error that names one of them
        stays.
    resolve : callable
        Raises KerhrmError if the files are wrong.
    """
    for name in of_user:
        if error.problem.startswith(f"{name}: "):
            return error
    numbers = range(len(sources.layers))
    for number in reversed(numbers):
        name, place, content = sources.layers[number]
        if name not in of_user or place or not content:
            continue
        is_good = _judge(sources, number, resolve)
        if is_good({}):
            keys = _fewest(content, is_good)
            told = _with_file(error, name, content, keys)
            return _with_way_out(told, error, sources, of_user)
    return error


def _judge(sources: Sources, number: int, resolve: Resolve) -> IsGood:
    """Whether there is no error with other content of the file of a number."""

    def is_good(content: Tree) -> bool:
        layers = [*sources.layers]
        name, place, _ = layers[number]
        layers[number] = (name, place, content)
        changed = Sources(layers, preset_at=sources.preset_at)
        try:
            resolve(changed)
        except KerhrmError:
            return False
        return True

    return is_good


def _fewest(content: Tree, is_good: IsGood) -> list[Key]:
    """Keys without which a file is good: a single one, or those that halving finds."""
    keys = list(leaves(content))
    for key in keys[:SINGLE]:
        if is_good(_without(content, [key])):
            return [key]
    while len(keys) > 1:
        middle = len(keys) // 2
        first = keys[:middle]
        second = keys[middle:]
        if is_good(_without(content, first)):
            keys = first
        elif is_good(_without(content, second)):
            keys = second
        else:
            break
    return keys


def _without(tree: Tree, keys: Collection[Key]) -> Tree:
    """A tree that lacks these values."""
    kept: Tree = {}
    for name, value in tree.items():
        below = []
        for first, *rest in keys:
            if first == name:
                below.append(tuple(rest))
        if not below:
            kept[name] = value
        elif () not in below:
            kept[name] = _without(value, below)
    return kept


def _with_file(
    error: KerhrmError, name: str, content: Tree, keys: list[Key]
) -> KerhrmError:
    """The error with the file and its keys in front."""
    named = [_dotted(key) for key in keys]
    shown = ", ".join(named[:SHOWN])
    if len(named) > SHOWN:
        shown += f" and {len(named) - SHOWN} more"
    problem = f"{name}: {shown}: with it, {error.problem}"
    for key, text in zip(keys, named, strict=True):
        if _value(content, key) is None:
            hint = f"delete {text}: null, or set what uses it to null, too"
            return KerhrmError(problem, hint)
    return KerhrmError(problem, error.hint)


def _with_way_out(
    told: KerhrmError, error: KerhrmError, sources: Sources, of_user: Names
) -> KerhrmError:
    """The error with a hint for the user's file, where it names a choice of the
    repository: its hint would have that one changed."""
    if told.hint != error.hint:  # a cure in the user's file
        return told
    for name, place, _ in sources.layers:
        start = f"{name}: "
        if place != CHOICES or name in of_user or not error.problem.startswith(start):
            continue
        choice, *_ = error.problem.removeprefix(start).split(".")
        unused = _dotted((*place, choice))
        hint = f"change it, or leave out what it does not fit: {unused}: null"
        return KerhrmError(told.problem, hint)
    return told


def _dotted(key: Key) -> str:
    return ".".join(map(str, key))


def _value(tree: Tree, key: Key) -> Any:
    value: Any = tree
    for part in key:
        value = value[part]
    return value
