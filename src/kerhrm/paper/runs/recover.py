"""Clear away what killed processes have left in the folder of one run.

    python -m kerhrm.paper.runs.recover results/paper

Nothing is touched while a Snakemake is at work there.  Incomplete files and locks that
nobody holds go; checkpoints stay, and ``snakemake --rerun-incomplete`` continues from
them.  Jobs whose Snakemake was killed end by themselves; one that is still at work is
waited for by its successor.
"""

import sys
from pathlib import Path

from kerhrm.errors import FileError, KerhrmError
from kerhrm.paper.runs.arrays import PART
from kerhrm.paper.runs.locks import TEMPORARY, hold_run, holder


def recover(run: Path) -> None:
    """Remove incomplete files; refuse while a Snakemake is at work there."""
    if not (run / TEMPORARY).is_dir():
        return
    hold_run(run)  # no Snakemake may start meanwhile
    try:
        for path in (*run.glob(f"{TEMPORARY}/*.lock"), *run.rglob(f".*{PART}")):
            if path.suffix == PART or not holder(path):
                path.unlink(missing_ok=True)
    except OSError as error:
        hint = "make its folder writable, then run again"
        raise FileError(
            f"cannot remove {error.filename}: {error.strerror}", hint
        ) from error


if __name__ == "__main__":
    try:
        recover(Path(sys.argv[1]))
    except (KerhrmError, IndexError) as error:
        sys.exit(f"error: {error}")
