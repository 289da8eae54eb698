"""A run that is killed and starved again and again ends, when recovered, with the same
bytes.

The recovery from one fault is the victim of the next.  ``FAULTS=20 FAULT_SEED=1 pytest
tests/faults`` tries more and other faults.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from dagtools import SMOKE, Checkout, Job, contents
from faulttools import (
    FAULTS,
    Disk,
    Run,
    end_all,
    left_out,
    recover,
    schedule,
    snakemake,
)

pytestmark = pytest.mark.faults

N_FAULTS = int(os.environ.get("FAULTS") or 8)
SEED = int(os.environ.get("FAULT_SEED") or 0)
#: a part of the DAG with most kinds of rules
TARGETS = ("table3", "figure2") if N_FAULTS < 20 else ("all",)
DELAY_SECONDS = 2.0  # between the end of a job and a fault; a job takes about as long


@pytest.fixture(scope="module")
def jobs(smoke: Checkout) -> list[Job]:
    """Every job of the targets, with its files."""
    return smoke.plan("--forceall", *TARGETS, *SMOKE)


def hit(kind: str, run: Run, disk: Disk, rng: random.Random) -> bool:
    """One fault after a random delay, and the end of the run; False if the run ended
    before."""
    time.sleep(rng.uniform(0, DELAY_SECONDS))
    if run.over:
        return False
    try:
        FAULTS[kind](run, disk, rng)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return False
    status = run.wait()
    disk.repair()
    # A job that has just ended its work no longer minds a request to stop.
    assert status != 0 or kind == "SIGTERM to a job", run.output
    return True


@dataclass
class Disturbed:
    """A copy after all faults, and the last recovery."""

    copy: Checkout
    recovery: Run
    tried: set[str]  #: kinds of faults that have hit it
    left_out: dict[str, str]  #: other kinds, and why


@pytest.fixture(scope="module")
def disturbed(
    copies: Callable[[], Path], raw_dir: str | None, jobs: list[Job]
) -> Iterator[Disturbed]:
    copy, rng = Checkout(copies(), raw_dir), random.Random(SEED)
    disk = Disk(copy.folder / "results" / "smoke")
    try:
        run = snakemake(copy, TARGETS)
        n_hits = 0
        tried: set[str] = set()
        for number, kind in enumerate(schedule(N_FAULTS, disk, rng)):
            # the last one still finds jobs
            left = len(jobs) - round(
                (number + rng.random()) / (N_FAULTS + 1) * (len(jobs) - 2)
            )
            # again, where the process that it was for has just ended
            if any(run.reaches(left) and hit(kind, run, disk, rng) for _ in range(3)):
                n_hits += 1
                tried.add(kind)
            run.wait()
            run = recover(copy, TARGETS)
        run.wait()
        assert n_hits >= N_FAULTS / 2
        yield Disturbed(copy, run, tried, left_out(disk))
    finally:
        end_all(copy.folder)
        disk.close()


@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_of_fault_is_tried(disturbed: Disturbed, kind: str) -> None:
    if kind in disturbed.left_out:
        pytest.skip(f"needs a file system of its own: {disturbed.left_out[kind]}")
    assert kind in disturbed.tried


def test_the_recovery_succeeds(disturbed: Disturbed) -> None:
    recovery = disturbed.recovery
    assert recovery.process.returncode == 0, recovery.output
    assert disturbed.copy.plan(*TARGETS, *SMOKE) == []


def test_results_are_those_of_an_undisturbed_run(
    results: Path, disturbed: Disturbed, jobs: list[Job]
) -> None:
    declared = {
        file.removeprefix("results/smoke/") for job in jobs for file in job.output
    }
    expected = {n: c for n, c in contents(results).items() if n in declared}
    found = contents(disturbed.copy.folder / "results/smoke")
    assert {"tables", "notebooks", "figures", "scores"} <= {
        n.split("/")[0] for n in expected
    }
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []


def test_nothing_temporary_remains(disturbed: Disturbed) -> None:
    copy = disturbed.copy
    for folder in ("locks", "incomplete"):
        assert list((copy.folder / ".snakemake" / folder).glob("*")) == []
    run = copy.folder / "results" / "smoke"
    stray = [p for p in run.rglob("*") if p.suffix in (".part", ".state", ".tmp")]
    assert stray == []
