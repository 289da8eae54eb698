"""Which files a script runs, on a small package made for the purpose."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest

import kerhrm
from kerhrm.errors import KerhrmError
from kerhrm.jobs import fingerprint as fp
from kerhrm.jobs.fingerprint import fingerprint, sources

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
SCRIPTS = {
    "fit.py": "import numpy\nfrom toy.core.fit import BASE\n",
    "draw.py": "from toy.plots import lazy\n",
    "late.py": "def main():\n    import toy.core.solve\n\nmain()\n",
    "none.py": "import numpy\nimport toys\n",
}
FIT = {"", "base", "settings", "core", "core.fit", "core.solve"}
DRAW = {"", "base", "plots", "plots.lazy"}
LATE = {"", "settings", "core", "core.solve"}


def forget() -> None:
    """As a new process."""
    fp._graph.cache_clear()
    fp._dependence.cache_clear()


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


def module_file(root: Path, module: str) -> Path:
    path = root.joinpath("src", PACKAGE, *module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def fingerprints(root: Path) -> dict[str, str]:
    """All scripts' fingerprints, as a new process would see them."""
    forget()
    return {name: fingerprint(root / name, package=PACKAGE) for name in SCRIPTS}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def notebook(path: Path, *cells: str, kind: str = "code") -> Path:
    content = {"cells": [{"cell_type": kind, "source": c.splitlines(True)} for c in cells]}
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("script", "modules"),
    [("fit.py", FIT), ("draw.py", DRAW), ("late.py", LATE), ("none.py", set())],
)
def test_sources(root: Path, script: str, modules: set[str]) -> None:
    found = sources(root / script, package=PACKAGE)
    assert found[0] == root / script
    assert found[1:] == sorted(found[1:], key=lambda path: path.with_suffix("").parts)
    assert len(found) == len(set(found))
    assert set(found[1:]) == {module_file(root, module) for module in modules}


@pytest.mark.parametrize("script", ["fit.py", "late.py", "draw.py"])
def test_python_loads_no_file_that_is_not_listed(root: Path, script: str) -> None:
    report = "\nimport sys\nprint(*(m.__file__ for n, m in sys.modules.items() if 'toy' in n))"
    run = subprocess.run(
        [sys.executable, "-c", SCRIPTS[script] + report],
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {Path(name) for name in run.stdout.split()}
    listed = set(sources(root / script, package=PACKAGE)[1:])
    assert loaded
    assert loaded <= listed
    # Nothing is listed in vain, but for the import in a function that is not called.
    assert listed - loaded == ({module_file(root, "base")} if script == "draw.py" else set())


@pytest.mark.parametrize(
    ("module", "scripts"),
    [
        ("", {"fit.py", "draw.py", "late.py"}),
        ("alone", set()),
        ("base", {"fit.py", "draw.py"}),
        ("settings", {"fit.py", "late.py"}),  # by core/__init__.py alone
        ("core", {"fit.py", "late.py"}),
        ("core.fit", {"fit.py"}),
        ("core.solve", {"fit.py", "late.py"}),
        ("plots", {"draw.py"}),
        ("plots.lazy", {"draw.py"}),
    ],
)
def test_an_edit_changes_the_fingerprints_of_its_importers_alone(
    root: Path, module: str, scripts: set[str]
) -> None:
    before = fingerprints(root)
    path = module_file(root, module)
    original = path.read_text()
    path.write_text(original + "EDITED = 1\n")
    assert changed(before, fingerprints(root)) == scripts
    path.write_text(original)
    assert fingerprints(root) == before


def test_an_edit_of_a_script_is_its_own_affair(root: Path) -> None:
    before = fingerprints(root)
    (root / "draw.py").write_text(SCRIPTS["draw.py"] + "EDITED = 1\n")
    assert changed(before, fingerprints(root)) == {"draw.py"}


def test_a_new_import_brings_its_module(root: Path) -> None:
    module_file(root, "base").write_text("import toy.alone\nBASE = 1\n")
    before = fingerprints(root)
    module_file(root, "alone").write_text("ALONE = 2\n")
    assert changed(before, fingerprints(root)) == {"fit.py", "draw.py"}


def test_new_and_renamed_modules_that_nobody_imports(root: Path) -> None:
    before = fingerprints(root)
    module_file(root, "alone").rename(root / "src" / PACKAGE / "renamed.py")
    (root / "src" / PACKAGE / "new.py").write_text("from toy import base\n")
    assert fingerprints(root) == before


def test_circular_imports_end(root: Path) -> None:
    module_file(root, "base").write_text("def late():\n    import toy.core.fit\n")
    found = sources(root / "draw.py", package=PACKAGE)
    assert set(found[1:]) == {module_file(root, module) for module in DRAW | FIT}


def test_fingerprint_depends_on_neither_place_nor_time(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprints(root)
    assert all(len(value) == 16 and int(value, 16) >= 0 for value in before.values())
    assert len(set(before.values())) == len(before)
    copy = root / "elsewhere"
    shutil.copytree(root / "src", copy / "src")
    for name in SCRIPTS:
        shutil.copy(root / name, copy / name)
    for path in copy.rglob("*.py"):
        os.utime(path, (1, 1))
    monkeypatch.syspath_prepend(copy / "src")
    monkeypatch.chdir(copy)
    after = fingerprints(copy)
    assert module_file(copy, "base") in sources(copy / "fit.py", package=PACKAGE)
    assert after == before
    assert fingerprint("fit.py", package=PACKAGE) == before["fit.py"]


def test_fingerprint_is_the_same_in_another_process(root: Path) -> None:
    code = "from kerhrm.jobs.fingerprint import fingerprint as f; print(f('fit.py', package='toy'))"
    values = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": str(root / "src"), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert values == {fingerprint(root / "fit.py", package=PACKAGE)}


def test_notebook_cells_are_read(root: Path) -> None:
    path = notebook(
        root / "figure.ipynb",
        "%matplotlib inline\nimport toy.settings\n",
        "!ls\nfrom toy.plots import lazy",
        "x = (\n    7\n    % 2\n    != 1\n)\n",
    )
    found = sources(path, package=PACKAGE)
    assert found[0] == path
    assert set(found[1:]) == {module_file(root, module) for module in DRAW | {"settings"}}
    before = fingerprint(path, package=PACKAGE)
    module_file(root, "base").write_text("BASE = 2\n")
    forget()
    assert fingerprint(path, package=PACKAGE) != before


def test_notebook_text_is_not_code(root: Path) -> None:
    path = notebook(root / "text.ipynb", "import toy.alone\n", kind="markdown")
    assert sources(path, package=PACKAGE) == [path]


@pytest.mark.parametrize(
    "code",
    [
        "import toy.nothing\n",
        "from toy.nothing import x\n",
        "from toy.core.nothing import *\n",
        "def f():\n    import numpy, toy.nothing.deep\n",
    ],
)
def test_import_of_a_module_that_is_not_there(root: Path, code: str) -> None:
    (root / "bad.py").write_text(code)
    with pytest.raises(KerhrmError, match=r"there is no module toy\.\S*nothing"):
        sources(root / "bad.py", package=PACKAGE)
    with pytest.raises(KerhrmError, match="there is no module toy"):
        fingerprint(notebook(root / "bad.ipynb", "", code), package=PACKAGE)


@pytest.mark.parametrize("entry", ["toy.nothing:f", "toy.core.fit.nothing:f", "no_such_package:f"])
def test_an_entry_point_that_is_not_there(root: Path, entry: str) -> None:
    with pytest.raises(KerhrmError, match=f"there is no module {entry[:-2]}"):
        fingerprint(root / "none.py", entry, package=PACKAGE)


def test_a_folder_without_init_is_no_package(root: Path) -> None:
    (root / "src" / PACKAGE / "bare").mkdir()
    (root / "src" / PACKAGE / "bare" / "inner.py").write_text("")
    (root / "bad.py").write_text("import toy.bare.inner\n")
    with pytest.raises(KerhrmError, match=r"__init__\.py"):
        sources(root / "bad.py", package=PACKAGE)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("broken.py", "import toy\nx = (\n", "broken.py, line 2"),
        ("magic.py", "%matplotlib inline\n", "magic.py, line 1"),
        ("broken.ipynb", '{"cells": [', "cannot read .*ipynb"),
        ("empty.ipynb", "{}", "cannot read .*ipynb"),
        ("list.ipynb", "[]", "cannot read .*ipynb"),
        ("script.R", "library(x) <- 1 2\n", "script.R, line 1"),
    ],
)
def test_scripts_that_cannot_be_read(root: Path, name: str, text: str, message: str) -> None:
    (root / name).write_text(text)
    with pytest.raises(KerhrmError, match=message):
        fingerprint(root / name, package=PACKAGE)


def test_a_missing_script(root: Path) -> None:
    with pytest.raises(KerhrmError, match=r"cannot read .*missing\.py"):
        sources(root / "missing.py", package=PACKAGE)


def test_a_broken_module_is_named(root: Path) -> None:
    module_file(root, "alone").write_text("def (\n")
    with pytest.raises(KerhrmError, match=r"alone\.py, line 1"):
        sources(root / "fit.py", package=PACKAGE)


def test_the_graph_is_built_once_and_leaves_no_files(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    build_graph = grimp.build_graph

    def counted(package: str, **options: Any) -> grimp.ImportGraph:
        built.append(package)
        return build_graph(package, **options)

    monkeypatch.setattr(grimp, "build_graph", counted)
    files = sorted(path.name for path in root.iterdir())
    for name in SCRIPTS:
        fingerprint(root / name, package=PACKAGE)
    assert built == [PACKAGE]
    assert sorted(path.name for path in root.iterdir()) == files


MEANT = """
import logging
log = logging.getLogger("x")
def f(x):
    if x < 0:
        raise ValueError(f"x = {x} is negative")
    log.info("computed %s", x)
    return x + 1
"""
SAME = [
    MEANT.replace("def f(x):", "def f(x):\n    'Document it.'\n    # remark"),
    "'About the module.'\n\n\n" + MEANT,
    MEANT.replace('f"x = {x} is negative"', '"a text"'),
    MEANT.replace('f"x = {x} is negative"', 'f"{x!r} may not "\n        f"be below {0}"'),
    MEANT.replace("computed", "did"),
    MEANT.replace("x + 1", "(x\n        + 1)"),
]
OTHER = [
    MEANT.replace("ValueError", "TypeError"),
    MEANT.replace("x + 1", "x + 2"),
    MEANT.replace('getLogger("x")', 'getLogger("y")'),
    MEANT.replace("x < 0", "x <= 0"),
]


@pytest.mark.parametrize("same", [True, False])
def test_texts_are_no_code(root: Path, same: bool) -> None:
    module_file(root, "base").write_text(MEANT)
    before = fingerprints(root)
    for text in SAME if same else OTHER:
        assert text != MEANT
        module_file(root, "base").write_text(text)
        assert changed(before, fingerprints(root)) == (set() if same else {"fit.py", "draw.py"})


def test_options_do_not_count(root: Path) -> None:
    options = [root / "src" / PACKAGE / name for name in ("plots/options.py", "sections.py")]
    for path in options:
        path.write_text("STEPS = 1\n")
    (root / "draw.py").write_text("from toy.plots.options import STEPS\nimport toy.sections\n")
    before = fingerprints(root)
    assert not {*options} & {*sources(root / "draw.py", package=PACKAGE)}
    for path in options:
        path.write_text("STEPS = 2\n")
    assert fingerprints(root) == before


def test_type_checking_is_not_followed(root: Path) -> None:
    code = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import toy.alone\n"
    module_file(root, "base").write_text(code)
    assert module_file(root, "alone") not in sources(root / "fit.py", package=PACKAGE)


def test_entry_points_are_followed(root: Path) -> None:
    (root / "src" / "mine.py").write_text("import toy.alone\n")
    found = sources(root / "none.py", "toy.plots.lazy:draw", "mine:net", package=PACKAGE)
    modules = {module_file(root, module) for module in DRAW | {"alone"}}
    assert set(found[1:]) == {root / "src" / "mine.py", *modules}
    before = fingerprint(root / "none.py", "mine:net", package=PACKAGE)
    (root / "src" / "mine.py").write_text("import toy.alone, math\n")
    forget()
    assert fingerprint(root / "none.py", "mine:net", package=PACKAGE) != before


def test_another_package_is_followed(root: Path) -> None:
    """Its own modules and those of the project, but for options and what is there for types."""
    texts = {
        "__init__.py": "from os import path\n",
        "method.py": "from . import parts\nfrom .parts.deep import x\nfrom toy import alone\n",
        "options.py": "",
        "unused.py": "",
        "typed.py": "",
        "parts/__init__.py": "from ..options import y\nimport mine.absent\n",
        "parts/deep.py": "import typing as t\nif t.TYPE_CHECKING:\n    from .. import typed\n"
        "else:\n    from toy.core import solve\n",
    }
    for name, text in texts.items():
        path = root / "src" / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = sources(root / "none.py", "mine.method:fit", package=PACKAGE)
    own = {"__init__.py", "method.py", "parts/__init__.py", "parts/deep.py"}
    expected = {root / "src" / "mine" / name for name in own}
    assert set(found[1:]) == expected | {module_file(root, m) for m in LATE | {"alone"}}
    before = fingerprint(root / "none.py", "mine.method:fit", package=PACKAGE)
    for name in texts:
        path = root / "src" / "mine" / name
        path.write_text(texts[name] + "EDITED = 1\n")
        forget()
        after = fingerprint(root / "none.py", "mine.method:fit", package=PACKAGE)
        assert (after != before) == (name in own), name
        path.write_text(texts[name])


def test_the_project_itself_is_the_default(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from kerhrm.storage.arrays import load_arrays\n")
    home = Path(str(kerhrm.__file__)).parent
    names = ("__init__.py", "errors.py", "storage/arrays.py", "storage/__init__.py")
    forget()
    assert {script, *(home / name for name in names)} <= set(sources(script))
