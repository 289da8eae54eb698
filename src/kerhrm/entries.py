"""Entry points: objects that registries and the configuration name as ``"module:name"``.

Installed packages add to a registry by entry points of their own: :func:`added`.
"""

import functools
import re
import symtable
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from kerhrm.errors import KerhrmError

T = TypeVar("T")
CURE = 'write "module:name" of something that Python can import'


def load(entry: str) -> Any:
    """Import what ``entry`` names; a :class:`KerhrmError` tells why it cannot be."""
    with _parts(entry) as (module, name):
        return getattr(import_module(module), name)


@functools.cache
def check(entry: str) -> str:
    """Refuse an entry as :func:`load` would, from the source of its module alone.

    The module is not executed, only the packages around it.  A module without Python
    source, or with a ``__getattr__`` of its own, is believed.
    """
    with _parts(entry) as (module, name):
        if module == "__main__":  # runs already, and may have no specification
            getattr(import_module(module), name)
            return entry
        spec = find_spec(module)
        if spec is None:
            raise ImportError(f"there is no module {module}")
        if spec.origin and spec.origin.endswith(".py"):
            table = symtable.symtable(Path(spec.origin).read_text("utf-8"), spec.origin, "exec")
            names = {
                s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()
            }
            if not names & {name, "__getattr__"}:
                raise AttributeError(f"{spec.origin} defines no {name}")
    return entry


@contextmanager
def _parts(entry: str) -> Iterator[tuple[str, str]]:
    """Module and name; what goes wrong with them is told in one line."""
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", entry):
        raise KerhrmError(f"'{entry}' is no entry point", CURE)
    module, _, name = entry.partition(":")
    try:
        yield module, name
    except (ImportError, AttributeError, SyntaxError) as error:
        raise KerhrmError(f"cannot load '{entry}': {' '.join(str(error).split())}", CURE) from error


def added(
    group: str, known: Mapping[str, T], read: Callable[[str, str, Mapping[str, T]], T]
) -> dict[str, T]:
    """A registry with what installed packages add to it, in the order of the packages' names.

    Parameters
    ----------
    group : str
        Of the entry points, ``"kerhrm.methods"`` for example; their names are the registry's.
    known : mapping
        What the registry holds already.
    read : callable
        ``read(name, entry, so_far)`` makes of ``"module:name"`` what it is to hold.

    Raises
    ------
    KerhrmError
        Naming the package: if a name is taken, or ``read`` raises whatever it may.
    """
    found, owners = dict(known), dict.fromkeys(known, "kerhrm")
    for package in _packages():
        for point in package.entry_points.select(group=group):
            try:
                if point.name in found:
                    raise KerhrmError(f"{owners[point.name]} has one of that name")
                found[point.name] = read(point.name, point.value, dict(found))
            except Exception as error:
                problem = getattr(error, "problem", f"{type(error).__name__}: {error}")
                told = f"package {package.name} {package.version}, {group}: {point.name}: {problem}"
                cure = f"correct the package, or pip uninstall {package.name}"
                raise KerhrmError(" ".join(told.split()), cure) from error
            owners[point.name] = f"package {package.name}"
    return found


@functools.cache
def _packages() -> list[Distribution]:
    """Installed packages that add anything, each as Python finds it first."""
    first: dict[str, Distribution] = {}
    for package in distributions():
        # most have none: reading this text alone takes a millisecond or two for all of them
        if "[kerhrm." in (package.read_text("entry_points.txt") or ""):
            first.setdefault(package.name, package)
    return [first[name] for name in sorted(first)]
