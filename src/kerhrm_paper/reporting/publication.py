"""What ``provenance.json`` says of published files."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kerhrm.files import write_text
from kerhrm_paper.reporting.run import RECORD, Run
from kerhrm_paper.runs.provenance import digest, read

#: preset of the published tables; others lie in a folder of their preset's name
PUBLISHED = "fresh"


def write_provenance(
    target: Path, written: Iterable[str], changes: Mapping[str, Any]
) -> None:
    """Write ``provenance.json``: what it says already, but for what has changed.

    Parameters
    ----------
    target : path
        Folder of the published files.
    written : iterable of str
        Files that are written now, whose digests are noted.
    changes : mapping
        Keys of the record with their new values, such as ``tables``, what made each
        table, ``studies`` likewise, or ``again``, what made files that were computed
        again from the published scores.  A key whose value is None goes.
    """
    record = dict(Run(target).provenance)
    noted = record.get("files") or {}
    digests = {name: digest(target / name) for name in written}
    record |= {**changes, "files": {**noted, **digests}}
    content = {key: value for key, value in record.items() if value is not None}
    text = json.dumps(content, indent=1, sort_keys=True)
    write_text(target / RECORD, f"{text}\n")


def facts(run: Run, preset: str, table: str, file: str) -> dict[str, Any]:
    """Preset and command of a table or study, and what its file was made by.

    Commit, Python and platform are those of the file's record, None where it has none.
    """
    made: dict[str, Any] = {
        "preset": preset,
        "command": f"snakemake --cores 2 {table} --config preset={preset}",
    }
    record = read(run.folder, file) or {}
    for key in ("commit", "python", "platform"):
        made[key] = record.get(key)
    return made
