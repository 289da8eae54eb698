"""Fits of learners that have a time limit, and whose failures are results.

A process that is killed from outside is no failure of the method: the job fails, and
one that is started again repeats the fit.

Each job has a process for them, :mod:`kerhrm_paper.runs.fit_process`.  A process can be
killed whatever its code does; a signal's handler would wait for a loop in C to return,
and an ``except:`` of the method could swallow what it raises.
"""

import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerhrm.errors import KerhrmError
from kerhrm.memory import TooLittleMemory
from kerhrm_paper.runs import fit_process as program
from kerhrm_paper.runs.arrays import load_arrays
from kerhrm_paper.runs.checkpoints import Result
from kerhrm_paper.runs.predictions import FILES, Predictions
from kerhrm_paper.runs.replicates import Replicates

CLOSING = 10.0  #: seconds that a process may take to end
LONGEST = 86400.0  #: seconds for which select can wait
TIMED_OUT = "timed out"  #: start of the reason of a fit that took too long
#: signals of a program's own faults, which are results; others come from outside
FAULTS = (
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGSYS,
    signal.SIGTRAP,
)

log = logging.getLogger("kerhrm")


class Answer(NamedTuple):
    """What a fit has left: arrays of its predictions, or why there are none."""

    arrays: Result | None
    reason: str = ""


class FitProcess:
    """A process that trains learners, one after another, and can be killed.

    Parameters
    ----------
    files : mapping of str to str
        Files of points and features by their names in the rule.
    params : object
        The rule's: ``data``, ``device`` and ``threads``.
    folder : path
        Where the process writes predictions for this one.
    """

    def __init__(self, files: Any, params: Any, folder: Path) -> None:
        self._job = {
            # a method may change the folder in which it runs
            "files": {
                name: os.path.abspath(file) for name, file in files.items() if file
            },
            "data": params.data,
            "device": params.device,
            "threads": params.threads,
        }
        self._path = folder / "predictions.npz"
        self._shown: set[str] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def fit(self, learner: Mapping[str, Any], s: int) -> Answer:
        """Train a learner on replicate s within its ``timeout``, in minutes.

        The limit begins when the process has started, and includes the predictions.

        Raises KerhrmError if the process was killed from outside, as where memory is
        short, or if a step was refused for want of memory: that says nothing of the
        method.
        """
        if self._process is None:
            self._start()
            if self._answer(None) is None:
                return Answer(None, self._ended())
        minutes = learner["timeout"]
        self._send({"learner": learner, "s": s, "path": str(self._path)})
        try:
            answer = self._answer(60 * minutes)
        except TimeoutError:
            self.end()
            return Answer(None, f"{TIMED_OUT} after {limit_in_words(minutes)}")
        if answer is None:
            return Answer(None, self._ended())
        if "problem" in answer:
            raise TooLittleMemory(answer["problem"], answer["hint"])
        if reason := answer["reason"]:
            # a traceback once, as all fits may fail alike
            is_new = reason not in self._shown
            self._shown.add(reason)
            text = answer.get("traceback", reason) if is_new else reason
            log.warning("%s, replicate %d: %s", learner["name"], s, text)
            return Answer(None, reason)
        arrays, _ = load_arrays(self._path)
        return Answer(arrays)

    def end(self) -> None:
        """Kill the process, if it runs, and those that the method has started."""
        process = self._process
        if process is None:
            return
        self._process = None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        process.wait()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", program.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is the job's, which then ends this process
            start_new_session=True,
        )
        self._send(self._job)

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        line = json.dumps(message) + "\n"
        with contextlib.suppress(BrokenPipeError):  # no answer will say so
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()

    def _answer(self, seconds: float | None) -> dict[str, str] | None:
        """The next line; None if the process has ended.

        Raises TimeoutError if there is none after so many seconds.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        file = self._process.stdout.fileno()
        end = None if seconds is None else time.monotonic() + seconds
        line = b""
        while not line.endswith(b"\n"):
            left = None
            if end is not None:
                rest = max(0.0, end - time.monotonic())
                left = min(rest, LONGEST)
            readable, _, _ = select.select([file], [], [], left)
            if not readable:
                if left == LONGEST:
                    continue
                raise TimeoutError
            part = os.read(file, 65536)
            if not part:
                return None
            line += part
        return dict(json.loads(line))

    def _ended(self) -> str:
        """Why the process has ended by itself."""
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            # it has closed its end of the pipe, and may still be about to end
            process.wait(CLOSING)
        status = process.returncode
        self.end()
        if status is None:
            return "the process of the fit closed its files"
        if status < 0 and -status not in FAULTS:
            problem = f"the process of a fit was killed by signal {-status}"
            hint = "free memory, which may be short, or give the job more, "
            hint += "then run the same command again"
            raise KerhrmError(problem, hint)
        return f"the process of the fit ended with status {status}"


@contextlib.contextmanager
def fit_process(files: Any, params: Any) -> Iterator[FitProcess]:
    """A process for the fits of a job, which does not outlive it."""
    with tempfile.TemporaryDirectory() as folder:
        process = FitProcess(files, params, Path(folder))
        try:
            yield process
        finally:
            process.end()


def limit_in_words(minutes: float) -> str:
    """Minutes, or seconds if they are less than one."""
    if minutes >= 1:
        return f"{minutes:g} minutes" if minutes != 1 else "1 minute"
    return f"{60 * minutes:.3g} seconds"


def failed(
    replicates: Replicates, s: int, learner: Mapping[str, Any], reason: str
) -> Predictions:
    """Predictions of a fit without a result: NaN at every point, and the reason.

    A learner that infers environments has a single one of all points, whose score is
    never the worst.
    """
    names = learner["outputs"]
    outputs = {}
    for part, file in FILES.items():
        n_points = len(replicates.read(file, s))
        shape = (len(names), n_points)
        outputs[part] = np.full(shape, np.nan, np.float32)
    memberships = None
    if learner["infers"]:
        n_known = outputs["train"].shape[1] + outputs["validation"].shape[1]
        memberships = np.ones((n_known, 1), np.float32)
    return Predictions(
        outputs=np.array(names),
        **outputs,
        chosen=np.array([], dtype=str),
        choices=np.array([]),
        memberships=memberships,
        failed=np.array(reason),
    )
