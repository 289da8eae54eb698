"""What every file of a run was made of.

Digests of it and its inputs, parameters and code; commit, libraries, machine and device
of the job.

The record of ``RUN/a/b.npz`` is ``RUN/provenance/a/b.npz.json``; files are named by
their path from the run's folder.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.files import File, check_regular, write_text
from kerhrm_paper.runs.arrays import reading
from kerhrm_paper.runs.origin import origin

PROVENANCE = "provenance"  #: folder in the run's


def digest(path: File) -> str:
    """SHA-256 of a file; KerhrmError, in one line, if it cannot be read."""
    with reading(path), open(path, "rb") as file:
        read_whole = hashlib.file_digest(file, "sha256")
        return read_whole.hexdigest()


def name_in(run: Path, file: File) -> str:
    """Name of a file in records: its path from the run's folder."""
    relative = os.path.relpath(file, run)
    return Path(relative).as_posix()


def read(run: Path, name: str) -> dict[str, Any] | None:
    """Record of a file of the run; None if it has none that can be read."""
    path = run / PROVENANCE / f"{name}.json"
    try:
        check_regular(path)
        text = path.read_text(encoding="utf-8")
        record = json.loads(text)
        noted = record.keys()
        is_complete = {"sha256", "inputs"} <= noted
    except (OSError, ValueError, AttributeError):
        return None
    return record if is_complete else None


def check(run: Path, files: Iterable[File]) -> dict[str, str]:
    """Digests of a job's inputs by their names.

    Raises KerhrmError if one is not as its rule left it, or is a file of the run of
    which no record says so: it may have been cut.  Files from outside have none.
    """
    digests = {}
    for file in files:
        name = name_in(run, file)
        record = read(run, name)
        digests[name] = digest(file)
        is_outside = name.startswith("../")
        if record is None and not is_outside:
            problem = f"{file} has no record of the rule that made it"
            raise KerhrmError(problem, "delete it and run again")
        if record is not None and record["sha256"] != digests[name]:
            raise _changed(file, record)
    return digests


def check_asked(run: Path, file: File) -> None:
    """Raise KerhrmError if a file is not as its rule left it.

    To Snakemake it is up to date, also where it was cut, and it is written over where
    it was edited.  What has no record, or is not there, is made again.
    """
    record = read(run, name_in(run, file))
    if record is None or record["sha256"] is None or not os.path.exists(file):
        return
    if record["sha256"] != digest(file):
        raise _changed(file, record, "delete it, or move it away, and run again")


def _changed(
    file: File, record: Mapping[str, Any], hint: str = "delete it and run again"
) -> KerhrmError:
    """Error of a file that is not as its rule left it."""
    problem = f"{file} has changed since rule {record['rule']} made it"
    return KerhrmError(problem, hint)


def begin(run: Path, outputs: Iterable[File]) -> None:
    """Take the digests out of the records of what a job makes again.

    If it is killed between its files and their records, nobody has changed the files.
    """
    for file in outputs:
        name = name_in(run, file)
        record = read(run, name)
        if record is not None:
            _write(run, name, record | {"sha256": None})


def _write(run: Path, name: str, record: Mapping[str, Any]) -> None:
    text = json.dumps(record, indent=1, sort_keys=True, default=str)
    write_text(run / PROVENANCE / f"{name}.json", f"{text}\n")


def write(
    run: Path,
    rule: str,
    outputs: Iterable[File],
    inputs: Mapping[str, str],
    params: Mapping[str, Any],
    made_by: Mapping[str, str | None] | None = None,
) -> None:
    """Write the records of a job's outputs.

    Parameters
    ----------
    run : path
        Folder of the run.
    rule : str
        The job's.
    outputs : iterable of path
        What it has made.
    inputs : mapping of str to str
        Digests by name, as of :func:`check`.
    params : mapping
        The rule's.
    made_by : mapping of str to str, optional
        What :func:`~kerhrm_paper.runs.origin.origin` said when the job started, and
        more of the kind.
    """
    if made_by is None:
        made_by = origin()
    for file in outputs:
        record = {
            "rule": rule,
            "inputs": dict(inputs),
            "params": dict(params),
            "sha256": digest(file),
            **made_by,
        }
        _write(run, name_in(run, file), record)


def ancestors(
    run: Path, names: Iterable[str], follow: Callable[[str], bool] = bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records of files and of all that they were made of, as far as ``follow`` says, by
    name."""
    seen: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        record = read(run, name)
        if record:
            seen.add(name)
            waiting += filter(follow, record["inputs"])
            yield name, record


def missing(run: Path, files: Iterable[File]) -> list[str]:
    """Files of the run that are gone, though others were made of them, down to
    ``files``.

    Snakemake takes what was made of a missing file for up to date; a target that asks
    for the missing files has them made again.
    """
    names = [name_in(run, file) for file in files]
    paths = [run / name for name, _ in ancestors(run, names)]
    absent = [str(path) for path in paths if not path.exists()]
    return sorted(absent)
