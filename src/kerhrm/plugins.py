"""Objects by name: ``"module:name"`` in options, and entry points of other packages."""

import ast
import contextlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar

from kerhrm.errors import KerhrmError, shortened, shown, suggest

T = TypeVar("T")
OURS = "kerhrm."  #: how groups of entry points begin
PLACES = "KERHRM_PLUGINS"  #: variable with the folders of packages that count
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


def of_others() -> contextlib.AbstractContextManager[None]:
    """Import code of others.

    What it prints goes to standard error, as standard output is the commands' own, and
    a folder that it goes to is left again.
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
    importing = contextlib.nullcontext() if module in sys.modules else of_others()
    try:
        with importing:
            return getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # the module's code may do anything
        what = shortened(f"{type(error).__name__}: {error}", 200)
        problem = f"cannot load {shown(entry, 100)}: {what}"
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


def installed(group: str) -> list[EntryPoint]:
    """Entry points of a group, sorted by name, of the packages that count.

    All do, unless the variable ``KERHRM_PLUGINS`` names the folders, as
    ``site-packages``, whose packages do; if it is empty, none does.  Raises KerhrmError
    if one of them does not exist.
    """
    points = sorted(entry_points(group=group), key=lambda point: point.name)
    places = os.environ.get(PLACES)
    if places is None:
        return points
    folders = [Path(place).resolve() for place in places.split(os.pathsep) if place]
    for folder in folders:
        if not folder.is_dir():
            problem = f"{PLACES}={places}: {folder} is not a folder"
            raise KerhrmError(problem, f"correct the variable, or unset {PLACES}")
    return [point for point in points if _folder(point) in folders]


def origin(group: str, name: str) -> str:
    """Package and name of an entry, as they stand in front of an error."""
    package = "kerhrm"
    for point in installed(group):
        if point.name == name:
            package = _package(point)
            break
    return _origin(package, group, name)


def _origin(package: str, group: str, name: str) -> str:
    return f"package {package}, {group}: {name}"


def _package(point: EntryPoint) -> str:
    """Name of the package of an entry point."""
    if point.dist is None:
        return "of unknown name"
    return point.dist.name


def _folder(point: EntryPoint) -> Path | None:
    """Folder into which the package of an entry point is installed."""
    if point.dist is None:
        return None
    folder = str(point.dist.locate_file(""))
    return Path(folder).resolve()


class Registry(Mapping[str, T]):
    """Objects by name: the built-in ones, then those of installed packages.

    An entry point's name in ``group``, as ``kerhrm.methods``, is its key.  Packages are
    imported when a name that is not built in is looked up, or names are listed, and not
    before, so that a package's module may import any module of this one, in any order.

    Parameters
    ----------
    group : str
        Of the entry points.
    built_in : mapping of str
        What no package may replace; a :class:`Lazy` is imported when it is looked up.
    check : callable, optional
        ``check(name, object)`` raises KerhrmError if an object does not belong here;
        the package's name is put in front.
    """

    def __init__(
        self,
        group: str,
        built_in: Mapping[str, T | Lazy],
        check: Callable[[str, Any], None] | None = None,
    ) -> None:
        self.group = group
        self._built_in = dict(built_in)
        self._check = check
        self._plugins: dict[str, T] | None = None
        self._lock = RLock()

    def is_built_in(self, name: str) -> bool:
        """Whether a name is of no package; none is imported."""
        return name in self._built_in

    def known(self, name: str) -> str:
        """Return a name that is there.

        Raises KerhrmError, with the nearest one, if it is not.
        """
        if name in self:
            return name
        problem = f"no such name in {self.group}"
        raise KerhrmError(problem, self.hint(name) or suggest(name, self))

    def hint(self, name: str) -> str | None:
        """Say which package has an unknown name in another group, such as one that is
        misspelt."""
        groups = sorted(entry_points().groups)
        for group in groups:
            if group == self.group or not group.startswith(OURS):
                continue
            for point in installed(group):
                if point.name == name:
                    package = _package(point)
                    text = f"package {package} has it in the group {group}"
                    return f"{text}, and not in {self.group}"
        return None

    def load(self) -> Mapping[str, T]:
        """Import the packages, once, and return their objects by name.

        Raises KerhrmError naming the package: if a name is taken, or its object cannot
        be imported or does not belong here.
        """
        with self._lock:
            if self._plugins is None:
                self._plugins = {}  # for what a package looks up while it is imported
                try:
                    self._plugins = self._imported()
                except BaseException:
                    self._plugins = None
                    raise
            return self._plugins

    def _imported(self) -> dict[str, T]:
        plugins: dict[str, T] = {}
        owners: dict[str, str] = {}
        for point in installed(self.group):
            package = _package(point)
            where = _origin(package, self.group, point.name)
            hint = f"correct the package, or pip uninstall {package}"
            if point.name in self._built_in:
                raise KerhrmError(f"{where}: the name is taken by kerhrm", hint)
            if point.name in plugins:
                other = owners[point.name]
                raise KerhrmError(
                    f"{where}: the name is taken by package {other}", hint
                )
            try:
                if not EntryPoint.pattern.match(point.value):
                    raise KerhrmError(
                        f"{shown(point.value)} is not an entry point", HINT
                    )
                with of_others():
                    plugin = point.load()
                if self._check:
                    self._check(point.name, plugin)
            except KerhrmError as error:
                raise KerhrmError(f"{where}: {error.problem}", error.hint) from error
            except (Exception, SystemExit) as error:  # a script without a main, say
                text = f"{where}: {type(error).__name__}: {error}"
                raise KerhrmError(" ".join(text.split()), hint) from error
            plugins[point.name] = plugin
            owners[point.name] = package
        return plugins

    def __getitem__(self, name: str) -> T:
        if name not in self._built_in:
            return self.load()[name]
        built_in = self._built_in[name]
        if isinstance(built_in, Lazy):
            return built_in.load()
        return built_in

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self.load()

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from self.load()

    def __len__(self) -> int:
        return len(self._built_in) + len(self.load())

    def __repr__(self) -> str:
        return f"Registry({self.group!r}: {', '.join(self)})"
