"""Objects by name: ``"module:name"`` in options, and entry points of other packages."""

import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from kerhrm.errors import KerhrmError

T = TypeVar("T")
HINT = 'write "module:name" of something that Python can import'


def load_entry(entry: str) -> Any:
    """Import the object that ``"module:name"`` names.

    :class:`KerhrmError` if that fails.
    """
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", entry):
        raise KerhrmError(f"'{entry}' is not an entry point", HINT)
    module, _, name = entry.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # the module's code may do anything
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise KerhrmError(f"cannot load '{entry}': {what}", HINT) from error


def check_entry(entry: str) -> str:
    """Refuse an entry that :func:`load_entry` cannot load."""
    load_entry(entry)
    return entry


def with_plugins(group: str, built_in: Mapping[str, T]) -> dict[str, T]:
    """Registry of the built-in objects and those of installed packages, sorted by name.

    An entry point's name in ``group``, as ``kerhrm.methods``, is the registry's key; no
    package may replace what is built in.

    Raises KerhrmError naming the package: if a name is taken, or its object cannot be
    imported.
    """
    registry = dict(built_in)
    for point in sorted(entry_points(group=group), key=lambda p: p.name):
        package = point.dist.name if point.dist else "of unknown name"
        where = f"package {package}, {group}: {point.name}"
        hint = f"correct the package, or pip uninstall {package}"
        if point.name in registry:
            raise KerhrmError(f"{where}: the name is taken", hint)
        try:
            registry[point.name] = point.load()
        except Exception as error:
            text = " ".join(f"{where}: {type(error).__name__}: {error}".split())
            raise KerhrmError(text, hint) from error
    return registry
