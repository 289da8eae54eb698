"""What ``provenance.json`` says of published files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kerhrm.files import write_text
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs.provenance import digest, read

#: preset of the published tables; others lie in a folder of their preset's name
PUBLISHED = "fresh"


def write_provenance(
    target: Path,
    tables: dict[str, Any],
    written: Iterable[str],
    again: dict[str, Any] | None = None,
) -> None:
    """Write ``provenance.json``.

    What made each table, the digests of the files that are ``written`` now and of
    those that were noted before and, of files that were computed ``again`` from the
    published scores, what made them.
    """
    noted = Run(target).provenance.get("files") or {}
    files = dict(noted)
    for name in written:
        files[name] = digest(target / name)
    content: dict[str, Any] = {"tables": tables, "files": files}
    if again is not None:
        content["again"] = again
    text = json.dumps(content, indent=1, sort_keys=True)
    write_text(target / "provenance.json", f"{text}\n")


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
