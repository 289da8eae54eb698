"""Notebooks run by papermill: the same bytes each time and for everybody; nothing after
a failure; safe pages."""

import contextlib
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from refusals import refusal

from kerhrm.files import write_text
from kerhrm_paper.reporting import notebooks
from kerhrm_paper.reporting.notebooks import normalise, render, to_html
from tests.unit.reporting.conftest import EVIL

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
METADATA = {
    "kernelspec": {"name": "python3", "language": "python", "display_name": "Any"}
}
Make = Callable[..., Path]


def write(path: Path, *code: str) -> Path:
    """A notebook with the parameters ``name`` and ``numbers``; cell ids are random."""
    parameters = new_code_cell(
        'name = "nobody"\nnumbers = []', metadata={"tags": ["parameters"]}
    )
    cells = [
        new_markdown_cell("# Title"),
        parameters,
        *(new_code_cell(text) for text in code),
    ]
    made = new_notebook(cells=cells, metadata=METADATA)
    nbformat.write(made, path)
    return path


def outputs(path: Path) -> list[Any]:
    found = []
    for cell in nbformat.read(path, 4).cells:
        found += cell.get("outputs", [])
    return found


def test_two_runs_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.txt").write_text("read from the caller's folder")
    monkeypatch.chdir(tmp_path)
    code = ("print(name, sum(numbers))", 'open("data.txt").read()')
    targets = [tmp_path / "new" / "folder" / "1.ipynb", tmp_path / "2.ipynb"]
    for target in targets:
        source = write(tmp_path / f"source{target.name}", *code)
        render(source, target, name="papermill", numbers=[1, 2, 3])
    first, second = (target.read_bytes() for target in targets)
    assert first == second
    texts = [
        o["text"] if "text" in o else o["data"]["text/plain"]
        for o in outputs(targets[0])
    ]
    assert texts == ["papermill 6\n", '"read from the caller\'s folder"']
    assert str(tmp_path) not in first.decode()
    assert normalise(first.decode()) == first.decode()


#: what a user's files and variables may change: texts, numbers, figures, imports
SEEN = """
import locale, os, sys, time
import pandas as pd, matplotlib, matplotlib.pyplot as plt
print(pd.DataFrame({"a column with a long name": [1 / 3] * 3, "another": [2 / 3] * 3}))
print(time.tzname, locale.getlocale(), os.get_terminal_size.__name__, plt.get_backend())
print(sorted(n for n, v in matplotlib.rcParams.items()
             if v != matplotlib.rcParamsDefault[n] and n != "backend"))
print(open("mine.txt").read(), __import__("json").__file__ == os.path.join(
      os.path.dirname(os.__file__), "json", "__init__.py"))
plt.plot([1, 2]);
"""
STARTUP = 'import pandas as pd; pd.set_option("display.precision", 1)'
CONFIG = f"""
c.InlineBackend.figure_formats = {{"svg"}}
c.InteractiveShellApp.exec_lines = ['{STARTUP}']
"""
STYLE = "font.size: 20\nsavefig.pad_inches: 2\nfigure.facecolor: red\n"
SPEC = '{"argv": ["/bin/false", "{connection_file}"], "display_name": "P"}'
SHADOW = "raise SystemExit('shadow')"


def settings_of_a_user(home: Path) -> dict[str, str]:
    """Files that change IPython, Jupyter, matplotlib and imports; their variables."""
    kernel = "share/kernels/python3"
    profile = ".ipython/profile_default"
    files = {
        f"{kernel}/kernel.json": SPEC,
        f".local/{kernel.replace('share', 'share/jupyter')}/kernel.json": SPEC,
        f"{profile}/startup/0.py": STARTUP,
        f"{profile}/ipython_config.py": CONFIG,
        f"{profile}/ipython_kernel_config.py": CONFIG,
        ".config/matplotlib/matplotlibrc": STYLE,
        "work/matplotlibrc": STYLE,
        "work/json.py": SHADOW,
        "work/pandas.py": SHADOW,
        "lib/sitecustomize.py": SHADOW,
        "lib/ipykernel/__init__.py": SHADOW,
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    long = home / ("x" * 100)
    long.mkdir()
    startup = str(home / profile / "startup" / "0.py")
    return {
        "HOME": str(home),
        "IPYTHONDIR": str(home / ".ipython"),
        **dict.fromkeys(
            ("JUPYTER_PATH", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"),
            str(home / "share"),
        ),
        "JUPYTER_RUNTIME_DIR": "/proc/none",
        "JUPYTER_DEFAULT_PROVISIONER_NAME": "none",
        "MATPLOTLIBRC": str(home / "work" / "matplotlibrc"),
        "MPLBACKEND": "svg",
        "PYTHONPATH": str(home / "lib"),
        "PYTHONSTARTUP": startup,
        "PYTHONWARNINGS": "error",
        "COLUMNS": "20",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "tr_TR.UTF-8",
        "TZ": "Asia/Tokyo",
        "TMPDIR": str(long),
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook SEEN, executed where the user has no settings, beside its source."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "mine.txt").write_text("mine")
    with contextlib.chdir(folder):
        render(write(folder / "source.ipynb", SEEN), folder / "out.ipynb")
    return folder


@pytest.mark.parametrize("sockets", [notebooks.SOCKETS, ()])
def test_files_and_variables_of_the_user_change_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plain: Path,
    sockets: tuple[str | None, ...],
) -> None:
    """Also where no place is fit for sockets, and the kernel listens to ports."""
    for name, value in settings_of_a_user(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(notebooks, "SOCKETS", sockets)
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work" / "mine.txt").write_text("mine")
    target = tmp_path / "out.ipynb"
    render(plain / "source.ipynb", target)
    expected = (plain / "out.ipynb").read_bytes()
    assert target.read_bytes() == expected
    text, figure = outputs(target)
    assert "0.333333" in text["text"]
    assert "another" in text["text"].splitlines()[0]
    assert text["text"].endswith("[]\nmine True\n")
    assert "image/png" in figure["data"]


@pytest.mark.parametrize("folder", ["/nowhere", "/proc"])
def test_temporary_files_go_where_they_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setenv("TMPDIR", folder)
    monkeypatch.setattr(tempfile, "tempdir", None)
    render(write(tmp_path / "source.ipynb", "print(1)"), tmp_path / "out.ipynb")
    assert outputs(tmp_path / "out.ipynb")[0]["text"] == "1\n"


def test_without_any_place_for_temporary_files_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    with refusal("TMPDIR") as error:
        render(write(tmp_path / "source.ipynb", "1"), tmp_path / "out.ipynb")
    assert "\n" not in str(error.value)


def test_a_kernel_that_is_killed_is_one_line(tmp_path: Path) -> None:
    source = write(tmp_path / "source.ipynb", "import os; os.kill(os.getpid(), 9)")
    with refusal(r"source\.ipynb: Kernel died") as error:
        render(source, tmp_path / "out.ipynb")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out.ipynb").exists()


def test_a_kernel_imports_what_its_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as libraries that a cluster has in PYTHONPATH."""
    (tmp_path / "shelved_library.py").write_text("thing = 3")
    monkeypatch.syspath_prepend(tmp_path)
    source = write(
        tmp_path / "source.ipynb", "from shelved_library import thing; thing"
    )
    target = tmp_path / "out.ipynb"
    render(source, target)
    first, *_ = outputs(target)
    assert first["data"]["text/plain"] == "3"


def test_templates_of_the_user_change_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = write(tmp_path / "source.ipynb", "1")
    plain = to_html(notebook, "title")
    for folder in (tmp_path / "basic", tmp_path / "nbconvert/templates/basic"):
        folder.mkdir(parents=True)
        (folder / "conf.json").write_text('{"base_template": "classic"}')
        (folder / "index.html.j2").write_text("another page")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert to_html(notebook, "title") == plain


@pytest.mark.parametrize("earlier", [None, "an earlier result"])
def test_a_failing_cell_leaves_nothing(tmp_path: Path, earlier: str | None) -> None:
    source = write(
        tmp_path / "source.ipynb", 'raise RuntimeError("first line\\n  second line")'
    )
    target = tmp_path / "results" / "target.ipynb"
    if earlier:
        write_text(target, earlier)
    with refusal(r"source\.ipynb, cell \d: RuntimeError: first line second line$"):
        render(source, target)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    left = {path.name for path in files}
    if earlier:
        assert left == {"source.ipynb", "target.ipynb"}
        assert target.read_text() == earlier
    else:
        assert left == {"source.ipynb"}


def test_the_notebook_of_a_table_shows_every_part(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    run = make_run(scores)
    stem = tmp_path / "figure"
    out = tmp_path / "out.ipynb"
    page = tmp_path / "page.html"
    render(
        NOTEBOOKS / "table.ipynb",
        out,
        page,
        run=str(run),
        table="table1",
        figure=str(stem),
    )
    found = outputs(out)
    assert {o.output_type for o in found} <= {"display_data", "execute_result"}
    assert any("image/png" in o["data"] for o in found)  # a figure cell is not empty
    endings = {p.suffix for p in tmp_path.glob("figure.*")}
    assert endings == {".png", ".pdf"}
    assert page.read_text().count("<table") >= 4


def test_a_page_runs_no_script_and_asks_for_nothing(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    settings = scores["setting"] + EVIL
    methods = scores["method"] + "$a$ $b"
    evil = scores.assign(setting=settings, method=methods)
    run = make_run(evil)
    tables = {"table": {"table": "table1"}, "report": {}}
    for name, of_table in tables.items():
        parameters = {"run": str(run)} | of_table
        render(
            NOTEBOOKS / f"{name}.ipynb",
            tmp_path / "o.ipynb",
            tmp_path / "p.html",
            **parameters,
        )
        page = (tmp_path / "p.html").read_text()
        assert not re.search(r"<(script|iframe|object|link)\b", page)
        tags = re.findall(r"<img[^>]*>", page)
        assert all(
            'src="data:image/png' in tag and "onerror" not in tag for tag in tags
        )
        assert "javascript:" not in re.sub(r">[^<]*", ">", page)
        assert "<style scoped" not in page


def test_scripts_of_any_output_are_text(tmp_path: Path) -> None:
    cell = new_code_cell("1")
    inside = (
        "<p id='<table><img src=x onerror=1>'>p</p><table><tr><th></th></tr></table>"
    )
    evil = f"<script>1</script>{EVIL}<b onclick='1'>b</b>{inside}"
    data = {"text/html": evil, "text/plain": "x"}
    cell.outputs = [
        nbformat.v4.new_output("display_data", data),
        nbformat.v4.new_output(
            "display_data", {"application/javascript": "document.title=1"}
        ),
        nbformat.v4.new_output(
            "display_data", {"image/svg+xml": "<svg onload='1'></svg>"}
        ),
    ]
    cells = [
        new_markdown_cell(f"<script>2</script>{EVIL} [k](javascript:alert(1))"),
        cell,
    ]
    nbformat.write(
        new_notebook(cells=cells, metadata=METADATA), tmp_path / "evil.ipynb"
    )
    page = to_html(tmp_path / "evil.ipynb", "</title><script>3</script>")
    assert not re.search(r"<(script|svg|b on)", page)
    assert not re.findall(r"<img[^>]*(?:onerror|src=x)", page)
    assert "document.title=1</" not in page
    assert 'href="javascript' not in page
    # a table's frame scrolls, also by keyboard, and an empty header is no header
    assert re.search(
        r'<div class="frame" tabindex="0"><table>(<tbody>)?<tr><td></td></tr>', page
    )
