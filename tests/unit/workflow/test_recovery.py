"""What is cleared away after a kill, and what is left alone, with real processes."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kerhrm.arrays import atomic
from kerhrm.checkpoints import Stopped, begin
from kerhrm.errors import KerhrmError
from kerhrm.workflow import recovery
from kerhrm.workflow.recovery import clear, jobs, main, snakemakes, stop_orphans
from kerhrm.workflow.resume import locked, resumable

WAIT_SECONDS = 60
KEY = "0123456789abcdef"
KEPT = (
    "psi.npz",
    "notes.lock",
    "movie.part",
    ".psi.npz.part",
    f".psi.npz.{KEY}.states",
    ".hidden",
)

SLEEP = "import time; print('begun', flush=True); time.sleep(60)\n"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEP
WRITE = """
import sys, time
from pathlib import Path
from kerhrm.arrays import atomic
with atomic(Path(sys.argv[1])) as handle:
    handle.write(b"half")
    handle.flush()
    print("begun", flush=True)
    sys.stdin.read()
    handle.write(b" and half")
"""


@contextlib.contextmanager
def running(*command: object, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has said that it has begun."""
    process = subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=folder,
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
def results(tmp_path: Path) -> Path:
    """A folder with files that are none of the recovery's business."""
    folder = tmp_path / "results"
    for sub in (folder, folder / "r2=0.70,H=I"):
        sub.mkdir(exist_ok=True)
        for name in KEPT:
            (sub / name).touch()
    return folder


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A place for a job's script."""
    path = tmp_path / recovery.SCRIPTS / "tmpabcdefgh.train_erm.py"
    path.parent.mkdir(parents=True)
    return path


def leave(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).touch()
    return sorted(folder / name for name in names)


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_locks_and_temporary_files_go(results: Path) -> None:
    before = files(results)
    left = [
        path
        for folder in (results, results / "r2=0.70,H=I")
        for path in leave(
            folder,
            ".psi.npz.lock",
            ".psi.npz.abc_12fg.part",
            f"..psi.npz.{KEY}.state.abcdefgh.part",
        )
    ]
    assert clear([results]) == sorted(left)
    assert files(results) == before
    assert clear([results, results]) == []


def test_a_killed_write_leaves_what_is_cleared(results: Path) -> None:
    before = files(results)
    with running("-c", WRITE, results / "new.npz", folder=results) as process:
        process.kill()
        process.wait(WAIT_SECONDS)
        assert len(files(results)) == len(before) + 1
    assert len(clear([results])) == 1
    assert files(results) == before


def test_a_file_that_is_being_written_stays(results: Path) -> None:
    with running("-c", WRITE, results / "new.npz", folder=results) as process:
        left = leave(results, ".new.npz.abcdefgh.part")  # of an earlier process
        assert clear([results]) == left
        process.communicate("go on", timeout=WAIT_SECONDS)
        assert process.returncode == 0
    assert (results / "new.npz").read_bytes() == b"half and half"


def test_a_lock_that_is_held_protects_its_folder(results: Path) -> None:
    inside = [".other.npz.abcdefgh.part", f".psi.npz.{KEY}.state"]
    kept = leave(results, *inside)
    elsewhere = leave(results / "r2=0.70,H=I", ".other.npz.abcdefgh.part")
    with locked(results / ".psi.npz.lock"):
        assert clear([results], finished=True) == elsewhere
        assert (results / ".psi.npz.lock").exists()
    assert clear([results], finished=True) == kept


def test_states_go_when_their_output_exists_and_all_is_finished(results: Path) -> None:
    done, wanted = leave(results, f".psi.npz.{KEY}.state", f".theta.npz.{KEY}.state")
    assert clear([results]) == []
    assert clear([results], finished=True) == [done]
    assert wanted.exists()


def test_beside_a_file(results: Path) -> None:
    left = leave(results, ".psi.npz.abcdefgh.part", ".other.npz.abcdefgh.part")
    assert clear([results / "psi.npz"]) == left[1:]
    assert clear([results / "none.npz"]) == []


def test_a_file_that_cannot_be_removed(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise OSError(30, "Read-only file system")

    left = leave(results, ".psi.npz.abcdefgh.part")
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(KerhrmError, match=r"\.part: Read-only file system; make"):
        clear([results])
    assert left[0].exists()


def test_nothing_happens_while_snakemake_is_at_work(
    tmp_path: Path, results: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = leave(results, ".psi.npz.lock", ".psi.npz.abcdefgh.part")
    (tmp_path / "snakemake").write_text(SLEEP)
    script.write_text(SLEEP)
    monkeypatch.chdir(tmp_path)
    with (
        running("snakemake", "all", folder=tmp_path) as master,
        running("snakemake", "all", "--mode", "remote", folder=tmp_path),  # a cluster's job
        running(script, folder=tmp_path) as job,
    ):
        assert snakemakes(tmp_path) == [master.pid]
        assert snakemakes(results) == []
        with pytest.raises(SystemExit, match=rf"error: Snakemake is at work .*kill {master.pid}"):
            main(["results"])
        assert job.poll() is None
    assert all(path.exists() for path in left)


def test_orphans_are_stopped(
    tmp_path: Path, results: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.write_text(SLEEP)
    other = tmp_path / "other" / recovery.SCRIPTS / script.name
    other.parent.mkdir(parents=True)
    other.write_text(SLEEP)
    leave(results, ".psi.npz.lock")
    before = files(results) - {results / ".psi.npz.lock"}
    monkeypatch.chdir(tmp_path)
    with running(script, folder=tmp_path) as job, running(other, folder=tmp_path) as foreign:
        assert jobs(tmp_path) == [job.pid]
        main(["results"])
        assert job.wait(WAIT_SECONDS) == -signal.SIGTERM
        assert foreign.poll() is None
    assert files(results) == before
    assert not script.exists()
    assert other.exists()


def test_an_orphan_that_does_not_stop_is_told(tmp_path: Path, script: Path) -> None:
    script.write_text(STUBBORN)
    with (
        running(script, folder=tmp_path) as job,
        pytest.raises(KerhrmError, match=rf"has not stopped within 0 s.*kill -KILL {job.pid}"),
    ):
        stop_orphans(tmp_path, patience=0.3)


def test_names_are_those_that_jobs_use(tmp_path: Path) -> None:
    with atomic(tmp_path / "a.npz"):
        (part,) = tmp_path.iterdir()
        assert recovery.TEMPORARY.fullmatch(part.name)
    (tmp_path / "a.npz").unlink()

    job = SimpleNamespace(rule="r", params={}, input=[], output=[str(tmp_path / "a.npz")])
    names = []

    def stopped() -> None:
        with resumable(job):
            names.extend(os.listdir(tmp_path))
            os.kill(os.getpid(), signal.SIGTERM)
            begin("anything").offer(lambda: {"x": np.array(1)})

    with pytest.raises(Stopped):
        stopped()
    (lock,), (state,) = names, os.listdir(tmp_path)
    assert recovery.LOCK.fullmatch(lock)
    match = recovery.STATE.fullmatch(state)
    assert match
    assert match["output"] == "a.npz"
