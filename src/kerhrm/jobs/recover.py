"""Clear away what killed processes leave behind.

    python -m kerhrm.jobs.recover RUN ...             before the jobs run again
    python -m kerhrm.jobs.recover --finished RUN ...  after they have

Every RUN is a folder, as ``results/paper``.  Nothing is touched while a Snakemake is at work
there.  Jobs whose Snakemake has been killed are asked to stop, or waited for on another
machine.  Then their temporary files go: all but states, and with ``--finished`` these, too.
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
from kerhrm.jobs.locks import POLL_SECONDS, SNAKEMAKE, TEMPORARY, hold, holder

#: how long a job may take from the request to stop to its end
PATIENCE_SECONDS = 600.0

log = logging.getLogger("kerhrm")


def recover(run: Path, *, finished: bool = False, patience: float = PATIENCE_SECONDS) -> None:
    """Stop what still runs for a killed Snakemake, and remove its temporary files."""
    folder = run / TEMPORARY
    if not folder.is_dir():
        return
    hold(run)  # no Snakemake may start meanwhile
    _stop_jobs({*folder.glob("*.lock")} - {folder / SNAKEMAKE}, patience)
    try:
        for path in folder.iterdir():
            if finished or path.suffix != ".state":
                path.unlink()
    except OSError as error:
        cure = "make its folder writable, then run again"
        raise KerhrmError(f"cannot remove {error.filename}: {error.strerror}", cure) from error


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
        if time.monotonic() > end:
            cure = "end it there (kill -KILL, scancel, qdel, bkill), then run again"
            raise KerhrmError(f"{min(jobs)} has not stopped within {patience:.0f} s", cure)
        seen = jobs
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m kerhrm.jobs.recover")
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--finished", action="store_true", help="the interrupted jobs have run")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="recovery: %(message)s")
    try:
        for run in options.runs:
            recover(run, finished=options.finished)
    except KerhrmError as error:
        sys.exit(f"error: {error}")
