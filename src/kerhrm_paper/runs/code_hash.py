"""A hash of the code that a script runs.

Snakemake runs a job again when its script changes, but not when a module changes that
the script imports.  A rule that has the hash of its script among its parameters is run
again by an edit of what the script imports, directly or not, and by no other.
Comments, docstrings and imports for type checkers are no code.
"""

import ast
import functools
import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kerhrm.errors import FileError, KerhrmError
from kerhrm_paper.runs import cache

#: packages of this repository
PACKAGES = ("kerhrm", "kerhrm_paper")


def code_hash(
    script: str | Path, *modules: str, packages: Sequence[str] = PACKAGES
) -> str:
    """Hash of a script or notebook, and of all modules of the packages that it imports.

    ``modules`` are loaded by name, as ``kerhrm.methods.erm`` or
    ``plugin.method:METHOD``; those of other packages are followed within their package.
    Returns 16 hexadecimal digits.

    Raises KerhrmError if a file cannot be read or parsed, or a module is not there.
    """
    parts = [
        (path.name, _facts(path).digest)
        for path in sources(script, *modules, packages=packages)
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def sources(
    script: str | Path, *modules: str, packages: Sequence[str] = PACKAGES
) -> list[Path]:
    """The files that :func:`code_hash` is of.

    The script, and the modules in their order.
    """
    entries = [name.partition(":")[0] for name in modules]
    tops = {*packages, *(name.split(".")[0] for name in entries)}
    waiting = [*entries, *_imports(Path(script), "")]
    files: dict[str, Path | None] = {}
    while waiting:
        name = waiting.pop()
        if name in files or name.split(".")[0] not in tops:
            continue
        files[name] = path = _file(name)
        if path is not None:
            waiting += [name.rpartition(".")[0], *_imports(path, name)]
        elif name in entries:
            problem = f"module {name} is not there, or has no source in Python"
            raise KerhrmError(problem, "name a module of an installed package's .py")
    return [
        Path(script),
        *(path for _, path in sorted(files.items()) if path is not None),
    ]


def _imports(path: Path, module: str) -> list[str]:
    """Names that a file imports: modules, and what may be modules in them."""
    names: list[str] = []
    home = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for base, parts in _facts(path).imports:
        whole = importlib.util.resolve_name(base, home)
        names += [whole, *(f"{whole}.{part}" for part in parts)]
    return names


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
        notebook = path.suffix == ".ipynb"
        code = path.read_bytes() if notebook else ast.dump(tree).encode()
        known = state, hashlib.sha256(code).hexdigest(), _imported(tree)
        _known()[str(path)] = known
    return Facts(*known[1:])


@functools.cache
def _known() -> dict[str, Any]:
    """State and facts of files, by path, as an earlier process has kept them."""
    file = _kept()
    return (cache.load(file) if file else None) or {}


def _kept() -> Path | None:
    """Where facts are kept: they depend on Python and on this module."""
    own = Path(__file__)
    return cache.cache_file("code", [str(own), sys.version, own.read_text("utf-8")])


def keep() -> None:
    """Keep what this process has found out of files, for the next one."""
    file = _kept()
    if file and cache.load(file) != _known():
        cache.save(file, _known())


def _imported(tree: ast.Module) -> list[tuple[str, list[str]]]:
    """What a file imports, as in :class:`Facts`."""
    imports: list[tuple[str, list[str]]] = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            imports.append((base, [alias.name for alias in node.names]))
    return imports


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node, except those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            child = ast.Module(child.orelse, [])
        if isinstance(
            child, ast.stmt | ast.Module | ast.excepthandler | ast.match_case
        ):
            yield child
            yield from _statements(child)


@functools.cache
def _file(module: str) -> Path | None:
    """File of a module, without importing it; None if there is no such module."""
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        return None
    base = Path(spec.origin).parent.joinpath(*inner)
    paths = (
        (base / "__init__.py", base.with_suffix(".py"))
        if inner
        else (Path(spec.origin),)
    )
    return next((path for path in paths if path.is_file()), None)


def _unreadable(path: Path, error: Exception) -> FileError:
    return FileError(f"cannot read {path} ({error!r})", f"git restore {path}")


def _parsed(path: Path) -> ast.Module:
    """Syntax tree, without docstrings, of a Python file or of a
    notebook's code cells."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            cells = [
                c["source"]
                for c in json.loads(text)["cells"]
                if c["cell_type"] == "code"
            ]
            lines = "\n".join("".join(cell) for cell in cells).splitlines()
            text = "\n".join(line for line in lines if not line.startswith(("%", "!")))
        tree = ast.parse(text)
    except SyntaxError as error:
        raise KerhrmError(
            f"{path}, line {error.lineno}: {error.msg}", "correct it"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, error) from error
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            node.body = [
                s
                for s in node.body
                if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
            ]
    return tree
