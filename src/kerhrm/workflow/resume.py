"""Jobs that can be stopped at any time and go on where they were.

The state of such a job lies beside its first output as ``.<name>.<key>.state``, where the
key is a hash of everything that the result depends on: contents of the inputs, parameters
(the fingerprint of the code among them) and the rule.  State of another key is of no use
and removed.  A lock, ``.<name>.lock``, keeps a second process from the same work: a killed
Snakemake leaves its jobs running, and they would meet those of the next run.  A job whose
parent has died saves its state and ends, so that its successor need not wait long.
"""

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from kerhrm.checkpoints import opened

INTERVAL_SECONDS = 30.0

log = logging.getLogger(__name__)


@contextlib.contextmanager
def resumable(snakemake: Any) -> Iterator[None]:
    """Run the body with a lock, a state on disk, and signals that ask it to stop.

    Raises
    ------
    kerhrm.checkpoints.Stopped
        From within the body, after SIGTERM, SIGINT or the death of the parent.
    """
    output = Path(snakemake.output[0])
    with locked(output.with_name(f".{output.name}.lock")):
        state = output.with_name(f".{output.name}.{key(snakemake)}.state")
        for other in output.parent.glob(f".{output.name}.*.state"):
            if other != state:
                other.unlink()
        with stop_requests() as should_stop, opened(state, INTERVAL_SECONDS, should_stop):
            yield


def key(snakemake: Any) -> str:
    """Hash of what a job's result depends on, 16 hexadecimal digits."""
    digest = hashlib.sha256(str(snakemake.rule).encode())
    for path in sorted(map(str, snakemake.input)):
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    parameters = dict(snakemake.params.items())
    digest.update(json.dumps(parameters, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold ``path`` as a lock; wait for another process that holds it.

    The lock is the system's (``flock``), so it goes with its process, however that ends.
    """
    handle = _acquire(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        handle.close()


def _acquire(path: Path) -> IO[str]:
    told = False
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(path, "a", encoding="utf-8")  # noqa: SIM115 (it outlives this function)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not told:
                log.info("waiting for another process that does the same work (%s)", path)
                told = True
            fcntl.flock(handle, fcntl.LOCK_EX)
        # The last holder has removed the file: then a lock on it says nothing.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle.fileno()), os.stat(path)):
                return handle
        handle.close()


@contextlib.contextmanager
def stop_requests() -> Iterator[Callable[[], str | None]]:
    """A function that gives the reason to stop, if there is one."""
    parent = os.getppid()
    names: list[str] = []

    def note(number: int, frame: object) -> None:
        names.append(signal.Signals(number).name)

    before = {n: signal.signal(n, note) for n in (signal.SIGTERM, signal.SIGINT)}

    def reason() -> str | None:
        if names:
            return f"stopped by {names[0]}"
        if os.getppid() != parent:
            return "stopped, as the process that started this job has died"
        return None

    try:
        yield reason
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
