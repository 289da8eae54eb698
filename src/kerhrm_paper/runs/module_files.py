"""Which file is a module's, and was it installed or does somebody edit it?"""

import functools
import importlib.util
import sysconfig
from importlib import metadata
from pathlib import Path

#: folders of installed packages, by their names
INSTALLED = {"site-packages", "dist-packages"}


def top_of(module: str) -> str:
    """Name of a module's package."""
    return module.partition(".")[0]


@functools.cache
def module_file(module: str) -> Path | None:
    """File of a module, without importing it; None if it has no source in Python."""
    top, *inner = module.split(".")
    for place in _places(top):
        if place.is_file():
            if place.suffix == ".py" and not inner:
                return place
            continue
        base = place.joinpath(*inner)
        for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if path.is_file():
                return path
    return None


def _places(top: str) -> list[Path]:
    """Folders of a package, or the file of a module."""
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # of __main__
        return []
    if spec is None:
        return []
    folders = spec.submodule_search_locations
    if folders is not None:  # several of a namespace
        return [Path(folder) for folder in folders]
    file = Path(spec.origin or "")
    return [file] if file.is_file() else []


@functools.cache
def is_installed(top: str) -> bool:
    """Whether a package is Python's own or was installed, or is not there at all."""
    folder = _folder(top)
    return folder is None or _holds_installed(folder)


@functools.cache
def _holds_installed(folder: Path) -> bool:
    """Whether modules in a folder are Python's own, or were installed there."""
    for name in ("stdlib", "platstdlib"):
        if folder.is_relative_to(sysconfig.get_path(name)):
            return True
    if not INSTALLED.isdisjoint(folder.parts):
        return True
    records = folder.glob("*.dist-info/RECORD")  # as of pip install --target
    return any(records)


@functools.cache
def installed_with(top: str) -> set[str]:
    """A package, and the others of the distributions that it was installed with."""
    together = {top}
    folder = _folder(top)
    if folder is None or not _holds_installed(folder):
        return together  # all beside it are followed
    for distribution in metadata.distributions(path=[str(folder)]):
        record = distribution.read_text("RECORD") or ""
        files = [line.partition(",")[0] for line in record.splitlines()]
        tops = {file.partition("/")[0].removesuffix(".py") for file in files}
        if top in tops:
            together |= tops
    return together


@functools.cache
def _folder(top: str) -> Path | None:
    """Folder that a package or module lies in; None if there is no file of it."""
    places = _places(top)
    return places[0].parent if places else None
