"""Every message of an error is one line with a hint; every public name
has an example."""

import ast
import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kerhrm
from kerhrm.errors import DeviceError, FileError, KerhrmError, described, shown

SOURCE = Path(kerhrm.__file__).parent
ROOT = SOURCE.parents[1]
#: those whose arguments are a problem and a hint
ERRORS = {
    "KerhrmError",
    "FileError",
    "DeviceError",
    "InputTypeError",
    "MissingPackageError",
    "ParameterError",
    "PlacedError",
    "RawDataUnavailable",
    "TooLittleMemory",
}
#: of the library, of the study of the paper, and of its workflow
FILES = (*(ROOT / "src").rglob("*.py"), *(ROOT / "workflow").rglob("*.py"))
MODULES = {path: ast.parse(path.read_text("utf-8")) for path in FILES}
#: a module, and a mapping
NO_EXAMPLE = {"plots", "METHODS"}


def template(node: ast.AST | None) -> str:
    """Text of a message, with {} for what is filled in; empty if it is not written
    there."""
    if isinstance(node, ast.JoinedStr):
        parts = (
            template(p) if isinstance(p, ast.Constant) else "{}" for p in node.values
        )
        return "".join(parts)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def raised() -> Iterator[tuple[str, str, int]]:
    """Place of every error of ours, its problem, and the number of its arguments."""
    for path, module in MODULES.items():
        for function in ast.walk(module):
            if not isinstance(function, ast.FunctionDef | ast.With):
                continue
            nodes = list(ast.walk(function))
            given = {
                node.targets[0].id: template(node.value)
                for node in nodes
                if isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
            }
            for node in nodes:
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", "") in ERRORS
                ):
                    problem = node.args[0]
                    text = (
                        given.get(problem.id, "")
                        if isinstance(problem, ast.Name)
                        else ""
                    )
                    yield (
                        f"{path.relative_to(ROOT)}:{node.lineno}",
                        text or template(problem),
                        len(node.args),
                    )


def test_messages_are_one_line_with_a_hint() -> None:
    found = list(raised())
    assert sum(bool(text) for _, text, _ in found) > 500
    for where, text, n_arguments in found:
        assert "\n" not in text, where
        unwanted = re.search(r"\bis no\b|\bare no\b|\bmend\b|, say\b", text)
        assert not unwanted, (where, text)
        assert n_arguments == 2, f"{where} has no hint"


@pytest.mark.parametrize(
    ("kind", "builtin"), [(FileError, OSError), (DeviceError, RuntimeError)]
)
def test_files_and_devices_raise_what_python_raises(kind: type, builtin: type) -> None:
    with pytest.raises(builtin, match=r"^no; do$") as caught:
        raise kind("no", "do")
    assert isinstance(caught.value, KerhrmError)
    assert caught.value.hint == "do"


def names_in_examples() -> set[str]:
    """Names that the examples of all docstrings of the library use."""
    names = set()
    for module in (MODULES[path] for path in SOURCE.rglob("*.py")):
        for node in ast.walk(module):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for one in doctest.DocTestParser().get_examples(
                    ast.get_docstring(node) or ""
                ):
                    names.update(re.findall(r"\w+", one.source))
    return names


def test_public_names_have_an_example() -> None:
    """``make unit`` runs them all."""
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    listed = {
        name.rpartition(".")[2] for name in re.findall(r"^   ([a-z.]*\w+)$", page, re.M)
    }
    assert {"HRM", "train_network"} <= listed
    assert listed - set(kerhrm.__all__) - NO_EXAMPLE <= names_in_examples()
    for name in set(kerhrm.__all__) - NO_EXAMPLE:
        assert "Examples\n" in (inspect.getdoc(getattr(kerhrm, name)) or ""), name


@pytest.mark.parametrize("says", [described, shown])
def test_an_interrupt_passes_while_an_error_is_described(
    says: Callable[[Any], str],
) -> None:
    """Of the user, or of a job that is to stop."""

    class Slow(Exception):
        def __str__(self) -> str:
            raise KeyboardInterrupt

        __repr__ = __str__

    with pytest.raises(KeyboardInterrupt):
        says(Slow())
