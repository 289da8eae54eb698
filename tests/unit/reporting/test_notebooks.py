"""Notebooks run by papermill: the same bytes every time, nothing after a failure, safe
pages."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from kerhrm.errors import KerhrmError
from kerhrm.paper.reporting.notebooks import normalise, render, to_html
from kerhrm.paper.runs.arrays import write_text
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
        *(new_code_cell(c) for c in code),
    ]
    nbformat.write(new_notebook(cells=cells, metadata=METADATA), path)
    return path


def outputs(path: Path) -> list[Any]:
    return [o for cell in nbformat.read(path, 4).cells for o in cell.get("outputs", [])]


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


@pytest.mark.parametrize("earlier", [None, "an earlier result"])
def test_a_failing_cell_leaves_nothing(tmp_path: Path, earlier: str | None) -> None:
    source = write(
        tmp_path / "source.ipynb", 'raise RuntimeError("first line\\n  second line")'
    )
    target = tmp_path / "results" / "target.ipynb"
    if earlier:
        write_text(target, earlier)
    with pytest.raises(
        KerhrmError,
        match=r"source\.ipynb, cell \d: RuntimeError: first line second line$",
    ):
        render(source, target)
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"source.ipynb", *(["target.ipynb"] if earlier else [])}
    assert not earlier or target.read_text() == earlier


def test_the_notebook_of_a_table_shows_every_part(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    run, stem = make_run(scores), tmp_path / "figure"
    out, page = tmp_path / "out.ipynb", tmp_path / "page.html"
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
    assert {p.suffix for p in tmp_path.glob("figure.*")} == {".png", ".pdf"}
    assert page.read_text().count("<table") >= 4


def test_a_page_runs_no_script_and_asks_for_nothing(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    evil = scores.assign(
        setting=scores["setting"] + EVIL, method=scores["method"] + "$a$ $b"
    )
    run = make_run(evil)
    for name, table in (("table", "table1"), ("report", "")):
        parameters = {"run": str(run)} | ({"table": table} if table else {})
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
