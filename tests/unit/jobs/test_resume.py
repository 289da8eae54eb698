"""Jobs that can be interrupted, as real processes."""

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

from kerhrm.jobs.job import key, stop_requests
from kerhrm.storage.arrays import save_arrays

WAIT_SECONDS = 60

# A job of many small steps; it says when it has begun and writes its result at the end.
PROGRAM = """
import sys, time
from types import SimpleNamespace
import numpy as np
from kerhrm.storage.checkpoints import begin
from kerhrm.jobs.job import job

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
    """The job as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder / "out.txt"), str(folder / "log"), str(steps)],
        stdout=subprocess.PIPE,
        text=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def temporary(folder: Path) -> list[str]:
    """Kinds of files in the folder of temporaries."""
    return sorted(path.suffix for path in (folder / "temporary").iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_job_goes_on_where_it_was(tmp_path: Path, number: int) -> None:
    process = start(tmp_path, 200)
    assert first_line(process) == "from 0"
    time.sleep(0.5)
    process.send_signal(number)
    assert process.wait(WAIT_SECONDS) == 143
    assert temporary(tmp_path) == [".state"]
    assert not (tmp_path / "out.txt").exists()
    again = start(tmp_path, 200)
    assert int(first_line(again).split()[1]) > 0
    assert again.wait(WAIT_SECONDS) == 0
    assert temporary(tmp_path) == []
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
    assert temporary(tmp_path) == []


def test_a_killed_job_frees_its_lock(tmp_path: Path) -> None:
    process = start(tmp_path)
    first_line(process)
    process.kill()
    process.wait(WAIT_SECONDS)
    assert start(tmp_path, 20).wait(WAIT_SECONDS) == 0
    assert temporary(tmp_path) == []


def test_an_orphan_hands_over_to_its_successor(tmp_path: Path) -> None:
    # The shell starts the job, tells its number and dies at once: the job is an orphan.
    begun = tmp_path / "begun"
    files = f'"{tmp_path}/out.txt" "{tmp_path}/log"'
    program = f'"$0" -c "$1" {files} 300 > "{begun}" & sleep 3'
    shell = subprocess.Popen(["bash", "-c", program, sys.executable, PROGRAM])
    for _ in range(WAIT_SECONDS * 20):
        if begun.exists() and begun.read_text():
            break
        time.sleep(0.05)
    shell.kill()
    shell.wait(WAIT_SECONDS)
    successor = start(tmp_path, 300)
    assert int(first_line(successor).split()[1]) > 0  # waited, and took the state over
    assert successor.wait(WAIT_SECONDS) == 0
    assert temporary(tmp_path) == []
    assert (tmp_path / "out.txt").read_text() == "result of 300 steps"


def fake(tmp_path: Path, **changes: Any) -> SimpleNamespace:
    save_arrays(tmp_path / "in.npz", {"x": np.arange(changes.pop("points", 3))})
    parts = {"rule": "r", "params": {"a": 1}, "input": [str(tmp_path / "in.npz")]}
    return SimpleNamespace(**(parts | changes))


def test_the_key_is_of_contents_parameters_and_rule(tmp_path: Path) -> None:
    base = key(fake(tmp_path))
    os.utime(tmp_path / "in.npz", (1, 1))
    assert key(fake(tmp_path)) == base
    others = [{"points": 4}, {"params": {"a": 2}}, {"params": {"b": 1}}, {"rule": "s"}]
    assert len({base, *(key(fake(tmp_path, **change)) for change in others)}) == 5


def test_requests_to_stop_are_noted() -> None:
    before = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        reason = stop_requests(os.getppid())
        assert reason() is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert reason() == "stopped by SIGTERM"
        assert stop_requests(-1)() == "stopped by the death of the process that started it"
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
