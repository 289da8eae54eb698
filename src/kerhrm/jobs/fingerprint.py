"""What code a rule runs, and a fingerprint of it.

Snakemake reruns a job when the rule's script changes, but not when a module changes that
the script imports.  A rule that carries :func:`fingerprint` of its script as a parameter
is rerun by an edit of what its script runs, and by no other.  Docstrings, comments, texts
of errors and log messages are no code, and options (``*.options``, ``kerhrm.sections``) do
not count, because their values are parameters of the rules.
"""

import ast
import functools
import hashlib
import importlib.util
import json
import platform
from collections.abc import Iterator, MutableMapping
from pathlib import Path

import grimp
from grimp.exceptions import SourceSyntaxError

from kerhrm.errors import KerhrmError

PACKAGE = "kerhrm"


_KNOWN: dict[str, str] = {}


def fingerprint(
    script: str | Path,
    *entries: str,
    package: str = PACKAGE,
    known: MutableMapping[str, str] = _KNOWN,
) -> str:
    """Hash the code of the files that :func:`sources` lists, 16 hexadecimal digits.

    It depends on neither place nor time, but on the minor version of Python.  Digests of files
    are looked up in ``known``, and added there.
    """
    code = "".join(_digest(path, known) for path in sources(script, *entries, package=package))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def sources(script: str | Path, *entries: str, package: str = PACKAGE) -> list[Path]:
    """List the files that a script (``.py``, ``.ipynb``) runs: itself, then modules by name.

    Import statements within the package are followed, except behind ``TYPE_CHECKING``.  What
    is imported by name is given as ``entries``, like ``"kerhrm.methods.irm.train:train_irm"``;
    from one of another package those within that package are followed, too.  A
    :class:`KerhrmError` tells what cannot be read or parsed, or is not there.
    """
    graph = _graph(package)
    new = _imported(Path(script), package) | {entry.partition(":")[0] for entry in entries}
    modules: set[str] = set()
    while new := new - modules:
        modules |= new
        for module in new:
            # To import a.b.c runs a/__init__.py and a/b/__init__.py as well.
            parent = module.rpartition(".")[0]
            if module in graph.modules:
                new = new | graph.find_upstream_modules(module) | {parent or package}
            elif module.split(".")[0] != package:
                new = new | _imported(_file(module), package, module) | {parent} - {""}
    counted = (m for m in modules if not m.endswith(".options") and m != f"{package}.sections")
    return [Path(script), *map(_file, sorted(counted))]


@functools.cache
def _graph(package: str) -> grimp.ImportGraph:
    try:
        return grimp.build_graph(package, cache_dir=None, exclude_type_checking_imports=True)
    except SourceSyntaxError as error:
        raise KerhrmError(str(error), "correct the module") from error


def _imported(path: Path, package: str, module: str = "") -> set[str]:
    """Modules of the package that a file itself imports.

    And, if it is the ``module`` of another package, those of that one that are there.
    """
    graph, own = _graph(package), module.split(".")[0]
    home = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in _statements(_parsed(path)):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=name, names=names, level=level) if home or not level:
                base = importlib.util.resolve_name("." * level + (name or ""), home)
                inner = {f"{base}.{alias.name}" for alias in names}
                theirs = {m for m in inner if base.split(".")[0] == own and _path(m)}
                found |= {base} | inner & graph.modules | theirs
    ours = {name for name in found if name.split(".")[0] == package}
    return ours | {name for name in found if name.split(".")[0] == own and _path(name)}


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node, except behind ``TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            child = ast.Module(child.orelse, [])
        yield child
        yield from _statements(child)


def _file(module: str) -> Path:
    if path := _path(module):
        return path
    cure = "correct the name; each folder of the package needs an __init__.py"
    raise KerhrmError(f"there is no module {module}, which a rule's script imports", cure)


def _path(module: str) -> Path | None:
    """File of a module, if it is there; nothing is imported."""
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)
    if not spec or not spec.origin or (inner and not spec.submodule_search_locations):
        return None
    if not inner:
        return Path(spec.origin)
    base = Path(spec.origin).parent.joinpath(*inner)
    for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
        if path.is_file() and (path.parent / "__init__.py").is_file():
            return path
    return None


def _digest(path: Path, known: MutableMapping[str, str]) -> str:
    """Hash of the code of a module, or of all of a notebook, whose text is shown."""
    key = _dependence(path)
    if key not in known:
        notebook = path.suffix == ".ipynb"
        code = path.read_bytes() if notebook else ast.dump(_Code().visit(_parsed(path))).encode()
        known[key] = hashlib.sha256(code).hexdigest()
    return path.name + known[key]


@functools.cache
def _dependence(path: Path) -> str:
    """Hash of all that a file's digest depends on: it, this file, and Python's minor version."""
    try:
        texts = (Path(__file__).read_bytes(), path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error) from error
    version = ".".join(platform.python_version_tuple()[:2])
    facts = (version, path.suffix, *(hashlib.sha256(text).hexdigest() for text in texts))
    return hashlib.sha256(" ".join(facts).encode()).hexdigest()


def _parsed(path: Path) -> ast.Module:
    """Syntax tree of a Python file, or of the code cells of a notebook."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            cells = [c["source"] for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
            lines = [line for cell in cells for line in "".join(cell).splitlines()]
            text = "\n".join(line for line in lines if not line.startswith(("%", "!")))
        return ast.parse(text)
    except SyntaxError as error:
        raise KerhrmError(f"{path}, line {error.lineno}: {error.msg}", "correct it") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> KerhrmError:
    return KerhrmError(f"cannot read {path} ({error!r})", "restore it")


class _Code(ast.NodeTransformer):
    """A tree without docstrings, log messages and what errors are told with."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        match node.value:
            case ast.Constant() | ast.Call(func=ast.Attribute(value=ast.Name(id="log"))):
                return None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        return node
