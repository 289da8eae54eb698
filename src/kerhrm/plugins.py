"""Objects by name: built-in ones, and entry points of other packages."""

import os
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import (
    Distribution,
    EntryPoint,
    distributions,
    entry_points,
)
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from kerhrm.entries import HINT, Lazy, guarding_foreign_code
from kerhrm.errors import KerhrmError, described, shown, suggest

T = TypeVar("T")
OURS = "kerhrm."  #: how groups of entry points begin
PLACES = "KERHRM_PLUGINS"  #: variable with the folders of packages that count


def installed(group: str) -> list[EntryPoint]:
    """Entry points of a group, sorted by name, of the packages that count.

    All do, unless the variable ``KERHRM_PLUGINS`` names the folders, as
    ``site-packages``, whose packages do; if it is empty, none does.  Raises KerhrmError
    if one of them does not exist, or the entry points of a package cannot be read.
    """
    places = os.environ.get(PLACES)
    if places is None:
        return _sorted(group)
    folders = [Path(place).resolve() for place in places.split(os.pathsep) if place]
    for folder in folders:
        if not folder.is_dir():
            problem = f"{PLACES}={places}: {folder} is not a folder"
            raise KerhrmError(problem, f"correct the variable, or unset {PLACES}")
    if not folders:
        return []
    return [point for point in _sorted(group) if _folder(point) in folders]


def _sorted(group: str) -> list[EntryPoint]:
    """Entry points of a group, of all packages, by name."""
    points = _entry_points().select(group=group)
    return sorted(points, key=lambda point: point.name)


def _entry_points() -> Any:
    """Entry points of all packages; KerhrmError names one whose file is malformed."""
    try:
        return entry_points()
    except Exception:
        for package in distributions():
            _check_readable(package)
        raise


def _check_readable(package: Distribution) -> None:
    """Refuse a package whose entry points Python cannot read."""
    try:
        _ = package.entry_points
    except Exception as error:
        name = package.name
        what = _without_value(package.read_text("entry_points.txt") or "")
        problem = f"package {name}: entry_points.txt: "
        problem += what or described(error, 60)
        hint = f"correct the package, or pip uninstall {name}"
        raise KerhrmError(problem, hint) from error


def _without_value(text: str) -> str | None:
    """What is wrong with the first line of entry points that gives a name no value."""
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith(("#", "[")) and "=" not in line:
            return f"{shown(line)} must be NAME = MODULE:OBJECT"
    return None


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
        if os.environ.get(PLACES) == "":  # no package counts
            return None
        groups = sorted(_entry_points().groups)
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
                with guarding_foreign_code():
                    plugin = point.load()
                if self._check:
                    self._check(point.name, plugin)
            except KerhrmError as error:
                raise KerhrmError(f"{where}: {error.problem}", error.hint) from error
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a script without a main, say
                problem = f"{where}: {described(error)}"
                raise KerhrmError(problem, hint) from error
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
