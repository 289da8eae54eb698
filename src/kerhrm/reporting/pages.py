"""An executed notebook as a page of HTML that needs nothing else."""

from pathlib import Path

import nbformat
from nbconvert import HTMLExporter


def to_html(notebook: str | Path) -> str:
    """The page: text, tables and figures without the code."""
    content = nbformat.read(notebook, as_version=4)
    exporter = HTMLExporter(exclude_input=True, exclude_input_prompt=True)
    exporter.exclude_output_prompt = True
    return str(exporter.from_notebook_node(content)[0])
