"""Which files a script runs, and which edits change its hash, on a small package."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kerhrm_paper.runs import code_facts, module_files
from kerhrm_paper.runs import code_hash as module
from kerhrm_paper.runs.code_hash import code_hash, sources

PACKAGE = "toy"
MODULES = {
    "__init__.py": "",
    "alone.py": "ALONE = 1\n",
    "base.py": "BASE = 1\n",
    "settings.py": "SETTINGS = 1\n",
    "core/__init__.py": "from toy.settings import SETTINGS\n",
    "core/fit.py": "from ..base import BASE\nfrom . import solve\n",
    "core/solve.py": "",
    "plots/__init__.py": "",
    "plots/lazy.py": "def draw():\n    from toy import base\n    return base\n",
}
#: of a package that loads names when they are used
STUB = "from .base import BASE as BASE\nfrom .settings import SETTINGS as SETTINGS\n"
SCRIPTS = {
    "fit.py": "import numpy\nfrom toy.core.fit import BASE\n",
    "draw.py": "from toy.plots import lazy\n",
    "late.py": "def main():\n    import toy.core.solve\n\nmain()\n",
    "none.py": "import numpy\nimport toys\n",
}
DRAW = {"", "base", "plots", "plots.lazy"}
LATE = {"", "settings", "core", "core.solve"}


def forget() -> None:
    """As a new process."""
    for of_module in (code_facts, module, module_files):
        for cached in vars(of_module).values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in MODULES.items():
        path = tmp_path / "src" / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "src")
    forget()
    yield tmp_path
    forget()


def module_file(root: Path, name: str) -> Path:
    parts = name.split(".")
    path = root.joinpath("src", PACKAGE, *parts)
    if path.is_dir():
        return path / "__init__.py"
    return path.with_suffix(".py")


def hashes(root: Path) -> dict[str, str]:
    """Hashes of all scripts, as a new process would compute them."""
    forget()
    found = {}
    for name in SCRIPTS:
        found[name] = code_hash(root / name, packages=[PACKAGE])
    return found


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def notebook(path: Path, *cells: str, kind: str = "code") -> Path:
    made = []
    for cell in cells:
        lines = cell.splitlines(True)
        made.append({"cell_type": kind, "source": lines})
    content = {"cells": made}
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("script", ["fit.py", "late.py", "draw.py"])
def test_python_loads_no_file_that_is_not_listed(root: Path, script: str) -> None:
    report = "\nimport sys\n"
    report += "print(*(m.__file__ for n, m in sys.modules.items() if 'toy' in n))"
    run = subprocess.run(
        [sys.executable, "-c", SCRIPTS[script] + report],
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {Path(name) for name in run.stdout.split()}
    _, *others = sources(root / script, packages=[PACKAGE])
    listed = set(others)
    assert loaded
    assert loaded <= listed
    # Nothing is listed in vain, but for the import in a function that is not called.
    of_a_function = set()
    if script == "draw.py":
        of_a_function = {module_file(root, "base")}
    assert listed - loaded == of_a_function


@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        ("", {"fit.py", "draw.py", "late.py"}),
        ("alone", set()),
        ("base", {"fit.py", "draw.py"}),
        ("settings", {"fit.py", "late.py"}),  # by core/__init__.py alone
        ("core", {"fit.py", "late.py"}),
        ("core.fit", {"fit.py"}),
        ("core.solve", {"fit.py", "late.py"}),
        ("plots.lazy", {"draw.py"}),
    ],
)
def test_an_edit_changes_the_hashes_of_its_importers_alone(
    root: Path, name: str, scripts: set[str]
) -> None:
    before = hashes(root)
    path = module_file(root, name)
    original = path.read_text()
    path.write_text(original + "EDITED = 1\n")
    assert changed(before, hashes(root)) == scripts
    path.write_text(original)
    assert hashes(root) == before


def test_a_file_of_a_modules_name_is_a_part_of_it(root: Path) -> None:
    """As the style of the figures."""
    page = module_file(root, "plots.lazy").with_suffix(".html")
    page.write_text("first")
    before = hashes(root)
    page.write_text("then")
    after = hashes(root)
    assert changed(before, after) == {"draw.py"}
    page.with_suffix(".pyi").write_text("")
    page.with_name("lazy_too.html").write_text("")
    assert hashes(root) == after


def test_a_file_beside_a_users_module_is_none(root: Path) -> None:
    """It may be a result of the run."""
    method = root / "src" / "mine.py"
    method.write_text("")
    method.with_suffix(".csv").write_text("")
    forget()
    listed = sources(root / "none.py", "mine:METHOD", packages=[PACKAGE])
    assert listed == [root / "none.py", method]


def test_the_style_of_the_figures_is_code() -> None:
    figures = "kerhrm_paper.reporting.figures"
    listed = sources(module.__file__, figures, packages=module.PACKAGES)
    names = {path.name for path in listed}
    assert {"figures.mplstyle", "page.html"} & names == {"figures.mplstyle"}


def test_the_hash_depends_on_neither_place_nor_process(root: Path) -> None:
    before = hashes(root)
    for value in before.values():
        assert len(value) == 16
        assert int(value, 16) >= 0
    copy = root / "elsewhere"
    shutil.copytree(root / "src", copy / "src")
    shutil.copy(root / "fit.py", copy / "fit.py")
    code = "from kerhrm_paper.runs.code_hash import code_hash\n"
    code += "print(code_hash('fit.py', packages=['toy']))"
    seeds = {root: "1", copy: "2"}
    for place, seed in seeds.items():
        path = str(place / "src")
        env = os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": seed}
        options = {"capture_output": True, "text": True, "check": True}
        run = subprocess.run(
            [sys.executable, "-c", code], env=env, cwd=place, **options
        )
        assert run.stdout.strip() == before["fit.py"]


def test_notebooks(root: Path) -> None:
    cells = (
        "%matplotlib inline\nimport toy.settings\n",
        "!ls\nfrom toy.plots import lazy",
    )
    path = notebook(root / "figure.ipynb", *cells)
    _, *others = sources(path, packages=[PACKAGE])
    names = DRAW | {"settings"}
    assert set(others) == {module_file(root, name) for name in names}
    before = code_hash(path, packages=[PACKAGE])
    module_file(root, "base").write_text("BASE = 2\n")
    forget()
    assert code_hash(path, packages=[PACKAGE]) != before
    text = notebook(root / "text.ipynb", "import toy.alone\n", kind="markdown")
    assert sources(text, packages=[PACKAGE]) == [text]


MEANT = "def f(x):\n    if x < 0:\n        raise ValueError\n    return x + 1\n"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (
            MEANT.replace("def f(x):", "def f(x):\n    'Document it.'\n    # remark"),
            True,
        ),
        ("'About the module.'\n\n\n" + MEANT, True),
        (MEANT.replace("x + 1", "(x\n        + 1)"), True),
        ("from typing import TYPE_CHECKING\n" + MEANT, False),
        ("if TYPE_CHECKING:\n    from toy.alone import Lone\n" + MEANT, True),
        ("if typing.TYPE_CHECKING:\n    Lone = int\n" + MEANT, True),
        ("if not TYPE_CHECKING:\n    from toy import alone\n" + MEANT, False),
        (MEANT.replace("x + 1", "x + 2"), False),
        (MEANT.replace("x < 0", "x <= 0"), False),
    ],
)
def test_texts_are_no_code(root: Path, text: str, same: bool) -> None:
    module_file(root, "base").write_text(MEANT)
    before = hashes(root)
    module_file(root, "base").write_text(text)
    expected = set() if same else {"fit.py", "draw.py"}
    assert changed(before, hashes(root)) == (expected)


@pytest.mark.parametrize(
    ("condition", "followed"),
    [
        ("TYPE_CHECKING", False),
        ("not TYPE_CHECKING", True),
        ("SOME_TYPE_CHECKING", True),
    ],
)
def test_imports_for_type_checkers_are_not_followed(
    root: Path, condition: str, followed: bool
) -> None:
    script = root / "none.py"
    script.write_text(f"if {condition}:\n    import toy.alone\n")
    files = sources(script, packages=[PACKAGE])
    assert (module_file(root, "alone") in files) is followed


def test_entries_of_other_packages_are_followed(root: Path) -> None:
    texts = {
        "__init__.py": "from os import path\n",
        "method.py": "from . import parts\n"
        "from .parts.deep import x\n"
        "from toy import alone\n",
        "unused.py": "",
        "parts/__init__.py": "import mine.absent\n",
        "parts/deep.py": "from toy.core import solve\n",
    }
    for name, text in texts.items():
        path = root / "src" / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = sources(root / "none.py", "mine.method:fit", packages=[PACKAGE])
    expected = {root / "src" / "mine" / name for name in texts if name != "unused.py"}
    loaded = {module_file(root, m) for m in LATE | {"alone"}}
    assert set(found[1:]) == expected | loaded


@pytest.mark.parametrize("helper", ["helpers.py", "helpers/__init__.py"])
def test_an_edit_of_a_helper_beside_an_entry_counts(root: Path, helper: str) -> None:
    """A module of its own, as a method's file and the one that it imports from."""
    path = root / "src" / helper
    path.parent.mkdir(exist_ok=True)
    path.write_text("def scale(x):\n    return x\n")
    (root / "src/mine.py").write_text("from helpers import scale\n")
    forget()
    before = code_hash(root / "none.py", "mine:METHOD", packages=[PACKAGE])
    path.write_text("def scale(x):\n    return 2 * x\n")
    forget()
    after = code_hash(root / "none.py", "mine:METHOD", packages=[PACKAGE])
    assert after != before


def test_a_folder_without_init_is_a_package(root: Path) -> None:
    path = root / "src" / "loose" / "method.py"
    path.parent.mkdir()
    path.write_text("from loose import deep\n")
    deep = path.with_name("deep.py")
    deep.touch()
    forget()
    _, *found = sources(root / "none.py", "loose.method:METHOD", packages=[PACKAGE])
    assert set(found) == {path, deep}


@pytest.mark.parametrize("folder", ["lib/site-packages", "target"])
def test_of_what_is_installed_an_entry_brings_its_own_distribution(
    root: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two packages of one distribution, and not the library that they import."""
    site = root / folder
    texts = {
        "plugin/__init__.py": "",
        "plugin/method.py": "import plugin_helpers\nimport library\n",
        "plugin_helpers.py": "import json\n",
        "library.py": "",
    }
    for name, text in texts.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("plugin", "library"):
        record = site / f"{name}-1.dist-info" / "RECORD"
        record.parent.mkdir()
        record.write_text("".join(f"{t},,\n" for t in texts if t.startswith(name)))
    monkeypatch.syspath_prepend(site)
    forget()
    _, *found = sources(root / "none.py", "plugin.method:METHOD", packages=[PACKAGE])
    assert set(found) == {site / name for name in texts if name != "library.py"}


def test_facts_are_kept_for_the_next_process(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And found out again for what has changed, whatever its time stamp says."""
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(root / "cache"))
    before = hashes(root)
    code_facts.keep()
    with monkeypatch.context() as patch:
        patch.setattr(code_facts, "_parsed", lambda path: pytest.fail(f"parsed {path}"))
        assert hashes(root) == before
    path = module_file(root, "base")
    times = path.stat()
    path.write_text("BASE = 2\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert changed(before, hashes(root)) == {"fit.py", "draw.py"}
    (kept,) = (root / "cache").glob("code/*.json")
    os.truncate(kept, 100)
    path.write_text("BASE = 1\n")
    assert hashes(root) == before


def test_a_name_that_a_package_loads_late_is_followed(root: Path) -> None:
    (root / "src" / PACKAGE / "__init__.pyi").write_text(STUB)
    script = root / "named.py"
    script.write_text(f"from {PACKAGE} import BASE\n")
    listed = sources(script, packages=[PACKAGE])[1:]
    expected = {module_file(root, ""), module_file(root, "base")}
    assert set(listed) == expected


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("alone", "try:\n    from .helpers import w\nexcept ImportError:\n    "),
        ("top/__init__", "try:\n    from .. import x\nexcept ImportError:\n    "),
        ("top/inner", "try:\n    from ...far import x\nexcept ImportError:\n    "),
    ],
)
def test_a_relative_import_of_nothing_is_passed_over(
    root: Path, module: str, text: str
) -> None:
    """What is imported instead counts."""
    path = root / "src" / f"{module}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}import helpers\n")
    helpers = root / "src" / "helpers.py"
    helpers.write_text("W = 1\n")
    name = module.removesuffix("/__init__").replace("/", ".")
    assert {path, helpers} <= {*sources(root / "none.py", name, packages=[PACKAGE])}


@pytest.mark.parametrize(
    "code",
    [
        "# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n".encode("latin-1"),
        b"# caf\xe9\nNAME = 1\n",  # in a comment Python takes any byte
        b"\xef\xbb\xbfNAME = 1\n",
    ],
)
def test_code_is_read_as_python_reads_it(code: bytes, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_bytes(code)
    compile(code, "script.py", "exec")
    assert len(code_hash(script)) == 16
