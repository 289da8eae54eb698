"""The process of its own in which a learner with a time limit is trained.

``python -m kerhrm_paper.runs.fit_process`` reads lines of JSON: first what a job gives
its learners, then a learner, the number of a replicate and a file for each fit.  It
writes predictions to the file and answers each line by one, in which ``reason`` is
empty or says why there are none.
"""

import contextlib
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from kerhrm.errors import KerhrmError, shortened
from kerhrm.networks.base import resolve_device
from kerhrm.plugins import load_entry
from kerhrm_paper.runs.arrays import save_arrays
from kerhrm_paper.runs.inputs import inputs_of
from kerhrm_paper.runs.predicting import predict
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

    def answer(**facts: str) -> None:
        text = json.dumps(facts)
        answers.write(f"{text}\n")
        answers.flush()

    line = sys.stdin.readline()
    job = json.loads(line)
    torch.set_num_threads(job["threads"])
    data = Replication.load(job["data"])
    device = resolve_device(job["device"])
    replicates = Replicates(job["files"], data, device)
    answer(reason="")
    with threadpool_limits(job["threads"]):
        for line in sys.stdin:
            request = json.loads(line)
            facts = _fit(replicates, **request)
            answer(**facts)


def _fit(
    replicates: Replicates, learner: Mapping[str, Any], s: int, path: str
) -> dict[str, str]:
    """Save the predictions of a learner on replicate s; return why there are none, and
    the traceback for the log."""
    entries = learner["entries"]
    try:
        fit = load_entry(entries["train"])
        make_options = load_entry(entries["options"])
        options = make_options(**learner["options"])
        inputs = inputs_of(replicates, s)
        fitted = fit(inputs, options)
        predictions = predict(replicates, s, fitted, learner)
    except KerhrmError as error:
        reason = shortened(str(error), LENGTH)
        return {"reason": reason}
    except (Exception, SystemExit) as error:  # a method's code may raise anything
        reason = shortened(f"{type(error).__name__}: {error}", LENGTH)
        return {"reason": reason, "traceback": traceback.format_exc()}
    save_arrays(Path(path), predictions.arrays())
    return {"reason": ""}


def _end_with_parent() -> None:
    """Leave no process behind when the job is killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
