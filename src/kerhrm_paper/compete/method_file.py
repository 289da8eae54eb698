"""A file with a method, loaded once and refused in one line if it cannot compete."""

import contextlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from kerhrm.entries import guarding_foreign_code
from kerhrm.errors import FileError, KerhrmError, described, line_in, shown
from kerhrm.files import quoted, write_text
from kerhrm.methods.base import Method
from kerhrm.methods.registry import METHODS, check_method
from kerhrm_paper.compete.candidate_checks import check_candidates
from kerhrm_paper.config.fields import check_base
from kerhrm_paper.config.layout import CHECKOUT, reserved
from kerhrm_paper.config.rows import plain
from kerhrm_paper.config.run_folder import check_folders
from kerhrm_paper.config.strict_yaml import Tree
from kerhrm_paper.reporting.options import NOTED_FILE

GROUP = "kerhrm.methods"  #: of the entry points


@dataclass(frozen=True)
class MethodFile:
    """A method that competes.

    Attributes
    ----------
    path : Path
        Its file.
    module : str
        Name under which jobs import a copy of the file.
    method : Method
        Its declaration, ``METHOD``.
    title : str
        Its name in tables, ``TITLE`` or the method's name.
    candidates : list of dict
        Options to try, ``CANDIDATES``.
    """

    path: Path
    module: str
    method: Method
    title: str
    candidates: list[Tree]

    @property
    def name(self) -> str:
        """Name of the method, and of its folder."""
        return self.method.name

    @property
    def titles(self) -> dict[str, str]:
        """What tables call its outputs."""
        outputs = self.method.outputs
        if len(outputs) == 1:
            return {outputs[0]: self.title}
        return {output: f"{self.title} ({output})" for output in outputs}

    def claim(self, folder: Path) -> None:
        """Note the file in the folder of the method's results.

        Raises KerhrmError if they are those of another file, which is still there.
        """
        note = folder / NOTED_FILE
        path = self.path.resolve()
        if note.is_file():
            text = note.read_text("utf-8", errors="replace")
            earlier = Path(text)
            if earlier != path and earlier.is_file():
                problem = f"{folder} holds the results of {earlier}"
                hint = f"give METHOD another name in {path}, or delete the folder"
                raise KerhrmError(problem, hint)
        # a name that is no UTF-8 cannot be noted as it is
        name = str(path).encode("utf-8", errors="replace")
        write_text(note, name.decode())

    def install(self, folder: Path) -> None:
        """Write a folder for ``sys.path``: a copy of the file, with the entry point of
        its method; what was there goes.

        Raises KerhrmError if the file itself would go.
        """
        if folder.resolve() in self.path.resolve().parents:
            problem = f"{self.path} lies in {folder}, which is written again"
            raise FileError(problem, "copy it to another folder, and give the copy")
        shutil.rmtree(folder, ignore_errors=True)
        copy = folder / f"{self.module}.py"
        info = folder / f"{self.module}-0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.path, copy)
        package = self.module.replace("_", "-")
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 0\n"
        write_text(info / "METADATA", metadata)
        points = f"[{GROUP}]\n{self.name} = {self.module}:METHOD\n"
        write_text(info / "entry_points.txt", points)


def load_method(
    path: Path, learners: Collection[str], titles: Collection[str]
) -> MethodFile:
    """Import the file and check what it declares.

    Parameters
    ----------
    path : Path
        Of the file.
    learners, titles : collection of str
        Names and titles that are taken.

    Returns
    -------
    MethodFile
        What it declares.

    Raises
    ------
    KerhrmError
        In one line: if the file is not there, raises when it is imported, has no
        method, or a name, a title, an option or a candidate that cannot be.
    """
    module = _imported(path)
    method = _method(path, module)
    with _placing(path, "METHOD"):
        check_method(method.name, method)
        _check_name(method.name, learners)
        if method.iterates:
            problem = (
                "iterates=True is for tables of iterations, which it does not enter"
            )
            raise KerhrmError(problem, "leave it out")
    title = getattr(module, "TITLE", method.name)
    with _placing(path, "TITLE"):
        _check_title(title, titles)
    candidates = getattr(module, "CANDIDATES", [])
    with _placing(path, "CANDIDATES"):
        check_candidates(candidates, method)
    tried = list(candidates)
    return MethodFile(path, module.__name__, method, title, tried)


@contextlib.contextmanager
def _placing(path: Path, key: str) -> Iterator[None]:
    """Put the file and the name in it in front of an error."""
    try:
        yield
    except KerhrmError as error:
        raise KerhrmError(f"{path}: {key}: {error.problem}", error.hint) from error


def check_python(path: Path) -> None:
    """Refuse a name that Python would not import."""
    if path.suffix != ".py":
        problem = f"{path} is not a Python file"
        raise KerhrmError(problem, "give it a name that ends in .py")


def _check_file(path: Path) -> None:
    """Refuse what is no file of Python; the hint is a command that writes one."""
    if path.is_file():
        check_python(path)
        return
    if path.is_dir():
        raise FileError(f"{path} is a folder", "name its file")
    if path.exists():
        raise FileError(f"{path} is a pipe or a device", "name a file of Python")
    if path.is_symlink():
        hint = "delete the link, or name another file"
        raise FileError(f"{path} is a link to nothing", hint)
    check_folders(path.parent, "correct the path", f"{path}: ")
    named = path
    if path.suffix != ".py":
        named = path.with_name(f"{path.name}.py")
    hint = f"kerhrm compete --new {quoted(named)} writes a template"
    if os.path.lexists(named):
        hint = f"write kerhrm compete {quoted(named)}"
    raise FileError(f"{path} does not exist", hint)


def _imported(path: Path) -> ModuleType:
    """The module of a file, imported once."""
    _check_file(path)
    stem = re.sub(r"\W", "_", path.stem)
    name = f"compete_{stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with guarding_foreign_code():
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the file's code may do anything
        del sys.modules[name]
        where = line_in(str(spec.origin), error)
        what = f"{where}{described(error)}"
        hint = "correct it"
        if isinstance(error, ImportError):
            hint += "; it must import by itself, with what is installed"
        raise KerhrmError(f"{path} cannot be imported: {what}", hint) from error
    return module


def _method(path: Path, module: ModuleType) -> Method:
    """The method of a module; KerhrmError if it has none."""
    method = getattr(module, "METHOD", None)
    if isinstance(method, Method):
        return method
    problem = f"{path} has no method called METHOD"
    hint = 'end it with METHOD = Method("name", MyOptions, train)'
    if method is not None:
        problem = f"{path}: METHOD must be a Method; got {shown(method)}"
    for name, value in vars(module).items():
        if isinstance(value, Method):
            hint = f"call {name} METHOD"
    raise KerhrmError(problem, hint)


def _check_name(name: str, learners: Collection[str]) -> None:
    """Refuse a name that is taken, or that cannot be a folder."""
    try:
        check_base(name)
    except ValueError as error:
        raise KerhrmError(f"the name {shown(name)}: {error}", "rename it") from error
    if reserved(CHECKOUT).fullmatch(name):
        problem = f"the name '{name}' is reserved for the workflow's own files"
        raise KerhrmError(problem, "give yours another name")
    every_name = (*METHODS, *learners)
    taken = {known.casefold() for known in every_name}
    if name.casefold() in taken:
        problem = f"a method called {name} exists already"
        raise KerhrmError(problem, "give yours another name")


def _check_title(title: Any, titles: Collection[str]) -> None:
    """Refuse what cannot name the rows of a method."""
    if not isinstance(title, str) or not plain(title):
        raise KerhrmError(f"it must be a text; got {shown(title)}", "write a name")
    if not title.isprintable():  # a line break would end a row of a table
        problem = f"it must be on one line, of signs that print; got {shown(title)}"
        raise KerhrmError(problem, "write another")
    is_taken = plain(title) in map(plain, titles)
    if is_taken or title.startswith("ref: "):
        problem = f"rows of tables are called {title!r} already"
        raise KerhrmError(problem, "choose another")
