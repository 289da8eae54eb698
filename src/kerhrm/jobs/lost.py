"""Files that a run was to replace, and has lost instead.

Snakemake removes the old output of a job before it runs the job.  When the job fails or is
killed the file is missing, while all that was made of its old content stands and looks up to
date: a missing file is made again only if something asks for it.  So every job that ends well
leaves a note of what it has read and written, and targets ask for :func:`lost_files`.
"""

import json
import os
from pathlib import Path
from typing import Any

from kerhrm.storage.arrays import write_text

MADE = "made"  # in a run's folder


def note_made(run: Path, name: str, snakemake: Any, *, keep: bool) -> None:
    """Note what a job has read and written; ``keep`` says that its outputs are to stay."""
    files = {"inputs": [*map(str, snakemake.input)], "outputs": [*map(str, snakemake.output)]}
    files["log"] = [*map(str, snakemake.log)]
    note = {"rule": snakemake.rule, "keep": keep, **files}
    write_text(run / MADE / f"{name}.json", json.dumps(note, indent=0))


def lost_files(run: str | os.PathLike[str]) -> list[str]:
    """Outputs that are gone while something that was made of them stands, sorted.

    One that is gone with all that was made of it is made again if a job needs it.  Notes
    that cannot be read count for nothing.
    """
    made: set[str] = set()
    used: set[str] = set()
    for path in Path(run, MADE).glob("*.json"):
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
            if note["keep"]:
                made.update(note["outputs"])
            if not note["keep"] or any(map(os.path.exists, note["outputs"])):
                used.update(note["inputs"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return sorted(file for file in made & used if not os.path.exists(file))
