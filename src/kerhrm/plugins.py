"""Objects by name: ``"module:name"`` in options, and entry points of other packages."""

import re
import symtable
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from kerhrm.errors import KerhrmError

T = TypeVar("T")
HINT = 'write "module:name" of something that Python can import'


def load_entry(entry: str) -> Any:
    """Import the object that ``"module:name"`` names.

    Raises
    ------
    KerhrmError
        If it cannot be imported.
    """
    module, name = _parts(entry)
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise _cannot_load(entry, error) from error


def check_entry(entry: str) -> str:
    """Refuse an entry as :func:`load_entry` does, without executing its module.

    Only the packages around the module are imported.  A module without Python source, or with a
    ``__getattr__`` of its own, passes.
    """
    module, name = _parts(entry)
    if module == "__main__":  # may have no specification
        load_entry(entry)
        return entry
    try:
        spec = find_spec(module)
        if spec is None:
            raise ImportError(f"module {module} does not exist")
        if spec.origin and spec.origin.endswith(".py"):
            table = symtable.symtable(Path(spec.origin).read_text("utf-8"), spec.origin, "exec")
            symbols = (s for s in table.get_symbols() if s.is_assigned() or s.is_imported())
            if not {s.get_name() for s in symbols} & {name, "__getattr__"}:
                raise AttributeError(f"{spec.origin} defines no {name}")
    except (ImportError, AttributeError, SyntaxError) as error:
        raise _cannot_load(entry, error) from error
    return entry


def with_plugins(group: str, built_in: Mapping[str, T]) -> dict[str, T]:
    """Registry of the built-in objects and those of installed packages, sorted by name.

    Raises KerhrmError naming the package: if a name is taken, or its object cannot be imported.

    Parameters
    ----------
    group : str
        Group of entry points, for example ``"kerhrm.methods"``; an entry point's name is the
        registry's key.
    built_in : mapping
        Objects that no package may replace.
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


def _parts(entry: str) -> tuple[str, str]:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", entry):
        raise KerhrmError(f"'{entry}' is not an entry point", HINT)
    module, _, name = entry.partition(":")
    return module, name


def _cannot_load(entry: str, error: Exception) -> KerhrmError:
    return KerhrmError(f"cannot load '{entry}': {' '.join(str(error).split())}", HINT)
