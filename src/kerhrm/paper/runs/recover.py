"""Clear away what killed processes have left in the folder of one run.

    python -m kerhrm.paper.runs.recover results/paper

Nothing is touched while a Snakemake is at work there.  Jobs whose Snakemake has been killed are
stopped, or waited for on another machine.  Then incomplete files and locks go; checkpoints stay,
and ``snakemake --rerun-incomplete`` continues from them.
"""

import argparse
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm.paper.runs.arrays import PART
from kerhrm.paper.runs.locks import POLL_SECONDS, SNAKEMAKE, TEMPORARY, hold_run, holder

#: how long a job may take from the request to stop to its end
PATIENCE_SECONDS = 600.0

log = logging.getLogger("kerhrm")


def recover(run: Path, patience: float = PATIENCE_SECONDS) -> None:
    """Stop what still runs for a killed Snakemake, and remove incomplete files."""
    folder = run / TEMPORARY
    if not folder.is_dir():
        return
    hold_run(run)  # no Snakemake may start meanwhile
    locks = {*folder.glob("*.lock")} - {folder / SNAKEMAKE}
    _stop_jobs(locks, patience)
    try:
        for path in {*locks, *run.rglob(f".*{PART}")}:
            path.unlink(missing_ok=True)
    except OSError as error:
        hint = "make its folder writable, then run again"
        raise KerhrmError(f"cannot remove {error.filename}: {error.strerror}", hint) from error


def _stop_jobs(locks: set[Path], patience: float) -> None:
    end = time.monotonic() + patience
    seen: set[str] = set()
    asked: set[str] = set()
    while jobs := {who for lock in locks if (who := holder(lock))}:
        # Not at first sight: a lock that was taken just now may still show its last holder.
        for who in jobs & seen - asked:
            log.info("waiting for %s, whose Snakemake has died", who)
            _, number, _, host = who.split()
            if host == socket.gethostname():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(number), signal.SIGTERM)
            asked.add(who)
        seen = jobs
        if time.monotonic() > end:
            hint = "end it there (kill -KILL, scancel, qdel, bkill), then run again"
            raise KerhrmError(f"{min(jobs)} has not stopped within {patience:.0f} s", hint)
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m kerhrm.paper.runs.recover")
    parser.add_argument("run", type=Path, help="the run's folder, as results/paper")
    logging.basicConfig(level=logging.INFO, format="recovery: %(message)s")
    try:
        recover(parser.parse_args().run)
    except KerhrmError as error:
        sys.exit(f"error: {error}")
