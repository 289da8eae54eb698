"""Clear away what killed processes have left in the folder of one run.

    python -m kerhrm_paper.runs.recover results/paper

Nothing is touched while a Snakemake is at work there.  Incomplete files and locks that
nobody holds go; checkpoints stay, and ``snakemake --rerun-incomplete`` continues from
them.  Jobs whose Snakemake was killed end by themselves; one that is still at work is
waited for by its successor.
"""

import re
import sys
from pathlib import Path

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import PART
from kerhrm_paper.runs.locks import TEMPORARY, acquire, hold_run

#: names under which files are written before they are complete
_OURS = re.compile(rf"\.[0-9a-f]{{32}}{re.escape(PART)}")


def recover(run: Path) -> None:
    """Remove incomplete files; refuse while a Snakemake is at work there."""
    if run.exists() and not run.is_dir():
        raise KerhrmError(f"{run} is a file", "give the folder of a run")
    if not (run / TEMPORARY).is_dir():
        return
    hold_run(run)  # no Snakemake may start meanwhile
    try:
        for path in run.glob(f"{TEMPORARY}/*.lock"):
            # held while it goes, so that no job takes a lock that is gone
            if lock := acquire(path):
                path.unlink(missing_ok=True)
                lock.release()
        for path in run.rglob(f".*{PART}"):
            # files of others may end likewise, as those of browsers
            if _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)
    except OSError as error:
        problem = f"cannot remove {error.filename}: {error.strerror}"
        hint = "make its folder writable, then run again"
        raise FileError(problem, hint) from error


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("error: one run's folder must be given, as results/paper")
    try:
        recover(Path(sys.argv[1]))
    except KerhrmError as error:
        sys.exit(f"error: {error}")
