"""A data set's page: what is on it, and that it asks nobody for anything."""

import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from kerhrm.reporting.pages import to_html


def test_a_page_has_texts_and_outputs_and_loads_nothing(tmp_path: Path) -> None:
    shown = new_output("display_data", {"text/html": "<table><td>0.25</td></table>"})
    cells = [new_markdown_cell("# What was read"), new_code_cell("secret = 1", outputs=[shown])]
    nbformat.write(new_notebook(cells=cells), tmp_path / "mine.ipynb")
    page = to_html(tmp_path / "mine.ipynb")
    assert "What was read" in page
    assert "<td>0.25</td>" in page
    assert "secret" not in page
    # whatever a browser would fetch by itself
    assert not re.findall(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page)
    assert not re.findall(r"import\([^)]*//|@import|from\s+[\"']https?:", page)
    assert not re.findall(r"url\(\s*[\"']?(?:https?:)?//", page)
