"""The frame around every script of the workflow: log, threads, errors."""

import contextlib
import logging
import sys
import time
from collections.abc import Iterator
from typing import Any

from threadpoolctl import threadpool_limits

from kerhrm.checkpoints import Stopped
from kerhrm.errors import KerhrmError
from kerhrm.workflow.resume import resumable

#: exit status of a job that was stopped and has saved its state, as after SIGTERM
STOPPED = 143

log = logging.getLogger("kerhrm")


@contextlib.contextmanager
def job(snakemake: Any, *, resume: bool = False) -> Iterator[None]:
    """Run the body of a script as a job; with ``resume`` as one that can be interrupted.

    The log goes to the rule's log file and to standard error.  The number of threads is
    the configuration's (``params.threads``) and not what Snakemake has to spare, because
    the last bits of a result depend on it.  A :class:`KerhrmError` ends the job with one
    line and exit status 1.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if snakemake.log:
        handlers.append(logging.FileHandler(str(snakemake.log[0]), mode="w", encoding="utf-8"))
    logging.basicConfig(
        level=logging.INFO,
        format=f"%(asctime)s {snakemake.rule}: %(message)s",
        handlers=handlers,
        force=True,
    )
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # a log that a full disk refuses must not add tracebacks
    threads = int(snakemake.params.get("threads", 1))
    start = time.perf_counter()
    try:
        with threadpool_limits(threads):
            if "torch" in sys.modules:
                sys.modules["torch"].set_num_threads(threads)
            with resumable(snakemake) if resume else contextlib.nullcontext():
                yield
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
