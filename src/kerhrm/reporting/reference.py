"""The committed run that others are compared with."""

import json
import shutil
from os import PathLike
from pathlib import Path

from kerhrm.arrays import write_text
from kerhrm.errors import KerhrmError
from kerhrm.reporting.provenance import provenance
from kerhrm.reporting.readme import is_stand_in_text

FOLDERS = ("tables", "figures")


def publish(results: str | PathLike[str], reference: str | PathLike[str]) -> None:
    """Copy a run's tables, figures and resolved configuration, and note what made them.

    Parameters
    ----------
    results : path
        ``results/<preset>`` of a complete run.
    reference : path
        Folder to replace.

    Raises
    ------
    KerhrmError
        If the run is not complete, used stand-in data or was not at preset ``paper``.
    """
    results, reference = Path(results), Path(reference)
    if results.name != "paper":
        raise KerhrmError(f"{results} is no run at preset paper", "run without preset=...")
    for name in (*FOLDERS, "config.yaml"):
        if not (results / name).exists():
            raise KerhrmError(f"{results} has no {name}", "run `snakemake all` first")
    for page in sorted(results.glob("tables/*.md")):
        if is_stand_in_text(page.read_text(encoding="utf-8")):
            raise KerhrmError(f"{page} shows stand-in data", "give the raw files, see the README")
    for folder in FOLDERS:
        shutil.rmtree(reference / folder, ignore_errors=True)
        shutil.copytree(results / folder, reference / folder)
    configuration = (results / "config.yaml").read_text(encoding="utf-8")
    write_text(reference / "config.yaml", configuration)
    write_text(reference / "versions.json", json.dumps(provenance(), indent=2) + "\n")
