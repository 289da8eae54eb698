"""Executed notebooks that are the same bytes in every run."""

import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import papermill
from traitlets.config import Config

from kerhrm.errors import KerhrmError
from kerhrm.storage.arrays import write_text

#: metadata that papermill and the kernel fill with times, paths and versions
VOLATILE = ("papermill", "execution", "widgets")
#: a kernel warns of anything else
ENCRYPTED = Config({"KernelManager": {"transport_encryption": "auto"}})


def execute(source: str | Path, target: str | Path, parameters: Mapping[str, Any]) -> None:
    """Run a notebook; ``target`` appears when every cell has succeeded, and nothing in it varies.

    Raises
    ------
    KerhrmError
        If the notebook does not declare a parameter, or a cell fails.
    """
    logging.getLogger("papermill").setLevel(logging.ERROR)
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # nobody debugs this kernel
    known = set(papermill.inspect_notebook(str(source)))
    if unknown := sorted(set(parameters) - known):
        raise KerhrmError(
            f"{source} has no parameter {', '.join(unknown)}",
            f"its cell tagged 'parameters' declares: {', '.join(sorted(known))}",
        )
    with tempfile.TemporaryDirectory() as folder:
        executed = Path(folder) / "executed.ipynb"
        try:
            papermill.execute_notebook(
                str(source), str(executed), parameters=dict(parameters), kernel_name="python3",
                progress_bar=False, cwd=os.getcwd(), config=ENCRYPTED,
                shutdown_kernel="immediate",  # a graceful end interrupts it, which it may print
            )  # fmt: skip
        except papermill.PapermillExecutionError as error:
            what = f"{error.ename}: {' '.join(error.evalue.split())}"  # one line
            raise KerhrmError(f"{source}, cell {error.exec_count}: {what}") from error
        except OSError as error:
            raise KerhrmError(
                f"cannot execute {source} in {folder}: {error.strerror or error}",
                "free disk space or let TMPDIR name another folder, then run again",
            ) from error
        write_text(target, normalise(executed.read_text(encoding="utf-8")))


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
