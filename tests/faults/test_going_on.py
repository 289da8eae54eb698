"""A long job that is stopped in a real run goes on after ``make recover``."""

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from dagtools import TIMEOUT_SECONDS, Checkout, replace
from faulttools import recover, snakemake

pytestmark = pytest.mark.faults

TARGET = "results/smoke/classification/r2=0.70/predictions/erm.npz"
LOG = "results/smoke/logs/train_method/classification/r2=0.70/erm.log"
STEPS = 10_000  # some seconds


def handles_sigterm(process: psutil.Process) -> bool:
    """Whether a process would catch SIGTERM."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except FileNotFoundError:
        return False
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def temporary(folder: Path) -> list[Path]:
    """States, locks and incomplete files of jobs."""
    found = folder.glob("results/smoke/temporary/*")
    return sorted(p.relative_to(folder) for p in found if p.name != "snakemake.lock")


def test_a_stopped_job_goes_on(copies: Callable[[], Path], raw_dir: str | None) -> None:
    copy, rng = Checkout(copies(), raw_dir), random.Random(0)
    preset = copy.folder / "config" / "presets" / "smoke.yaml"
    change = replace("selected: {steps: 20,", f"selected: {{steps: {STEPS},")  # of ERM
    preset.write_text(change(preset.read_text(encoding="utf-8")), encoding="utf-8")

    run = snakemake(copy, [TARGET])
    deadline = time.monotonic() + TIMEOUT_SECONDS
    jobs: list[psutil.Process] = []
    while not jobs:
        assert not run.over, run.output
        assert time.monotonic() < deadline, run.output
        jobs = [p for n, p in run.jobs().items() if "train_method" in n and handles_sigterm(p)]
        time.sleep(0.02)
    time.sleep(rng.uniform(0.5, 1.5))
    jobs[0].terminate()
    assert run.wait() != 0

    log = copy.folder / LOG
    (state,) = temporary(copy.folder)
    assert state.suffix == ".state"
    assert not (copy.folder / TARGET).exists()
    assert f"stopped by SIGTERM; the state is in {state}" in log.read_text()

    # what Snakemake leaves if it is killed between the end of a job and that of its input
    features = copy.folder / "results/smoke/classification/r2=0.70/ntf/train.npz"
    features.parent.mkdir()
    features.write_bytes(b"")
    again = recover(copy, [TARGET, "results/smoke/classification/r2=0.70/features/training.npz"])
    assert again.wait() == 0, again.output
    assert f"going on from {state}" in log.read_text()
    assert temporary(copy.folder) == []
    assert not features.exists()
    resumed = (copy.folder / TARGET).read_bytes()

    whole = snakemake(copy, [TARGET], "--force")
    assert whole.wait() == 0, whole.output
    assert "going on" not in log.read_text()
    assert (copy.folder / TARGET).read_bytes() == resumed
