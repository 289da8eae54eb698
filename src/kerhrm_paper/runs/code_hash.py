"""A hash of the code that a script runs.

Snakemake runs a job again when its script changes, but not when a module changes that
the script imports.  A rule that has the hash of its script among its parameters is run
again by an edit of what the script imports, directly or not, and by no other.
In this repository a file beside a module that has its name, as ``page.html`` beside
``page.py``, is a part of it.  Comments, docstrings and imports for type checkers are no
code.  Python's own modules and installed packages, which nobody edits, are left out,
but for those of a module that is loaded by name.
"""

import functools
import hashlib
import importlib.util
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm_paper.runs.code_facts import PYTHON, facts_of, unreadable
from kerhrm_paper.runs.module_files import (
    installed_with,
    is_installed,
    module_file,
    top_of,
)

#: packages of this repository
PACKAGES = ("kerhrm", "kerhrm_paper")
#: suffix of what is made of a module
COMPILED = ".pyc"


def code_hash(
    script: str | Path, *modules: str, packages: Sequence[str] = PACKAGES
) -> str:
    """Hash of a script or notebook, and of all modules that it imports.

    ``modules`` are loaded by name, as ``kerhrm.methods.erm`` or
    ``plugin.method:METHOD``.  Of installed packages only ``packages`` count, and those
    that were installed together with one of ``modules``.  Returns 16 hexadecimal
    digits.

    Raises KerhrmError if a file cannot be read or parsed, or a module is not there.
    """
    files = sources(script, *modules, packages=packages)
    digests = []
    for path in files:
        facts = facts_of(path)
        digests.append((path.name, facts.digest))
    content = json.dumps(digests).encode()
    digest = hashlib.sha256(content)
    return digest.hexdigest()[:16]


def sources(script: str | Path, *modules: str, packages: Sequence[str]) -> list[Path]:
    """The files that :func:`code_hash` is of.

    The script, and the modules in their order, each before the files of its name if
    it is of ``packages``.
    """
    entries = [name.partition(":")[0] for name in modules]
    followed = {*packages}
    for name in entries:
        if top_of(name) not in packages:
            followed |= installed_with(top_of(name))
    imports = _imports(Path(script), "", followed)
    waiting = [*entries, *imports]
    files: dict[str, Path | None] = {}
    while waiting:
        name = waiting.pop()
        if name in files or not _is_followed(name, followed):
            continue
        path = module_file(name)
        files[name] = path
        if path is not None:
            package, _, _ = name.rpartition(".")
            waiting.append(package)
            waiting += _imports(path, name, followed)
        elif name in entries:
            problem = f"module {name} is not there, or has no source in Python"
            raise KerhrmError(problem, "name a module of an installed package's .py")
    listed = [Path(script)]
    for name in sorted(files):
        path = files[name]
        if path is not None:
            listed.append(path)
            # A user's own module may have its results beside it.
            if top_of(name) in packages:
                listed += _of_its_name(path)
    return listed


def _of_its_name(module: Path) -> list[Path]:
    """Files beside a module that have its name, but for those of Python."""
    beside = _by_stem(module.parent).get(module.stem, [])
    return [path for path in beside if path.suffix not in (*PYTHON, COMPILED)]


@functools.cache
def _by_stem(folder: Path) -> dict[str, list[Path]]:
    """Files of a folder in their order, by their names without suffix."""
    try:
        content = sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from error
    by_stem: dict[str, list[Path]] = {}
    for path in content:
        by_stem.setdefault(path.stem, []).append(path)
    return by_stem


def _is_followed(module: str, followed: Collection[str]) -> bool:
    """Whether a module counts, as all that are not installed do."""
    top = top_of(module)
    return top in followed or not is_installed(top)


def _imports(path: Path, module: str, followed: Collection[str]) -> list[str]:
    """Names that a file imports: modules, and what may be modules in them.

    ``followed`` are the installed packages that count.
    """
    names: list[str] = []
    package = module
    if path.name != "__init__.py":
        package = module.rpartition(".")[0]
    for relative, inner in facts_of(path).imports:
        imported = _absolute(relative, package)
        if imported is None:
            continue
        names.append(imported)
        names += [f"{imported}.{name}" for name in inner]
        if _is_followed(imported, followed):
            names += _homes(imported, inner)
    return names


def _homes(package: str, names: Sequence[str]) -> Iterator[str]:
    """Modules from which a package loads names when they are used, as its stub says."""
    file = module_file(package)
    if file is None:
        return
    stub = file.with_suffix(".pyi")
    if not stub.is_file():
        return
    for relative, inner in facts_of(stub).imports:
        if any(name in names for name in inner):
            home = _absolute(relative, package)
            if home is not None:
                yield home


def _absolute(relative: str, package: str) -> str | None:
    """Name of a module that a package imports; None if the package has none above.

    Such an import fails, as the first of two in a module that is also run alone.
    """
    try:
        return importlib.util.resolve_name(relative, package)
    except ImportError:
        return None
