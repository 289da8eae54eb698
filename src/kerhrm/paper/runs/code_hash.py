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
from collections.abc import Iterator
from pathlib import Path

from kerhrm.errors import FileError, KerhrmError


def code_hash(script: str | Path, *modules: str, package: str = "kerhrm") -> str:
    """Hash of a script or notebook, and of all modules of the package that it imports.

    ``modules`` are loaded by name, as ``kerhrm.methods.erm`` or
    ``plugin.method:METHOD``; those of other packages are followed within their package.
    Returns 16 hexadecimal digits.

    Raises KerhrmError if a file cannot be read or parsed, or a module is not there.
    """
    parts = [
        (path.name, _digest(path))
        for path in sources(script, *modules, package=package)
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def sources(script: str | Path, *modules: str, package: str = "kerhrm") -> list[Path]:
    """The files that :func:`code_hash` is of.

    The script, and the modules in their order.
    """
    entries = [name.partition(":")[0] for name in modules]
    tops = {package, *(name.split(".")[0] for name in entries)}
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
            raise KerhrmError(
                f"module {name} does not exist", "correct it in the configuration"
            )
    return [
        Path(script),
        *(path for _, path in sorted(files.items()) if path is not None),
    ]


@functools.cache
def _imports(path: Path, module: str) -> list[str]:
    """Names that a file imports: modules, and what may be modules in them."""
    found: list[str] = []
    home = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in _statements(_parsed(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name(
                "." * node.level + (node.module or ""), home
            )
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return found


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


@functools.cache
def _digest(path: Path) -> str:
    """Hash of a module's code, or of a whole notebook."""
    notebook = path.suffix == ".ipynb"
    code = path.read_bytes() if notebook else ast.dump(_parsed(path)).encode()
    return hashlib.sha256(code).hexdigest()


@functools.cache
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
        raise FileError(
            f"cannot read {path} ({error!r})", f"git restore {path}"
        ) from error
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
