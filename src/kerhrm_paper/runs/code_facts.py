"""What counts of a file of code: a digest of what runs, and what it imports.

Comments, docstrings and imports for type checkers are no code.
"""

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kerhrm.errors import FileError, KerhrmError
from kerhrm_paper.runs import cache

#: suffixes of files of code
PYTHON = (".py", ".pyi")
#: nodes that statements, and imports among them, are in
HOLDERS = (ast.stmt, ast.Module, ast.excepthandler, ast.match_case)
#: nodes that may have a docstring
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Facts(NamedTuple):
    """What counts of a file of code, or of one that is a part of it."""

    digest: str  #: of its code, or of a whole file that is not Python
    #: modules that it imports, relative ones with leading dots, and names in them
    imports: list[tuple[str, list[str]]]


@functools.cache
def facts_of(path: Path) -> Facts:
    """Facts of a file, which is parsed unless it is as it was the last time.

    Raises FileError if it cannot be read, KerhrmError if it is not Python.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    state = [stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size]
    known = _known().get(str(path))
    if known is None or known[0] != state:
        known = state, *_read(path)
        _known()[str(path)] = known
    _, digest, imports = known
    return Facts(digest, imports)


def _read(path: Path) -> tuple[str, list[tuple[str, list[str]]]]:
    """Digest and imports of a file, as in :class:`Facts`."""
    if path.suffix in PYTHON:
        tree = _parsed(path)
        content, imports = ast.dump(tree).encode(), _imported(tree)
    else:
        content = _content(path)
        imports = _imported(_parsed(path)) if path.suffix == ".ipynb" else []
    return hashlib.sha256(content).hexdigest(), imports


def _content(path: Path) -> bytes:
    """Raises FileError if the file cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


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


def unreadable(path: Path, error: Exception) -> FileError:
    """The error for a file or folder of code that cannot be read."""
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
        raise unreadable(path, error) from error
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
