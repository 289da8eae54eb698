"""Entry points: objects that registries and the configuration name as ``"module:name"``."""

import functools
import re
import symtable
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError

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
