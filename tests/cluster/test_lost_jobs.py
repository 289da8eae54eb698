"""Jobs that Slurm ends early, or loses: the run goes on by itself, to the same bytes."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from clustertools import QUICK_SLURM, Cluster
from dagtools import SMOKE, TIMEOUT_SECONDS, Checkout, replace
from faulttools import Run, recover
from local_slurm import Slurm

pytestmark = pytest.mark.cluster

TARGET = "results/smoke/classification/r2=0.70/predictions/erm.npz"
LOG = "results/smoke/logs/train_method/classification/r2=0.70/erm.log"
STEPS = 12_000  # some ten seconds
#: beyond Slurm's shortest limit, a minute, to which it looks every half minute
LONG_SECONDS = 105


def with_steps(folder: Path, steps: int) -> None:
    preset = folder / "config" / "presets" / "smoke.yaml"
    change = replace("selected: {steps: 20,", f"selected: {{steps: {steps},")  # of ERM
    preset.write_text(change(preset.read_text(encoding="utf-8")), encoding="utf-8")


class Undisturbed:
    """The job without Slurm."""

    def __init__(self, make: Callable[[], Checkout]) -> None:
        self.make = make
        self.known: dict[int, Path] = {}

    def folder(self, steps: int) -> Path:
        if steps not in self.known:
            local = self.make()
            with_steps(local.folder, steps)
            local.run(TARGET, *SMOKE)
            self.known[steps] = local.folder
        return self.known[steps]

    def result(self, steps: int) -> bytes:
        return (self.folder(steps) / TARGET).read_bytes()

    def steps_in(self, seconds: float) -> int:
        """How many steps take so long on this machine."""
        log = (self.folder(STEPS) / LOG).read_text(encoding="utf-8")
        (needed,) = re.findall(r"computed in (\S+) s", log)
        return int(STEPS * seconds / float(needed))


@pytest.fixture(scope="module")
def undisturbed(copies: Callable[[], Path], raw_dir: str | None) -> Undisturbed:
    return Undisturbed(lambda: Checkout(copies(), raw_dir))


def start(fresh: Cluster, *options: str) -> Run:
    command = [*fresh.command("slurm"), *QUICK_SLURM, TARGET, *options, *SMOKE]
    return Run(fresh, command)


def wait_until_it_trains(fresh: Cluster, run: Run) -> None:
    log, end = fresh.folder / LOG, time.monotonic() + TIMEOUT_SECONDS
    while not (log.exists() and "training with" in log.read_text(encoding="utf-8")):
        assert not run.over, run.output
        assert time.monotonic() < end, run.output
        time.sleep(0.1)
    time.sleep(1)


def running(slurm: Slurm) -> tuple[str, str]:
    """Number of the job that runs, and its node."""
    (line,) = slurm.command("squeue", "--noheader", "--states=R", "--format=%i %N").splitlines()
    number, node = line.split()
    return number, node


def assert_nothing_is_left(fresh: Cluster) -> None:
    found = fresh.folder.glob("results/smoke/temporary/*")
    assert [path.name for path in found if path.name != "snakemake.lock"] == []


@pytest.mark.slow
def test_a_cancelled_job_goes_on(fresh: Cluster, undisturbed: Undisturbed) -> None:
    with_steps(fresh.folder, STEPS)
    run = start(fresh)
    wait_until_it_trains(fresh, run)
    number, _ = running(fresh.slurm)
    fresh.slurm.command("scancel", number)
    assert run.wait() == 0, run.output
    assert fresh.slurm.jobs()[-2]["state"] == "CANCELLED"
    assert "going on from" in (fresh.folder / LOG).read_text()
    assert (fresh.folder / TARGET).read_bytes() == undisturbed.result(STEPS)
    assert_nothing_is_left(fresh)


@pytest.mark.slow
def test_a_job_that_reaches_its_limit_goes_on(fresh: Cluster, undisturbed: Undisturbed) -> None:
    steps = undisturbed.steps_in(LONG_SECONDS)
    with_steps(fresh.folder, steps)
    run = start(fresh, "--set-resources", "train_method:runtime=attempt")
    expected = undisturbed.result(steps)  # meanwhile
    assert run.wait() == 0, run.output
    assert [job["state"] for job in fresh.slurm.jobs()[-2:]] == ["TIMEOUT", "COMPLETED"]
    assert "going on from" in (fresh.folder / LOG).read_text()
    assert (fresh.folder / TARGET).read_bytes() == expected
    assert_nothing_is_left(fresh)


@pytest.mark.slow
@pytest.mark.parametrize("power", [True, False], ids=["power cut", "lost contact"])
def test_a_node_goes_down(fresh: Cluster, undisturbed: Undisturbed, power: bool) -> None:
    """Without contact the job goes on, and its successor on another node waits for its lock."""
    slurm = fresh.slurm
    with_steps(fresh.folder, STEPS)
    run = start(fresh)
    wait_until_it_trains(fresh, run)
    number, node = running(slurm)
    slurm.lose(node, power=power)
    try:
        # Slurm would wait two minutes, lest it is the job that brings nodes down.
        slurm.command("scontrol", "update", f"JobId={number}", "StartTime=now")
        assert run.wait() == 0, run.output
        successor = slurm.jobs()[-1]
        assert (successor["id"], successor["state"]) == (number, "COMPLETED")
        assert (fresh.folder / TARGET).read_bytes() == undisturbed.result(STEPS)
        assert_nothing_is_left(fresh)
    finally:
        slurm.bring_back(node)


def test_the_recovery_goes_on_when_the_killed_runs_jobs_are_cancelled(
    fresh: Cluster, undisturbed: Undisturbed
) -> None:
    with_steps(fresh.folder, STEPS)
    profile = fresh.folder / "profiles" / "slurm" / "config.yaml"
    profile.write_text(profile.read_text().replace("status-checks: 20", "status-checks: 1"))
    run = start(fresh)
    wait_until_it_trains(fresh, run)
    number, _ = running(fresh.slurm)
    run.process.kill()
    run.wait()
    fresh.slurm.command("scancel", number)
    again = recover(fresh, [TARGET], "PROFILE=profiles/slurm")
    assert again.wait() == 0, again.output
    assert [job["state"] for job in fresh.slurm.jobs()[-2:]] == ["CANCELLED", "COMPLETED"]
    assert "going on from" in (fresh.folder / LOG).read_text()
    assert (fresh.folder / TARGET).read_bytes() == undisturbed.result(STEPS)
    assert_nothing_is_left(fresh)
