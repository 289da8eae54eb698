"""Files that a run was to replace, and has lost instead.

Snakemake removes the old output of a job before it runs the job.  When the job fails or is
killed the file is missing, while all that was made of its old content stands and looks up to
date: a missing file is made again only if something asks for it.  So a run notes what it is
about to replace, and the next one makes again what is missing of it, and all that follows.
"""

import json
import os
from pathlib import Path
from typing import Any

from kerhrm.arrays import write_text

#: relative to the folder that Snakemake runs in
JOURNAL = Path(".snakemake", "kerhrm-replaced.json")


def note_replaced(workflow: Any) -> None:
    """Note the existing outputs of all jobs that are about to run, for ``onstart``."""
    outputs = (str(file) for job in workflow.dag.needrun_jobs() for file in job.output)
    _write({*lost_files(), *filter(os.path.exists, outputs)})


def make_lost_files_again(workflow: Any) -> None:
    """Have Snakemake run the jobs of the lost files, while it builds its DAG.

    A job's own Snakemake, on another machine, leaves them to the one that has sent it.
    """
    if workflow.is_main_process:
        workflow.dag.forcefiles.update(lost_files())


def forget_replaced() -> None:
    """Keep of the notes only what is still lost, for ``onsuccess``."""
    _write(lost_files())


def lost_files() -> set[str]:
    """Noted files that do not exist."""
    try:
        noted: list[str] = json.loads(JOURNAL.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return set()
    return {file for file in noted if not os.path.exists(file)}


def _write(files: set[str]) -> None:
    if files:
        write_text(JOURNAL, json.dumps(sorted(files), indent=0))
    else:
        JOURNAL.unlink(missing_ok=True)
