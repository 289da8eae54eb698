"""Make tables and figures of studies the published ones: results/study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.entries import load_entry
from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import atomic
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.reporting.figures import save_png, style
from kerhrm_paper.reporting.publication import facts, write_provenance
from kerhrm_paper.reporting.publish_checks import (
    check_made_of,
    check_published,
    check_replaced,
    check_target,
    held,
)
from kerhrm_paper.reporting.publish_lock import publishing
from kerhrm_paper.reporting.restored import restored_on_error
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs.arrays import reading
from kerhrm_paper.runs.origin import origin
from kerhrm_paper.runs.provenance import check
from kerhrm_paper.studies.registry import STUDIES, TARGET, Declaration

FOLDER = "studies"  #: in a run


def publish_studies(
    run: Run,
    target: Path,
    names: Sequence[str],
) -> Path:
    """Copy files of studies, and note in ``provenance.json`` what made them.

    Parameters
    ----------
    run : Run
        The run that has made them.
    target : Path
        Folder of the published files.
    names : sequence of str
        Targets, such as ``study_pretest``.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    KerhrmError
        If a study is unknown, a file is missing or has changed since its job made it,
        or made it of others than the run has now, or a study has smoke sizes or
        stand-ins for real data; if another command is at work in the run; if the folder
        holds other files than published ones, or some that were edited, or one of the
        user's would be replaced; if another process publishes there.  After any error
        the folder is as it was.
    """
    with held(run):
        made = check_studies(run, target, names)
        with publishing(target), restored_on_error(target):
            _copy(run, target, names, made)
    return target


def _copy(run: Run, target: Path, names: Sequence[str], made: dict[str, Any]) -> None:
    """Copy files of studies, and note what has ``made`` them."""
    copied = [run.folder / file for file in _files(names)]
    for source in copied:
        with atomic(target / source.name) as handle:
            handle.write(source.read_bytes())
    studies = Run(target).provenance.get("studies") or {}
    changes = {"studies": {**studies, **made}}
    write_provenance(target, [source.name for source in copied], changes)


def check_studies(run: Run, target: Path, names: Sequence[str]) -> dict[str, Any]:
    """What made the files of studies, by target.

    Raises KerhrmError as :func:`publish_studies` does, which calls it before it writes.
    """
    check_target(target, run)
    made = {}
    for name in names:
        files = _files([name])
        check_complete(run, name, files)
        # a run of studies alone has no configuration, and its folder is the preset's
        preset = run.folder.name
        made[name] = facts(run, preset, name, files[0])
    copied = _files(names)
    check_made_of(run, copied)
    written: dict[str, Path | None] = {}
    for file in copied:
        source = run.folder / file
        written[source.name] = source
    check_published(target, written)
    check_replaced(target, written, "move it, or give another folder")
    return made


def _files(names: Sequence[str]) -> list[str]:
    """Files of studies in a run."""
    files = []
    for name in names:
        files += [f"{FOLDER}/{file}" for file in files_of(name)]
    return files


def draw_again(target: Path, root: Path = Path()) -> Path:
    """Draw the figures of published studies by today's code.

    Parameters
    ----------
    target : Path
        Folder of the published files.
    root : Path
        The checkout.

    Returns
    -------
    Path
        The folder.  Figures of studies that lack a table stay as they are, and so does
        all after any error, as where a table was edited since it was published, or
        a picture of the user's would be replaced, or another process publishes there.
    """
    with publishing(target):
        _draw_all(target, root)
    return target


def _draw_all(target: Path, root: Path) -> None:
    """Write what :func:`draw_again` does."""
    pictures = []
    for declaration in STUDIES.values():
        pictures += [f"{name}.png" for name in declaration.figures]
    noted = Run(target).provenance.get("files") or {}
    gone = [name for name in noted if not Run(target).has(name)]
    check_published(target, [*pictures, *gone])
    complete = []
    written: dict[str, Path | None] = {}
    for declaration in STUDIES.values():
        if _is_complete(declaration, target):
            complete.append(declaration)
            written |= {f"{name}.png": None for name in declaration.figures}
    check_replaced(target, written, "move it")
    drawn: list[str] = []
    with restored_on_error(target):
        for declaration in complete:
            drawn += _draw(declaration, target)
        again = {
            "command": f"kerhrm publish {target} --again",
            "files": drawn,
            **origin(root),
        }
        write_provenance(target, drawn, {"again": again})


def _is_complete(declaration: Declaration, target: Path) -> bool:
    """Whether a study has figures, and all of its tables are there."""
    paths = [target / f"{name}.csv" for name in declaration.tables]
    return bool(declaration.figures) and all(path.is_file() for path in paths)


def _draw(declaration: Declaration, target: Path) -> list[str]:
    """Draw a study's figures; their names."""
    tables = {name: _rows(target / f"{name}.csv") for name in declaration.tables}
    study = load_entry(declaration.entry)
    files = []
    with style():
        figures = study.figures(tables)
        for name in declaration.figures:
            file = f"{name}.png"
            save_png(figures[name], target / file, dpi=150)
            files.append(file)
    return files


def _rows(path: Path) -> pd.DataFrame:
    """Rows of a study's table."""
    with reading(path):
        return pd.read_csv(path)


def files_of(name: str) -> list[str]:
    """Names of the files that a target makes."""
    study_name = name.removeprefix(TARGET)
    study = STUDIES.get(study_name)
    if study is None:
        known = [f"{TARGET}{study}" for study in STUDIES]
        hint = nearest(name, known)
        raise KerhrmError(f"no study is called {name}", hint)
    return study.files


def check_complete(run: Run, name: str, files: Sequence[str]) -> None:
    """Refuse files that are missing, that were edited, or that carry a note."""
    for file in files:
        if not run.has(file):
            hint = f"make it with snakemake --cores 2 {name}"
            raise FileError(f"{run.folder / file} does not exist", hint)
    paths = [run.folder / file for file in files]
    check(run.folder, paths)
    rows = _rows(run.folder / files[0])
    if "note" in rows and len(rows):
        problem = f"{name} of {run.folder} has {rows['note'].iloc[0]}"
        hint = "publish it of another preset, made with the raw files"
        raise KerhrmError(problem, hint)
