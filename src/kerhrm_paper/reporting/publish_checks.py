"""What is refused before anything is published."""

import os
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import check_regular
from kerhrm_paper.config.mark import mark
from kerhrm_paper.config.run_folder import check_folders
from kerhrm_paper.evaluation.tables import FALLBACK
from kerhrm_paper.reporting.publish_lock import LOCK, check_free
from kerhrm_paper.reporting.run import RECORD, Run
from kerhrm_paper.runs import costs, provenance
from kerhrm_paper.runs.arrays import restoring
from kerhrm_paper.runs.locks import SNAKEMAKE, TEMPORARY, acquire, holder

#: input that is of the whole run: it changes with every table that is declared, and
#: jobs have what they take from it among their parameters
CONFIGURATION = "config.yaml"


@contextmanager
def held(run: Run) -> Iterator[None]:
    """Keep other commands from a run, whose files would change while they are copied.

    Raises
    ------
    KerhrmError
        If one is at work there.
    """
    path = run.folder / TEMPORARY / SNAKEMAKE
    try:
        lock = acquire(path) if path.parent.is_dir() else None
        who = None if lock else holder(path)
    except (OSError, FileError):  # a folder that nobody here can write to
        lock, who = None, None
    if who:
        problem = f"another command is at work in {run.folder} ({who})"
        raise KerhrmError(problem, "wait until it has ended, or stop it")
    try:
        yield
    finally:
        if lock:
            lock.release()


def check_target(target: Path, run: Run) -> None:
    """Refuse a folder with files that are not published ones, such as a run's, what
    cannot be a folder, and a folder that another process publishes to."""
    hint = "give --reference a new folder, or one of an earlier publish"
    folder_of_run = run.folder.resolve()
    place = target.resolve()
    if place.is_relative_to(folder_of_run):
        what = "is the run itself"
        if place != folder_of_run:
            what = f"lies in {run.folder}, the run itself"
        raise KerhrmError(f"{target} {what}", hint)
    check_folders(target, hint)
    check_free(target)
    if os.path.isdir(target) and not _is_publication(target):
        problem = f"{target} holds files that are not published ones"
        raise KerhrmError(problem, hint)


def _is_publication(folder: Path) -> bool:
    """Whether a folder is empty, or holds what was published, of one preset or more."""
    if Run(folder).provenance:
        return True
    # a process that was killed leaves its lock
    paths = [path for path in folder.iterdir() if path.name != LOCK]
    return all(path.is_dir() and Run(path).provenance for path in paths)


def check_published(target: Path, written: Collection[str] = ()) -> None:
    """Refuse published files that were edited since, or are gone.

    Those that are ``written`` now need not be as they were.
    """
    published = Run(target)
    noted = published.provenance.get("files") or {}
    kept = [name for name in noted if name not in written and name != costs.FILE]
    for name in kept:
        if not published.has(name):
            path = target / name
            problem = f"{path} was published, and is gone"
            raise FileError(problem, restoring(path))
    if costs.FILE in noted and published.has(costs.FILE):  # else it is made anew
        hint = f"move it away, or {restoring(target / costs.FILE)}"
        published.check_unchanged(costs.FILE, hint=hint)
    published.check_unchanged(*kept)


def check_replaced(target: Path, written: Mapping[str, Path | None], hint: str) -> None:
    """Refuse files of the user's in the place of those that are written now.

    A file that was published, that git has as it is, or with the same content, may be
    replaced: nothing is lost with it.  A link to a file would become a file, so it is
    refused, as is what cannot be read.

    Parameters
    ----------
    target : path
        Folder of what is published.
    written : mapping
        Names of the files that are written, each with the file that it is a copy of,
        None if it is none.
    hint : str
        What the user can do.
    """
    record = Run(target).provenance
    noted = {*(record.get("files") or {})}
    if record.get("tables"):
        noted.add(costs.FILE)  # which every table brings, without a note
    for name in (*written, RECORD):
        _check_replaceable(target / name, hint)
    for name, source in written.items():
        path = target / name
        if name in noted or not os.path.lexists(path):
            continue
        if not _is_copy(path, source) and not _is_committed(path):
            problem = f"{path} is not among the files that were published"
            raise FileError(problem, hint)


def _check_replaceable(path: Path, hint: str) -> None:
    """Refuse what no file can take the place of, and be put back later."""
    if path.is_symlink():
        problem = f"{path} is a link, which publishing would replace by a file"
        raise FileError(problem, hint)
    check_regular(path, hint)
    if path.is_dir():
        raise FileError(f"{path} is a folder, not a file", hint)
    if path.exists() and not os.access(path, os.R_OK):
        problem = f"{path} cannot be read, so it could not be put back after an error"
        raise FileError(problem, f"make it readable, or {hint}")


def _is_copy(path: Path, source: Path | None) -> bool:
    """Whether a file has the content of another one."""
    if source is None or not path.is_file():
        return False
    return provenance.digest(path) == provenance.digest(source)


def _is_committed(path: Path) -> bool:
    """Whether git has a file as it is, as those that were published before files were
    noted."""
    git = ["git", "-C", str(path.parent)]
    name = f"./{path.name}"
    digests = []
    for words in (["rev-parse", f"HEAD:{name}"], ["hash-object", name]):
        try:
            done = subprocess.run([*git, *words], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return False
        digests.append(done.stdout)
    return digests[0] == digests[1]


def check_tables(run: Run, tables: Sequence[str]) -> None:
    """Refuse names that are no tables: files beside the tables have names, too.

    A table that was not made yet is refused as its file is missing.
    """
    declared = run.config.get("tables") or {}
    for name in tables:
        if name not in declared:
            run.check_table(name)


def check_options(run: Run, tables: Sequence[str]) -> None:
    """Refuse a run, or some of its tables, of other options than its preset's."""
    allowed = ("", mark(run.preset(), {}, {}))
    for noted in _marks(run, tables):
        if noted not in allowed:
            problem = f"{run.folder} cannot be published: {noted}"
            hint = "run it in a new folder without these changes, then publish"
            raise KerhrmError(problem, hint)


def _marks(run: Run, tables: Sequence[str]) -> Iterator[str]:
    """What the run notes of its options, and the job of each table."""
    yield run.mark()
    for table in tables:
        record = provenance.read(run.folder, f"tables/{table}.csv") or {}
        params = record.get("params") or {}
        yield str(params.get("mark", ""))


def check_made_of(run: Run, files: Sequence[str]) -> None:
    """Refuse files that were made of others than those that are there now.

    All that they were made of counts, down to the raw data, as the records have it:
    an input may be gone, as long as no job has made it differently since.  Files from
    outside of the run are of the commit that is noted.
    """
    for name, record in provenance.ancestors(run.folder, files):
        for made_of, digest in record["inputs"].items():
            if made_of == CONFIGURATION:
                continue
            of_input = provenance.read(run.folder, made_of)
            if of_input is not None and of_input["sha256"] != digest:
                problem = f"{run.folder / name} was made of another {made_of}"
                raise FileError(problem, "run snakemake for it again, then publish")


def check_cells(run: Run, tables: Sequence[str]) -> None:
    """Refuse tables with stand-ins for real data, and with failed cells."""
    cells = run.cells(*tables)
    sources = cells["data_source"]
    is_replaced = sources.str.startswith(FALLBACK)
    if is_replaced.any():
        tables_of_cells = _tables_of(cells[is_replaced])
        problem = f"stand-ins for real data in {tables_of_cells}"
        hint = "set KERHRM_RAW_DIR to a folder of raw files, run again, then publish"
        raise KerhrmError(f"{run.folder} has {problem}", hint)
    is_failed = cells["verdict"] == "failed"
    if is_failed.any():
        tables_of_cells = _tables_of(cells[is_failed])
        problem = f"failed cells in {tables_of_cells}"
        raise KerhrmError(f"{run.folder} has {problem}", "run it again, then publish")


def _tables_of(cells: pd.DataFrame) -> str:
    tables = dict.fromkeys(cells["table"])
    return ", ".join(tables)
