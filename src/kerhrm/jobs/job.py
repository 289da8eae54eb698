"""The frame around every script of the workflow: log, threads, lock, state, errors.

A job's temporary files lie in ``temporary/`` of the run's folder, named by a hash of its
first output.  The lock keeps it from meeting a job that a killed Snakemake has left behind.
"""

import contextlib
import hashlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from kerhrm.errors import KerhrmError
from kerhrm.jobs.locks import TEMPORARY, locked
from kerhrm.jobs.lost import note_made
from kerhrm.storage.arrays import temporaries
from kerhrm.storage.checkpoints import Stopped, opened

#: exit status of a job that was stopped and has saved its state, as after SIGTERM
STOPPED = 143

log = logging.getLogger("kerhrm")


@contextlib.contextmanager
def job(snakemake: Any, *, resume: bool = False, keep: bool = True) -> Iterator[None]:
    """Run the body of a script as a job of Snakemake's.

    The log goes to the rule's log file and to standard error.  The number of threads is
    the configuration's (``params.threads``) and not what Snakemake has to spare, because
    the last bits of a result depend on it.  A :class:`KerhrmError` ends the job with one
    line and exit status 1.  With ``resume`` it goes on where it was, and SIGTERM, SIGINT and
    the death of its parent end it with status 143.  ``keep=False`` if outputs are ``temp()``.
    """
    parent = os.getppid()  # now: it may not live until the lock is free
    _log_to(snakemake.rule, snakemake.log)
    threads = int(snakemake.params.get("threads", 1))
    run, name = _run_folder(snakemake), _digest([*map(str, snakemake.output), snakemake.rule][0])
    folder = run / TEMPORARY
    start = time.perf_counter()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(threadpool_limits(threads))
            if "torch" in sys.modules:
                sys.modules["torch"].set_num_threads(threads)
            stack.enter_context(locked(folder / f"{name}.lock"))
            stack.enter_context(temporaries(folder))
            if resume:
                state = folder / f"{name}.{key(snakemake)}.state"
                for other in {*folder.glob(f"{name}.*.state")} - {state}:
                    other.unlink()  # of other inputs, parameters or code
                stack.enter_context(opened(state, stop_requests(parent)))
            yield
            note_made(run, name, snakemake, keep=keep)
    except Stopped as reason:
        log.warning("%s", reason)
        sys.exit(STOPPED)
    except KerhrmError as error:
        log.error("error: %s", error)
        sys.exit(1)
    except Exception:
        log.exception("unexpected error")
        raise
    log.info("computed in %.3f s", time.perf_counter() - start)


def _log_to(rule: str, files: list[str]) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers += [logging.FileHandler(str(f), mode="w", encoding="utf-8") for f in files[:1]]
    form = f"%(asctime)s {rule}: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, handlers=handlers, force=True)
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # a log that a full disk refuses must not add tracebacks


def _run_folder(snakemake: Any) -> Path:
    """The folder, as ``results/paper``, whose ``logs`` the rule's log lies in."""
    logs = [p for p in Path(*map(str, snakemake.log[:1])).parents if p.name == "logs"]
    return (logs or [Path(*map(str, snakemake.output[:1]))])[0].parent


def key(snakemake: Any) -> str:
    """Hash of what a job's result depends on: rule, parameters (code among them), inputs."""
    facts: list[object] = [str(snakemake.rule), dict(snakemake.params.items())]
    for path in sorted(map(str, snakemake.input)):
        with open(path, "rb") as file:
            facts.append(hashlib.file_digest(file, "sha256").hexdigest())
    return _digest(json.dumps(facts, sort_keys=True, default=str))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stop_requests(parent: int) -> Callable[[], str | None]:
    """Note requests to stop from now on; a function that gives the reason, if there is one."""
    names: list[str] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: names.append(signal.Signals(number).name))

    def reason() -> str | None:
        if os.getppid() != parent:
            names.append("the death of the process that started it")
        return f"stopped by {names[0]}" if names else None

    return reason
