"""Objects by their entry ``"module:name"``: imported when they are needed, or
refused."""

import ast
import contextlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import find_spec
from threading import Lock
from typing import Any

from kerhrm.errors import KerhrmError, described, shown

HINT = 'write "module:name" of something that Python can import'


class _Shared:
    """A context that threads share: the first one enters it, and the last one leaves.

    Were each to put back what it has found, one might put back what another has set.
    No lock is held meanwhile: imports have locks of their own.

    Parameters
    ----------
    context : callable
        Makes the context.
    """

    def __init__(
        self, context: Callable[[], contextlib.AbstractContextManager[None]]
    ) -> None:
        self._context = context
        self._lock = Lock()
        self._n_inside = 0
        self._entered = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._entered.enter_context(self._context())
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._entered.close()


@contextlib.contextmanager
def _put_back() -> Iterator[None]:
    """Standard output to standard error, and the folder as it was."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:  # it has been deleted
        folder = ""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if folder:
            os.chdir(folder)


_SHARED = _Shared(_put_back)


def guarding_foreign_code() -> contextlib.AbstractContextManager[None]:
    """Context in which code of others is imported, in the whole process.

    What it prints goes to standard error, as standard output is the commands' own, and
    so does what other threads print meanwhile.  A folder that it goes to is left again.
    """
    return _SHARED


def load_entry(entry: str) -> Any:
    """Import the object that ``"module:name"`` names.

    :class:`KerhrmError` if that fails.
    """
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", entry):
        raise KerhrmError(f"{shown(entry, 100)} is not an entry point", HINT)
    module, _, name = entry.partition(":")
    # a module that is there runs no code: what other threads print is left alone
    importing = (
        contextlib.nullcontext() if module in sys.modules else guarding_foreign_code()
    )
    try:
        with importing:
            return getattr(import_module(module), name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the module's code may do anything
        problem = f"cannot load {shown(entry, 100)}: {described(error)}"
        raise KerhrmError(problem, HINT) from error


class Lazy:
    """A function, or a class, that is imported when it is called.

    Parameters
    ----------
    entry : str
        ``"module:name"``.
    """

    def __init__(self, entry: str) -> None:
        self.__module__, _, self.__qualname__ = entry.partition(":")

    def load(self) -> Any:
        """The function itself."""
        return load_entry(f"{self.__module__}:{self.__qualname__}")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call it."""
        return self.load()(*arguments, **options)


def check_entry(entry: str) -> str:
    """Refuse an entry that :func:`load_entry` cannot load, or that cannot be called."""
    if _defined_here(entry):
        return entry
    thing = load_entry(entry)
    if not callable(thing):
        problem = f"{shown(entry, 100)} is {shown(thing, 100)}, which cannot be called"
        raise KerhrmError(problem, 'write "module:name" of a function')
    return entry


def _defined_here(entry: str) -> bool:
    """Whether a module of this repository defines an entry, as its source says.

    Planning checks many entries, and importing them would import PyTorch.
    """
    module, _, name = entry.partition(":")
    if not module.startswith(("kerhrm.", "kerhrm_paper.")):
        return False
    try:
        spec = find_spec(module)
    except ImportError:
        return False
    if spec is None or not isinstance(spec.loader, InspectLoader):
        return False
    try:
        source = spec.loader.get_source(module) or ""
    except ImportError:
        return False
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        if statement.name == name:
            return True
    return False


def check_by_name(thing: Any, what: str) -> None:
    """Refuse a function or class that a job could not import by module and name."""
    if isinstance(thing, Lazy):
        thing = thing.load()
    if not callable(thing):
        problem = f"{what} must be a function or class; got {shown(thing)}"
        raise KerhrmError(problem, "give the function, not what it returns")
    module = sys.modules.get(str(getattr(thing, "__module__", "")))
    name = str(getattr(thing, "__qualname__", ""))
    if getattr(module, name, None) is not thing:
        problem = f"{what} must be what a module calls by its name, for jobs to import"
        hint = "define it by def or class, not inside of another one"
        raise KerhrmError(f"{problem}; got {shown(thing)}", hint)


def check_takes(function: Any, what: str, arguments: Sequence[str]) -> None:
    """Refuse a function that cannot be called with such arguments, by position."""
    if isinstance(function, Lazy):
        function = function.load()
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some of C have none
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        taken = ", ".join(arguments)
        problem = f"{what} must take ({taken}); it takes {signature}"
        raise KerhrmError(problem, f"write def {what}({taken})") from error


def check_names(what: str, names: Any, example: str) -> None:
    """Refuse what is no tuple of different names, or of none."""
    texts = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    different = texts and len(set(names)) == len(names)
    if not different or not names or not all(map(str.strip, names)):
        problem = f"{what} must be a tuple of different names; got {shown(names)}"
        raise KerhrmError(problem, f"write {what}=({example!r},)")
