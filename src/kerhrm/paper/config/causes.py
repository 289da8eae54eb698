"""Which of the user's files an error comes from, where it names another one."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.paper.config.files import Key, Sources, Tree

SHOWN = 3  #: keys that an error names


def leaves(tree: Any, above: str = "") -> Iterator[str]:
    """Dotted keys of a tree's values."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}"


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
        try:
            others = [other for other in layers if other is not layer]
            resolve(Sources(others, preset_at=preset_at))
        except KerhrmError:
            continue
        every = list(leaves(content))
        # rather options than preset and results
        keys = [key for key in every if "." in key] or every
        more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
        problem = f"{name}: {', '.join(keys[:SHOWN])}{more}: with it, {error.problem}"
        removed = [key for key in keys if _value(content, key) is None]
        return KerhrmError(problem, _hint(removed) if removed else error.hint)
    return error


def _hint(removed: list[str]) -> str:
    """Cure of a key that is null and still needed."""
    return f"delete {removed[0]}: null, or set what uses it to null, too"


def _value(tree: Tree, key: str) -> Any:
    """The value of a dotted key; names have full stops, too."""
    for name, value in tree.items():
        if key == name:
            return value
        if isinstance(value, dict) and value and key.startswith(f"{name}."):
            return _value(value, key.removeprefix(f"{name}."))
    return ...
