"""Locks that end with their process, however it ends (``flock``), and name their holder."""

import contextlib
import fcntl
import logging
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kerhrm.errors import KerhrmError

#: in a run's folder: states, locks and incomplete files of its jobs, and nothing else
TEMPORARY = "temporary"
SNAKEMAKE = "snakemake.lock"
POLL_SECONDS = 0.2

log = logging.getLogger(__name__)
_held: list[IO[bytes]] = []  # for the life of this process


def acquire(path: Path) -> IO[bytes] | None:
    """Lock ``path`` as long as the file stays open; None if another process holds it."""
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = stack.enter_context(open(path, "ab", buffering=0))
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last holder may have removed the file: then a lock on it says nothing.
            if not os.path.samestat(os.fstat(handle.fileno()), os.stat(path)):
                return None
            handle.truncate(0)
            handle.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        except (BlockingIOError, FileNotFoundError):
            return None
        except OSError as error:
            raise KerhrmError(
                f"cannot lock {path}: {error.strerror}",
                "free disk space or make the folder writable, then run the same command again",
            ) from error
        stack.pop_all()
        return handle


def holder(path: Path) -> str | None:
    """Who holds a lock, as ``process 7 on host``; None if nobody does."""
    with contextlib.suppress(FileNotFoundError):
        try:
            with open(path, "r+b") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return path.read_text(encoding="utf-8") or holder(path)  # not yet written
    return None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock; wait for another process that holds it."""
    told = False
    while (handle := acquire(path)) is None:
        if not told:
            log.info("waiting for %s, which does the same work", holder(path))
        told = True
        time.sleep(POLL_SECONDS)
    with handle:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def hold(run: str | os.PathLike[str]) -> None:
    """Mark a run's folder as this Snakemake's while it lives; refuse if it is another's."""
    path = Path(run, TEMPORARY, SNAKEMAKE)
    if (handle := acquire(path)) is None:
        problem = f"Snakemake is at work in {run} ({holder(path)})"
        raise KerhrmError(problem, "wait until it has ended, or stop it")
    _held.append(handle)
