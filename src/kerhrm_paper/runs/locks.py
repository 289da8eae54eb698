"""Locks that end with their process, however it ends, and name their holder."""

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm.extras import needs
from kerhrm.files import unwritable

needs("workflow", "filelock")

from filelock import FileLock, Timeout  # noqa: E402

#: in a run's folder: locks and checkpoints of its jobs
TEMPORARY = "temporary"
#: in that folder: the lock of the Snakemake that is at work
SNAKEMAKE = "snakemake.lock"
#: longer than the moment for which a lock is held by who asks for its holder
ASKED_SECONDS = 0.5

log = logging.getLogger(__name__)
_held: list[FileLock] = []  # for the life of this process


def acquire(path: Path, seconds: float = 0) -> FileLock | None:
    """Lock a file, and write into it who holds it.

    None if another process holds it, for so many seconds.
    """
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=seconds, poll_interval=ASKED_SECONDS / 10)
        who = f"process {os.getpid()} on {socket.gethostname()}"
        path.write_text(who, encoding="utf-8")
    except Timeout:
        return None
    except OSError as error:
        raise unwritable(path, error, "lock") from error
    return lock


def holder(path: Path) -> str | None:
    """Who holds a lock, as ``process 7 on host``; None if nobody does."""
    if not path.exists():
        return None
    try:
        FileLock(path).acquire(timeout=0).lock.release()
    except Timeout:
        with contextlib.suppress(FileNotFoundError):  # just released
            text = path.read_text(encoding="utf-8", errors="replace")
            return " ".join(text.split()) or "another process"
    return None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock; wait for another process that holds it."""
    if who := holder(path):
        log.info("waiting for %s (same job)", who)
    while (lock := acquire(path)) is None:
        time.sleep(0.2)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        lock.release()


def hold_run(run: str | os.PathLike[str]) -> None:
    """Mark a run's folder as this process's while it lives; refuse if it is
    another's."""
    path = Path(run, TEMPORARY, SNAKEMAKE)
    if (lock := acquire(path, ASKED_SECONDS)) is None:
        who = holder(path) or "another process"
        problem = f"another command is at work in {run} ({who})"
        raise KerhrmError(problem, "wait until it has ended, or stop it")
    _held.append(lock)
