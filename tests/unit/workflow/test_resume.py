"""Locks, signals and keys of jobs that can be interrupted, with real processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerhrm.arrays import save_arrays
from kerhrm.checkpoints import Stopped, begin
from kerhrm.workflow.resume import key, locked, resumable

WAIT_SECONDS = 60

# A job of many small steps; it says when it has begun and writes its result at the end.
PROGRAM = """
import sys, time
from types import SimpleNamespace
import numpy as np
from kerhrm.checkpoints import begin
from kerhrm.workflow.job import job

output, log, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
fake = SimpleNamespace(
    rule="test", input=[], output=[output], log=[log], params={"threads": 1, "steps": steps}
)
with job(fake, resume=True):
    section = begin("count")
    done = int(section.saved["step"]) if section.saved else 0
    print("from", done, flush=True)
    for step in range(done + 1, steps + 1):
        time.sleep(0.01)
        section.offer(lambda: {"step": np.array(step)})
    open(output, "a").write("result of %d steps" % steps)
"""


def start(folder: Path, steps: int = 3000) -> subprocess.Popen[str]:
    """The job as a process of its own; returns when it has begun."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder / "out.txt"), str(folder / "log"), str(steps)],
        stdout=subprocess.PIPE,
        text=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"log"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_job_goes_on_where_it_was(tmp_path: Path, number: int) -> None:
    process = start(tmp_path, 200)
    assert first_line(process) == "from 0"
    time.sleep(0.5)
    process.send_signal(number)
    assert process.wait(WAIT_SECONDS) == 143
    assert len(names(tmp_path)) == 1  # the state; no lock, no result
    again = start(tmp_path, 200)
    assert int(first_line(again).split()[1]) > 0
    assert again.wait(WAIT_SECONDS) == 0
    assert names(tmp_path) == {"out.txt"}
    assert (tmp_path / "out.txt").read_text() == "result of 200 steps"


def test_state_of_other_parameters_is_thrown_away(tmp_path: Path) -> None:
    process = start(tmp_path, 200)
    first_line(process)
    time.sleep(0.3)
    process.terminate()
    assert process.wait(WAIT_SECONDS) == 143
    other = start(tmp_path, 20)
    assert first_line(other) == "from 0"
    assert other.wait(WAIT_SECONDS) == 0
    assert names(tmp_path) == {"out.txt"}


def test_a_killed_job_frees_its_lock(tmp_path: Path) -> None:
    process = start(tmp_path)
    first_line(process)
    process.kill()
    process.wait(WAIT_SECONDS)
    again = start(tmp_path, 20)
    assert again.wait(WAIT_SECONDS) == 0
    assert names(tmp_path) == {"out.txt"}


def test_an_orphan_hands_over_to_its_successor(tmp_path: Path) -> None:
    # The shell starts the job, tells its number and dies at once: the job is an orphan.
    arguments = [str(tmp_path / "out.txt"), str(tmp_path / "log"), "300"]
    program = (
        f'"$0" -c "$1" "{arguments[0]}" "{arguments[1]}" 300 > "{tmp_path}/log.begun" & sleep 3'
    )
    shell = subprocess.Popen(["bash", "-c", program, sys.executable, PROGRAM])
    begun = tmp_path / "log.begun"
    for _ in range(WAIT_SECONDS * 20):
        if begun.exists() and begun.read_text():
            break
        time.sleep(0.05)
    shell.kill()
    shell.wait(WAIT_SECONDS)
    successor = start(tmp_path, 300)
    assert int(first_line(successor).split()[1]) > 0  # waited, and took the state over
    assert successor.wait(WAIT_SECONDS) == 0
    assert names(tmp_path) == {"out.txt", "log.begun"}
    assert (tmp_path / "out.txt").read_text() == "result of 300 steps"


def test_two_processes_never_hold_the_same_lock(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    program = (
        "import sys, time; from pathlib import Path; from kerhrm.workflow.resume import locked\n"
        "with locked(Path(sys.argv[1])):\n"
        "    file = Path(sys.argv[2]); n = int(file.read_text()); time.sleep(0.02)\n"
        "    file.write_text(str(n + 1))"
    )
    counter = tmp_path / "count"
    counter.write_text("0")
    command = [sys.executable, "-c", program, str(path), str(counter)]
    for process in [subprocess.Popen(command) for _ in range(6)]:
        assert process.wait(WAIT_SECONDS) == 0
    assert counter.read_text() == "6"
    assert names(tmp_path) == {"count"}
    with locked(path):
        assert path.exists()


def fake(tmp_path: Path, **changes: Any) -> SimpleNamespace:
    save_arrays(tmp_path / "in.npz", {"x": np.arange(changes.pop("points", 3))})
    parts = {"rule": "r", "params": {"a": 1}, "input": [str(tmp_path / "in.npz")]}
    return SimpleNamespace(**(parts | {"output": [str(tmp_path / "out")]} | changes))


def test_the_key_is_of_contents_parameters_and_rule(tmp_path: Path) -> None:
    base = key(fake(tmp_path))
    os.utime(tmp_path / "in.npz", (1, 1))
    assert key(fake(tmp_path)) == base
    others = [{"points": 4}, {"params": {"a": 2}}, {"params": {"b": 1}}, {"rule": "s"}]
    assert len({base, *(key(fake(tmp_path, **change)) for change in others)}) == 5


def test_signals_are_given_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def interrupted() -> None:
        with resumable(fake(tmp_path)):
            os.kill(os.getpid(), signal.SIGTERM)
            begin("anything").offer(lambda: {"x": np.array(1)})

    with pytest.raises(Stopped, match="SIGTERM"):
        interrupted()
    assert signal.getsignal(signal.SIGTERM) is before
