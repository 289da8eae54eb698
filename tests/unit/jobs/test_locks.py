"""Locks between real processes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.jobs.locks import acquire, hold, holder, locked

WAIT_SECONDS = 60
ADD_ONE = """
import sys, time
from pathlib import Path
from kerhrm.jobs.locks import locked
with locked(Path(sys.argv[1])):
    file = Path(sys.argv[2])
    n = int(file.read_text())
    time.sleep(0.02)
    file.write_text(str(n + 1))
"""
HOLD = """
import sys
from kerhrm.jobs.locks import hold
hold(sys.argv[1])
print("begun", flush=True)
sys.stdin.read()
"""


def test_two_processes_never_hold_the_same_lock(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    counter.write_text("0")
    command = [sys.executable, "-c", ADD_ONE, str(tmp_path / "a.lock"), str(counter)]
    for process in [subprocess.Popen(command) for _ in range(6)]:
        assert process.wait(WAIT_SECONDS) == 0
    assert counter.read_text() == "6"
    assert os.listdir(tmp_path) == ["count"]


def test_a_lock_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.lock"
    assert holder(path) is None
    with locked(path):
        assert holder(path) == f"process {os.getpid()} on {socket.gethostname()}"
        assert acquire(path) is None
    assert not path.exists()
    path.write_text("process 1 on elsewhere, which was killed")
    assert holder(path) is None
    with locked(path):
        assert str(os.getpid()) in str(holder(path))


def test_a_lock_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KerhrmError, match=r"cannot lock .*a\.lock: File exists; free disk"):
        acquire(tmp_path / "file" / "a.lock")


def test_one_snakemake_at_a_time(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    with pytest.raises(KerhrmError, match=rf"at work in .*\(process {process.pid} on .*; wait"):
        hold(tmp_path)
    process.kill()
    process.communicate()
    hold(tmp_path)
