"""Jobs, locks and recovery, with real processes."""

import contextlib
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threadpoolctl
import torch
from jobtools import log_of, rule
from refusals import refusal

from kerhrm.errors import KerhrmError
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.job import job
from kerhrm_paper.runs.locks import (
    ASKED_SECONDS,
    SNAKEMAKE,
    TEMPORARY,
    acquire,
    hold_run,
    holder,
    locked,
)
from kerhrm_paper.runs.recover import recover

WAIT_SECONDS = 60
INCOMPLETE = f".{'0123456789abcdef' * 2}.part"  #: as atomic writing calls a file
COUNT = """
import sys
from pathlib import Path
from kerhrm_paper.runs.locks import locked
import time
for _ in range(20):
    with locked(Path(sys.argv[1])):
        path = Path(sys.argv[2])
        number = int(path.read_text())
        time.sleep(.001)
        path.write_text(str(number + 1))
"""
HOLD = """
import sys
from kerhrm_paper.runs.locks import hold_run
hold_run(sys.argv[1])
print("begun", flush=True)
sys.stdin.read()
"""
LOCK = """
import signal, sys
from pathlib import Path
from kerhrm_paper.runs.locks import locked
signal.signal(signal.SIGTERM, getattr(signal, sys.argv[2]))
with locked(Path(sys.argv[1])):
    print("begun", flush=True)
    sys.stdin.read()
"""
# A job of many small units; it tells how many units the checkpoint holds.
STEPS = """
import sys, time
from types import SimpleNamespace
import numpy as np
from kerhrm_paper.runs.job import job

run, steps = sys.argv[1], int(sys.argv[2])
fake = SimpleNamespace(rule="test", input=[], output=[run + "/out.txt"],
                       log=[run + "/logs/t.log"], params={"steps": steps})
with job(fake) as checkpoint:
    print("from", len(checkpoint.done), flush=True)
    total = 0
    for step in range(steps):
        def unit():
            time.sleep(.01)
            return {"n": np.array(step)}
        total += int(checkpoint.once(str(step), unit)["n"])
    open(run + "/out.txt", "w").write(str(total))
"""


@contextlib.contextmanager
def running(*command: object) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has printed its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    process.line = process.stdout.readline().strip()  # type: ignore[attr-defined]
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# --- locks


def test_two_processes_never_hold_the_same_lock(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(tmp_path / "a.lock"), str(counter)]
    for process in [subprocess.Popen(command) for _ in range(3)]:
        assert process.wait(WAIT_SECONDS) == 0
    assert counter.read_text() == "60"
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


def test_who_asks_for_the_holder_is_no_holder(tmp_path: Path) -> None:
    held = threading.Event()

    def ask() -> None:
        lock = acquire(tmp_path / TEMPORARY / SNAKEMAKE)
        assert lock is not None
        held.set()
        time.sleep(ASKED_SECONDS / 5)
        lock.release()

    asking = threading.Thread(target=ask)
    asking.start()
    assert held.wait(WAIT_SECONDS)
    hold_run(tmp_path)
    asking.join()


def test_one_snakemake_at_a_time(tmp_path: Path) -> None:
    with running(HOLD, tmp_path) as process:
        message = rf"at work in .*\(process {process.pid} on .*; wait"
        with refusal(message):
            hold_run(tmp_path)
    hold_run(tmp_path)


# --- jobs in this process


def test_the_log_goes_to_the_file_and_to_standard_error(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with job(rule(run)):
        logging.getLogger("kerhrm.anything").info("a message: äöü")
        warnings.warn("something to know", FutureWarning, stacklevel=1)
        (run / "out").touch()
    lines = log_of(run).splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} test: a message: äöü", lines[0]
    )
    assert "FutureWarning: something to know" in lines[1]
    assert "computed in" in lines[-1]
    assert capsys.readouterr().err.splitlines() == lines


def test_bad_input_ends_the_job_with_one_line(run: Path) -> None:
    with pytest.raises(SystemExit) as caught, job(rule(run)):
        raise KerhrmError("k=50 exceeds n=40 training points", "lower k")
    assert caught.value.code == 1
    (line,) = log_of(run).splitlines()
    assert line.endswith(" test: error: k=50 exceeds n=40 training points; lower k")
    assert not (run / provenance.PROVENANCE).exists()
    assert os.listdir(run / TEMPORARY) == []


def test_a_job_that_ends_leaves_signals_as_they_were(run: Path) -> None:
    signals = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in signals]
    with pytest.raises(SystemExit), job(rule(run)):
        raise KerhrmError("k=50 exceeds n=40 training points", "lower k")
    assert [signal.getsignal(number) for number in signals] == before
    with job(rule(run)):
        (run / "out").touch()
    assert [signal.getsignal(number) for number in signals] == before


def test_a_bug_ends_the_job_with_its_traceback(run: Path) -> None:
    with pytest.raises(ZeroDivisionError), job(rule(run)):
        _ = 1 / 0
    assert "test: unexpected error\nTraceback" in log_of(run)


@pytest.mark.parametrize("code", [0, None, "over"])
def test_code_that_leaves_ends_the_job_with_one_line(run: Path, code: Any) -> None:
    """An exit status of 0 would pass for a job that is done."""
    with pytest.raises(SystemExit) as caught, job(rule(run)):
        sys.exit(code)
    assert caught.value.code == 1
    (line,) = log_of(run).splitlines()
    assert (
        f"error: out is not made: the code that makes it called sys.exit({code!r}"
        in line
    )
    assert not (run / provenance.PROVENANCE).exists()


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_the_configurations(run: Path, threads: int) -> None:
    torch.set_num_threads(3 - threads)
    with job(rule(run, threads=threads)):
        np.ones((2, 2)) @ np.ones((2, 2))
        assert torch.get_num_threads() == threads
        pools = threadpoolctl.threadpool_info()
        numbers = {pool["num_threads"] for pool in pools}
        assert numbers == {threads}
        (run / "out").touch()


def test_a_job_refuses_an_input_that_has_changed(run: Path) -> None:
    with job(rule(run, a=1)):
        (run / "out").write_text("whole")
    after = rule(run, run / "out")
    after.output = [str(run / "next")]
    with job(after):
        (run / "next").touch()
    record = provenance.read(run, "next")
    assert record is not None
    digest = provenance.digest(run / "out")
    assert record["inputs"] == {"out": digest}
    (run / "out").write_text("who")
    with pytest.raises(SystemExit), job(after):
        raise AssertionError("it was run all the same")
    assert "out has changed since rule test made it; delete it" in log_of(run)


def test_a_job_refuses_a_folder_in_an_inputs_place(run: Path) -> None:
    (run / "in").mkdir()
    with pytest.raises(SystemExit), job(rule(run, run / "in")):
        raise AssertionError("it was run all the same")
    (line,) = log_of(run).splitlines()
    assert line.endswith(f" test: error: {run}/in is a folder; delete it and run again")


def test_what_a_job_left_that_did_not_end_is_no_edit(run: Path) -> None:
    with job(rule(run)):
        (run / "out").write_text("whole")
    with contextlib.suppress(ZeroDivisionError), job(rule(run)):
        (run / "out").write_text("who")
        _ = 1 / 0
    assert (run / "out").read_text() == "who"
    provenance.check_asked(run, run / "out")


# --- jobs that are stopped


def kinds(run: Path) -> list[str]:
    return sorted(
        "state" if path.is_dir() else path.suffix
        for path in (run / TEMPORARY).iterdir()
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_job_continues_where_it_was(run: Path, number: int) -> None:
    with running(STEPS, run, 200) as process:
        time.sleep(0.4)
        process.send_signal(number)
        assert process.wait(WAIT_SECONDS) == 143
    assert kinds(run) == ["state"]
    assert not (run / "out.txt").exists()
    with running(STEPS, run, 200) as process:
        assert int(process.line.split()[1]) > 0  # type: ignore[attr-defined]
        assert process.wait(WAIT_SECONDS) == 0
    assert kinds(run) == []
    total = sum(range(200))
    assert (run / "out.txt").read_text() == str(total)


def test_a_checkpoint_of_other_parameters_is_thrown_away(run: Path) -> None:
    with running(STEPS, run, 200) as process:
        time.sleep(0.3)
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 143
    with running(STEPS, run, 20) as process:
        assert process.line == "from 0"  # type: ignore[attr-defined]
        assert process.wait(WAIT_SECONDS) == 0
    assert kinds(run) == []


def test_an_orphan_hands_over_to_its_successor(run: Path) -> None:
    # The shell starts the job and dies: the job is an orphan.
    program = f'"$0" -c "$1" "{run}" 1000 > "{run}/begun" & sleep 30'
    shell = subprocess.Popen(["bash", "-c", program, sys.executable, STEPS])
    for _ in range(WAIT_SECONDS * 20):
        if (run / "begun").exists() and (run / "begun").read_text():
            break
        time.sleep(0.05)
    shell.kill()
    shell.wait(WAIT_SECONDS)
    with running(STEPS, run, 1000) as process:
        assert int(process.line.split()[1]) > 0  # type: ignore[attr-defined]


# --- recovery


@pytest.fixture
def killed(run: Path) -> Path:
    """A run's folder with what a kill leaves, and with results; and another run's
    beside it."""
    (run / TEMPORARY / "abc.0123").mkdir(parents=True)
    for name in ("psi.npz", "a.lock", ".b.part", INCOMPLETE, f"{TEMPORARY}/abc.lock"):
        (run / name).touch()
    return run


def test_only_locks_and_incomplete_files_go(killed: Path) -> None:
    command = [sys.executable, "-m", "kerhrm_paper.runs.recover", str(killed)]
    assert subprocess.run(command, timeout=WAIT_SECONDS).returncode == 0
    # a browser's file, which only ends like an incomplete one, stays
    assert sorted(os.listdir(killed)) == [
        ".b.part",
        "a.lock",
        "logs",
        "psi.npz",
        TEMPORARY,
    ]
    assert sorted(os.listdir(killed / TEMPORARY)) == ["abc.0123", "snakemake.lock"]


def test_nothing_happens_while_snakemake_is_at_work(killed: Path) -> None:
    with (
        running(HOLD, killed),
        refusal("another command is at work in"),
    ):
        recover(killed)
    assert (killed / INCOMPLETE).exists()


@pytest.mark.parametrize("words", [[], ["a", "b"], [__file__]])
def test_one_runs_folder_is_recovered(words: list[str]) -> None:
    command = [sys.executable, "-m", "kerhrm_paper.runs.recover", *words]
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, timeout=WAIT_SECONDS
    )
    assert done.returncode != 0
    assert re.fullmatch(r"error: .*folder.*\n", done.stderr)


def test_the_lock_of_a_job_at_work_stays(killed: Path) -> None:
    lock = killed / TEMPORARY / "abc.lock"
    with running(LOCK, lock, "SIG_DFL") as orphan:
        recover(killed)
        assert str(orphan.pid) in str(holder(lock))


def test_a_lock_is_held_while_it_goes(
    killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a job could take it in between, and another one a new lock."""
    unlink, holders = Path.unlink, []

    def asked(path: Path, missing_ok: bool = False) -> None:
        if path.name == "abc.lock":
            holders.append(holder(path))
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", asked)
    recover(killed)
    assert len(holders) == 1
    assert f"process {os.getpid()} " in str(holders[0])


def test_a_lock_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with refusal(r"cannot lock .*a\.lock: File exists; correct the path: one of"):
        acquire(tmp_path / "file" / "a.lock")
