"""What code a rule's script runs, and a fingerprint of it.

Snakemake reruns a job when the rule's script changes, but not when a module changes that
the script imports. A rule that carries :func:`fingerprint` of its script as a parameter
is rerun by an edit of any file that its script runs, and by no other.

Import statements are followed wherever they stand, also in functions and behind
``TYPE_CHECKING``. ``importlib.import_module`` and files beside the script are not seen:
scripts import the package, and the package imports itself, by statements alone.
"""

import ast
import functools
import hashlib
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path

import grimp
from grimp.exceptions import SourceSyntaxError

from kerhrm.errors import KerhrmError

PACKAGE = "kerhrm"
MAGIC = re.compile(r"^([ \t]*)(?:%(?! )|!(?!=)).*$", re.MULTILINE)  # not "% 2", "!= 2"


def sources(script: str | Path, package: str = PACKAGE) -> list[Path]:
    """List the files whose code a script runs.

    Parameters
    ----------
    script : path
        A ``.py`` file or a ``.ipynb`` notebook.
    package : str
        The package whose modules count; all others are the environment's business.

    Returns
    -------
    list of Path
        The script, then the modules of the package that it imports directly or
        transitively, each with the ``__init__.py`` of every package above it, by name.

    Raises
    ------
    KerhrmError
        If the script cannot be read or parsed, or imports a module of the package that
        is not there.
    """
    return list(_files(Path(script), package).values())


def fingerprint(script: str | Path, package: str = PACKAGE) -> str:
    """Hash what :func:`sources` lists: names within the package, and contents.

    The same code gives the same 16 hexadecimal digits wherever and whenever it was
    checked out.
    """
    contents = [
        (name, hashlib.sha256(path.read_bytes()).hexdigest())
        for name, path in _files(Path(script), package).items()
    ]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:16]


def _files(script: Path, package: str) -> dict[str, Path]:
    """Files by module name, in a fixed order; the script by its own name."""
    graph = _graph(package)
    pending = list(_imported_modules(script, package, graph))
    modules: set[str] = set()
    while pending:
        module = pending.pop()
        if module in modules:
            continue
        modules.add(module)
        pending.extend(graph.find_modules_directly_imported_by(module))
        # To import a.b.c runs a/__init__.py and a/b/__init__.py, with all they import.
        if parent := module.rpartition(".")[0]:
            pending.append(parent)
    return {script.name: script} | {name: _module_file(name) for name in sorted(modules)}


@functools.cache
def _graph(package: str) -> grimp.ImportGraph:
    """Parse the whole package, once a process."""
    try:
        return grimp.build_graph(package, cache_dir=None)
    except SourceSyntaxError as error:
        raise KerhrmError(str(error), "correct the module") from error


def _module_file(module: str) -> Path:
    package, *inner = module.split(".")
    spec = importlib.util.find_spec(package)
    assert spec is not None  # the graph was built from it
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0], *inner)
    init = path / "__init__.py"
    return init if init.is_file() else path.with_name(f"{path.name}.py")


def _imported_modules(script: Path, package: str, graph: grimp.ImportGraph) -> Iterator[str]:
    """Modules of the package that the script's own statements import."""
    for place, tree in _parsed(script):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                # The b of "from a import b" is a module, or else a name in module a.
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                modules = [name if name in graph.modules else node.module for name in inner]
            else:
                continue
            for module in modules:
                if module.split(".")[0] != package:
                    continue
                if module not in graph.modules:
                    raise KerhrmError(
                        f"{place}, line {node.lineno} imports {module}, which does not exist",
                        "correct the name; each folder of the package needs an __init__.py",
                    )
                yield module


def _parsed(script: Path) -> Iterator[tuple[str, ast.Module]]:
    """Syntax trees of a script, or of each code cell of a notebook, and where they stand."""
    for place, code in _code(script):
        try:
            yield place, ast.parse(code)
        except SyntaxError as error:
            raise KerhrmError(
                f"{place}, line {error.lineno}: {error.msg}", "correct the code"
            ) from error


def _code(script: Path) -> Iterator[tuple[str, str]]:
    try:
        text = script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KerhrmError(f"cannot read {script}: {error}", "check the rule's script") from error
    if script.suffix == ".py":
        yield str(script), text
    elif script.suffix == ".ipynb":
        try:
            cells = json.loads(text)["cells"]
            code = [
                (f"{script}, cell {number}", _without_magics("".join(cell["source"])))
                for number, cell in enumerate(cells, start=1)
                if cell["cell_type"] == "code"
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise KerhrmError(f"{script} is not a notebook", "restore or rewrite it") from error
        yield from code
    else:
        raise KerhrmError(f"{script} is no .py or .ipynb file", "write it in Python")


def _without_magics(cell: str) -> str:
    """Put ``pass`` for lines like ``%matplotlib inline`` or ``!ls``."""
    try:
        ast.parse(cell)  # without magics: a line of a long string may begin with % too
    except SyntaxError:
        return MAGIC.sub(r"\1pass", cell)
    return cell
