"""A hash of the code that a script runs.

Snakemake runs a job again when its script changes, but not when a module changes that
the script imports.  A rule that has the hash of its script among its parameters is run
again by an edit of what the script imports, directly or not, and by no other.
Comments, docstrings and imports for type checkers are no code.  Python's own modules
and installed packages, which nobody edits, are left out, but for those of a module that
is loaded by name.
"""

import ast
import functools
import hashlib
import importlib.util
import json
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kerhrm.errors import FileError, KerhrmError
from kerhrm_paper.runs import cache
from kerhrm_paper.runs.module_files import (
    installed_with,
    is_installed,
    module_file,
    top_of,
)

#: packages of this repository
PACKAGES = ("kerhrm", "kerhrm_paper")
#: nodes that statements, and imports among them, are in
HOLDERS = (ast.stmt, ast.Module, ast.excepthandler, ast.match_case)
#: nodes that may have a docstring
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


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
        facts = _facts(path)
        digests.append((path.name, facts.digest))
    content = json.dumps(digests).encode()
    digest = hashlib.sha256(content)
    return digest.hexdigest()[:16]


def sources(script: str | Path, *modules: str, packages: Sequence[str]) -> list[Path]:
    """The files that :func:`code_hash` is of.

    The script, and the modules in their order.
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
    paths = [files[name] for name in sorted(files)]
    with_source = filter(None, paths)
    return [Path(script), *with_source]


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
    for relative, inner in _facts(path).imports:
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
    for relative, inner in _facts(stub).imports:
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


class Facts(NamedTuple):
    """What counts of a file of code."""

    digest: str  #: of its code, or of a whole notebook
    #: modules that it imports, relative ones with leading dots, and names in them
    imports: list[tuple[str, list[str]]]


@functools.cache
def _facts(path: Path) -> Facts:
    """Facts of a file, parsed unless it is as it was the last time."""
    try:
        stat = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    state = [stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size]
    known = _known().get(str(path))
    if known is None or known[0] != state:
        tree = _parsed(path)
        is_notebook = path.suffix == ".ipynb"
        code = ast.dump(tree).encode()
        if is_notebook:
            code = path.read_bytes()
        digest = hashlib.sha256(code).hexdigest()
        known = state, digest, _imported(tree)
        _known()[str(path)] = known
    _, digest, imports = known
    return Facts(digest, imports)


@functools.cache
def _known() -> dict[str, Any]:
    """State and facts of files, by path, as an earlier process has kept them."""
    file = _kept()
    if file is None:
        return {}
    return cache.load(file) or {}


def _kept() -> Path | None:
    """Where facts are kept: they depend on Python and on this module."""
    this = Path(__file__)
    facts = [str(this), sys.version, this.read_text("utf-8")]
    return cache.cache_file("code", facts)


def keep() -> None:
    """Keep what this process has found out of files, for the next one."""
    file = _kept()
    if not file:
        return
    if cache.load(file) != _known():
        cache.save(file, _known())


def _imported(tree: ast.Module) -> list[tuple[str, list[str]]]:
    """What a file imports, as in :class:`Facts`."""
    imports: list[tuple[str, list[str]]] = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            relative = dots + (node.module or "")
            names = [alias.name for alias in node.names]
            imports.append((relative, names))
    return imports


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, HOLDERS):
            yield child
            yield from _statements(child)


def _unreadable(path: Path, error: Exception) -> FileError:
    return FileError(f"cannot read {path} ({error!r})", f"git restore {path}")


def _parsed(path: Path) -> ast.Module:
    """Syntax tree of a Python file or of a notebook's code cells.

    Without docstrings, and without what type checkers alone read.
    """
    try:
        code: bytes | str = path.read_bytes()  # whose encoding Python finds out
        if path.suffix == ".ipynb":
            text = path.read_text(encoding="utf-8")
            code = _code_of_notebook(text)
        tree = ast.parse(code)
    except SyntaxError as error:
        problem = f"{path}, line {error.lineno}: {error.msg}"
        raise KerhrmError(problem, "correct it") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, error) from error
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            kept = [child for child in node.body if not _is_constant(child)]
            node.body = kept
    _AsItRuns().visit(tree)
    return tree


class _AsItRuns(ast.NodeTransformer):
    """Leaves of ``if TYPE_CHECKING`` what runs: its ``else``."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if _is_type_checking(node.test) else node


def _is_type_checking(test: ast.expr) -> bool:
    """Whether a condition is ``TYPE_CHECKING`` alone, of whichever module."""
    if isinstance(test, ast.Attribute):
        return test.attr == "TYPE_CHECKING"
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _code_of_notebook(text: str) -> str:
    """Lines of its code cells, but for IPython's own."""
    cells = json.loads(text)["cells"]
    code = []
    for cell in cells:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            code.append(source)
    lines = "\n".join(code).splitlines()
    magic = ("%", "!")
    is_python = [line for line in lines if not line.startswith(magic)]
    return "\n".join(is_python)


def _is_constant(statement: ast.stmt) -> bool:
    """Whether a statement is a value alone, as a docstring."""
    if not isinstance(statement, ast.Expr):
        return False
    return isinstance(statement.value, ast.Constant)
