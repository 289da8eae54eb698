"""The frame around every script of the workflow.

Log, threads, lock, checkpoint, provenance.
"""

import contextlib
import hashlib
import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from threadpoolctl import threadpool_limits

from kerhrm.errors import KerhrmError
from kerhrm.memory import is_out_of_memory
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.checkpoints import Checkpoint
from kerhrm_paper.runs.locks import TEMPORARY, locked
from kerhrm_paper.runs.origin import origin
from kerhrm_paper.runs.planned import check_code

#: exit status of a job that was stopped and has saved its checkpoint, as after SIGTERM
STOPPED = 143

log = logging.getLogger("kerhrm")


class Stopped(KeyboardInterrupt):
    """The job was asked to stop.

    Whoever turns all errors of foreign code into a :class:`KerhrmError` lets a
    ``KeyboardInterrupt`` pass, and so this one.
    """


@contextlib.contextmanager
def job(snakemake: Any) -> Iterator[Checkpoint]:
    """Run the body of a script as a job of Snakemake's.

    Yield what an interrupted start computed.

    The log goes to the rule's log file and to standard error.  The number of threads is
    the configuration's (``params.threads``) and not what Snakemake has to spare,
    because the last bits of a result depend on it.  Code that has changed since the
    plan was made is not run.  A :class:`KerhrmError`, and too little memory, end the
    job with one line and exit status 1; SIGTERM, SIGINT and the death of its parent
    with status 143.
    """
    parent = os.getppid()  # now: it may not live until the lock is free
    _log_to(snakemake.rule, snakemake.log)
    run = run_folder(snakemake.log[0])
    outputs = [str(file) for file in snakemake.output]
    made = snakemake.rule
    if outputs:
        made = provenance.name_in(run, outputs[0])
    name = _hash(made)
    temporary = run / TEMPORARY
    start = time.perf_counter()
    with _errors_logged(made):
        threads = int(snakemake.params.get("threads", 1))
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(threads)
        with threadpool_limits(threads), locked(temporary / f"{name}.lock"):
            params = dict(snakemake.params.items())
            check_code(params)
            # now: what is there at the end of a long job may be another commit
            made_by = {**origin(), **_device(params)}
            files = map(str, snakemake.input)
            inputs = provenance.check(run, files)
            # params have the hash of the code, too; a CPU does not go on with the fits
            # of a GPU
            facts = [snakemake.rule, params, inputs, made_by.get("device")]
            folder = _checkpoint_folder(temporary, name, facts)
            checkpoint = Checkpoint(folder)
            provenance.begin(run, outputs)
            with _stopped(parent, checkpoint), _no_exit(made), checkpoint.shown():
                yield checkpoint
            provenance.write(run, snakemake.rule, outputs, inputs, params, made_by)
            checkpoint.remove()
    seconds = time.perf_counter() - start
    log.info("computed in %.3f s", seconds)


def run_folder(log_file: str) -> Path:
    """The folder, as ``results/paper``, whose ``logs`` a rule's log is in."""
    folders = Path(log_file).parents
    return next(folder.parent for folder in folders if folder.name == "logs")


def _device(params: Mapping[str, Any]) -> dict[str, str]:
    """Where a job computes that has the parameter ``device``.

    A script without PyTorch leaves that to a process of its own.
    """
    if "device" not in params or "torch" not in sys.modules:
        return {}
    from kerhrm.networks.base import resolve_device

    device = resolve_device(params["device"])
    return {"device": str(device)}


def _checkpoint_folder(temporary: Path, name: str, facts: list[Any]) -> Path:
    """Folder of a job's checkpoint by all that its results depend on.

    Those of the job's other inputs, parameters or code are deleted.
    """
    text = json.dumps(facts, sort_keys=True, default=str)
    digest = _hash(text)
    folder = temporary / f"{name}.{digest}"
    folders = {*temporary.glob(f"{name}.*/")}
    for outdated in folders - {folder}:
        shutil.rmtree(outdated)
    return folder


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode())
    return digest.hexdigest()[:16]


def _log_to(rule: str, files: list[str]) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if files:
        log_file, *_ = files
        handler = logging.FileHandler(log_file, mode="w", encoding="utf-8")
        handlers.append(handler)
    form = f"%(asctime)s {rule}: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, handlers=handlers, force=True)
    logging.captureWarnings(True)
    # each saved PDF would list the glyphs of its fonts
    font_log = logging.getLogger("fontTools")
    font_log.setLevel(logging.WARNING)
    # a log that a full disk refuses must not add tracebacks
    logging.raiseExceptions = False


@contextlib.contextmanager
def _errors_logged(made: str) -> Iterator[None]:
    """Log why the file ``made`` is not made; what a user can correct, in one line."""
    try:
        yield
    except KerhrmError as error:
        log.error("error: %s", error)
        sys.exit(1)
    except Exception as error:
        if is_out_of_memory(error):
            what = str(error).partition("\n")[0]
            log.error("error: %s needs more memory than there is: %s", made, what)
            sys.exit(1)
        log.exception("unexpected error")
        raise


@contextlib.contextmanager
def _no_exit(made: str) -> Iterator[None]:
    """Refuse ``sys.exit`` in the body: the file ``made`` would not be there."""
    try:
        yield
    except SystemExit as error:
        problem = f"{made} is not made: the code that makes it called sys.exit"
        problem += f"({error.code!r})"
        raise KerhrmError(problem, "raise an error there instead") from error


@contextlib.contextmanager
def _stopped(parent: int, checkpoint: Checkpoint) -> Iterator[None]:
    """On a signal, or when the parent has died, save the checkpoint and end the
    process."""

    def stop(number: int, _: Any) -> NoReturn:
        name = signal.Signals(number).name
        raise Stopped(name)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
            checkpoint.lines.beat()  # which a long step does not do by itself
        own = os.getpid()
        os.kill(own, signal.SIGTERM)

    signals = (signal.SIGTERM, signal.SIGINT)
    before: Mapping[signal.Signals, Any]
    before = {number: signal.signal(number, stop) for number in signals}
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except Stopped as reason:
        before = dict.fromkeys(signals, signal.SIG_IGN)  # until the process has ended
        _handle(before)
        checkpoint.save()
        log.warning("stopped by %s", reason)
        sys.exit(STOPPED)
    finally:
        _handle(before)


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
