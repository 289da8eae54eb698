"""Objects by name: found, or refused in one line."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from refusals import refusal

from kerhrm.entries import check_entry, load_entry

SOURCE = """
import os.path as paths
from json import dumps
if True:
    late: int = 3
def function(inner):
    local = inner
class Class:
    attribute = 1
"""


SILENT = """
class Silent(Exception):
    def __str__(self):
        raise ValueError
raise Silent
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``cupboard.fails`` fails when it is imported, ``cupboard.broken`` when it is
    parsed."""
    folder = tmp_path / "cupboard"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "fails.py").write_text("1 / 0\n")
    (folder / "silent.py").write_text(SILENT)
    (folder / "based.py").write_text("raise BaseException('b')\n")
    (folder / "stopped.py").write_text("raise KeyboardInterrupt\n")
    (folder / "light.py").write_text(SOURCE)
    (folder / "broken.py").write_text("def function(:\n")
    (folder / "needy.py").write_text("import no_such_library\nthing = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder  # type: ignore[misc]
    for name in [n for n in sys.modules if n.split(".")[0] == "cupboard"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["paths", "dumps", "late", "function", "Class"])
def test_what_a_module_defines(package: Path, name: str) -> None:
    entry = f"cupboard.light:{name}"
    found = load_entry(entry)
    assert found is getattr(sys.modules["cupboard.light"], name)
    if callable(found):
        assert check_entry(entry) == entry
        return
    with refusal("cannot be called"):
        check_entry(entry)


@pytest.mark.parametrize("function", [check_entry, load_entry])
@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("cupboard.light:local", "local"),
        ("cupboard.light:Clas", "Clas"),
        ("cupboard.absent:thing", "cupboard.absent"),
        ("absent.module:thing", "absent"),
        ("cupboard.light.deeper:thing", "cupboard.light"),
        ("cupboard.broken:function", "broken.py"),
        ("cupboard.fails:function", "ZeroDivisionError"),
        ("cupboard.needy:thing", "no_such_library"),
        ("cupboard.silent:thing", "': Silent; write"),
        ("cupboard.based:thing", "': BaseException: b; write"),
        ("kerhrm.networks.modules:convolutionl", "convolutionl"),
        ("kerhrm.networks.absent:thing", "kerhrm.networks.absent"),
        ("kerhrm.networks.modules", "not an entry point"),
        ("cupboard.light", "not an entry point"),
        ("../cupboard/light.py:load", "not an entry point"),
    ],
)
def test_one_line_for_what_is_not_there(
    package: Path, function: Callable[[str], object], entry: str, problem: str
) -> None:
    with refusal(problem) as caught:
        function(entry)
    assert f"'{entry}'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_an_interrupt_passes(package: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_entry("cupboard.stopped:thing")


def test_the_main_script_has_no_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    script = ModuleType("__main__")
    script.network_of_a_script = len  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "__main__", script)
    check_entry("__main__:network_of_a_script")
    with refusal(r"cannot load '__main__:another': .*no attribute"):
        check_entry("__main__:another")


TURNS = """
from threading import Event
first_inside, second_inside, first_outside = Event(), Event(), Event()
"""
FIRST = """
from cupboard.turns import first_inside, second_inside
first_inside.set()
thing = second_inside.wait(60)
"""
SECOND = """
from cupboard.turns import first_outside, second_inside
second_inside.set()
thing = first_outside.wait(60)
"""


def test_imports_at_the_same_time_leave_standard_output_and_folder(
    package: Path,
) -> None:
    """Also where the first to begin is the first to end."""
    (package / "turns.py").write_text(TURNS)
    (package / "first.py").write_text(FIRST)
    (package / "second.py").write_text(SECOND)
    turns = import_module("cupboard.turns")
    before = sys.stdout, os.getcwd()

    def first() -> bool:
        there = load_entry("cupboard.first:thing")
        turns.first_outside.set()
        return bool(there)

    def second() -> bool:
        turns.first_inside.wait(60)
        return bool(load_entry("cupboard.second:thing"))

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(function) for function in (first, second)]
        assert [result.result() for result in results] == [True, True]
    assert (sys.stdout, os.getcwd()) == before


WHERE = """
import sys
def __getattr__(name):
    return sys.stdout
"""


def test_a_module_that_is_there_prints_where_it_did(package: Path) -> None:
    """Threads that print meanwhile are left alone."""
    (package / "where.py").write_text(WHERE)
    assert load_entry("cupboard.where:output") is sys.stderr
    assert load_entry("cupboard.where:output") is sys.stdout
