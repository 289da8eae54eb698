"""The process of its own in which a learner with a time limit is trained.

``python -m kerhrm_paper.runs.fit_process`` reads lines of JSON: first what a job gives
its learners, then a learner, the number of a replicate and a file for each fit.  It
writes predictions to the file and answers each line by one, in which ``reason`` is
empty or says why there are none.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from kerhrm.entries import load_entry
from kerhrm.errors import KerhrmError, described, escaped, line_in, shortened
from kerhrm.memory import TooLittleMemory
from kerhrm.networks.base import resolve_device
from kerhrm_paper.runs.arrays import save_arrays
from kerhrm_paper.runs.checkpoints import Result
from kerhrm_paper.runs.predicting import trained
from kerhrm_paper.runs.replicates import Replicates
from kerhrm_paper.runs.replication import Replication

LENGTH = 300  #: of a reason


def main() -> None:
    """Answer one line after another, until there is no more."""
    _end_with_parent()
    # what a method prints must not be taken for an answer
    copy_of_stdout = os.dup(sys.stdout.fileno())
    answers = os.fdopen(copy_of_stdout, "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # nor may it read a request, or wait for a line that nobody types
    copy_of_stdin = os.dup(sys.stdin.fileno())
    requests = os.fdopen(copy_of_stdin, encoding="utf-8")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    this = os.getpid()

    def answer(**facts: str) -> None:
        text = json.dumps(facts)
        answers.write(f"{text}\n")
        answers.flush()

    line = requests.readline()
    job = json.loads(line)
    torch.set_num_threads(job["threads"])
    data = Replication.load(job["data"])
    device = resolve_device(job["device"])
    replicates = Replicates(job["files"], data, device)
    answer(reason="")
    with threadpool_limits(job["threads"]):
        for line in requests:
            request = json.loads(line)
            path = Path(request["path"])
            arrays, facts = _fit(replicates, request["learner"], request["s"])
            if os.getpid() != this:  # the method has forked, and this is the copy
                os._exit(0)
            if arrays is not None:
                save_arrays(path, arrays)
            answer(**facts)


def _fit(
    replicates: Replicates, learner: Mapping[str, Any], s: int
) -> tuple[Result | None, dict[str, str]]:
    """Predictions of a learner on replicate s; why there are none, and the traceback
    for the log."""
    entries = learner["entries"]
    try:
        fit = load_entry(entries["train"])
        make_options = load_entry(entries["options"])
        options = make_options(**learner["options"])
        predictions = trained(replicates, s, fit, options, learner)
        return predictions.arrays(), {"reason": ""}
    except TooLittleMemory as error:  # which says nothing of the method
        facts = {"problem": error.problem, "hint": str(error.hint or "")}
        return None, {"reason": "too little memory", **facts}
    except KerhrmError as error:
        reason = f"{_line(error, entries['train'])}{error}"
        return None, {"reason": _shown(reason)}
    # a method's code may raise anything; Ctrl-C does not come here
    except BaseException as error:
        log = traceback.format_exc()
        reason = _line(error, entries["train"]) + described(error, LENGTH)
        # a lone surrogate, say, cannot stand in a log file
        as_bytes = log.encode("utf-8", "backslashreplace")
        return None, {"reason": _shown(reason), "traceback": as_bytes.decode()}


def _line(error: BaseException, entry: str) -> str:
    """Where in the file of a method's training an error comes from; empty for methods
    of this project, and if nothing of the file was at work."""
    name, _, _ = entry.partition(":")
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None or name.partition(".")[0] in ("kerhrm", "kerhrm_paper"):
        return ""
    return line_in(file, error)


def _shown(reason: str) -> str:
    """A reason as tables can hold it: on one line, and of signs that print."""
    return escaped(shortened(reason, LENGTH))


def _end_with_parent() -> None:
    """Leave no process behind when the job is killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        if os.getpgid(0) == os.getpid():  # with all that the method has started
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
