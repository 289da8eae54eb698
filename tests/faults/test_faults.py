"""Runs that are killed, starved and interrupted end, when recovered, as if nothing had been.

    make test-faults FAULTS=20 FAULT_SEED=0

One run of the smoke preset suffers all faults, one after another: the recovery from one is
the victim of the next.  When a fault happens is counted in finished jobs, evenly spread over
the DAG and random in between, plus a random delay.
"""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from dagtools import SMOKE, Checkout, Job, logs
from faulttools import (
    FAULTS,
    Disk,
    Fault,
    Run,
    end_all,
    impossible,
    inject,
    recover,
    schedule,
    snakemake,
)

pytestmark = pytest.mark.faults

N_FAULTS = int(os.environ.get("FAULTS") or 5)
SEED = int(os.environ.get("FAULT_SEED") or 0)
#: the whole DAG takes its time; a few faults fit into a part with most kinds of rules
TARGETS = ("all",) if N_FAULTS >= 20 else ("table3", "figure2")
VARIES = {"logs", "benchmarks"}
#: notes of what was made, and the folder of temporaries, which is empty in the end
OURS = {"made", "temporary"}


class Disturbed(NamedTuple):
    """A copy after all faults, what they were, which could not be, and the last recovery."""

    copy: Checkout
    faults: list[Fault]
    impossible: dict[str, str]
    recovery: Run


@pytest.fixture(scope="module")
def jobs(smoke: Checkout) -> list[Job]:
    """Every job of the targets, with its files."""
    return smoke.plan("--forceall", *TARGETS, *SMOKE)


@pytest.fixture(scope="module")
def disturbed(
    copies: Callable[[], Path],
    raw_dir: str | None,
    jobs: list[Job],
    request: pytest.FixtureRequest,
) -> Iterator[Disturbed]:
    copy, rng = Checkout(copies(), raw_dir), random.Random(SEED)
    disk = Disk(copy.folder / "results")
    try:
        reasons = {kind: reason for kind in FAULTS if (reason := impossible(kind, disk))}
        kinds = [kind for kind in FAULTS if kind not in reasons]
        capture = request.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(f"\n{N_FAULTS} faults with seed {SEED} during {len(jobs)} jobs")
        faults: list[Fault] = []
        run = snakemake(copy, TARGETS)
        for number, kind in enumerate(schedule(kinds, N_FAULTS, rng)):
            left = len(jobs) - round((number + rng.random()) / N_FAULTS * (len(jobs) - 2))
            fault = inject(kind, run, disk, rng) if run.reaches(left) else None
            while fault is None:  # too late: the run was over before
                assert run.wait() == 0, run.output
                rule = rng.choice(sorted({job.rule for job in jobs if job.output}))
                run = snakemake(copy, TARGETS, "--forcerun", rule)
                fault = inject(kind, run, disk, rng) if run.reaches(len(jobs)) else None
            faults.append(fault)
            with capture.global_and_fixture_disabled():
                print(f"{number + 1:3}. {fault}", flush=True)
            run = recover(copy, TARGETS)
        run.wait()
        yield Disturbed(copy, faults, reasons, run)
    finally:
        end_all(copy.folder)
        disk.close()


def files(folder: Path) -> dict[str, Path]:
    return {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}


def contents(copy: Checkout) -> dict[str, bytes]:
    """Contents of the result files, without logs and measured times."""
    found = files(copy.folder / "results" / "smoke")
    return {n: p.read_bytes() for n, p in found.items() if n.split("/")[0] not in VARIES | OURS}


def test_the_recovery_succeeds(disturbed: Disturbed) -> None:
    assert disturbed.recovery.process.returncode == 0, disturbed.recovery.output
    assert len(disturbed.faults) == N_FAULTS
    again = disturbed.copy.run("--dry-run", *TARGETS, *SMOKE)
    assert "Nothing to be done" in again


def test_results_are_those_of_an_undisturbed_run(
    smoke: Checkout, disturbed: Disturbed, jobs: list[Job]
) -> None:
    declared = {file.removeprefix("results/smoke/") for job in jobs for file in job.output}
    expected = {name: content for name, content in contents(smoke).items() if name in declared}
    found = contents(disturbed.copy)
    kinds = {name.split("/")[0] for name in expected}
    assert {"tables", "notebooks", "figures", "scores", "restarts"} <= kinds
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []


def test_no_stray_file_remains(disturbed: Disturbed, jobs: list[Job]) -> None:
    declared = {file for job in jobs for file in job.output} | logs(jobs)
    results = disturbed.copy.folder / "results" / "smoke"
    assert list((results / "temporary").iterdir()) == []
    found = {f"results/smoke/{n}" for n in files(results) if n.split("/")[0] not in OURS}
    assert found - declared == set()
    # Snakemake does not miss a benchmark that it could not write; features are temporary.
    temporary = {file for job in jobs if job.rule == "extract_ntf" for file in job.output}
    assert {name.split("/")[2] for name in declared - found - temporary} <= {"benchmarks"}
    assert not found & temporary
    for folder in ("locks", "incomplete"):
        assert list((disturbed.copy.folder / ".snakemake" / folder).glob("*")) == []
    assert lost_files_in(disturbed.copy) == "[]"


def lost_files_in(copy: Checkout) -> str:
    code = "from kerhrm.jobs.lost import lost_files; print(lost_files('results/smoke'))"
    return copy.python("-c", code).strip()


@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_of_fault_is_felt(disturbed: Disturbed, kind: str) -> None:
    if kind in disturbed.impossible:
        pytest.skip(disturbed.impossible[kind])
    mine = [fault for fault in disturbed.faults if fault.kind == kind]
    if not mine:
        pytest.skip(f"not among {N_FAULTS} faults with seed {SEED}")
    # A job that has just ended its work no longer minds a request to stop.
    if kind != "SIGTERM to a job":
        assert all(fault.status != 0 for fault in mine)
