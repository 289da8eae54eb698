"""Objects by name: found, and refused in one line without importing what is heavy."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kerhrm.entries import check, load
from kerhrm.errors import KerhrmError

SOURCE = """
import os.path as paths
from json import dumps
raise_on_import = 1 / ZERO
if raise_on_import:
    late: int = 3
def function(inner):
    local = inner
class Class:
    attribute = 1
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``shelf.heavy`` fails when it is imported, ``shelf.broken`` when it is parsed."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "heavy.py").write_text(SOURCE)
    (folder / "light.py").write_text(SOURCE.replace("ZERO", "1"))
    (folder / "broken.py").write_text("def function(:\n")
    (folder / "lazy.py").write_text("def __getattr__(name):\n    return name\n")
    (folder / "needy.py").write_text("import no_such_library\nthing = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder  # type: ignore[misc]
    for name in [n for n in sys.modules if n.split(".")[0] == "shelf"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["paths", "dumps", "late", "function", "Class"])
def test_what_a_module_defines(package: Path, name: str) -> None:
    check(f"shelf.heavy:{name}")
    assert "shelf.heavy" not in sys.modules
    assert load(f"shelf.light:{name}") is getattr(sys.modules["shelf.light"], name)


def test_what_only_an_import_can_tell_is_believed(package: Path) -> None:
    check("shelf.lazy:anything")
    assert load("shelf.lazy:anything") == "anything"
    check("math:no_such_function")


@pytest.mark.parametrize("function", [check, load])
@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("shelf.light:local", "local"),
        ("shelf.light:attribute", "attribute"),
        ("shelf.light:ZERO", "ZERO"),
        ("shelf.absent:thing", "shelf.absent"),
        ("absent.module:thing", "absent"),
        ("shelf.light.deeper:thing", "shelf.light"),
        ("shelf.broken:function", "broken.py"),
        ("shelf.light", "no entry point"),
        ("shelf.light:", "no entry point"),
        (":load", "no entry point"),
        ("../shelf/light.py:load", "no entry point"),
        ("shelf.light:a.b", "no entry point"),
    ],
)
def test_one_line_for_what_is_not_there(
    package: Path, function: Callable[[str], object], entry: str, problem: str
) -> None:
    with pytest.raises(KerhrmError, match=problem) as caught:
        function(entry)
    assert f"'{entry}'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.cure


def test_the_main_script_has_no_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    script = ModuleType("__main__")
    script.network_of_a_script = len  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "__main__", script)
    check("__main__:network_of_a_script")
    with pytest.raises(KerhrmError, match=r"cannot load '__main__:another': .*no attribute"):
        check("__main__:another")


def test_a_missing_library_is_named(package: Path) -> None:
    check("shelf.needy:thing")
    with pytest.raises(KerhrmError, match="no_such_library"):
        load("shelf.needy:thing")
