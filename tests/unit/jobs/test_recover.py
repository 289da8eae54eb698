"""What is cleared away after a kill, and what is left alone, with real processes."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.jobs.locks import TEMPORARY
from kerhrm.jobs.recover import recover

WAIT_SECONDS = 60

JOB = """
import signal, sys
from pathlib import Path
from kerhrm.jobs.locks import locked
signal.signal(signal.SIGTERM, getattr(signal, sys.argv[2]))
with locked(Path(sys.argv[1])):
    print("begun", flush=True)
    sys.stdin.read()
"""
SNAKEMAKE = """
import sys
from kerhrm.jobs.locks import hold
hold(sys.argv[1])
print("begun", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def running(*command: object) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has said that it has begun."""
    process = subprocess.Popen(
        [sys.executable, "-c", *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with what a kill leaves behind, and with results."""
    folder = tmp_path / "results"
    (folder / TEMPORARY).mkdir(parents=True)
    for name in ("psi.npz", "a.lock", ".b.part"):
        (folder / name).touch()
    for name in ("snakemake.lock", "abc.lock", ".tmp12.part", "abc.0123.state"):
        (folder / TEMPORARY / name).touch()
    return folder


def left(run: Path) -> list[str]:
    assert {"psi.npz", "a.lock", ".b.part"} <= {*os.listdir(run)}
    return sorted(os.listdir(run / TEMPORARY))


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    module = [sys.executable, "-m", "kerhrm.jobs.recover", *map(str, arguments)]
    return subprocess.run(module, capture_output=True, text=True, timeout=WAIT_SECONDS)


def test_all_but_states_goes_and_later_these(run: Path) -> None:
    assert command(run, run / "nowhere").returncode == 0
    assert not (run / "nowhere").exists()
    assert left(run) == ["abc.0123.state"]
    assert command("--finished", run).returncode == 0
    assert left(run) == []


def test_nothing_happens_while_snakemake_is_at_work(run: Path) -> None:
    before = left(run)
    job = run / TEMPORARY / "abc.lock"
    with running(SNAKEMAKE, run) as master, running(JOB, job, "SIG_DFL") as slave:
        done = command(run)
        assert slave.poll() is None
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: Snakemake is at work in {run} (process {master.pid} on ")
    assert len(done.stderr.splitlines()) == 1
    assert left(run) == before


def test_orphans_are_stopped(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / TEMPORARY / "abc.lock"
    with (
        running(JOB, run / TEMPORARY / "abc.lock", "SIG_DFL") as job,
        running(JOB, other, "SIG_DFL") as foreign,
    ):
        assert command(run).returncode == 0
        assert job.wait(WAIT_SECONDS) == -signal.SIGTERM
        assert foreign.poll() is None
        assert other.exists()
    assert left(run) == ["abc.0123.state"]


def test_an_orphan_that_does_not_stop_is_told(run: Path) -> None:
    with (
        running(JOB, run / TEMPORARY / "abc.lock", "SIG_IGN") as job,
        pytest.raises(KerhrmError, match=rf"process {job.pid} on .* not stopped within 0 s; end"),
    ):
        recover(run, patience=0.4)
    assert "abc.lock" in left(run)


def test_a_process_of_another_machine_is_only_waited_for(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(JOB, run / TEMPORARY / "abc.lock", "SIG_DFL") as job:
        monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
        with pytest.raises(KerhrmError, match=f"process {job.pid} on .* has not stopped"):
            recover(run, patience=1)
        assert job.poll() is None


def test_a_file_that_cannot_be_removed(run: Path) -> None:
    (run / TEMPORARY / "folder").mkdir()  # permissions would not stop root
    with pytest.raises(KerhrmError, match=r"cannot remove .*folder.*; make its folder writable"):
        recover(run)
