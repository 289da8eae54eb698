"""Entry points: objects that registries and the configuration name as ``"module:name"``."""

import symtable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError

CURE = 'write "module:name" of something that Python can import'


def load(entry: str) -> Any:
    """Import what ``entry`` names.

    Raises
    ------
    KerhrmError
        If its module cannot be imported, or has no such name.
    """
    module, name = _parts(entry)
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise KerhrmError(f"cannot load '{entry}': {' '.join(str(error).split())}", CURE) from error


def check(entry: str) -> None:
    """Refuse an entry that :func:`load` would, from the source of its module alone.

    The module is not executed, only the packages around it.  A module without Python
    source, or with a ``__getattr__`` of its own, is believed.

    Raises
    ------
    KerhrmError
        As :func:`load`.
    """
    module, name = _parts(entry)
    try:
        spec = find_spec(module)
    except ImportError:
        spec = None
    if spec is None:
        raise KerhrmError(f"cannot load '{entry}': there is no module {module}", CURE)
    if spec.origin is None or not spec.origin.endswith(".py"):
        return
    try:
        table = symtable.symtable(Path(spec.origin).read_text("utf-8"), spec.origin, "exec")
    except SyntaxError as error:
        raise KerhrmError(f"cannot load '{entry}': {error}", CURE) from error
    names = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    if not names & {name, "__getattr__"}:
        raise KerhrmError(f"cannot load '{entry}': {spec.origin} defines no {name}", CURE)


def _parts(entry: str) -> tuple[str, str]:
    module, _, name = entry.partition(":")
    if not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise KerhrmError(f"'{entry}' is no entry point", CURE)
    return module, name
