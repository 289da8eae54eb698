"""Notebooks: executed to the same bytes in every run, and exported as safe HTML."""

import logging
import os
import re
import tempfile
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import bleach
import nbformat
import papermill
from bleach.css_sanitizer import CSSSanitizer
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter
from traitlets.config import Config

from kerhrm.errors import KerhrmError
from kerhrm.paper.runs.arrays import write_text

#: metadata that papermill and the kernel fill with times, paths and versions
VOLATILE = ("papermill", "execution", "widgets")
#: what a page may hold; everything else is shown as text
TAGS = {
    "a",
    "b",
    "br",
    "caption",
    "code",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "small",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
ATTRIBUTES = {"*": ["id", "style"], "a": ["href"], "th": ["colspan", "rowspan"]}


def render(
    source: str | Path, target: str | Path, page: str | Path = "", /, **parameters: Any
) -> None:
    """Run a notebook.

    ``target`` appears once every cell has succeeded, and nothing in it varies.

    ``parameters`` are values of variables that the cell tagged ``parameters`` declares;
    ``page`` names a file for the executed notebook's HTML.

    Raises KerhrmError if a cell fails.
    """
    logging.getLogger("papermill").setLevel(logging.ERROR)
    # nobody debugs this kernel
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    with tempfile.TemporaryDirectory() as folder:
        executed = Path(folder) / "executed.ipynb"
        # Sockets that are files: another kernel that starts at the same time may take a
        # TCP port.
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/k"}})
        try:
            papermill.execute_notebook(
                str(source),
                str(executed),
                parameters=parameters,
                kernel_name="python3",
                progress_bar=False,
                cwd=os.getcwd(),
                config=sockets,
                start_timeout=600,  # on a busy machine
                # a graceful end interrupts it, which it may print
                shutdown_kernel="immediate",
            )
        except papermill.PapermillExecutionError as error:
            what = f"{error.ename}: {' '.join(error.evalue.split())}"  # one line
            raise KerhrmError(
                f"{source}, cell {error.exec_count}: {what}", None
            ) from error
        except OSError as error:
            problem = f"cannot execute {source} in {folder}: {error.strerror or error}"
            hint = "free disk space or let TMPDIR name another folder, then run again"
            raise KerhrmError(problem, hint) from error
        write_text(target, normalise(executed.read_text(encoding="utf-8")))
    if page:
        write_text(page, to_html(target, Path(page).stem))


def normalise(notebook: str) -> str:
    """The notebook's JSON without times, cell ids, paths and versions."""
    content = nbformat.reads(notebook, as_version=4)
    language = content.metadata.get("language_info", {}).get("name", "python")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content.metadata = {"kernelspec": kernel, "language_info": {"name": language}}
    for number, cell in enumerate(content.cells):
        cell.id = f"cell-{number}"
        for key in VOLATILE:
            cell.metadata.pop(key, None)
    return nbformat.writes(content, version=4) + "\n"


def to_html(notebook: str | Path, title: str) -> str:
    """An executed notebook as a page without code that makes no request and runs no
    script.

    Cells' HTML and Markdown are sanitised, whatever a table's names hold.
    """
    exporter = HTMLExporter(
        template_name="basic",
        sanitize_html=True,
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )
    exporter.register_filter("clean_html", _clean)  # nbconvert's own allows no tables
    content = nbformat.read(notebook, as_version=4)
    heading = title
    for cell in content.cells:
        if cell.cell_type == "markdown":
            heading = (re.findall(r"^#+ (.+)", cell.source, re.MULTILINE) or [heading])[
                -1
            ]
        for output in cell.get("outputs", []):
            png = output.get("metadata", {}).setdefault("image/png", {})
            png["alt"] = f"Figure: {heading}"
    body, _ = exporter.from_notebook_node(content)
    page = (files("kerhrm.paper.reporting") / "page.html").read_text(encoding="utf-8")
    return page.replace("{title}", escape(title), 1).replace("{body}", body, 1)


def _clean(markup: str) -> str:
    """HTML without scripts, requests and the style sheets of data frames.

    A table gets a frame that scrolls, also by keyboard; an empty header is no header.
    """
    markup = re.sub(r"<style.*?</style>", "", markup, flags=re.DOTALL)
    css = CSSSanitizer(allowed_css_properties=["background-color"])
    page = BeautifulSoup(
        bleach.clean(markup, TAGS, ATTRIBUTES, css_sanitizer=css), "html.parser"
    )
    for table in page.find_all("table"):
        table.wrap(page.new_tag("div", attrs={"class": "frame", "tabindex": "0"}))
    for header in page.find_all("th"):
        if not header.get_text(strip=True):
            header.name = "td"
    return str(page)
